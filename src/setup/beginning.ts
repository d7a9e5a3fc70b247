/** Returns the two calls to begin with, in lines; what an agent reads in its files, and in what the server says of itself. */
export function beginning(tool: string): readonly string[] {
  return [
    `Before such work, call the tool \`${tool}\` with \`{"action": "list_sessions", "status": "active"}\` and go on with an`,
    'open session on it; if there is none, `{"action": "list_workflows"}` shows how to start one. Each answer\'s `next` is the',
    "call to make next. The work is done when the session is completed.",
  ];
}

/** Returns the call to begin with, in lines; what an agent reads in its files, and in what the server says of itself. */
export function beginning(tool: string): readonly string[] {
  return [
    `Before such work, call the tool \`${tool}\` with \`{"action": "list_workflows"}\`. Its answer names unfinished`,
    "sessions: go on with one on this work, or start a workflow. Each answer's `next` is the call to make next. The work is",
    "done when the session is completed.",
  ];
}

/** Returns the script of a server that answers each request with this; with an error if it is undefined. It ends with its input. */
export function answering(result: object | undefined): string {
  const info = { serverInfo: { name: "phasegate", version: "1" } };
  const answer = result === undefined ? { error: { code: 1 } } : { result: { ...info, ...result } };
  return `require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id } = JSON.parse(line);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...${JSON.stringify(answer)} }));
  });`;
}

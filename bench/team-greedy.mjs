/**
 * A greedy client, in a process of its own: as many calls at once as it can make, whatever it is answered. It says so when
 * it is over its quota for the first time.
 */
const [, , url, token] = process.argv;
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  authorization: `Bearer ${token}`,
  "mcp-protocol-version": "2025-06-18",
};
const params = { name: "pos_workflow", arguments: { action: "list_sessions" } };
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
const AT_ONCE = 60;
let isOver = false;
const counts = { answered: 0, refused: 0 };

async function call() {
  const answer = await fetch(url, { method: "POST", headers, body });
  await answer.arrayBuffer();
  if (answer.ok) counts.answered += 1;
  else {
    if (counts.refused === 0) process.send("refused");
    counts.refused += 1;
  }
}

process.on("message", () => {
  isOver = true;
});
const calling = Array.from({ length: AT_ONCE }, async () => {
  while (!isOver) await call();
});
await Promise.all(calling);
process.send(counts, () => process.disconnect());

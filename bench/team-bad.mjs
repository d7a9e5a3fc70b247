/**
 * Bad clients beside those of team.mjs, in a process of their own: `node team-bad.mjs TOKEN URL...`. In rounds and at each
 * server, they open sockets and send nothing or half a request, send a body one byte a second, 100 MB, or JSON 10,000 deep,
 * and flood it with `initialize` and with notifications. On the message "end" they stop, and answer with the outcomes: how
 * often each came of each kind, and the faults, where it was none of those that a server may give.
 */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const [token, ...urls] = process.argv.slice(2);
const ROUND_MS = 20_000;
/** How long a server may keep a connection on which too little comes: 60 s, and what it takes under load. */
const KEPT_MS = 90_000;
const HUNDRED_MB = 100 * 1024 * 1024;
const HEADERS = {
  authorization: `Bearer ${token}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "flood", version: "1" } },
});
const NOTIFICATION = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });

/** What may come of each kind. "gone": the server was killed, or ended the connection without an answer. */
const EXPECTED = {
  silent: ["closed", "408", "gone"],
  "half a request": ["closed", "408", "gone"],
  "a byte a second": ["closed", "408", "gone"],
  "100 MB": ["413", "gone"],
  "10,000 deep": ["400", "503", "gone"],
  initialize: ["200", "503", "gone"],
  notification: ["202", "503", "gone"],
};
const outcomes = Object.fromEntries(Object.keys(EXPECTED).map((kind) => [kind, {}]));
const faults = [];
let isOver = false;
const agent = new Agent({ keepAlive: true, maxSockets: 20 });

function came(kind, outcome) {
  outcomes[kind][outcome] = (outcomes[kind][outcome] ?? 0) + 1;
  if (!EXPECTED[kind].includes(outcome)) faults.push(`${kind}: ${outcome}`);
}

/** A connection that sends text, then a byte each second if it is slow, until the server ends it. */
async function hold(kind, url, text, isSlow) {
  const { hostname, port } = new URL(url);
  const begun = Date.now();
  const socket = connect(Number(port), hostname);
  let answer = "";
  let wasOpen = false;
  socket.on("connect", () => {
    wasOpen = true;
    socket.write(text);
  });
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  const dripping = isSlow ? setInterval(() => socket.writable && socket.write(" "), 1000) : undefined;
  const closed = once(socket, "close").then(
    () => true,
    () => true,
  );
  const wasClosed = await Promise.race([closed, delay(KEPT_MS, false, { ref: false })]);
  clearInterval(dripping);
  socket.destroy();
  const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
  if (!wasOpen) return came(kind, "gone");
  if (wasClosed) return came(kind, status ?? "closed");
  faults.push(`${kind}: kept for ${Math.round((Date.now() - begun) / 1000)} s`);
}

/** Posts a body, and notes the status of its answer. */
async function post(kind, url, { bytes, text }) {
  const outgoing = request(url, { method: "POST", agent, headers: { ...HEADERS, "content-length": bytes } });
  const answered = new Promise((resolve) => {
    outgoing.on("response", (response) => {
      response.on("error", () => {});
      response.resume();
      resolve(String(response.statusCode));
    });
    outgoing.on("error", () => resolve("gone"));
  });
  if (text !== undefined) outgoing.end(text);
  else send(outgoing, bytes).catch(() => {});
  const outcome = await answered;
  // The rest of a body that was refused is not sent.
  if (text === undefined) outgoing.destroy();
  came(kind, outcome);
}

async function send(outgoing, bytes) {
  const chunk = Buffer.alloc(64 * 1024, 0x20);
  const closed = once(outgoing, "close");
  for (let sent = 0; sent < bytes && !outgoing.destroyed; sent += chunk.length) {
    if (!outgoing.write(chunk)) await Promise.race([once(outgoing, "drain"), closed]);
  }
  outgoing.end();
}

const bodyOf = (text) => ({ text, bytes: Buffer.byteLength(text) });
const DEEP = bodyOf(`${"[".repeat(10_000)}${"]".repeat(10_000)}`);

async function annoy(url) {
  const { host } = new URL(url);
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${Object.entries(HEADERS)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}content-length: 1000\r\n\r\n`;
  const times = (count, one) => Promise.all(Array.from({ length: count }, one));
  // These last longer than a round.
  const held = [
    times(10, () => hold("silent", url, "", false)),
    times(10, () => hold("half a request", url, `${head}{`, false)),
    times(3, () => hold("a byte a second", url, head, true)),
  ];
  await post("100 MB", url, { bytes: HUNDRED_MB });
  await times(20, () => post("10,000 deep", url, DEEP));
  await times(100, () => post("initialize", url, bodyOf(INITIALIZE)));
  await times(1000, () => post("notification", url, bodyOf(NOTIFICATION)));
  return Promise.all(held);
}

const holding = [];
process.on("message", () => {
  isOver = true;
});
while (!isOver) {
  const next = delay(ROUND_MS);
  for (const url of urls) {
    const held = annoy(url);
    holding.push(held);
    held.catch((error) => faults.push(String(error)));
  }
  await next;
}
await Promise.all(holding);
agent.destroy();
process.send({ outcomes, faults });
process.disconnect();

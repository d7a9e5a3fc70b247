/** `node check.mjs URL [mcp] [api] [page]`: uses a host that runs there as an agent, a program and a browser do. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url = "", ...parts] = process.argv.slice(2);
const token = process.env.PHASEGATE_INSPECTOR_TOKEN;

/** Goes from the start of a session to its end; `call` makes one call, and returns its answer. */
async function complete(call) {
  const { session_id } = await call({ action: "start", workflow_type: "release", target_file: "package.json" });
  const submit = (phase, evidence) => call({ action: "complete_phase", session_id, phase, evidence });
  assert.equal((await submit(1, { passed: 0 })).code, "GATE_FAILED");
  assert.equal((await submit(2, { tag: "v1.0" })).checkpoint_passed, undefined);
  assert.equal((await submit(1, { passed: 12 })).checkpoint_passed, true);
  assert.equal((await submit(2, { tag: "v1.0" })).workflow_complete, true);
  return session_id;
}

async function overMcp(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const tool = tools.find(({ name }) => name === "pos_workflow");
  assert.ok(tool.inputSchema.properties.action.enum.includes("complete_phase"));
  await complete(async (given) => {
    const { structuredContent, content } = await client.callTool({ name: "pos_workflow", arguments: given });
    const [{ text }] = content;
    const answer = JSON.parse(text.slice(text.indexOf("{")));
    assert.deepEqual(structuredContent ?? answer, answer);
    return answer;
  });
  await client.close();
}

async function overApi() {
  const call = async ({ action, ...body }) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/sessions/${action}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  const id = await complete(call);
  const state = await fetch(`${url}/api/sessions/get_state?session_id=${id}&brief=true`);
  assert.deepEqual([state.status, (await state.json()).status], [200, "success"]);
  const head = await fetch(`${url}/api/openapi.json`, { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
  const wrong = await fetch(`${url}/api/sessions/nothing`);
  assert.equal((await wrong.json()).error_code, "NOT_FOUND");
  return id;
}

/** Loads the page, with what it names, logs in, reads a list, and waits for a change. */
async function page() {
  const base = `${url}/inspector`;
  for (const path of ["", "/", "/sessions", "/sessions/release_v1%2Ea"]) {
    const html = await fetch(`${base}${path}`);
    const text = await html.text();
    assert.match(html.headers.get("content-type"), /^text\/html/, path);
    for (const [, file] of text.matchAll(/(?:src|href)="([^"]+)"/g)) {
      assert.ok(file.startsWith("/inspector/"), file);
      if (path === "") assert.equal((await fetch(new URL(file, html.url))).status, 200, file);
    }
  }
  assert.equal((await fetch(`${base}/api/sessions`)).status, 401);
  const json = { "content-type": "application/json", "x-phasegate": "1", origin: url };
  const login = await fetch(`${base}/api/login`, { method: "POST", headers: json, body: JSON.stringify({ token }) });
  assert.equal(login.status, 200, await login.clone().text());
  const cookie = login.headers.getSetCookie().find((one) => one.startsWith("phasegate-"));
  assert.match(cookie, /; Path=\/inspector;/);
  const headers = { cookie: cookie.split(";")[0], "x-phasegate": (await login.json()).key };
  const read = async (path) => (await fetch(`${base}/api/${path}`, { headers })).json();
  const before = (await read("sessions")).items.length;

  const gone = new AbortController();
  // As browsers do: a server that compresses would hold the events back.
  const accept = { accept: "text/event-stream", "accept-encoding": "gzip, br" };
  const stream = await fetch(`${base}/api/events`, { headers: { ...headers, ...accept }, signal: gone.signal });
  assert.equal(stream.headers.get("content-encoding"), null);
  const events = stream.body.pipeThrough(new TextDecoderStream()).getReader();
  const id = await overApi();
  for (let said = ""; !said.includes(id); ) {
    const { value, done } = await events.read();
    assert.equal(done, false, "the stream has ended");
    said += value;
  }
  gone.abort();
  assert.equal((await read("sessions")).items.length, before + 1);
  const wrongHost = await fetch(`${base}/api/about`, { headers: { ...headers, origin: "https://evil.example" } });
  assert.equal(wrongHost.status, 403);
}

if (parts.includes("mcp")) {
  const about = { name: "agent", version: "1.0.0" };
  const endpoint = new URL(`${url}/mcp`);
  await overMcp(
    new Client(about, { versionNegotiation: { mode: "auto" } }),
    new StreamableHTTPClientTransport(endpoint),
  );
  await overMcp(new Client1(about), new Transport1(endpoint));
}
if (parts.includes("api")) await overApi();
if (parts.includes("page")) await page();

/** The inspector in a host's own server: on plain Node, and mounted in Hono behind a login of the host's own. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";

const note = {
  "metadata.json": JSON.stringify({
    workflow_type: "write_note",
    name: "Write a note",
    description: "One note, in one phase",
    version: "1.0.0",
    phases: [{ phase_number: 1, phase_name: "Write" }],
  }),
  "phases/1/phase.md": "# Write\n\nWrite the note.\n",
  "phases/1/gate-definition.yaml": `evidence_schema:
  text: {type: string, required: true, description: "the note"}
approval: {prompt: "May this be sent?"}
`,
};
const storage = new MemoryStorage();
const content = new MemoryContent({ sources: { write_note: note } });
const posted: string[] = [];
const postToChat = (text: string) => posted.push(text);

// #region link
const engine = createEngine({
  storage,
  content,
  inspectorUrl: "https://tools.example.com/inspector", // where people see the page
});
engine.on("approvalRequested", ({ prompt, link }) => postToChat(`${prompt} ${link}`));
engine.on("waiverRequested", ({ reason, link }) => postToChat(`${reason} ${link}`));
// #endregion link

const { sessionId } = await engine.start({ workflowType: "write_note", target: "notes/a.md" });
await engine.session(sessionId).completePhase(1, { text: "Lunch is at noon." });
const link = `https://tools.example.com/inspector/sessions/${sessionId}?answer=`;
assert.ok(posted[0]?.startsWith(`May this be sent? ${link}`)); // …and what names the request

// #region node
import { createServer } from "node:http";
import { toNodeHandler } from "phasegate/http";
import { createInspector } from "phasegate/inspector";

const token = randomBytes(32).toString("base64url");
const inspector = createInspector({ engine, access: { token } });

const server = createServer(toNodeHandler(inspector));
server.listen(0, "127.0.0.1"); // 0: any port that is free
await once(server, "listening");
const address = server.address();
const origin = typeof address === "object" ? `http://127.0.0.1:${address?.port}` : "";
console.log(`${origin}/#token=${token}`); // for people: who opens it sees everything
// #endregion node

const login = await fetch(`${origin}/api/login`, {
  method: "POST",
  headers: { "content-type": "application/json", "x-phasegate": "1" },
  body: JSON.stringify({ token }),
});
const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
// Each request needs both: the cookie, and the key that only this answer has.
const { key } = await login.json();
const { items } = await (await fetch(`${origin}/api/sessions`, { headers: { cookie, "x-phasegate": key } })).json();
assert.equal(items[0].sessionId, sessionId);
assert.equal((await fetch(`${origin}/api/sessions`)).status, 401);
inspector.close();
server.close();

// #region hono
import { Hono } from "hono";

const app = new Hono();
const mounted = createInspector({
  engine,
  basePath: "/inspector",
  hosts: ["tools.example.com"],
  // Your own login: `true`, `false`, or a Response that leads to it.
  access: { authorize: (request) => request.headers.get("cookie")?.includes("staff=yes") === true },
});
app.all("/inspector/*", (context) => mounted.fetch(context.req.raw));
// #endregion hono

const headers = { host: "tools.example.com" };
const asked = await app.request("https://tools.example.com/inspector/api/about", { headers });
assert.equal(asked.status, 401);
const staff = { headers: { ...headers, cookie: "staff=yes" } };
assert.equal((await app.request("https://tools.example.com/inspector/api/about", staff)).status, 200);
mounted.close();

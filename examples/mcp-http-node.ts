/** MCP over HTTP on plain Node: several agents on one server, each with their own sessions. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

const release = defineWorkflow({
  ...{ type: "release", revision: "1", name: "Release", description: "Write it down, then publish" },
  phases: [
    { number: 1, name: "Notes", content: "# Write the release notes" },
    { number: 2, name: "Publish", content: "# Publish it" },
  ],
});
const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [release] }) });

// #region node
import { createServer } from "node:http";
import { toNodeHandler } from "phasegate/http";
import { createHostCheck, createToken, createTokenLogin, tokensText } from "phasegate/login";
import { registerWorkflowTool } from "phasegate/mcp";
import { createMcpHttpHandler } from "phasegate/mcp-http";

// The tokens are in a file that `phasegate tokens add` writes; here they are made on the spot.
const [ann, bob] = ["ann", "bob"].map((name) => createToken({ name, roles: ["agent"] }, Date.now()));
const tokens = tokensText([ann, bob].flatMap((made) => (made === undefined ? [] : [made.entry])));

const mcp = createMcpHttpHandler({
  login: createTokenLogin({ read: () => tokens }),
  // Called for each client, or for each request; what it returns is disposed of.
  register: (server, { actor }) => registerWorkflowTool(server, engine.as(actor)),
  onError: (error) => console.error(error),
});
const checkHost = createHostCheck(); // requests to this machine's own names alone

const server = createServer(toNodeHandler((request) => checkHost(request) ?? mcp.fetch(request)));
server.requestTimeout = 60_000; // for a whole request: a slow body is given up
server.listen(0, "127.0.0.1");
// #endregion node

await once(server, "listening");
const address = server.address();
assert.ok(typeof address === "object" && address !== null);
const url = new URL(`http://127.0.0.1:${address.port}/mcp`);

/** Connects an agent. */
async function connect(token: string): Promise<Client> {
  const client = new Client({ name: "agent", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}

/** Calls the workflow tool. */
async function call(client: Client, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { content } = await client.callTool({ name: "pos_workflow", arguments: input });
  const text = content[0]?.type === "text" ? content[0].text : "";
  // The text of an error begins with a word.
  return JSON.parse(text.slice(text.indexOf("{")));
}

const [one, other] = await Promise.all([connect(ann?.token ?? ""), connect(bob?.token ?? "")]);
const started = await call(one, { action: "start", workflow_type: "release", target_file: "CHANGELOG.md" });
const theirs = await call(other, { action: "get_state", session_id: started.session_id });
console.log(started.status, theirs.code); // success SESSION_NOT_FOUND
assert.deepEqual([started.status, theirs.code], ["success", "SESSION_NOT_FOUND"]);
assert.equal((await fetch(url, { method: "POST" })).status, 401);

// #region end
await mcp.close(10_000); // calls under way get ten seconds, then they are cancelled
server.close();
// #endregion end
await Promise.all([one.close(), other.close()]);
server.closeAllConnections();

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { registerWorkspaceTools } from "phasegate/mcp";
import type { Workspace } from "phasegate/workspace";
import { expect, it, onTestFinished } from "vitest";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { type Answer, answerOf } from "./connect-in-memory.js";
import { createHostServer } from "./host-servers.js";

/** Connects a client to a workspace, as each connection of a host does. */
async function connect(workspace: Workspace) {
  const server = await createHostServer();
  registerWorkspaceTools(server, workspace);
  const client = new Client({ name: "agent", version: "1.0.0" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  onTestFinished(() => client.close());
  // From now on the client checks each answer against the schema that its tool publishes.
  await client.listTools();
  const ask = async (name: string, input: Answer = {}) => answerOf(await client.callTool({ name, arguments: input }));
  return { client, ask };
}

it("lists the tools with short descriptions and their parameters", async () => {
  const { workspace } = await makeWorkspace();
  const { client } = await connect(workspace);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(workspace.tools.map(({ name }) => name));
  const read = tools.find(({ name }) => name === "read_file");
  expect(read).toMatchObject({ inputSchema: { required: ["path"] }, annotations: { readOnlyHint: true } });
  const save = tools.find(({ name }) => name === "save_output");
  expect(save).toMatchObject({
    inputSchema: { required: ["path", "content"] },
    annotations: { readOnlyHint: false, destructiveHint: true },
  });
  // Only tools that can lose something are called destructive.
  const create = tools.find(({ name }) => name === "create_session");
  expect(create).toMatchObject({ annotations: { readOnlyHint: false, destructiveHint: false } });
  // The listing is in every context all the time, so it must be short: for the model, and for the client.
  const seen = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(JSON.stringify(seen).length / 4).toBeLessThan(900);
  expect(JSON.stringify(tools).length / 4).toBeLessThan(1300);
});

it("runs a workflow, from its first file to its output", async () => {
  const { workspace, output } = await makeWorkspace();
  const { ask } = await connect(workspace);
  expect(await ask("read_file", { path: "{bundle-root}/workflows/intake/workflow.yaml" })).toMatchObject({
    content: "name: intake\n",
  });
  const { session_id } = await ask("create_session", { workflow: "intake" });
  const path = `${session_id}/report.md`;
  expect(await ask("save_output", { path, content: "# Report\n" })).toMatchObject({ success: true, size: 9 });
  expect(await ask("complete_session")).toMatchObject({ status: "completed", outputs: 1 });
  expect(await readFile(join(output, path), "utf8")).toBe("# Report\n");
});

it("answers a wrong call with an error and a remedy, and continues", async () => {
  const { workspace } = await makeWorkspace();
  const { client, ask } = await connect(workspace);
  const refused = await client.callTool({ name: "read_file", arguments: { path: "../../etc/passwd" } });
  expect(refused.isError).toBe(true);
  expect(Object.keys(answerOf(refused))).toEqual(["success", "error", "code", "remedy"]);
  expect(await ask("save_output", { path: "report.md", content: 3 })).toMatchObject({
    error: expect.stringContaining("content"),
    code: "INVALID_INPUT",
    remedy: "It takes path, content.",
  });
  expect(await ask("list_files")).toMatchObject({ entries: ["workflows/"] });
});

it("lets each client write only to its own sessions, concurrently", async () => {
  const { workspace, output } = await makeWorkspace();
  const clients = await Promise.all([1, 2, 3, 4].map(() => connect(workspace)));
  const ids = await Promise.all(
    clients.map(async ({ ask }, index) => {
      const { session_id } = await ask("create_session");
      for (const name of ["a.md", "b.md"]) {
        expect(await ask("save_output", { path: `${session_id}/${name}`, content: `of ${index}` })).toMatchObject({
          success: true,
        });
      }
      return String(session_id);
    }),
  );
  expect(new Set(ids).size).toBe(4);
  for (const [index, id] of ids.entries()) {
    expect(await readFile(join(output, id, "b.md"), "utf8")).toBe(`of ${index}`);
    const other = clients[(index + 1) % 4];
    expect(await other?.ask("save_output", { path: `${id}/a.md`, content: "x" })).toMatchObject({ success: false });
  }
});

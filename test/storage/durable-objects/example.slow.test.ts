/** The Worker of examples/durable-objects.ts in workerd, without Node's modules, and an MCP client over HTTP. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { bundled, type RunningWorker, startWorker } from "./workerd.js";

const TOKEN = "for-the-tests-alone";

let script: string;
beforeAll(async () => {
  script = await bundled("../../../examples/durable-objects.ts");
});

async function serve(folder: string): Promise<RunningWorker> {
  const worker = await startWorker(script, { className: "Project", folder, bindings: { TOKEN } });
  onTestFinished(worker.stop);
  return worker;
}

/** Connects to a project's server, and returns the client and a function that calls its tool. */
async function connect(worker: RunningWorker, project: string) {
  const client = new Client({ name: "agent", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const endpoint = new URL(`/${project}/mcp`, worker.url);
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(endpoint, { requestInit }));
  const call = async (given: Record<string, unknown>) => {
    const { content } = await client.callTool({ name: "pos_workflow", arguments: given });
    const [first] = content;
    const text = first?.type === "text" ? first.text : "";
    // A refusal has a sentence before its JSON.
    return JSON.parse(text.slice(text.indexOf("{"))) as Record<string, unknown>;
  };
  return { client, call };
}

test("an agent works on a session in an object, and goes on after a restart", async () => {
  const folder = await temporaryFolder();
  const before = await serve(folder);
  const { client, call } = await connect(before, "app");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["pos_workflow"]);
  const { session_id } = await call({ action: "start", workflow_type: "release", target_file: "package.json" });
  const submit = (on: typeof call, phase: number, evidence: object) =>
    on({ action: "complete_phase", session_id, phase, evidence });
  expect(await submit(call, 1, { passed: 0 })).toMatchObject({ code: "GATE_FAILED" });
  expect(await submit(call, 2, {})).toMatchObject({ status: "error" });
  expect(await submit(call, 1, { passed: 12 })).toMatchObject({ checkpoint_passed: true });
  await client.close();
  await before.stop();

  const after = await serve(folder);
  const again = await connect(after, "app");
  expect(await again.call({ action: "get_state", session_id, brief: true })).toMatchObject({ current_phase: 2 });
  expect(await submit(again.call, 2, {})).toMatchObject({ workflow_complete: true });
  await again.client.close();
});

test("a project does not have the sessions of another one, and a caller must log in", async () => {
  const worker = await serve(await temporaryFolder());
  const [one, other] = [await connect(worker, "one"), await connect(worker, "other")];
  const { session_id } = await one.call({ action: "start", workflow_type: "release", target_file: "package.json" });
  expect(await one.call({ action: "get_state", session_id })).toMatchObject({ status: "success" });
  expect(await other.call({ action: "get_state", session_id })).toMatchObject({ code: "SESSION_NOT_FOUND" });
  for (const { client } of [one, other]) await client.close();
  expect((await fetch(new URL("/one/mcp", worker.url), { method: "POST" })).status).toBe(401);
  expect((await fetch(new URL("/one", worker.url), { method: "POST" })).status).toBe(404);
});

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createEngine, MemoryContent } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { type Answer, answerOf } from "../../mcp/connect-in-memory.js";
import { newSchema, postgresUrl } from "../../support/postgres.ts";

let url = "";
beforeAll(async () => {
  url = await postgresUrl();
}, 60_000);

/** Starts a host in another process, and connects an MCP client to it. */
async function connectHost(schema: string) {
  const args = [join(import.meta.dirname, "host-worker.ts"), url, schema];
  const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" });
  const client = new Client({ name: "agent", version: "1.0.0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const ask = async (input: Answer) => answerOf(await client.callTool({ name: "pos_workflow", arguments: input }));
  const kill = () => {
    if (transport.pid !== null) process.kill(transport.pid, "SIGKILL");
  };
  return { ask, kill };
}

it("a workflow is completed by the remaining hosts while each host is killed in turn", {
  timeout: 60_000,
}, async () => {
  const schema = newSchema();
  const hosts = await Promise.all([1, 2, 3].map(() => connectHost(schema)));
  const [first] = hosts;
  const started = await first?.ask({ action: "start", workflow_type: "relay", target_file: "baton.txt" });
  const session_id = String(started?.session_id);
  const submit = (leg: number) => ({
    action: "complete_phase",
    session_id,
    phase: leg,
    evidence: { leg },
    idempotency_key: `leg ${leg}`,
  });
  for (const [index, host] of hosts.entries()) {
    // The host completes one leg. During the next call it is killed, and the next host gets the same call.
    const leg = 2 * index + 1;
    expect(await host.ask(submit(leg))).toMatchObject({ status: "success", checkpoint_passed: true });
    const unanswered = host.ask(submit(leg + 1)).catch(() => undefined);
    await delay(Math.random() * 10);
    host.kill();
    await unanswered;
    const next = hosts[index + 1] ?? (await connectHost(schema));
    expect(await next.ask(submit(leg + 1))).toMatchObject({ status: "success", checkpoint_passed: true });
  }
  const storage = await PostgresStorage.open({ url, schema });
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [] }) });
  expect(await engine.audit(session_id)).toMatchObject({ intact: true, versions: 7 });
  expect((await engine.getState(session_id)).head.status).toBe("completed");
  await engine.close();
});

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

/** Sessions that are worked on at the same time, so that their commits go together. */
const SESSIONS = 8;

it("workflows are completed by the remaining hosts while each host is killed in turn", {
  timeout: 60_000,
}, async () => {
  const schema = newSchema();
  const hosts = await Promise.all([1, 2, 3].map(() => connectHost(schema)));
  const [first] = hosts;
  const ids = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, index) => {
      const started = await first?.ask({ action: "start", workflow_type: "relay", target_file: `baton-${index}.txt` });
      return String(started?.session_id);
    }),
  );
  const submit = (host: (typeof hosts)[number], leg: number) =>
    ids.map((session_id) =>
      host.ask({
        action: "complete_phase",
        session_id,
        phase: leg,
        evidence: { leg },
        idempotency_key: `leg ${leg}`,
      }),
    );
  const passed = Array.from(ids, () => expect.objectContaining({ status: "success", checkpoint_passed: true }));
  for (const [index, host] of hosts.entries()) {
    // The host completes one leg of each. During the next calls it is killed, and the next host gets the same calls.
    const leg = 2 * index + 1;
    expect(await Promise.all(submit(host, leg))).toEqual(passed);
    const unanswered = Promise.allSettled(submit(host, leg + 1));
    await delay(Math.random() * 10);
    host.kill();
    await unanswered;
    const next = hosts[index + 1] ?? (await connectHost(schema));
    expect(await Promise.all(submit(next, leg + 1))).toEqual(passed);
  }
  const storage = await PostgresStorage.open({ url, schema });
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [] }) });
  for (const id of ids) {
    expect(await engine.session(id).audit()).toMatchObject({ intact: true, versions: 7 });
    expect((await engine.session(id).state()).head.status).toBe("completed");
  }
  await engine.close();
});

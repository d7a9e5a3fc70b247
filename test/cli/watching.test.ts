import { execFileSync } from "node:child_process";
import { createEngine, MemoryStorage } from "phasegate";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { openWatching } from "../../src/cli/listen.js";
import { logCalls } from "../../src/cli/log.js";
import { connectInMemory } from "../mcp/connect-in-memory.js";
import { makeEngine } from "../support/make-engine.js";

function memoryLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

describe("the log of calls", () => {
  it("has a line for each call: who, on which session, what, how long, and its request's id", async () => {
    const { log, lines } = memoryLog();
    const { engine } = makeEngine();
    const telemetry = logCalls(log, { actor: "ann" });
    const { ask } = await connectInMemory(engine, { telemetry });
    const [workflow] = await engine.listWorkflows();
    const { session_id } = await ask({ action: "start", workflow_type: workflow?.type, target_file: "src/a.ts" });
    await ask({ action: "get_phase", session_id, phase: 99 });
    expect(lines).toMatchObject([
      { msg: "call", actor: "ann", session: session_id, tool: "pos_workflow", action: "start" },
      { msg: "call", actor: "ann", session: session_id, action: "get_phase", error: "PHASE_OUT_OF_RANGE" },
    ]);
    for (const line of lines) {
      expect(line.durationMs).toBeGreaterThanOrEqual(0);
      expect(line.requestId).toEqual(expect.stringMatching(/^\d+$/));
      expect(JSON.stringify(line)).not.toContain("src/a.ts");
    }
  });

  it("has the code of a call that was rejected, and hides no rejection", async () => {
    const { log, lines } = memoryLog();
    const { measure } = logCalls(log);
    const call = { kind: "call", method: "tools/call", tool: "x" } as const;
    const failure = new Error("secret");
    await expect(measure(call, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(lines).toMatchObject([{ msg: "call", tool: "x", error: "INTERNAL" }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
    // What is no call is none of its concern.
    expect(await measure({ kind: "operation", name: "start", engine: "phased" }, async () => 1)).toBe(1);
    expect(lines).toHaveLength(1);
  });
});

describe("what watches a server", () => {
  it("answers for its storage, and counts and logs its calls", async () => {
    const { log, lines } = memoryLog();
    const storage = new MemoryStorage();
    const watching = await openWatching(storage, log);
    onTestFinished(() => watching.close());
    const { content } = makeEngine();
    const engine = createEngine({ storage, content, telemetry: watching.telemetry });
    const { ask } = await connectInMemory(engine, { telemetry: watching.calls("ann") });
    await ask({ action: "list_workflows" });
    const text = await (await watching.health.handle(new Request("http://host.test/metrics")))?.text();
    expect(text).toMatch(/^mcp_server_operation_duration_seconds_count\{.*phasegate_action="list_workflows".*\} 1$/m);
    expect(text).toMatch(/^phasegate_operation_duration_seconds_count\{.*phasegate_operation="listWorkflows".*\} 1$/m);
    expect(text).toMatch(/^phasegate_sessions_active\{.*\} 0$/m);
    expect(lines).toMatchObject([{ msg: "call", actor: "ann", action: "list_workflows" }]);
  });

  it("does without OpenTelemetry where it is not installed, and says so", () => {
    const code = `
      import { registerHooks } from "node:module";
      const resolve = (name, context, next) => {
        if (name.startsWith("@opentelemetry/")) throw new Error("Cannot find package " + name);
        return next(name, context);
      };
      registerHooks({ resolve });
      const { pino } = await import("pino");
      const { openWatching } = await import("./src/cli/listen.ts");
      const watching = await openWatching(undefined, pino({ base: null }, { write: (line) => process.stdout.write(line) }));
      const metrics = await watching.health.handle(new Request("http://host.test/metrics"));
      const alive = await watching.health.handle(new Request("http://host.test/healthz"));
      const call = { kind: "call", method: "tools/call", tool: "x" };
      await watching.calls("ann").measure(call, async () => 1);
      console.log(JSON.stringify([metrics === undefined, alive.status, watching.telemetry === undefined]));
      await watching.close();`;
    const args = ["--import", "./scripts/run-sources.mjs", "--input-type=module", "--eval", code];
    const said = execFileSync(process.execPath, args, { encoding: "utf8" }).trim().split("\n");
    const [warned, called, result] = said.map((line): Record<string, unknown> => JSON.parse(line));
    expect(warned).toMatchObject({ msg: "no metrics", err: { message: expect.stringContaining("not installed") } });
    expect(called).toMatchObject({ msg: "call", actor: "ann" });
    expect(result).toEqual([true, 200, true]);
  });
});

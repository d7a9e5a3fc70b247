import { registerRoutedTools } from "phasegate/mcp";
import { describe, expect, it, vi } from "vitest";
import type { RoutedEngine } from "../../src/routed/engine.js";
import type { RoutedEngineOptions } from "../../src/routed/options.js";
import { type Move, routed, Script } from "../routed/engine/garden.js";
import { endless } from "../support/endless.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { connectRouted } from "./connect-routed.js";
import { connectTo, GENERATIONS, type Generation, serveMcp, until } from "./http-server.js";

const gate = {
  ...DEPTH_GATE,
  verify: [
    { verifier: "quick", params: {} },
    { verifier: "slow", params: {} },
  ],
};
const dug = { status: "success", details: { depth: 20 } };

const quick = { verify: async () => ({ ok: true, message: "fine" }) };

/** Starts an instance whose first step has two checks. */
async function gated(moves: readonly Move[], slow: NonNullable<RoutedEngineOptions["verifiers"]>[string]) {
  const made = routed(new Script(...moves), { workflows: gardenWith(gate), verifiers: { quick, slow } });
  const { sessionId: instance_id } = await made.engine.start({ workflow: "GARDEN" });
  return { ...made, instance_id, report: { instance_id, report: dug } };
}

/** Serves an engine over HTTP, and connects an official client. */
async function connect(engine: RoutedEngine, generation: Generation) {
  const { url, errors } = await serveMcp({ register: (server) => void registerRoutedTools(server, engine) });
  const { client } = await connectTo(url, generation);
  return { client, errors };
}

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

function expectGrowing(seen: readonly Progress[]): void {
  const steps = seen.map(({ progress }) => progress);
  expect([...new Set(steps)].sort((one, other) => one - other)).toEqual(steps);
}

describe.each(GENERATIONS)("a client of protocol %s that reports on a step", (generation) => {
  it("sees the progress of its gate's checks, and that the decider is asked", async () => {
    const { engine, report } = await gated(["Sow"], quick);
    const { client } = await connect(engine, generation);
    const seen: Progress[] = [];
    const onprogress = (progress: Progress) => void seen.push(progress);
    await client.callTool({ name: "advance_workflow", arguments: report }, { onprogress });
    expectGrowing(seen);
    expect(seen.map(({ message = "" }) => message.replace(/\d+\.\d s/, "0 s")).slice(-2)).toEqual([
      expect.stringMatching(/passed after 0 s: 2 of 2 checks have ended/),
      "the decider is asked for the next step",
    ]);
    expect(seen).toHaveLength(5);
  });

  it("ends the verifiers when it cancels the call; the log has nothing of it", async () => {
    const { seen, run } = endless();
    const { engine, instance_id, report } = await gated([], { verify: (_, { signal }) => run(signal) });
    const { client } = await connect(engine, generation);
    const cancel = new AbortController();
    const call = client.callTool({ name: "advance_workflow", arguments: report }, { signal: cancel.signal });
    const cancelled = call.catch((error: unknown) => error);
    await until(() => seen.begun === 1);
    cancel.abort();
    expect(await cancelled).toBeInstanceOf(Error);
    await until(() => seen.stopped === 1);
    expect(await engine.session(instance_id).audit()).toMatchObject({ intact: true, versions: 1 });
  });

  it("stops the decider when it cancels the call; the same call continues", async () => {
    const { seen, run } = endless();
    const { engine } = routed(new Script((_, signal) => run(signal), "Sow"));
    const { sessionId: instance_id } = await engine.start({ workflow: "GARDEN" });
    const { client } = await connect(engine, generation);
    const cancel = new AbortController();
    const made = { name: "advance_workflow", arguments: { instance_id, report: dug, idempotency_key: "once" } };
    const cancelled = client.callTool(made, { signal: cancel.signal }).catch((error: unknown) => error);
    await until(() => seen.begun === 1);
    cancel.abort();
    expect(await cancelled).toBeInstanceOf(Error);
    await until(() => seen.stopped === 1);
    expect(await engine.session(instance_id).state()).toMatchObject({
      status: "active",
      pending: { operation: "advance" },
    });
    const { structuredContent } = await client.callTool(made);
    expect(structuredContent).toMatchObject({ next_step: { step_name: "Sow" } });
  });
});

describe("a client that waits", () => {
  it.each(["start_workflow", "resume_workflow", "retry_workflow"])("stops the decider of %s", async (name) => {
    const { seen, run } = endless();
    const moves: Move[] = name === "retry_workflow" ? [new Error("down")] : [];
    const firstStep = name === "start_workflow" ? "decider" : "first";
    const { engine } = routed(new Script(...moves, (_, signal) => run(signal)), { firstStep });
    const { client, ask, start } = await connectRouted(engine);
    const instance_id = name === "start_workflow" ? "" : await start();
    if (name === "retry_workflow") await ask("advance_workflow", { instance_id, report: dug });
    const inputs: Record<string, Record<string, unknown>> = {
      start_workflow: { workflow_name: "GARDEN" },
      resume_workflow: { instance_id, assumed_current_step_name: "Dig", report: dug },
      retry_workflow: { instance_id },
    };
    const cancel = new AbortController();
    const messages: unknown[] = [];
    const options = { signal: cancel.signal, onprogress: ({ message }: Progress) => messages.push(message) };
    const call = client.callTool({ name, arguments: inputs[name] ?? {} }, options).catch(() => "cancelled");
    await until(() => seen.begun === 1);
    cancel.abort();
    expect(await call).toBe("cancelled");
    await until(() => seen.stopped === 1);
    expect(messages).toEqual(["the decider is asked for the next step"]);
  });

  it("is told every ten seconds that the decider has not answered", async () => {
    let answer = (_: string) => {};
    const answered = new Promise<string>((resolve) => (answer = resolve));
    const { engine } = routed(new Script(() => answered));
    const { client, start } = await connectRouted(engine);
    const instance_id = await start();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const seen: Progress[] = [];
      const arrived = async (count: number) => {
        while (seen.length < count) await new Promise((resolve) => setImmediate(resolve));
      };
      const onprogress = (progress: Progress) => void seen.push(progress);
      const call = client.callTool(
        { name: "advance_workflow", arguments: { instance_id, report: dug } },
        { onprogress },
      );
      await arrived(1);
      await vi.advanceTimersByTimeAsync(20_000);
      await arrived(3);
      answer("Sow");
      await call;
      expect(vi.getTimerCount()).toBe(0);
      expectGrowing(seen);
      expect(seen.at(-1)?.message).toMatch(/^the decider has not answered after \d+\.\d s$/);
    } finally {
      vi.useRealTimers();
    }
  });

  it("sees that progress grows when checks run again after a conflict", async () => {
    let rounds = 0;
    const slow = {
      verify: async () => {
        rounds += 1;
        if (rounds === 1) await engine.session(instance_id).assign({ name: "ann" }, { by: "bob" });
        return { ok: true, message: "fine" };
      },
    };
    const { engine, instance_id, report } = await gated(["Sow"], slow);
    const { client } = await connectRouted(engine);
    const seen: Progress[] = [];
    const onprogress = (progress: Progress) => void seen.push(progress);
    await client.callTool({ name: "advance_workflow", arguments: report }, { onprogress });
    expect(rounds).toBe(2);
    expect(seen).toHaveLength(9);
    expectGrowing(seen);
  });
});

import {
  createEngine,
  createWorkflowTool,
  defineWorkflow,
  type JsonValue,
  MemoryContent,
  MemoryStorage,
  type PhaseInput,
} from "phasegate";
import { copySessions } from "phasegate/storage";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { failure } from "../support/failure.js";
import { makeProject } from "../support/verified.js";

type Part = string | (Partial<PhaseInput> & { readonly name: string });
const evidence = z.object({ note: z.string() });

/** Returns a workflow with phases of these names, numbered from 1. */
function flow(revision: string, ...parts: readonly Part[]) {
  return defineWorkflow({
    ...{ type: "flow", revision, name: "Flow", description: "Changes", target: "none" },
    phases: parts.map((part, index) => {
      const more = typeof part === "string" ? { name: part } : part;
      return { number: index + 1, content: `# ${more.name}`, gate: { evidence }, ...more };
    }),
  });
}

/** Starts a session on a first definition, and returns hosts that have it and others. */
async function started(first: ReturnType<typeof flow>, verifiers: Readonly<Record<string, Verifier>> = {}) {
  const storage = new MemoryStorage();
  const on = (...workflows: readonly ReturnType<typeof flow>[]) =>
    createEngine({ storage, verifiers, content: new MemoryContent({ workflows: [first, ...workflows] }) });
  const { sessionId } = await on().start({ workflowType: "flow" });
  const pass = async (engine: ReturnType<typeof on>, phase: number) =>
    engine.session(sessionId).completePhase(phase, { note: `of ${phase}` });
  return { storage, on, sessionId, pass };
}

const before = flow("1", "Model", "Draft", "Write", "Ship");

describe("session.migration", () => {
  it("says what a migration would do, and changes nothing", async () => {
    const { on, sessionId, pass } = await started(before);
    const old = on();
    for (const phase of [1, 2]) await pass(old, phase);
    const engine = on(
      flow("2", "Survey", { name: "Draft", tasks: [{ number: 1, name: "Plan", content: "# Plan" }] }, "Write", "Ship"),
    );
    const session = engine.session(sessionId);
    expect(await session.migration()).toEqual({
      ...{ from: "1", to: "2", returnsTo: 1, needsAccept: ["Model"], again: ["Draft"] },
      phases: [
        { name: "Survey", will: 1, is: "new" },
        { name: "Draft", was: 2, will: 2, is: "changed", what: ["tasks"] },
        { name: "Write", was: 3, will: 3, is: "same" },
        { name: "Model", was: 1, is: "gone" },
      ],
    });
    expect(await session.migration({ accept: { Survey: "known", Model: "replaced" } })).toMatchObject({
      needsAccept: ["Draft"],
      phases: [{}, {}, {}, {}],
    });
    expect(await failure(session.migration({ accept: { Ship: "x" } }))).toMatchObject({ code: "INVALID_INPUT" });
    expect((await session.state()).head).toMatchObject({ revision: "1", phase: 3 });
    expect(await old.session(sessionId).migration()).toMatchObject({ from: "1", to: "1", needsAccept: [] });
  });

  it("is refused as the migration is: for a completed session, and for whoever is no operator", async () => {
    const { on, sessionId, pass } = await started(flow("1", "Only"));
    const engine = on(flow("2", "Only", "More"));
    const agent = createEngine({
      storage: new MemoryStorage(),
      content: new MemoryContent({ workflows: [flow("1", "Only")] }),
    }).as({ name: "agent" });
    const own = (await agent.start({ workflowType: "flow" })).sessionId;
    for (const asked of [agent.session(own).migration(), agent.session(own).migrate({ by: "agent" })])
      expect((await failure(asked)).code).toBe("NOT_ALLOWED");
    await pass(engine, 1);
    for (const asked of [engine.session(sessionId).migration(), engine.session(sessionId).migrate({ by: "ann" })])
      expect((await failure(asked)).code).toBe("INVALID_TRANSITION");
  });
});

describe("session.migrate", () => {
  it("moves phases with their artifacts, and records what was accepted where people look", async () => {
    const { on, storage, sessionId, pass } = await started(before);
    for (const phase of [1, 2]) await pass(on(), phase);
    const engine = on(flow("2", "Survey", "Draft", "Write", "Ship"));
    const heard: unknown[] = [];
    engine.on("migrated", ({ revision, by, accepted }) => heard.push({ revision, by, accepted }));
    const session = engine.session(sessionId);
    const refused = await failure(session.migrate({ by: "ann" }));
    expect(refused).toMatchObject({
      code: "NOT_ALLOWED",
      details: { operation: "migrate", phases: expect.arrayContaining([{ name: "Model", was: 1, is: "gone" }]) },
    });
    const accept = { Survey: "made by hand", Model: "merged into Survey" };
    const request = { by: "ann", accept, idempotencyKey: "k" };
    const state = await session.migrate(request);
    expect(state).toMatchObject({ currentPhase: 3, completedPhases: [2], skippedPhases: [1] });
    const accepted = [
      { name: "Survey", is: "new", reason: "made by hand" },
      { name: "Model", is: "gone", reason: "merged into Survey" },
    ];
    expect(heard).toEqual([{ revision: "2", by: "ann", accepted }]);
    expect(await session.fullState()).toMatchObject({
      artifacts: [{ phase: 2, artifact: { note: "of 2" } }],
      skips: [{ phase: 1, reason: "made by hand", by: "ann" }],
    });
    expect(await session.history({ evidence: true })).toMatchObject([
      { phase: 1, gone: "Model", status: "rolled_back", evidence: { note: "of 1" } },
      { phase: 2, status: "completed", evidence: { note: "of 2" } },
      { phase: 1, status: "skipped", reason: "made by hand" },
      {
        phase: 3,
        status: "active",
        notes: [{ event: "migrated", by: "ann", note: expect.stringContaining("merged into Survey") }],
      },
    ]);
    expect(await session.audit()).toMatchObject({
      intact: true,
      accepted: accepted.map((one) => ({ ...one, by: "ann", revision: "2", version: state.version })),
    });
    // A repeated call is answered again; the same key with other reasons is refused.
    expect(await session.migrate(request)).toMatchObject({ version: state.version });
    const other = { ...request, accept: { ...accept, Survey: "other" } };
    expect((await failure(session.migrate(other))).code).toBe("IDEMPOTENCY_KEY_REUSED");
    expect((await session.phase()).artifacts.get(2)).toEqual(["note"]);
    const copy = new MemoryStorage();
    expect(await copySessions(storage, copy)).toMatchObject({ sessions: 1, refused: [] });
    for (const phase of [3, 4]) await pass(engine, phase);
    expect(await session.state()).toMatchObject({ status: "completed", completedPhases: [2, 3, 4] });
    expect(await engine.statistics()).toMatchObject({ sessions: { completed: 1 } });
  });

  it("makes an agent do a phase that was put in front, and then the others again", async () => {
    const { on, sessionId, pass } = await started(before);
    for (const phase of [1, 2]) await pass(on(), phase);
    const engine = on(flow("2", "Survey", "Model", "Draft", "Write", "Ship"));
    await engine.session(sessionId).migrate({ by: "ann" });
    const tool = createWorkflowTool(engine);
    const claim = (phase: number) =>
      tool.dispatch({ action: "complete_phase", session_id: sessionId, phase, evidence: { note: "x" } });
    expect(await claim(3)).toMatchObject({ code: "PHASE_LOCKED" });
    for (const phase of [1, 2, 3, 4]) expect(await claim(phase)).toMatchObject({ status: "success" });
    expect(await claim(5)).toMatchObject({ workflow_complete: true });
    for (const action of ["migrate", "migration"])
      expect(await tool.dispatch({ action, session_id: sessionId, by: "agent" })).toMatchObject({
        code: "INVALID_INPUT",
      });
  });

  it("counts statistics by the new numbers, without phases that are gone", async () => {
    const { on, sessionId, pass } = await started(before);
    for (const phase of [1, 2]) await pass(on(), phase);
    const engine = on(flow("2", "Survey", "Draft", "Write", "Ship"));
    await engine.session(sessionId).migrate({ by: "ann", accept: { Model: "gone", Survey: "known" } });
    await engine.session(sessionId).completePhase(3, { note: 1 });
    const { workflows } = await engine.statistics();
    expect(
      workflows[0]?.phases.map(({ phase, completed, skipped, failed }) => [phase, completed, skipped, failed]),
    ).toEqual([
      [1, 0, 1, 0],
      [2, 1, 0, 0],
      [3, 0, 0, 1],
    ]);
  });
});

describe("a snapshot in a migration", () => {
  const unchanged = (name: string, since?: number) => {
    const params = { path: "t.txt", ...(since !== undefined && { since: { phase: since } }) };
    return { name, gate: { evidence, verify: [{ verifier: "unchanged_since_phase_start", params }] } };
  };

  it.each([
    ["a phase that has another number now", [unchanged("Write")], [unchanged("Write")]],
    ["a check since another phase", [unchanged("Write", 2)], [unchanged("Write", 3)]],
  ])("of %s still shows what has changed since", async (_, [was], [will]) => {
    const { verifiers, write } = await makeProject();
    await write("t.txt", "good");
    const { on, sessionId, pass } = await started(flow("1", "Model", "Draft", ...(was ? [was] : [])), verifiers);
    for (const phase of [1, 2]) await pass(on(), phase);
    await write("t.txt", "weakened");
    const engine = on(flow("2", "Survey", "Model", "Draft", ...(will ? [will] : []), "Ship"));
    await engine.session(sessionId).migrate({ by: "ann", accept: { Survey: "known" } });
    expect(await pass(engine, 4)).toMatchObject({ passed: false, problems: [{ problem: "unverified" }] });
    await write("t.txt", "good");
    const passed = await pass(engine, 4);
    expect(passed).toMatchObject({ passed: true });
    expect(JSON.stringify(passed)).not.toContain("recorded late");
  });

  it("stays when its phase is begun anew for another reason, and after a rollback to it", async () => {
    const { verifiers, write } = await makeProject();
    await write("t.txt", "good");
    const { on, sessionId, pass } = await started(flow("1", "Model", unchanged("Draft"), "Write"), verifiers);
    await pass(on(), 1);
    await write("t.txt", "weakened");
    const more = { tasks: [{ number: 1, name: "More", content: "# More" }] };
    const changed = { ...unchanged("Draft"), ...more };
    const engine = on(flow("2", "Survey", "Model", changed, "Write"));
    await engine.session(sessionId).migrate({ by: "ann", accept: { Survey: "known" } });
    expect(await pass(engine, 3)).toMatchObject({ passed: false });
    await write("t.txt", "good");
    expect(await pass(engine, 3)).toMatchObject({ passed: true });
    await write("t.txt", "weakened");
    await engine.session(sessionId).rollback(3);
    expect(await pass(engine, 3)).toMatchObject({ passed: false });
  });

  it("is taken when a new phase is entered, and kept for the phase that comes after it", async () => {
    const given: (JsonValue | undefined)[] = [];
    let state = 0;
    const seen: Verifier = {
      keepsSnapshot: true,
      snapshot: async () => ({ state, text: "x".repeat(100_000) }),
      verify: async ({ snapshot }) => {
        given.push(snapshot);
        return { ok: true, message: "seen" };
      },
    };
    const check = (name: string): Part => ({ name, gate: { evidence, verify: [{ verifier: "seen" }] } });
    const { on, storage, sessionId, pass } = await started(flow("1", check("Model"), check("Draft")), { seen });
    state = 1;
    await pass(on(), 1);
    state = 2;
    const engine = on(flow("2", check("Model"), check("Survey"), check("Draft")));
    await engine.session(sessionId).migrate({ by: "ann" });
    state = 3;
    expect(await pass(engine, 2)).toMatchObject({ passed: true });
    expect(given).toMatchObject([{ state: 0 }, { state: 2 }]);
    const last = on(flow("3", check("Survey"), check("Model"), check("New"), check("Draft")));
    await last.session(sessionId).migrate({ by: "ann", accept: { New: "x" } });
    state = 4;
    await pass(last, 4);
    expect(given.at(-1)).toMatchObject({ state: 3 });
    const copy = new MemoryStorage();
    expect(await copySessions(storage, copy)).toMatchObject({ sessions: 1, refused: [] });
    expect(await last.session(sessionId).audit()).toMatchObject({ intact: true });
  });
});

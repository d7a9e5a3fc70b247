/** Attempts of one actor on the sessions of another one. */
import { join } from "node:path";
import { type Authorize, createWorkflowTool, defineWorkflow, MemoryStorage, type StorageAdapter } from "phasegate";
import type { Commit } from "phasegate/storage";
import type { Verifier } from "phasegate/verify";
import type { WorkspaceConnection } from "phasegate/workspace";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { systemClock } from "../../src/ports/clock.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { impatientClock, makeEngine, startTwoPhases } from "../support/make-engine.js";
import { openStorage } from "../support/open-storage.js";
import { newSchema, postgresUrl } from "../support/postgres.js";
import { built } from "../support/workflows.js";
import { makeWorkspace } from "../workspace/make-workspace.js";

/** The storages, each of them new. */
const STORAGES: Record<string, () => Promise<StorageAdapter>> = {
  memory: async () => new MemoryStorage(),
  files: async () => opened(join(await temporaryFolder(), "state")),
  SQLite: async () => opened(join(await temporaryFolder(), "state.db")),
  PostgreSQL: async () => opened(`${await postgresUrl()}#${newSchema()}`),
};

async function opened(place: string): Promise<StorageAdapter> {
  const storage = await openStorage(place);
  onTestFinished(async () => storage.close?.());
  return storage;
}

const ANN = { name: "ann", team: "red" };
const BOB = { name: "bob" };

function shared({ storage, clock = impatientClock(), ...options }: Parameters<typeof makeEngine>[0] = {}) {
  const made = makeEngine({ ...options, clock, ...(storage && { storage }) });
  return { ...made, ann: made.engine.as(ANN), bob: made.engine.as(BOB) };
}

describe("a rule of the host's own", () => {
  it("refuses with anything but true, such as a promise", async () => {
    const { engine, ann } = shared();
    const id = await startTwoPhases(ann);
    const later = (async () => false) as unknown as Authorize;
    const reported: unknown[] = [];
    engine.on("internalError", ({ error }) => reported.push(error));
    const mallory = engine.as({ name: "mallory" }, later);
    expect((await failure(mallory.session(id).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await mallory.listSessions()).items).toEqual([]);
    expect((await failure(mallory.session(id).pause())).code).toBe("SESSION_NOT_FOUND");
    expect(reported.length).toBeGreaterThan(0);
  });

  it("refuses where it throws, and the host learns why", async () => {
    const { engine, ann, bob } = shared();
    const [red, plain] = [await startTwoPhases(ann), await startTwoPhases(bob, "src/b.ts")];
    const reported: unknown[] = [];
    engine.on("internalError", ({ error }) => reported.push(error));
    // It forgets that a session may have no team.
    const careless: Authorize = ({ session }) =>
      session === undefined ? false : session.team?.at(0) === "r" || boom();
    const boom = () => {
      throw new TypeError("no team");
    };
    const team = engine.as({ name: "rudi" }, careless);
    expect((await failure(team.session(plain).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await team.listSessions()).items.map(({ sessionId }) => sessionId)).toEqual([red]);
    expect(reported[0]).toMatchObject({ message: "no team" });
  });
});

/** A storage whose watch gives commits that were changed on the way. */
function changing(storage: StorageAdapter, change: (commit: Commit) => Commit): StorageAdapter {
  const watch = storage.watch?.bind(storage);
  async function* changed(...given: Parameters<NonNullable<typeof watch>>) {
    for await (const commit of watch?.(...given) ?? []) yield change(commit);
  }
  return Object.assign(storage, { watch: changed });
}

describe("somebody else's session", () => {
  it("does not end a watch when it is damaged, and is not named by it", async () => {
    const storage = changing(makeEngine().storage, (commit) =>
      commit.summary.owner === "ann" ? { ...commit, body: `${commit.body} ` } : commit,
    );
    const { ann, bob } = shared({ storage });
    const seen = bob.watch()[Symbol.asyncIterator]();
    const first = seen.next();
    await startTwoPhases(ann);
    const own = await startTwoPhases(bob, "src/b.ts");
    expect((await first).value?.sessionId).toBe(own);
    await seen.return?.();
  });
});

describe("guessing ids", () => {
  it("keeps nobody else from calling: a wrong id waits without a place among the calls at once", async () => {
    const { ann, bob } = shared({ limits: { maxConcurrent: 4 }, clock: systemClock });
    const id = await startTwoPhases(ann);
    const guesses = Array.from({ length: 4 }, (_, n) => failure(bob.session(`${id.slice(0, -1)}${n}`).state()));
    await new Promise((resolve) => setTimeout(resolve, 25));
    expect(await ann.session(id).state()).toMatchObject({ sessionId: id });
    for (const guess of guesses) expect((await guess).code).toBe("SESSION_NOT_FOUND");
  });
});

/** The tool's actions with every parameter, as another actor calls them. */
const CALLS: readonly Record<string, unknown>[] = [
  { action: "get_phase" },
  { action: "get_phase", phase: 1 },
  { action: "get_task", phase: 1, task_number: 1 },
  { action: "get_document", path: "guide.md" },
  { action: "get_document", path: "guide.md", cursor: "5" },
  { action: "get_state" },
  { action: "get_state", brief: true },
  { action: "get_session" },
  { action: "get_errors" },
  { action: "get_history" },
  { action: "get_history", cursor: "1" },
  { action: "complete_task", phase: 1, task_number: 1, note: "done" },
  { action: "complete_phase", phase: 1, evidence: built },
  { action: "complete_phase", phase: 1, evidence: built, idempotency_key: "key" },
  { action: "complete_phase", phase: 2, evidence: {} },
  { action: "request_waiver", phase: 1, fields: ["summary"], reason: "it can not be" },
  { action: "pause" },
  { action: "pause", idempotency_key: "key" },
  { action: "resume" },
  { action: "retry_phase", phase: 1 },
  { action: "rollback", target_phase: 1 },
  { action: "sync_plan" },
  { action: "sync_plan", preview: true },
  { action: "delete_session", reason: "mine now" },
];

/** An id that no session has; as long as those that the server makes. */
const UNUSED = "2026-11-22-010656-00000000";

/** Creates a session, and returns its id. */
async function idOfNewSession(connection: WorkspaceConnection): Promise<string> {
  const opened = await connection.createSession({ workflow: "intake" });
  if (!opened.success) throw new Error(opened.error);
  return opened.session_id;
}

/** The workspace's tools, with every way to name a session, as another actor calls them. */
const WORKSPACE_CALLS: readonly (readonly [tool: string, input: Record<string, unknown>])[] = [
  ["create_session", { session_id: "ID", reopen: true }],
  ["create_session", { session_id: " ID ", reopen: true, workflow: "intake" }],
  ["complete_session", { session_id: "ID" }],
  ["complete_session", { session_id: "ID", status: "failed", summary: "mine now" }],
  ["save_output", { path: "ID/report.md", content: "of bob" }],
  ["save_output", { path: "{output-root}/ID/manifest.json", content: "{}" }],
  ["save_output", { path: "/data/agent-outputs/ID/report.md", content: "of bob" }],
  ["save_output", { path: "ID", content: "of bob" }],
  ["read_file", { path: "ID/report.md" }],
  ["read_file", { path: "ID/manifest.json", offset: 10 }],
  ["read_file", { path: "{output-root}/ID/report.md" }],
  ["read_file", { path: "/data/agent-outputs/ID/report.md" }],
  ["read_file", { path: "{output-root}/ID" }],
  ["read_file", { path: "ID/nothing.md" }],
  ["list_files", { path: "ID" }],
  ["list_files", { path: "{output-root}/./ID", after: "a" }],
  ["preload_workflow", { workflow: "{output-root}/ID" }],
  ["preload_workflow", { workflow: "ID/report.md", reload: true }],
  ["next_step", { workflow: "{output-root}/ID" }],
];

describe.each(Object.entries(STORAGES))("on %s", (_, openNew) => {
  it("every action of the tool answers as if there were no such session, however it is asked", async () => {
    const { engine, ann, bob } = shared({ storage: await openNew() });
    const id = await startTwoPhases(ann);
    await ann.session(id).pause({ idempotencyKey: "key" });
    const gone = await startTwoPhases(ann, "src/gone.ts");
    await ann.session(gone).delete();
    const before = await engine.session(id).commits();
    const tool = createWorkflowTool(bob, { actions: [...createWorkflowTool(bob).actions, "delete_session"] });
    const missing = `${id.slice(0, -8)}00000000`;
    const answers = async (session_id: string, call: object) => {
      const answer = await tool.dispatch({ ...call, session_id });
      return JSON.stringify(answer).replaceAll(session_id, "ID");
    };
    const tried = new Set(CALLS.map(({ action }) => action));
    const others = ["start", "list_workflows", "list_sessions", "get_metrics"];
    expect(tool.actions.filter((action) => !tried.has(action)).sort()).toEqual(others.sort());
    for (const call of CALLS) {
      const absent = await answers(missing, call);
      expect(absent, JSON.stringify(call)).toMatch(/SESSION_NOT_FOUND|INVALID_INPUT/);
      expect(await answers(id, call), JSON.stringify(call)).toBe(absent);
      expect(await answers(gone, call), JSON.stringify(call)).toBe(absent);
    }
    expect(await engine.session(id).commits()).toEqual(before);
    expect(await tool.dispatch({ action: "list_sessions" })).toMatchObject({ sessions: [] });
    expect(await bob.approvals()).toEqual([]);
    expect(await bob.waivers()).toEqual([]);
  });

  it("a cursor made of somebody else's session shows nothing, and is taken like any other", async () => {
    const { engine, ann, bob } = shared({ storage: await openNew() });
    for (let nth = 0; nth < 4; nth += 1) {
      await startTwoPhases(ann, `src/${nth}.ts`);
      await startTwoPhases(bob, `src/${nth}.ts`);
    }
    const { cursor } = await ann.listSessions({ limit: 2 });
    const of = (page: Awaited<ReturnType<typeof bob.listSessions>>) => page.items.map(({ owner }) => owner);
    const page = await bob.listSessions({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    expect(of(page)).toEqual(of(page).map(() => "bob"));
    expect(page.total).toBe(4);
    const own = await bob.listSessions({ limit: 2 });
    const { items } = await engine.listSessions({ owner: "ann" });
    for (const { sessionId } of items) expect(atob(own.cursor ?? "")).not.toContain(sessionId);
  });

  it("every tool of a workspace answers as if there were no such session, however its id is written", async () => {
    const storage = await openNew();
    const { workspace } = await makeWorkspace({ storage, clock: impatientClock() });
    const ann = workspace.as(ANN).connect();
    const owned = await idOfNewSession(ann);
    await ann.saveOutput({ path: `${owned}/report.md`, content: "of ann" });
    const before = await workspace.session(owned).history();
    const refused: string[] = [];
    workspace.on("refused", ({ operation, code, message }) => refused.push(`${operation} ${code} ${message}`));
    workspace.on("security", ({ operation, code, message }) =>
      refused.push(`security ${operation} ${code} ${message}`),
    );
    const answers = async (id: string, [tool, input]: (typeof WORKSPACE_CALLS)[number]) => {
      const bob = workspace.as(BOB).connect();
      refused.length = 0;
      const answer = await bob.call(tool, JSON.parse(JSON.stringify(input).replaceAll("ID", id)));
      return JSON.stringify([answer, refused]).replaceAll(new RegExp(id, "gi"), "ID");
    };
    const tried = new Set(WORKSPACE_CALLS.map(([tool]) => tool));
    expect(ann.tools.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
    for (const call of WORKSPACE_CALLS) {
      for (const write of [(id: string) => id, (id: string) => id.toUpperCase()]) {
        const absent = await answers(write(UNUSED), call);
        expect(absent, JSON.stringify(call)).toContain('"success":false');
        expect(await answers(write(owned), call), JSON.stringify(call)).toBe(absent);
      }
    }
    expect(await workspace.session(owned).history()).toEqual(before);
  });

  it("a new session of a workspace never has the id that an actor asks for, so that nobody learns which are taken", async () => {
    const { workspace } = await makeWorkspace({ storage: await openNew(), clock: impatientClock() });
    const taken = await idOfNewSession(workspace.as(ANN).connect());
    const answers = async (session_id: string) => {
      const answer = await workspace.as(BOB).connect().createSession({ session_id });
      if (!answer.success) throw new Error(answer.error);
      expect(answer.session_id).not.toBe(session_id);
      return JSON.stringify(answer).replaceAll(session_id, "ASKED").replaceAll(answer.session_id, "GIVEN");
    };
    const absent = await answers(UNUSED);
    expect(absent).toContain("The server makes the ids of new sessions here");
    expect(await answers(taken)).toBe(absent);
  });

  it("the time of a workspace's answer does not tell whether there is a session", async () => {
    const { workspace } = await makeWorkspace({ storage: await openNew() });
    const owned = await idOfNewSession(workspace.as(ANN).connect());
    const bob = workspace.as(BOB);
    for (const id of [owned, UNUSED]) {
      for (const call of [
        () => bob.connect().createSession({ session_id: id, reopen: true }),
        () => bob.connect().readFile({ path: `${id}/manifest.json` }),
        () => bob.connect().saveOutput({ path: `${id}/a.md`, content: "a" }),
        () => bob.connect().completeSession({ session_id: id }),
        () => failure(bob.session(id).history()),
      ]) {
        const begun = performance.now();
        await call();
        // A timer may end a little early; without the wait it would be about one millisecond.
        expect(performance.now() - begun).toBeGreaterThanOrEqual(45);
      }
    }
  });

  it("the time of an answer does not tell whether there is a session", async () => {
    const { ann, bob } = shared({ storage: await openNew(), clock: systemClock });
    const id = await startTwoPhases(ann);
    const missing = `${id.slice(0, -8)}00000000`;
    const times: Record<string, number[]> = { [id]: [], [missing]: [] };
    for (let round = 0; round < 5; round += 1) {
      for (const [asked, taken] of Object.entries(times)) {
        const begun = performance.now();
        await failure(bob.session(asked).state());
        taken.push(performance.now() - begun);
      }
    }
    const [there, absent] = Object.values(times).map((taken) => taken.sort((one, two) => one - two)[2] ?? 0);
    expect(Math.min(there ?? 0, absent ?? 0)).toBeGreaterThanOrEqual(49);
  });
});

/** A workflow whose gate waits until the test lets it go on. */
function waitingGate() {
  let reached = () => {};
  let go = () => {};
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const told = new Promise<void>((resolve) => {
    go = resolve;
  });
  const wait: Verifier = {
    async verify() {
      reached();
      await told;
      return { ok: true, message: "it waited" };
    },
  };
  return { isReached, go, verifiers: { wait } };
}

describe("a session that is handed over", () => {
  const checked = defineWorkflow({
    ...{ type: "checked", revision: "1", name: "Checked", description: "Waits at its gate" },
    phases: [
      {
        ...{ number: 1, name: "One", purpose: "Do it", content: "Do it." },
        gate: { evidence: z.object({ summary: z.string() }), verify: [{ verifier: "wait" }] },
      },
    ],
  });

  it("does not move by a call of its former owner that was under way, which learns nothing", async () => {
    const { isReached, go, verifiers } = waitingGate();
    const made = makeEngine({ verifiers }, [checked]);
    const [ann, bob] = [made.engine.as(ANN), made.engine.as(BOB)];
    const { sessionId } = await ann.start({ workflowType: "checked", target: "src/a.ts" });
    const heard: string[] = [];
    for (const name of ["gatePassed", "completed", "conflict"] as const) ann.on(name, () => heard.push(name));
    const call = failure(ann.session(sessionId).completePhase(1, { summary: "of ann" }));
    await isReached;
    await made.engine.session(sessionId).assign(BOB, { by: "host" });
    go();
    expect((await call).code).toBe("SESSION_NOT_FOUND");
    expect(heard).toEqual([]);
    expect((await bob.session(sessionId).state()).head).toMatchObject({ status: "active", phase: 1, owner: BOB });
    expect((await made.engine.session(sessionId).commits()).map(({ version }) => version)).toEqual([2, 1]);
    expect(await bob.session(sessionId).completePhase(1, { summary: "of bob" })).toMatchObject({
      passed: true,
    });
  });

  it("is not found by the keys of its former owner", async () => {
    const { engine, ann, bob } = shared();
    const request = { workflowType: "two_phases", target: "src/a.ts", idempotencyKey: "key" };
    const { sessionId } = await ann.start(request);
    await ann.session(sessionId).pause({ idempotencyKey: "pause" });
    await engine.session(sessionId).assign(BOB, { by: "host" });
    expect((await failure(ann.session(sessionId).pause({ idempotencyKey: "pause" }))).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(ann.start(request))).code).toBe("CONFLICT");
    expect(await bob.session(sessionId).state()).toMatchObject({ head: { status: "paused" } });
  });

  it("is gone with the next call where a rule changes its mind during one", async () => {
    const { isReached, go, verifiers } = waitingGate();
    const made = makeEngine({ verifiers }, [checked]);
    let isLet = true;
    const fickle = made.engine.as({ name: "rudi" }, () => isLet);
    const { sessionId } = await fickle.start({ workflowType: "checked", target: "src/a.ts" });
    const call = fickle.session(sessionId).completePhase(1, { summary: "x" });
    await isReached;
    isLet = false;
    go();
    // The call was allowed when it began.
    expect(await call).toMatchObject({ sessionId });
    expect((await failure(fickle.session(sessionId).state())).code).toBe("SESSION_NOT_FOUND");
    expect((await fickle.listSessions()).items).toEqual([]);
  });

  it("is gone for its former owner in every process at once, whatever that process remembers", async () => {
    const place = `${await postgresUrl()}#${newSchema()}`;
    const [here, there] = [shared({ storage: await opened(place) }), shared({ storage: await opened(place) })];
    const id = await startTwoPhases(here.ann);
    await here.ann.session(id).pause({ idempotencyKey: "pause" });
    await there.engine.session(id).assign(BOB, { by: "host" });
    // This process has the session of ann in its memory, with her key.
    for (const call of [
      () => here.ann.session(id).pause({ idempotencyKey: "pause" }),
      () => here.ann.session(id).resume(),
      () => here.ann.session(id).state(),
      () => here.ann.session(id).phase(),
      () => here.ann.session(id).history(),
    ]) {
      expect((await failure(call())).code).toBe("SESSION_NOT_FOUND");
    }
    expect(await here.bob.session(id).resume()).toMatchObject({ sessionId: id });
  });
});

describe("an agent's client", () => {
  it("can't approve the agent's own work, and the evidence goes on waiting", async () => {
    const gated = defineWorkflow({
      ...{ type: "gated", revision: "1", name: "Gated", description: "A person approves" },
      phases: [
        {
          ...{ number: 1, name: "One", purpose: "Do it", content: "Do it." },
          gate: { evidence: z.object({ summary: z.string() }), approval: { prompt: "Is it good?" } },
        },
      ],
    });
    const { engine } = makeEngine({ allowUnsignedApprovals: true }, [gated]);
    const tool = createWorkflowTool(engine, { actor: ANN });
    const { session_id } = await tool.dispatch({ action: "start", workflow_type: "gated", target_file: "src/a.ts" });
    const complete = { action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } };
    const askPerson = async () => ({ decision: "approve", by: "ann" }) as const;
    expect(await tool.dispatch(complete, { askPerson })).toMatchObject({ status: "success", checkpoint_passed: false });
    expect(await engine.approvals()).toHaveLength(1);
  });
});

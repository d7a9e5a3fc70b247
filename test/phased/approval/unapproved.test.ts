import { createWorkflowTool, MemoryContent, MemoryStorage } from "phasegate";
import { signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { Engine } from "../../../src/phased/engine.js";
import { Session } from "../../../src/phased/session.js";
import { ACTION_NAMES, type Action } from "../../../src/tools/phased/actions.js";
import { connectInMemory, readResource } from "../../mcp/connect-in-memory.js";
import { askingFiles, makeAsking, people } from "../../support/approvals.js";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { claims, makePlanned, tickedIn } from "../../support/planned.js";
import { methodsOf, said, valuesIn } from "../../support/said.js";

/** Two phases: only the last requires an approval, by Ann. */
const files = {
  "metadata.json": JSON.stringify({
    workflow_type: "asking",
    name: "Asking",
    description: "Asks Ann at the end",
    version: "1.0.0",
    phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
  }),
  "phases/1/phase.md": "# Phase 1\n\nBuild.\n",
  "phases/2/phase.md": "# Phase 2\n\nShip.\n",
  "phases/2/gate-definition.yaml": askingFiles["phases/1/gate-definition.yaml"] ?? "",
};
const content = new MemoryContent({ sources: { asking: files } });
const KEY = "k";

/** Creates a session whose last phase was approved with a forged key, and a host with the right key of Ann. */
async function forgedEnd() {
  const storage = new MemoryStorage();
  const host = await makeAsking({ storage, content });
  const forger = await makeAsking({ storage, content });
  const id = await host.start();
  await host.engine.session(id).completePhase(1, {});
  const commits = host.engine.watch();
  const first = commits.next();
  await host.submit(id, 2);
  await first;
  const word = await forger.signed(id);
  await forger.engine.session(id).approve({ ...word, idempotencyKey: KEY });
  expect(await forger.engine.session(id).state()).toMatchObject({ status: "completed", completedPhases: [1, 2] });
  const heard: unknown[] = [];
  host.engine.on("security", (payload) => void heard.push(payload));
  return { storage, host, forger, id, word, commits, heard };
}
type Forged = Awaited<ReturnType<typeof forgedEnd>>;

/** Returns the parts of an answer that claim that the session is completed or its last phase passed. Phase 1 was. */
function claimsIn(answer: unknown): string[] {
  const found: string[] = [];
  for (const { path, key, value, owner } of valuesIn(answer)) {
    const { phase, number } = { phase: undefined, number: undefined, ...owner };
    const isOfFirst = phase === 1 || number === 1;
    const isStatus = /^(?:status|session_status|type)$/.test(key);
    if (
      (isStatus && !isOfFirst && ["completed", "gate_passed", "approved"].some((claim) => claim === value)) ||
      (/^(?:passed|checkpoint_passed|workflow_complete)$/.test(key) && value === true) ||
      (/^completed_?at$/i.test(key) && !isOfFirst) ||
      (/^completed(?:_?phases)?$/i.test(key) && Array.isArray(value) && value.includes(2)) ||
      key === "phase_2" ||
      (key === "artifact" && phase === 2) ||
      (typeof value === "string" && /is (?:completed|over)|was approved/.test(value))
    ) {
      found.push(`${path}: ${JSON.stringify(value)}`);
    }
  }
  return found;
}

const expectNotApproved = async (answer: unknown) => expect(claimsIn(await said(answer))).toEqual([]);

type Reader = (made: Forged) => readonly unknown[];
/** Marks a method that reads no existing session. */
const NO_READER = "reads no session";

const ENGINE: Record<string, Reader | typeof NO_READER> = {
  on: NO_READER,
  start: ({ host }) => [host.engine.start({ workflowType: "asking", target: "src/a.ts" })],
  session: NO_READER,
  listWorkflows: NO_READER,
  listSessions: ({ host }) => [host.engine.listSessions()],
  watch: ({ commits, host }) => [host.start().then(() => commits.next())],
  cleanup: NO_READER,
  metrics: ({ host }) => [host.engine.metrics()],
  statistics: ({ host }) => [host.engine.statistics()],
  reportError: NO_READER,
  close: NO_READER,
  as: NO_READER,
  approvals: ({ host }) => [host.engine.approvals()],
  waivers: ({ host }) => [host.engine.waivers()],
};

const SESSION: Record<string, Reader> = {
  phase: ({ host, id }) => [1, 2, undefined].map((phase) => host.engine.session(id).phase(phase)),
  task: ({ host, id }) => [host.engine.session(id).task(2, 1)],
  document: ({ host, id }) => [host.engine.session(id).document("core/guide.md")],
  completeTask: ({ host, id }) => [host.engine.session(id).completeTask(2, 1)],
  startChild: ({ host, id }) => [host.engine.session(id).startChild()],
  completePhase: ({ host, id }) => [host.submit(id, 2)],
  submit: ({ host, id }) => [host.engine.session(id).submit(2, { tests_pass: true }, { answerWithinMs: 1000 })],
  submission: ({ host, id }) => [host.engine.session(id).submission(2, KEY, { answerWithinMs: 1000 })],
  approval: ({ host, id }) => [host.engine.session(id).approval()],
  approve: ({ host, id, word }) => [host.engine.session(id).approve({ ...word, idempotencyKey: KEY })],
  deny: ({ host, id, word }) => [host.engine.session(id).deny({ ...word, note: "no" })],
  requestWaiver: ({ host, id }) => [
    host.engine.session(id).requestWaiver(2, { fields: ["tests_pass"], reason: "there are none" }),
  ],
  waiver: ({ host, id }) => [host.engine.session(id).waiver()],
  waive: ({ host, id }) => [host.engine.session(id).waive({ by: "ann", request: "none" })],
  denyWaiver: ({ host, id }) => [host.engine.session(id).denyWaiver({ by: "ann", request: "none", note: "no" })],
  state: ({ host, id }) => [host.engine.session(id).state()],
  fullState: ({ host, id }) => [host.engine.session(id).fullState()],
  artifact: ({ host, id }) => [host.engine.session(id).artifact(1), host.engine.session(id).artifact(2)],
  options: ({ host, id }) => [host.engine.session(id).options()],
  commits: ({ host, id }) => [
    host.engine.session(id).commits(),
    host.engine.session(id).commits({ before: 5, limit: 1 }),
  ],
  history: ({ host, id }) => [host.engine.session(id).history()],
  refusals: ({ host, id }) => [host.engine.session(id).refusals()],
  errors: ({ host, id }) => [host.engine.session(id).errors()],
  pause: ({ host, id }) => [host.engine.session(id).pause()],
  resume: ({ host, id }) => [host.engine.session(id).resume()],
  retryPhase: ({ host, id }) => [host.engine.session(id).retryPhase(2)],
  rollback: ({ host, id }) => [host.engine.session(id).rollback(2)],
  overrideGate: ({ host, id }) => [host.engine.session(id).overrideGate(2, { by: "host", note: "seen" })],
  skipPhase: ({ host, id }) => [host.engine.session(id).skipPhase(2, { by: "host", note: "seen" })],
  migrate: ({ host, id }) => [host.engine.session(id).migrate({ by: "host" })],
  migration: ({ host, id }) => [host.engine.session(id).migration()],
  assign: ({ host, id }) => [host.engine.session(id).assign({ name: "ann" }, { by: "host" })],
  syncPlan: ({ host, id }) => [host.engine.session(id).syncPlan(), host.engine.session(id).syncPlan({ preview: true })],
  delete: ({ host, id }) => [host.engine.session(id).delete()],
  // The audit reports the content of the log: it names the approval, and why it is not accepted.
  audit: ({ host, id }) => [host.engine.session(id).audit()],
};

const TOOL: Record<Action, Record<string, unknown>> = {
  list_workflows: {},
  start: { workflow_type: "asking", target_file: "src/a.ts" },
  get_phase: { phase: 2 },
  get_task: { phase: 2, task_number: 1 },
  get_document: { path: "core/guide.md" },
  complete_task: { phase: 2, task_number: 1 },
  complete_phase: { phase: 2, evidence: { tests_pass: true } },
  request_waiver: { phase: 2, fields: ["tests_pass"], reason: "there are none" },
  get_state: {},
  list_sessions: {},
  get_session: {},
  delete_session: {},
  pause: {},
  resume: {},
  retry_phase: { phase: 2 },
  rollback: { to_phase: 2 },
  sync_plan: { preview: true },
  get_errors: {},
  get_history: {},
  get_metrics: {},
};

describe("a session that a forged approval completed", () => {
  it("is shown as before the approval, with the reason and whom to ask", async () => {
    const { host, id, heard, storage } = await forgedEnd();
    const state = await host.engine.session(id).state();
    expect(state).toMatchObject({
      ...{ status: "active", currentPhase: 2, completedPhases: [1], version: 3, awaitingApproval: false },
      unapproved: { phase: 2, version: 4, by: "ann", distrust: "signature" },
    });
    const message = "phase 2 was passed on an approval by ann that this host does not accept (signature)";
    const tool = createWorkflowTool(host.engine);
    for (const brief of [true, false]) {
      expect(await tool.dispatch({ action: "get_state", session_id: id, brief })).toMatchObject({
        ...{ status: "success", session_status: "active", next: null, blocked: expect.stringContaining(message) },
        approval_not_believed: { phase: 2, by: "ann", reason: "signature" },
      });
    }
    const broken = [{ sessionId: id, code: "APPROVAL_REFUSED", message }];
    const other = await host.start();
    const page = await host.engine.listSessions();
    expect(page).toMatchObject({ items: [{ sessionId: other }], broken });
    expect(heard).toEqual([{ operation: "listSessions", code: "APPROVAL_REFUSED", message }]);
    expect(await tool.dispatch({ action: "list_sessions" })).toMatchObject({
      count: 1,
      broken: [{ session_id: id, code: "APPROVAL_REFUSED", error: message }],
    });
    // A host without approvers cannot check, and shows the log.
    const nobody = makeEngine({ storage, content }).engine;
    expect(await nobody.session(id).state()).toMatchObject({ status: "completed" });
    expect(await nobody.listSessions({ status: ["completed"] })).toMatchObject({ items: [{ sessionId: id }] });
  });

  it("can be rolled back to the gate, and approved there by an approver", async () => {
    const { host, id } = await forgedEnd();
    expect(await host.engine.session(id).rollback(2, { idempotencyKey: "back" })).toMatchObject({ from: 2, to: 2 });
    expect(await host.engine.session(id).rollback(2, { idempotencyKey: "back" })).toMatchObject({ from: 2, to: 2 });
    expect(await host.engine.session(id).state()).toMatchObject({
      status: "active",
      currentPhase: 2,
      completedPhases: [1],
    });
    await host.submit(id, 2);
    await host.engine.session(id).approve(await host.signed(id));
    expect(await host.engine.session(id).state()).toMatchObject({ status: "completed", completedPhases: [1, 2] });
    expect((await failure(host.engine.session(id).rollback(2))).code).toBe("INVALID_TRANSITION");
    expect((await host.engine.session(id).history()).map(({ phase, status }) => `${phase} ${status}`)).toEqual([
      ...["1 completed", "2 rolled_back", "2 completed"],
    ]);
  });

  it("can be rolled back even if it was paused after the gate", async () => {
    const storage = new MemoryStorage();
    const host = await makeAsking({ storage });
    const forger = await makeAsking({ storage });
    const { sessionId } = await host.waiting();
    await forger.engine.session(sessionId).approve(await forger.signed(sessionId));
    await forger.engine.session(sessionId).pause();
    expect(await host.engine.session(sessionId).state()).toMatchObject({ status: "active", currentPhase: 1 });
    expect((await failure(host.engine.session(sessionId).resume())).code).toBe("APPROVAL_REFUSED");
    expect(await host.engine.session(sessionId).rollback(1)).toMatchObject({ phase: { currentPhase: 1 } });
    await host.submit(sessionId);
    await host.engine.session(sessionId).approve(await host.signed(sessionId));
    expect(await host.engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
  });

  it("asks for no approvals after the gate", async () => {
    const storage = new MemoryStorage();
    const host = await makeAsking({ storage });
    const forger = await makeAsking({ storage });
    const { sessionId } = await host.waiting();
    await forger.engine.session(sessionId).approve(await forger.signed(sessionId));
    await forger.submit(sessionId, 2);
    expect(await forger.engine.approvals()).toMatchObject([{ phase: 2 }]);
    expect(await host.engine.approvals()).toEqual([]);
    expect((await failure(host.engine.session(sessionId).approval())).code).toBe("APPROVAL_REFUSED");
  });

  it("is not shown as approved by a resource, nor in the list of resources", async () => {
    const { host, id } = await forgedEnd();
    const { client } = await connectInMemory(host.engine);
    const { resources } = await client.listResources();
    expect(resources.filter(({ uri }) => uri.includes("session"))).toEqual([]);
    const found = await readResource(client, `phasegate://session/${id}`);
    expect(claimsIn(found)).toEqual([]);
    expect(found).toMatchObject({ status: "active", approval_not_believed: { phase: 2 } });
  });

  it("gets no ticks for phases after the gate", async () => {
    const keys = await people();
    const gate = { "phases/0/gate-definition.yaml": askingFiles["phases/2/gate-definition.yaml"] };
    const host = makePlanned({ files: gate, engine: { approvers: { ann: keys.ann.publicKey } } });
    const id = await host.start();
    await host.engine.session(id).completePhase(0, { tests_pass: true });
    // The forger has no plans, so its ticks stay due for the host.
    const { storage, content: asked } = host;
    const forger = makeEngine({ storage, content: asked, approvers: { ann: keys.eve.publicKey } });
    const question = await forger.engine.session(id).approval();
    if (question === undefined) throw new Error("nothing waits");
    const { evidenceHash } = question;
    const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey: keys.eve.privateKey });
    await forger.engine.session(id).approve({ by: "ann", evidenceHash, signature });
    await forger.engine.session(id).completePhase(1, claims[1]);
    expect((await forger.engine.session(id).state()).head.due).toBeDefined();
    await host.engine.session(id).state();
    await failure(host.pass(id, 2));
    expect(tickedIn(host.text())).toEqual([]);
    await host.engine.session(id).rollback(0);
    expect(tickedIn(host.text())).toEqual([]);
  });

  it("is covered for every method of engine and session", () => {
    expect(Object.keys(ENGINE).sort()).toEqual(methodsOf(Engine));
    expect(Object.keys(SESSION).sort()).toEqual(methodsOf(Session));
  });

  const readers = Object.entries({ ...ENGINE, ...SESSION }).flatMap(([name, read]) =>
    typeof read === "string" ? [] : [[name, read] as const],
  );
  it.each(readers)("is not shown as approved by %s", async (_, read) => {
    const made = await forgedEnd();
    for (const answer of await Promise.all(read(made).map(said))) expect(claimsIn(answer)).toEqual([]);
  });

  it.each(ACTION_NAMES)("is not shown as approved by the tool's %s", async (action) => {
    const { host, id } = await forgedEnd();
    const tool = createWorkflowTool(host.engine);
    const about = ["list_workflows", "start", "list_sessions", "get_metrics"].includes(action)
      ? {}
      : { session_id: id };
    const others = { get_state: { brief: true }, list_sessions: { status: "completed" } };
    for (const more of [{}, Object.entries(others).find(([name]) => name === action)?.[1] ?? {}]) {
      await expectNotApproved(tool.dispatch({ action, ...about, ...TOOL[action], ...more }));
    }
  });
});

import { createWorkflowTool, Engine, MemoryContent, MemoryStorage, Session } from "phasegate";
import { describe, expect, it } from "vitest";
import { ACTION_NAMES, type Action } from "../../../src/tool/actions.js";
import { askingFiles, makeAsking } from "../../support/approvals.js";
import { failure } from "../../support/failure.js";

/** Two phases: nobody is asked in the first, Ann in the last. */
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

/** A session that somebody with a key of their own has approved at its last phase, and a host that knows another Ann. */
async function forgedEnd() {
  const storage = new MemoryStorage();
  const host = await makeAsking({ storage, content });
  const forger = await makeAsking({ storage, content });
  const id = await host.start();
  await host.engine.completePhase(id, { phase: 1, evidence: {} });
  const commits = host.engine.watch();
  const first = commits.next();
  await host.submit(id, 2);
  await first;
  const word = await forger.signed(id);
  await forger.engine.approve(id, { ...word, idempotencyKey: KEY });
  expect(await forger.engine.getState(id)).toMatchObject({ status: "completed", completedPhases: [1, 2] });
  const heard: unknown[] = [];
  host.engine.on("security", (payload) => void heard.push(payload));
  return { storage, host, forger, id, word, commits, heard };
}
type Forged = Awaited<ReturnType<typeof forgedEnd>>;

/** What an answer, or a refusal, says, as JSON. */
async function said(answer: unknown): Promise<unknown> {
  try {
    return JSON.parse(
      JSON.stringify((await answer) ?? null, (_, value) => (value instanceof Map ? [...value] : value)),
    );
  } catch (error) {
    const { code, message, remedy, details } = await failure(Promise.reject(error));
    return { error: { code, message, remedy, details } };
  }
}

const CLAIMS = ["completed", "gate_passed", "approved"];
const isClaim = (value: unknown) => typeof value === "string" && CLAIMS.includes(value);
const hasTwo = (value: unknown) => Array.isArray(value) && value.includes(2);

/** What of an answer says that the session is complete, or that its last phase was passed. Phase 1 was. */
function claimsIn(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" && /is (?:completed|over)|was approved/.test(value) ? [`${path}: ${value}`] : [];
  }
  const object: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  const { phase, status, type, session_status } = object;
  const isOfFirst = phase === 1 || object.number === 1;
  const found = !isOfFirst && [status, type, session_status].some(isClaim) ? [`${path}: ${JSON.stringify(value)}`] : [];
  for (const [key, inside] of Object.entries(object)) {
    const isPassed = key === "passed" || key === "checkpoint_passed" || key === "workflow_complete";
    if (isPassed && inside === true) found.push(`${path}.${key}`);
    if (/^completed_?at$/i.test(key) && !isOfFirst) found.push(`${path}.${key}`);
    if (/^completed(?:_?phases)?$/i.test(key) && hasTwo(inside)) found.push(`${path}.${key}`);
    if (key === "phase_2" || (key === "artifact" && phase === 2)) found.push(`${path}.${key}`);
    found.push(...claimsIn(inside, `${path}.${key}`));
  }
  return found;
}

const expectNotApproved = async (answer: unknown) => expect(claimsIn(await said(answer))).toEqual([]);

type Reader = (made: Forged) => readonly unknown[];
/** What doesn't read a session: it starts one, serves the whole engine, or can't be asked of this session. */
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
  reportError: NO_READER,
  close: NO_READER,
  getPhase: ({ host, id }) => [1, 2, undefined].map((phase) => host.engine.getPhase(id, phase)),
  getTask: ({ host, id }) => [host.engine.getTask(id, 2, 1)],
  completePhase: ({ host, id }) => [host.submit(id, 2)],
  approvals: ({ host }) => [host.engine.approvals()],
  getApproval: ({ host, id }) => [host.engine.getApproval(id)],
  approve: ({ host, id, word }) => [host.engine.approve(id, { ...word, idempotencyKey: KEY })],
  deny: ({ host, id, word }) => [host.engine.deny(id, { ...word, note: "no" })],
  getState: ({ host, id }) => [host.engine.getState(id)],
  getFullState: ({ host, id }) => [host.engine.getFullState(id)],
  getOptions: ({ host, id }) => [host.engine.getOptions(id)],
  history: ({ host, id }) => [host.engine.history(id)],
  errors: ({ host, id }) => [host.engine.errors(id)],
  pause: ({ host, id }) => [host.engine.pause(id)],
  resume: ({ host, id }) => [host.engine.resume(id)],
  retryPhase: ({ host, id }) => [host.engine.retryPhase(id, { phase: 2 })],
  rollback: ({ host, id }) => [host.engine.rollback(id, { to: 2 })],
  overrideGate: ({ host, id }) => [host.engine.overrideGate(id, { phase: 2, by: "host", reason: "seen" })],
  skipPhase: ({ host, id }) => [host.engine.skipPhase(id, { phase: 2, by: "host", reason: "seen" })],
  migrate: ({ host, id }) => [host.engine.migrate(id, { by: "host" })],
  syncPlan: ({ host, id }) => [host.engine.syncPlan(id), host.engine.syncPlan(id, { preview: true })],
  deleteSession: ({ host, id }) => [host.engine.deleteSession(id)],
  // The one that says what is in the log: it names the approval, and why it does not count.
  audit: ({ host, id }) => [host.engine.audit(id)],
};

/** The methods of a session are the engine's by other names. */
const SESSION: Record<string, keyof typeof ENGINE> = {
  currentPhase: "getPhase",
  phase: "getPhase",
  task: "getTask",
  completePhase: "completePhase",
  approval: "getApproval",
  approve: "approve",
  deny: "deny",
  state: "getState",
  fullState: "getFullState",
  options: "getOptions",
  history: "history",
  errors: "errors",
  pause: "pause",
  resume: "resume",
  retryPhase: "retryPhase",
  rollback: "rollback",
  overrideGate: "overrideGate",
  skipPhase: "skipPhase",
  migrate: "migrate",
  syncPlan: "syncPlan",
  delete: "deleteSession",
  audit: "audit",
};

const TOOL: Record<Action, Record<string, unknown>> = {
  list_workflows: {},
  start: { workflow_type: "asking", target_file: "src/a.ts" },
  get_phase: { phase: 2 },
  get_task: { phase: 2, task_number: 1 },
  complete_phase: { phase: 2, evidence: { tests_pass: true } },
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

const methodsOf = ({ prototype }: { readonly prototype: object }) =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");

describe("a session that a forged approval has completed", () => {
  it("is looked at by all methods that there are", () => {
    expect(Object.keys(ENGINE).sort()).toEqual(methodsOf(Engine).sort());
    expect(Object.keys(SESSION).sort()).toEqual(methodsOf(Session).sort());
    expect(Object.values(SESSION).every((name) => name in ENGINE)).toBe(true);
  });

  for (const [name, read] of Object.entries(ENGINE)) {
    if (typeof read === "string") continue;
    it(`is not approved to engine.${name}`, async () => {
      const made = await forgedEnd();
      for (const answer of read(made)) await expectNotApproved(answer);
    });
  }

  for (const action of ACTION_NAMES) {
    it(`is not approved to the tool's ${action}`, async () => {
      const { host, id } = await forgedEnd();
      const tool = createWorkflowTool(host.engine);
      const more = TOOL[action];
      const about = ["list_workflows", "start", "list_sessions", "get_metrics"].includes(action)
        ? {}
        : { session_id: id };
      const brief = action === "get_state" ? [{}, { brief: true }] : [{}];
      for (const short of brief) {
        await expectNotApproved(tool.dispatch({ action, ...about, ...more, ...short }));
      }
      if (action === "list_sessions") {
        await expectNotApproved(tool.dispatch({ action, status: "completed" }));
      }
    });
  }
});

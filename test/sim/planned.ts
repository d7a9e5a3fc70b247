/**
 * Sessions on a plan in a simulated world. The first phase compares with a snapshot of its beginning, and its approval is
 * signed; the others are those of a plan, whose tasks are ticked when a phase has passed. Persons edit the plan meanwhile, and
 * somebody forges approvals. Beyond what is true of all phased sessions (phased-check.ts), at the end of a round:
 *
 * - a task that only its session ticks is ticked exactly if its phase has passed, wherever a host has crashed
 * - nothing else of the plan has changed but what persons have changed
 * - every submission is compared with the snapshot of the newest visit to its phase
 * - every approval in a log is signed with the approver's key
 */
import { createEngine, type Engine, MemoryContent, MemoryPlans } from "phasegate";
import type { DenyRequest } from "phasegate/approval";
import {
  type ApprovalQuestion,
  type ApprovalSignature,
  createApproverKeys,
  type DenyWaiverRequest,
  signApproval,
  type WaiverQuestion,
} from "phasegate/approval";
import type { PlanSource } from "phasegate/plan";
import type { Verifier } from "../../src/ports/verifier.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { parseSessionId } from "../../src/workflow/names.js";
import type { Life, Parts } from "./host.js";
import { PhasedProduct, type SeenState, type SubmitOp, textOf } from "./phased.js";
import { LIMITS, type Op } from "./phased-model.js";
import type { World, Writer } from "./world.js";

const TYPE = "planned";
const APPROVED_PHASE = 1;
const TASKS = [1, 2];
/** Persons tick this task of each phase by hand. */
const BY_HAND = 2;

const PLAN = [2, 3]
  .map((phase) => {
    const tasks = TASKS.map((task) => `- [ ] **Task ${phase}.${task}**: Do thing ${phase}.${task}\n`);
    return `### Phase ${phase}: Part ${phase}\n\n**Goal**: ${textOf(phase)}\n\n${tasks.join("")}`;
  })
  .join("\n");

const content = new MemoryContent({
  sources: {
    [TYPE]: {
      "metadata.json": JSON.stringify({
        ...{ workflow_type: TYPE, name: "Planned", description: "Carries out a plan", version: "1.0.0" },
        dynamic_phases: true,
        dynamic_config: { templates: { phase: "phase.md", task: "task.md" } },
        phases: [{ phase_number: 1, phase_name: "Phase 1" }],
      }),
      "phases/1/phase.md": `# Phase 1\n\n${textOf(1)}\n`,
      "phases/1/gate-definition.yaml": `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  n: {type: integer, required: true}
  good: {type: boolean, required: true, verify: compared}
approval: {prompt: "Is it good enough?", approvers: [ann]}
`,
      "phase.md": "# [PHASE_NAME]\n\n[PHASE_DESCRIPTION]\n",
      "task.md": "# [TASK_NAME]\n",
    },
  },
});

const [ann, eve] = await Promise.all([createApproverKeys(), createApproverKeys()]);

/** What is compared of a commit. */
interface Body {
  readonly events: readonly {
    readonly type: string;
    readonly snapshots?: readonly { readonly value?: { readonly inline?: number } }[];
    readonly verification?: readonly { readonly digest?: string }[];
    readonly authenticated?: boolean;
  }[];
}

/** Sessions on plans, and the plans as persons have changed them. */
export class PlannedProduct extends PhasedProduct {
  override readonly type = TYPE;
  override readonly approvedPhase = APPROVED_PHASE;
  readonly #plans = new MemoryPlans();
  /** Each plan without its ticks: what persons have made of it. */
  readonly #texts = new Map<string, string>();
  #snapshots = 0;
  #notes = 0;

  constructor(world: World<Engine>) {
    super(world);
    for (let place = 1; place <= world.size.sessions; place += 1) {
      for (let count = 0; count < 20; count += 1) this.#write(`place${place}/${count}/tasks.md`, PLAN);
    }
  }

  override create({ storage, clock, verifiers, of }: Parts): Engine {
    const limits = { ...LIMITS, maxActiveSessions: Number.POSITIVE_INFINITY };
    const compared = this.#compared(of, verifiers.measured);
    const plans = this.#plansOf(of);
    const approvers = { ann: ann.publicKey };
    return createEngine({ storage, clock, content, plans, approvers, limits, verifiers: { compared } });
  }

  override async act(writer: Writer<Engine>): Promise<void> {
    if (this.world.pick(writer, 4) === 1) this.#edit(writer);
    else await super.act(writer);
  }

  /** Who reads a session writes the ticks that are due. */
  async settle({ engine }: Life<Engine>): Promise<void> {
    for (const id of this.world.store.versions.keys()) await engine.session(id).state();
  }

  override async check(auditor: Life<Engine>): Promise<readonly string[]> {
    const problems: string[] = [];
    const ids = [...this.world.store.versions.keys()];
    for (const id of ids) problems.push(...(await this.#checkPlan(auditor, id)));
    for (const id of ids) problems.push(...(await this.#checkLog(id)));
    return [...problems, ...(await super.check(auditor))];
  }

  protected override async choose(writer: Writer<Engine>, sessionId: string, seen: SeenState): Promise<Op | undefined> {
    const pick = (count: number) => this.world.pick(writer, count);
    if (seen.phase !== APPROVED_PHASE && seen.status === "active") {
      const chosen = pick(6);
      // A note is a claim, so the task that bad evidence lacks is never noted.
      if (chosen === 1 || chosen === 2) return { type: "task", phase: seen.phase, task: 2 };
      if (chosen === 3) return { type: "sync" };
      if (chosen === 4) return { type: "rollback", to: 1 + pick(2) };
    }
    const op = await super.choose(writer, sessionId, seen);
    if (op?.type === "approve" && pick(4) === 1) return { type: "forge", about: op.about };
    // The fields of a planned phase have other names.
    return op?.type === "requestWaiver" && op.phase !== APPROVED_PHASE ? { type: "sync" } : op;
  }

  protected override evidenceOf(op: SubmitOp): JsonObject {
    if (op.phase === APPROVED_PHASE) return super.evidenceOf(op);
    const done = op.good ? TASKS : TASKS.slice(1);
    return { tasks_completed: done.map((task) => `${op.phase}.${task}`) };
  }

  protected override async answer(type: "approve" | "deny" | "forge", about: number): Promise<DenyRequest> {
    const word = await super.answer(type, about);
    const { privateKey } = type === "forge" ? eve : ann;
    return { ...word, ...(await this.#signed(this.approvals.get(about), type !== "deny", word, privateKey)) };
  }

  protected override async answerWaiver(type: "waive" | "denyWaiver", about: number): Promise<DenyWaiverRequest> {
    const word = await super.answerWaiver(type, about);
    return { ...word, ...(await this.#signed(this.waivers.get(about), type === "waive", word, ann.privateKey)) };
  }

  async #signed(
    question: ApprovalQuestion | WaiverQuestion | undefined,
    isYes: boolean,
    { by, note }: { readonly by: string; readonly note: string },
    privateKey: string,
  ): Promise<{ readonly signature?: ApprovalSignature }> {
    if (question === undefined) return {};
    const signedAt = new Date(this.world.schedule.now).toISOString();
    const decision = isYes ? "approve" : "deny";
    return { signature: await signApproval(question, { decision, by, note, privateKey, signedAt }) };
  }

  /** A verifier that compares with a snapshot: it says which one it got. */
  #compared(of: string, measured: Verifier | undefined): Verifier {
    const { schedule } = this.world;
    return {
      snapshot: async () => {
        await schedule.wait(of, "takes a snapshot");
        this.#snapshots += 1;
        return this.#snapshots;
      },
      verify: async (request, options) => {
        if (measured === undefined) throw new Error("there is no instrument");
        const result = await measured.verify(request, options);
        return { ...result, digest: String(request.snapshot) };
      },
    };
  }

  /** A host's way to the plans: each call takes time, and a write may fail, or its answer be lost. */
  #plansOf(of: string): PlanSource {
    const { schedule, store } = this.world;
    return {
      read: async (path) => {
        await schedule.wait(of, `reads ${path}`);
        return this.#plans.read(path);
      },
      replace: async (path, hash, text) => {
        await schedule.wait(of, `writes ${path}`);
        // Between the reading and the write, people are seldom quick enough by themselves.
        if (schedule.choices.chance(`somebody-at-${of}`, 10)) this.#addNote(path, "somebody");
        if (store.fails(`plans-of-${of}`, 5)) throw new Error("the plan can't be written");
        const isReplaced = await this.#plans.replace(path, hash, text);
        schedule.note(`plan: ${path} is ${isReplaced ? "written" : "another one"}`);
        await schedule.wait(of, `has written ${path}`);
        if (store.fails(`plans-of-${of}`, 5)) throw new Error("the answer is lost");
        return isReplaced;
      },
    };
  }

  /** A person changes a plan: adds a line, or ticks a task, or removes its tick. */
  #edit(writer: Writer<Engine>): void {
    const place = 1 + this.world.pick(writer, this.world.size.sessions);
    const count = this.countAt(place - 1);
    const path = `place${place}/${count}/tasks.md`;
    const text = this.#plans.get(path) ?? "";
    const chosen = this.world.pick(writer, 3);
    if (chosen === 0) {
      this.#addNote(path, writer.name);
      return;
    }
    this.world.schedule.note(`${writer.name}: changes ${path} by hand: ${chosen}`);
    const task = `**Task ${2 + this.world.pick(writer, 2)}.${BY_HAND}**`;
    const [before, after] = chosen === 1 ? ["[ ]", "[x]"] : ["[x]", "[ ]"];
    this.#write(path, text.replace(`${before} ${task}`, `${after} ${task}`));
  }

  /** Adds a line above the phases: below a task it would be a part of the task, and a sync would take the task for another one. */
  #addNote(path: string, by: string): void {
    this.#notes += 1;
    this.world.schedule.note(`${by}: adds a line to ${path} by hand`);
    this.#write(path, `Note ${this.#notes}.\n\n${this.#plans.get(path) ?? ""}`);
  }

  #write(path: string, text: string): void {
    this.#plans.set(path, text);
    this.#texts.set(path, withoutTicks(text));
  }

  /** Returns what is wrong with the plan of a session, once the session was loaded, which writes the ticks that are due. */
  async #checkPlan({ engine }: Life<Engine>, id: string): Promise<string[]> {
    const { head } = await engine.session(id).state();
    const path = `${head.target}/tasks.md`;
    const text = this.#plans.get(path) ?? "";
    const problems = head.due === undefined ? [] : [`ticks of ${id} are due: ${JSON.stringify(head.due)}`];
    if (withoutTicks(text) !== this.#texts.get(path)) problems.push(`${path} has changed: ${text}`);
    for (const phase of [2, 3]) {
      const isPassed = head.status === "completed" || phase < head.phase;
      if (text.includes(`[x] **Task ${phase}.1**`) === isPassed) continue;
      problems.push(`task ${phase}.1 of ${path} is ${isPassed ? "not ticked" : "ticked"}: phase ${head.phase}`);
    }
    return problems;
  }

  /** Returns what is wrong with the snapshots and signatures in a log. */
  async #checkLog(id: string): Promise<string[]> {
    const problems: string[] = [];
    let snapshot: number | undefined;
    for (const { body, version } of await this.world.store.commits(parseSessionId(id))) {
      const { events }: Body = JSON.parse(body);
      for (const { type, verification = [], authenticated } of events) {
        if (type === "approved" && authenticated !== true) problems.push(`${id}, ${version}: approved by nobody`);
        const others = verification.filter(({ digest }) => digest !== undefined && digest !== String(snapshot));
        if (others.length > 0) problems.push(`${id}, ${version}: compared with ${others[0]?.digest}, not ${snapshot}`);
      }
      const taken = events.flatMap(({ snapshots = [] }) => snapshots);
      if (taken.length > 0) snapshot = taken[0]?.value?.inline;
    }
    return problems;
  }
}

function withoutTicks(text: string): string {
  return text.replaceAll("[x]", "[ ]");
}

/** Loads all that engines load on demand with a plan. */
export async function loadPlanned(): Promise<void> {
  const { MemoryStorage } = await import("phasegate");
  const verifiers = { compared: { snapshot: async () => 1, verify: async () => ({ ok: true, message: "compared" }) } };
  const plans = new MemoryPlans({ "loaded/tasks.md": PLAN });
  const approvers = { ann: ann.publicKey };
  const engine = createEngine({ storage: new MemoryStorage(), content, plans, approvers, verifiers });
  const { sessionId } = await engine.start({ workflowType: TYPE, target: "loaded", idempotencyKey: "start" });
  await engine.session(sessionId).completePhase(1, { n: 1, good: true });
  const question = await engine.session(sessionId).approval();
  if (question === undefined) throw new Error("nothing waits");
  const { evidenceHash } = question;
  const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey: ann.privateKey });
  await engine.session(sessionId).approve({ by: "ann", evidenceHash, signature });
  await engine.session(sessionId).completeTask(2, 1);
  await engine.session(sessionId).completePhase(2, { tasks_completed: ["2.1", "2.2"] });
  await engine.session(sessionId).syncPlan({});
  await engine.session(sessionId).rollback(1);
}

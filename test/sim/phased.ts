/**
 * Phased sessions in a simulated world: what writers do with them, and the record of every call. phased-check.ts compares
 * the record with the model.
 */
import { createEngine, type Engine, MemoryContent, MemoryStorage } from "phasegate";
import type { ApprovalRequest, DenyRequest, DenyWaiverRequest, WaiverRequest } from "phasegate/approval";
import type { JsonObject } from "../../src/workflow/json.js";
import type { Life, Parts } from "./host.js";
import { checkPhased } from "./phased-check.js";
import { LAST_PHASE, LIMITS, type Op } from "./phased-model.js";
import { codeOf } from "./store.js";
import type { Outcome, Product, World, Writer } from "./world.js";

const TYPE = "simulated";
const APPROVED_PHASE = 2;
const NAMES = [1, 2, 3];
const gate = (phase: number) => `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  n: {type: integer, required: true}
  good: {type: boolean, required: true, verify: measured}
${phase === APPROVED_PHASE ? 'approval: {prompt: "Is it good enough?"}\n' : ""}`;

/** Returns the text of a phase, which may not be read before the phase is reached. */
export function textOf(phase: number): string {
  return `The secret of phase ${phase}.`;
}

/** The workflow, the same in all worlds. */
const content = new MemoryContent({
  sources: {
    [TYPE]: {
      "metadata.json": JSON.stringify({
        workflow_type: TYPE,
        name: "Simulated",
        description: "Work in three phases",
        version: "1.0.0",
        phases: NAMES.map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
      }),
      ...Object.fromEntries(
        NAMES.map((phase) => [`phases/${phase}/phase.md`, `# Phase ${phase}\n\n${textOf(phase)}\n`]),
      ),
      ...Object.fromEntries(NAMES.map((phase) => [`phases/${phase}/gate-definition.yaml`, gate(phase)])),
    },
  },
});

/** Makes a host's engine. */
function createSimulated({ storage, clock, verifiers }: Parts): Engine {
  const limits = { ...LIMITS, maxActiveSessions: Number.POSITIVE_INFINITY };
  return createEngine({ storage, clock, verifiers, content, limits, allowUnsignedApprovals: true });
}

/**
 * Loads all that engines load on demand, since loading takes real time, which a simulated world must not wait for. Run
 * before the first world of a process.
 */
export async function loadPhased(): Promise<void> {
  const verifiers = { measured: { verify: async () => ({ ok: true, message: "measured" }) } };
  const engine = createEngine({ storage: new MemoryStorage(), content, verifiers, allowUnsignedApprovals: true });
  const watching = engine.watch();
  const { sessionId } = await engine.start({ workflowType: TYPE, target: "loaded", idempotencyKey: "start" });
  await watching.next();
  const submit = (phase: number) => engine.session(sessionId).completePhase(phase, { n: 1, good: true });
  const { request } = await engine.session(sessionId).requestWaiver(1, { fields: ["good"], reason: "none" });
  await engine.session(sessionId).waive({ by: "ann", request });
  await submit(1);
  await submit(2);
  const [approval] = await engine.approvals();
  await engine.session(sessionId).approve({ by: "ann", evidenceHash: approval?.evidenceHash ?? "" });
  await engine
    .session(sessionId)
    .phase(4)
    .catch(() => {});
  await engine.session(sessionId).phase();
  await engine.session(sessionId).audit();
}

/** A submission. */
export type SubmitOp = Extract<Op, { readonly type: "submit" }>;

/** The parts of an answer that are the same whenever the call is repeated. */
export type Answer = Readonly<Record<string, unknown>>;

/** What a read has shown. */
export type Shown =
  | {
      readonly type: "state";
      readonly version: number;
      readonly status: string;
      readonly phase: number;
      readonly waits: boolean;
      readonly asks: boolean;
    }
  | { readonly type: "phase"; readonly phase: number; readonly text: string | undefined };

/** A call that has ended, with the versions between which its session was meanwhile. */
export interface Called {
  readonly writer: string;
  readonly sessionId: string;
  readonly from: number;
  readonly to: number;
  /** The operation with its key, and what came of it. */
  readonly asked?: { readonly op: Op; readonly key: string; readonly outcome: Outcome<Answer> };
  readonly shown?: Shown;
}

/** A state that a writer has seen. */
export type SeenState = Extract<Shown, { readonly type: "state" }> & { readonly isWaived: boolean };

/** Phased sessions, and everything that writers were told about them. */
export class PhasedProduct implements Product<Engine> {
  /** The type of the workflow. */
  readonly type: string = TYPE;
  /** The phase whose evidence a person must approve. */
  readonly approvedPhase: number = APPROVED_PHASE;
  readonly watch?: (engine: Engine, onReady: () => void) => ReturnType<Engine["watch"]>;
  readonly world: World<Engine>;
  readonly calls: Called[] = [];
  /** Every operation that was ever asked for, by its key. */
  readonly ops = new Map<string, Op>();
  /** The current session of each place, and how many there were before. */
  readonly #places: { sessionId: string | undefined; count: number }[];
  #numbers = 0;

  constructor(world: World<Engine>, { isWatched = true }: { readonly isWatched?: boolean } = {}) {
    this.world = world;
    if (isWatched) this.watch = (engine, onReady) => engine.watch({}, { onReady });
    this.#places = Array.from({ length: world.size.sessions }, () => ({ sessionId: undefined, count: 0 }));
  }

  create(parts: Parts): Engine {
    return createSimulated(parts);
  }

  async act(writer: Writer<Engine>): Promise<void> {
    const pick = (count: number) => this.world.pick(writer, count);
    // The usual course is to do nothing, so that a shrunk run has nothing in it that does not matter.
    const index = pick(this.#places.length + 1) - 1;
    const place = this.#places[index];
    if (place === undefined) return;
    if (place.sessionId === undefined) {
      await this.start(writer, index);
      return;
    }
    const { sessionId } = place;
    const shown = await this.look(writer, sessionId);
    if (shown === undefined) return;
    if (shown.status === "completed") {
      if (place.sessionId === sessionId) Object.assign(place, { sessionId: undefined, count: place.count + 1 });
      return;
    }
    if (pick(10) === 1) return this.#read(writer, sessionId, 1 + pick(LAST_PHASE));
    const op = await this.choose(writer, sessionId, shown);
    if (op !== undefined) await this.ask(writer, sessionId, op);
  }

  /** Returns how many sessions of a place were completed: the current one has that number. */
  protected countAt(index: number): number {
    return this.#places[index]?.count ?? 0;
  }

  check(auditor: Life<Engine>): Promise<readonly string[]> {
    return checkPhased(this, auditor);
  }

  /** Starts the session of a place. All writers want the same one, so they use the same key. */
  protected async start(writer: Writer<Engine>, index: number): Promise<string> {
    const place = this.#places[index] ?? { sessionId: undefined, count: 0 };
    const target = `place${index + 1}/${place.count}`;
    const key = `start ${target}`;
    this.ops.set(key, { type: "start" });
    const request = { workflowType: this.type, target, idempotencyKey: key };
    const outcome = await writer.ask(`start ${target}`, (engine) => engine.start(request));
    if (outcome.kind !== "answer") throw new Error(`start was not answered: ${JSON.stringify(outcome)}`);
    const { sessionId } = outcome.value;
    if (place.sessionId === undefined && target.endsWith(`/${place.count}`)) place.sessionId = sessionId;
    const asked = { op: { type: "start" }, key, outcome: { ...outcome, value: { sessionId } } } as const;
    this.calls.push({ writer: writer.name, sessionId, from: 0, to: this.#versionOf(sessionId), asked });
    return sessionId;
  }

  /** Reads the state, and records it. */
  private async look(writer: Writer<Engine>, sessionId: string): Promise<SeenState | undefined> {
    const observed = this.world.store.observe(sessionId);
    const outcome = await writer.ask(`state of ${sessionId}`, (engine) => engine.session(sessionId).state());
    if (outcome.kind !== "answer") return undefined;
    const { version, head, awaiting, awaitingWaiver } = outcome.value;
    const { status, phase } = head;
    const seen = { version, status, phase, waits: awaiting !== undefined, asks: awaitingWaiver !== undefined };
    const shown = { type: "state" as const, ...seen };
    this.calls.push({ writer: writer.name, sessionId, ...observed(), shown });
    return { ...shown, isWaived: head.waived !== undefined };
  }

  async #read(writer: Writer<Engine>, sessionId: string, phase: number): Promise<void> {
    const observed = this.world.store.observe(sessionId);
    const outcome = await writer.ask(`phase ${phase} of ${sessionId}`, (engine) =>
      engine.session(sessionId).phase(phase),
    );
    if (outcome.kind === "lost") return;
    if (outcome.kind === "refusal" && codeOf(outcome.error) !== "PHASE_LOCKED") throw outcome.error;
    const text = outcome.kind === "answer" ? JSON.stringify(outcome.value) : undefined;
    const shown = { type: "phase", phase, text } as const;
    this.calls.push({ writer: writer.name, sessionId, ...observed(), shown });
  }

  /** Chooses what suits the state that the writer has seen; others may have changed it since. */
  protected async choose(
    writer: Writer<Engine>,
    sessionId: string,
    { status, phase, waits, asks, isWaived }: SeenState,
  ): Promise<Op | undefined> {
    const pick = <T>(of: readonly [T, ...T[]]): T => of[this.world.pick(writer, of.length)] ?? of[0];
    if (this.world.pick(writer, 8) === 1) {
      const n = ++this.#numbers;
      return pick<Op>([
        { type: "submit", phase: pick([1, 2, 3]), good: true, n },
        { type: "pause" },
        { type: "resume" },
        { type: "rollback", to: 1 },
        { type: "retry", phase, by: pick(["agent", "host"]) },
      ]);
    }
    if (status === "paused") return { type: "resume" };
    if (waits) {
      const about = await this.about(writer, sessionId, "approval");
      if (about !== undefined) return { type: pick(["approve", "approve", "deny"]), about };
    }
    if (asks && pick([true, true, false])) {
      const about = await this.about(writer, sessionId, "waiver");
      const n = ++this.#numbers;
      const others: readonly Op[] = [
        { type: "submit", phase, good: false, n },
        { type: "requestWaiver", phase, n },
      ];
      if (about !== undefined) return pick<Op>([{ type: "waive", about }, { type: "denyWaiver", about }, ...others]);
    }
    if (status === "failed") return { type: "retry", phase, by: pick(["host", "agent"]) };
    const n = ++this.#numbers;
    return pick<Op>([
      { type: "submit", phase, good: true, n },
      { type: "submit", phase, good: true, n },
      { type: "submit", phase, good: false, n },
      isWaived ? { type: "submit", phase, good: false, n } : { type: "requestWaiver", phase, n },
      { type: "pause" },
      { type: "rollback", to: phase - 1 },
    ]);
  }

  /** What people are asked, by the number of what it is about. */
  protected readonly approvals = new Map<number, ApprovalRequest>();
  protected readonly waivers = new Map<number, WaiverRequest>();

  /** Asks what waits for a person. Returns the number of what it is about. */
  protected async about(
    writer: Writer<Engine>,
    sessionId: string,
    what: "approval" | "waiver",
  ): Promise<number | undefined> {
    const outcome = await writer.ask(`${what} of ${sessionId}`, async (engine) => {
      if (what === "waiver") {
        const waiver = await engine.session(sessionId).waiver();
        if (waiver !== undefined) this.waivers.set(Number(waiver.reason), waiver);
        return waiver && Number(waiver.reason);
      }
      const approval = await engine.session(sessionId).approval();
      if (approval !== undefined) this.approvals.set(Number(approval.evidence.n), approval);
      return approval && Number(approval.evidence.n);
    });
    return outcome.kind === "answer" ? outcome.value : undefined;
  }

  /** Asks for an operation with a key of its own, and records what came of it. */
  protected async ask(writer: Writer<Engine>, sessionId: string, op: Op): Promise<void> {
    const key = writer.newKey();
    this.ops.set(key, op);
    const observed = this.world.store.observe(sessionId);
    const outcome = await writer.ask(`${sessionId} ${JSON.stringify(op)}`, (engine, signal) =>
      this.perform(engine, sessionId, op, key, signal),
    );
    const asked = { op, key, outcome };
    this.calls.push({ writer: writer.name, sessionId, ...observed(), asked });
  }

  /** Asks an engine for an operation. Returns what must be the same in a repeated answer. */
  async perform(
    engine: Engine,
    sessionId: string,
    op: Op,
    idempotencyKey: string,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const session = engine.session(sessionId);
    const keyed = { idempotencyKey };
    switch (op.type) {
      case "start":
        return { sessionId };
      case "submit": {
        const { version, passed, attempt } = await session.completePhase(op.phase, this.evidenceOf(op), {
          ...keyed,
          ...(signal && { signal }),
        });
        return { version, passed, attempt };
      }
      case "approve":
      case "deny":
      case "forge": {
        const word = await this.answer(op.type, op.about);
        const { version, passed, attempt } = await session[op.type === "deny" ? "deny" : "approve"]({
          ...word,
          ...keyed,
        });
        return { version, passed, attempt };
      }
      case "requestWaiver": {
        const request = { fields: ["good"], reason: String(op.n), ...keyed };
        const { version, fields } = await session.requestWaiver(op.phase, request);
        return { version, fields };
      }
      case "waive":
      case "denyWaiver": {
        const word = await this.answerWaiver(op.type, op.about);
        const { version, granted } = await session[op.type]({ ...word, ...keyed });
        return { version, granted };
      }
      case "pause": {
        const { phase, pausedAt } = await session.pause(keyed);
        return { phase, pausedAt };
      }
      case "resume": {
        const { pausedSeconds } = await session.resume(keyed);
        return { pausedSeconds };
      }
      case "retry": {
        const { resetEvidence } = await session.retryPhase(op.phase, { as: op.by, ...keyed });
        return { resetEvidence };
      }
      case "rollback": {
        const { from, to, cleared } = await session.rollback(op.to, keyed);
        return { from, to, cleared };
      }
      case "task": {
        const { task } = await session.completeTask(op.phase, op.task, keyed);
        return { task };
      }
      case "sync": {
        const { path } = await session.syncPlan({ as: "host", ...keyed });
        return { path };
      }
    }
  }

  /** Returns what is submitted. */
  protected evidenceOf({ n, good }: SubmitOp): JsonObject {
    return { n, good };
  }

  /** Returns a person's answer to a request for a waiver. */
  protected async answerWaiver(_: "waive" | "denyWaiver", about: number): Promise<DenyWaiverRequest> {
    return { by: "ann", note: "so be it", request: this.waivers.get(about)?.request ?? "" };
  }

  /** Returns a person's answer to a question. */
  protected async answer(_: "approve" | "deny" | "forge", about: number): Promise<DenyRequest> {
    return { by: "ann", note: "so be it", evidenceHash: this.approvals.get(about)?.evidenceHash ?? "" };
  }

  #versionOf(sessionId: string): number {
    return this.world.store.versions.get(sessionId) ?? 0;
  }
}

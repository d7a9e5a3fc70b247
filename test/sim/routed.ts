/**
 * Routed sessions in a simulated world: what writers do with them, and the record of every call. A report is one commit, and
 * the decision on it is a second one, which any host may make, with a decider that is slow, fails or never answers.
 * routed-check.ts compares the record with the model.
 */
import { isPhasegateError, MemoryStorage } from "phasegate";
import type { DeciderAnswer, StepDecider } from "phasegate/ai";
import {
  createRoutedEngine,
  defineRoutedWorkflow,
  type RoutedEngine,
  type RoutedView,
  routedWorkflows,
} from "phasegate/routed";
import type { Life, Parts } from "./host.js";
import { checkRouted } from "./routed-check.js";
import { APPROVED, BARE, GATED, ROUTED_LIMITS, type RoutedOp } from "./routed-model.js";
import type { Schedule } from "./schedule.js";
import type { SharedStore } from "./store.js";
import type { Outcome, Product, World, Writer } from "./world.js";

const NAME = "SIMULATED";
const STEPS = [BARE, GATED, APPROVED];
/** The text of a step, which may not be read before the step is the current one. */
const textOf = (name: string) => `The secret of ${name}.`;
const step = (name: string) => ({ name, guidance: "Go on.", instructions: textOf(name) });
const gate = {
  fields: [
    { name: "n", type: "integer" as const },
    { name: "good", type: "boolean" as const },
  ],
  verify: [{ verifier: "measured", field: "good" }],
};
const workflows = routedWorkflows(
  defineRoutedWorkflow({
    name: NAME,
    steps: [
      step(BARE),
      { ...step(GATED), gate },
      { ...step(APPROVED), gate: { ...gate, approval: { prompt: "Is it good enough?" } } },
    ],
  }),
);

/** The part of an answer that is the same whenever the call is repeated. */
export interface Answer {
  readonly version: number;
  readonly status: RoutedView["status"];
  readonly step: string | undefined;
  /** True if a person is awaited. */
  readonly waits: boolean;
  /** True if the gate has refused the report. */
  readonly isRefused: boolean;
  /** True if an earlier call has done it. */
  readonly isReplayed: boolean;
  /** The steps whose text was shown, but the current one. */
  readonly others: readonly string[];
}

/** A call that has ended, with the versions between which its instance was meanwhile. */
export interface Called {
  readonly id: string;
  readonly from: number;
  readonly to: number;
  /** The operation with its key; a look at the status has none. */
  readonly asked?: { readonly op: RoutedOp; readonly key: string };
  readonly outcome: Outcome<Answer>;
}

/** Routed sessions, and everything that writers were told about them. */
export class RoutedProduct implements Product<RoutedEngine> {
  readonly watch?: (engine: RoutedEngine, onReady: () => void) => ReturnType<RoutedEngine["watch"]>;
  readonly world: World<RoutedEngine>;
  readonly calls: Called[] = [];
  /** Every operation that was ever asked for, by its key. */
  readonly ops = new Map<string, RoutedOp>();
  /** What people are asked: the hash of each report's evidence. */
  readonly #hashes = new Map<number, string>();
  readonly #isDecidedFirst: boolean;
  /** How many instances of each place were completed. */
  readonly #counts: number[];
  /** The last report on the instance of each place. */
  readonly #last = new Map<number, RoutedOp>();
  #numbers = 0;

  constructor(world: World<RoutedEngine>, { isWatched = true }: { readonly isWatched?: boolean } = {}) {
    this.world = world;
    if (isWatched) this.watch = (engine, onReady) => engine.watch({}, { onReady });
    this.#counts = Array.from({ length: world.size.sessions }, () => 0);
    this.#isDecidedFirst = world.schedule.choices.chance("first-step", 30);
  }

  create({ storage, clock, verifiers, of }: Parts): RoutedEngine {
    const decider = simulatedDecider(this.world.schedule, of, this.world.store);
    const limits = { ...ROUTED_LIMITS, maxActiveSessions: Number.POSITIVE_INFINITY };
    const firstStep = this.#isDecidedFirst ? ("decider" as const) : ("first" as const);
    const approvals = { allowUnsignedApprovals: true };
    return createRoutedEngine({ storage, clock, workflows, decider, verifiers, limits, firstStep, ...approvals });
  }

  async act(writer: Writer<RoutedEngine>): Promise<void> {
    const place = this.world.pick(writer, this.#counts.length + 1) - 1;
    if (place < 0) return;
    const count = this.#counts[place] ?? 0;
    const id = await this.start(writer, `start ${place} ${count}`);
    if (id === undefined) return;
    const look = await this.look(writer, id);
    if (look.kind !== "answer") return;
    if (look.value.status === "completed") {
      if (this.#counts[place] === count) this.#counts[place] = count + 1;
      return;
    }
    const op = this.#choose(writer, place, look.value);
    if ("n" in op) this.#last.set(place, op);
    await this.ask(writer, id, op);
  }

  check(auditor: Life<RoutedEngine>): Promise<readonly string[]> {
    return checkRouted(this, auditor);
  }

  /** Asks an engine for an operation. */
  async perform(
    engine: RoutedEngine,
    id: string,
    op: RoutedOp,
    idempotencyKey: string,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const keyed = { idempotencyKey };
    const followed = { ...keyed, ...(signal && { signal }) };
    switch (op.type) {
      case "start":
        return answerOf(await engine.start({ workflow: NAME, ...followed }));
      case "advance": {
        const { n, good, step: of } = op;
        const report = { status: "success", n, details: { n, good }, ...(of === undefined ? {} : { step_id: of }) };
        return answerOf(await engine.session(id).advance({ report, contextUpdates: { last: n }, ...followed }));
      }
      case "resume": {
        const { n, good } = op;
        const report = { status: "success", n, ...(good === undefined ? {} : { details: { n, good } }) };
        const request = { report, contextUpdates: { last: n }, assumedStep: BARE, ...followed };
        return answerOf(await engine.session(id).resume(request));
      }
      case "suspend":
        return answerOf(await engine.session(id).suspend(keyed));
      case "retry":
        return answerOf(await engine.session(id).retry(followed));
      case "release":
        return answerOf(await engine.session(id).release({ by: "ann", ...keyed }));
      case "approve":
      case "deny": {
        const word = { by: "ann", note: "so be it", evidenceHash: this.#hashes.get(op.about) ?? "", ...keyed };
        return answerOf(await engine.session(id)[op.type](word));
      }
    }
  }

  /** Reads the status, with what a person is asked. */
  protected look(writer: Writer<RoutedEngine>, id: string) {
    return this.#call(writer, id, "status", async (engine) => {
      const view = await engine.session(id).state();
      const { n } = view.awaiting?.evidence ?? {};
      if (view.awaiting !== undefined) this.#hashes.set(Number(n), view.awaiting.evidenceHash);
      return { ...answerOf(view), about: n === undefined ? undefined : Number(n) };
    });
  }

  /** Asks for an operation with a key of its own, and records what came of it. */
  protected async ask(writer: Writer<RoutedEngine>, id: string, op: RoutedOp): Promise<void> {
    const key = writer.newKey();
    this.ops.set(key, op);
    const what = `${JSON.stringify(op)} ${key}`;
    await this.#call(writer, id, what, (engine, signal) => this.perform(engine, id, op, key, signal), { op, key });
  }

  /** Starts the instance of a place, as all writers do with the same key. Returns its id; undefined if it was cancelled. */
  protected async start(writer: Writer<RoutedEngine>, key: string): Promise<string | undefined> {
    this.ops.set(key, { type: "start" });
    const started = await writer.ask(key, (engine, signal) =>
      engine.start({ workflow: NAME, idempotencyKey: key, signal }),
    );
    if (started.kind === "answer") {
      const { others } = answerOf(started.value);
      if (others.length > 0) throw new Error(`start has shown ${others}`);
      return started.value.sessionId;
    }
    // The instance is there, but its first step is not decided.
    const error = started.kind === "refusal" ? started.error : undefined;
    if (isPhasegateError(error, "DECIDER_FAILED") || isPhasegateError(error, "CANCELLED")) {
      return "sessionId" in error.details ? error.details.sessionId : undefined;
    }
    throw new Error(`start was not answered: ${JSON.stringify(started)}`);
  }

  /** Chooses what suits the state that the writer has seen; others may have changed it since. */
  #choose(
    writer: Writer<RoutedEngine>,
    place: number,
    { status, step: at, about }: Answer & { readonly about: number | undefined },
  ): RoutedOp {
    const pick = <T>(of: readonly [T, ...T[]]): T => of[this.world.pick(writer, of.length)] ?? of[0];
    const n = ++this.#numbers;
    const named = at === undefined ? {} : { step: at };
    const good: RoutedOp = { type: "advance", n, good: true };
    if (pick([false, false, false, false, true])) {
      return pick<RoutedOp>([
        this.#last.get(place) ?? good,
        { type: "suspend" },
        { type: "retry" },
        { type: "release" },
        { type: "resume", n },
        { type: "resume", n, good: true },
        { type: "deny", about: about ?? 0 },
      ]);
    }
    if (status === "failed") return { type: pick(["retry", "release"]) };
    if (status === "paused") {
      return pick<RoutedOp>([{ type: "resume", n, good: true }, { type: "resume", n }, { type: "release" }]);
    }
    if (about !== undefined && pick([true, true, false])) return { type: pick(["approve", "approve", "deny"]), about };
    return pick<RoutedOp>([good, { ...good, ...named }, { ...good, ...named }, { ...good, good: false }]);
  }

  async #call<A extends Answer>(
    writer: Writer<RoutedEngine>,
    id: string,
    what: string,
    work: (engine: RoutedEngine, signal: AbortSignal) => Promise<A>,
    asked?: NonNullable<Called["asked"]>,
  ): Promise<Outcome<A>> {
    const observed = this.world.store.observe(id);
    const outcome = await writer.ask(`${what} of ${id}`, work);
    this.calls.push({ id, ...observed(), outcome, ...(asked && { asked }) });
    return outcome;
  }
}

function answerOf({ now, ...view }: RoutedView & { readonly gate?: unknown; readonly now?: RoutedView }): Answer {
  const { version, status, currentStep: step, awaiting, gate: refused, replayed = false } = view;
  const [waits, isRefused] = [awaiting !== undefined, refused !== undefined];
  // A repeated answer says what is the current step now, too.
  const others = [view, ...(now === undefined ? [] : [now])].flatMap(othersIn);
  return { version, status, step, waits, isRefused, isReplayed: replayed, others };
}

/** Returns the steps whose text a view has, but the current one. */
function othersIn(view: RoutedView): string[] {
  const text = JSON.stringify(view);
  return STEPS.filter((name) => name !== view.currentStep && text.includes(textOf(name)));
}

/** A decider that takes its time, and says which report it was asked about. Sometimes it fails, or never answers: then the deadline does. */
function simulatedDecider(schedule: Schedule, of: string, { trouble }: SharedStore): StepDecider {
  return {
    decide: ({ allowed, currentStep = "", report }, { signal }) =>
      new Promise<DeciderAnswer>((resolve, reject) => {
        const choice = `decider-of-${of}`;
        schedule.add(of, "decides", () => {
          if (signal.aborted) return;
          if (trouble.left > 0 && schedule.choices.chance(choice, 10)) {
            trouble.left -= 1;
            if (schedule.choices.pick(choice, 2) === 0) reject(new Error("the model is down"));
            return;
          }
          // The usual course is the order of the steps.
          const following = allowed.indexOf(currentStep) + 1 + schedule.choices.pick(choice, allowed.length);
          const nextStep = allowed[following % allowed.length] ?? "FINISH";
          const status = ["active", "active", "active", "active", "paused", "failed"];
          const statusSuggestion = status[schedule.choices.pick(choice, status.length)] ?? "active";
          resolve({ nextStep, contextUpdates: { about: report?.n ?? 0 }, statusSuggestion });
        });
      }),
  };
}

/** Loads all that engines load on demand. */
export async function loadRouted(): Promise<void> {
  const decider: StepDecider = { decide: async () => ({ nextStep: APPROVED, contextUpdates: {} }) };
  const verifiers = { measured: { verify: async () => ({ ok: true, message: "measured" }) } };
  const storage = new MemoryStorage();
  const engine = createRoutedEngine({ storage, workflows, decider, verifiers, allowUnsignedApprovals: true });
  const { sessionId } = await engine.start({ workflow: NAME, idempotencyKey: "start" });
  await engine.session(sessionId).advance({ report: { status: "success" } });
  const asking = await engine
    .session(sessionId)
    .advance({ report: { status: "success", details: { n: 1, good: true } } });
  await engine.session(sessionId).approve({ by: "ann", evidenceHash: asking.awaiting?.evidenceHash ?? "" });
  await engine.session(sessionId).audit();
}

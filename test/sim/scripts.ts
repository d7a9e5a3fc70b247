/** What writers do in the small worlds that are explored whole: each makes one call on a session that was set up before. */
import { type Engine, PhasegateError } from "phasegate";
import type { RoutedEngine } from "phasegate/routed";
import { PhasedProduct } from "./phased.js";
import type { Op } from "./phased-model.js";
import { RoutedProduct } from "./routed.js";
import type { RoutedOp } from "./routed-model.js";
import type { Product, World, Writer } from "./world.js";

/** A product whose writers follow a script. */
export interface Scripted<Engine> extends Product<Engine> {
  /** Sets the sessions up. */
  begin(setter: Writer<Engine>): Promise<void>;
}

/** Makes the product of a world. */
export type Script<Engine> = (world: World<Engine>) => Scripted<Engine>;

/** The writers, in the order of the script. */
export const WRITERS: readonly string[] = ["writer1", "writer2", "writer3"];

/** An operation on one of the two sessions. */
interface Task<Operation, Place extends 0 | 1 = 0 | 1> {
  readonly place: Place;
  readonly op: Operation;
}

/** What was done before, and what the writers do. */
interface Tasks<Operation> {
  readonly before?: readonly Task<Operation>[];
  /** Two on the first session, and one on the other. */
  readonly writers: readonly [Task<Operation, 0>, Task<Operation, 0>, Task<Operation, 1>];
  /** True if each host watches: that adds orders. */
  readonly isWatched?: boolean;
}

class ScriptedPhased extends PhasedProduct implements Scripted<Engine> {
  readonly #tasks: Tasks<Op>;
  readonly #ids: string[] = [];

  constructor(world: World<Engine>, tasks: Tasks<Op>) {
    super(world, { isWatched: tasks.isWatched === true });
    this.#tasks = tasks;
  }

  async begin(setter: Writer<Engine>): Promise<void> {
    for (const place of [0, 1]) this.#ids.push(await this.start(setter, place));
    for (const { place, op } of this.#tasks.before ?? []) await this.ask(setter, this.#ids[place] ?? "", op);
    for (const id of this.#ids) for (const what of ["approval", "waiver"] as const) await this.about(setter, id, what);
  }

  override async act(writer: Writer<Engine>): Promise<void> {
    const task = this.#tasks.writers[WRITERS.indexOf(writer.name)];
    if (task !== undefined) await this.ask(writer, this.#ids[task.place] ?? "", task.op);
  }
}

/** Writers whose calls are answered before the checks have ended: they ask for the result until there is one. */
class AnsweredInTime extends ScriptedPhased {
  override async perform(engine: Engine, sessionId: string, op: Op, idempotencyKey: string, signal?: AbortSignal) {
    if (op.type !== "submit") return super.perform(engine, sessionId, op, idempotencyKey, signal);
    const session = engine.session(sessionId);
    const left = signal && { signal };
    // Time stands still here: the answer competes with all that happens from the call on.
    const submit = () => session.submit(op.phase, this.evidenceOf(op), { answerWithinMs: 0, idempotencyKey, ...left });
    let answer = await submit();
    while (answer.status === "verifying") {
      // Who leaves now does not know what becomes of it, as after a failure of the store.
      if (signal?.aborted) {
        const details = { operation: "submit", outcome: "unknown" } as const;
        throw new PhasegateError("STORAGE_FAILED", "the writer has left", { remedy: "Ask again.", details });
      }
      const waiting = { answerWithinMs: Number.POSITIVE_INFINITY, ...left };
      answer = (await session.submission(op.phase, idempotencyKey, waiting)) ?? (await submit());
    }
    const { version, passed, attempt } = answer.result;
    return { version, passed, attempt };
  }
}

class ScriptedRouted extends RoutedProduct implements Scripted<RoutedEngine> {
  readonly #tasks: Tasks<RoutedOp>;
  readonly #ids: string[] = [];

  constructor(world: World<RoutedEngine>, tasks: Tasks<RoutedOp>) {
    super(world, { isWatched: tasks.isWatched === true });
    this.#tasks = tasks;
  }

  async begin(setter: Writer<RoutedEngine>): Promise<void> {
    for (const place of [0, 1]) this.#ids.push((await this.start(setter, `start ${place}`)) ?? "");
    for (const { place, op } of this.#tasks.before ?? []) await this.ask(setter, this.#ids[place] ?? "", op);
    for (const id of this.#ids) await this.look(setter, id);
  }

  override async act(writer: Writer<RoutedEngine>): Promise<void> {
    const task = this.#tasks.writers[WRITERS.indexOf(writer.name)];
    if (task !== undefined) await this.ask(writer, this.#ids[task.place] ?? "", task.op);
  }
}

const phased =
  (tasks: Tasks<Op>): Script<Engine> =>
  (world) =>
    new ScriptedPhased(world, tasks);
const routed =
  (tasks: Tasks<RoutedOp>): Script<RoutedEngine> =>
  (world) =>
    new ScriptedRouted(world, tasks);

const submit = (phase: number, n: number, good = true): Op => ({ type: "submit", phase, good, n });
const advance = (n: number, good = true): RoutedOp => ({ type: "advance", n, good });

const SUBMITTING: Tasks<Op> = {
  writers: [
    { place: 0, op: submit(1, 1) },
    { place: 0, op: { type: "pause" } },
    { place: 1, op: submit(1, 3, false) },
  ],
};

/** The scripts of phased sessions. */
export const PHASED_SCRIPTS = {
  "evidence and a pause": phased(SUBMITTING),
  "evidence and a pause, watched": phased({ ...SUBMITTING, isWatched: true }),
  "an approval, and other evidence": phased({
    before: [
      { place: 0, op: submit(1, 11) },
      { place: 0, op: submit(2, 12) },
      { place: 1, op: submit(1, 13) },
      { place: 1, op: submit(2, 14) },
    ],
    writers: [
      { place: 0, op: { type: "approve", about: 12 } },
      { place: 0, op: submit(2, 15) },
      { place: 1, op: { type: "deny", about: 14 } },
    ],
  }),
  "a waiver, and evidence that needs it": phased({
    before: [{ place: 0, op: { type: "requestWaiver", phase: 1, n: 21 } }],
    writers: [
      { place: 0, op: { type: "waive", about: 21 } },
      { place: 0, op: submit(1, 22, false) },
      { place: 1, op: { type: "requestWaiver", phase: 1, n: 23 } },
    ],
  }),
  // Last: it has many orders, and only the long tests go through all of them.
  "evidence that is answered in time, and a pause": (world: World<Engine>) => new AnsweredInTime(world, SUBMITTING),
};

/** The scripts of routed sessions. */
export const ROUTED_SCRIPTS = {
  "two reports": routed({
    writers: [
      { place: 0, op: advance(31) },
      { place: 0, op: advance(32) },
      { place: 1, op: { type: "suspend" } },
    ],
  }),
  "an approval, and a client that comes back": routed({
    before: [
      { place: 0, op: advance(41) },
      { place: 0, op: advance(42) },
      { place: 0, op: advance(43) },
    ],
    writers: [
      { place: 0, op: { type: "approve", about: 43 } },
      { place: 0, op: { type: "resume", n: 44, good: true } },
      { place: 1, op: advance(45) },
    ],
  }),
};

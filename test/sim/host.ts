/**
 * A simulated host: an engine with its own caches, clock, verifiers and watcher over the shared store. It can crash between
 * any two awaits of its engine; the next life begins with empty caches, and nothing of the old one acts again.
 */
import type { Clock } from "../../src/ports/clock.js";
import type { Verifier, VerifyResult } from "../../src/ports/verifier.js";
import type { Schedule } from "./schedule.js";
import { codeOf, type SharedStore, SimStorage } from "./store.js";

/** What one life of a host has. */
export interface Life<Engine> {
  /** The name of this life. */
  readonly of: string;
  readonly engine: Engine;
  readonly storage: SimStorage;
  /** Resolves when the host crashes. */
  readonly crashed: Promise<void>;
  crash(): void;
}

/** A watcher of a host, from its beginning until the host crashes or the store fails. */
export interface Watched {
  /** The host's life. */
  readonly of: string;
  /** The versions of each session, in the order in which they came. */
  readonly seen: Map<string, number[]>;
  /** The versions that were there when it began. */
  readonly from: ReadonlyMap<string, number>;
  /** It sees only later versions than these. One that polls may find a commit that was not acknowledged when it began. */
  readonly old: ReadonlyMap<string, number>;
  /** The first version of each session that its own host has appended since it began: it has to see these. */
  readonly own: Map<string, number>;
  /** The versions that were there when it was ready: it has to see all later ones. Missing before. */
  ready: ReadonlyMap<string, number> | undefined;
  isOver: boolean;
}

/** What an engine is made of in a simulated world. */
export interface Parts {
  readonly storage: SimStorage;
  readonly clock: Clock;
  readonly verifiers: Readonly<Record<string, Verifier>>;
  /** The name of the host's life. */
  readonly of: string;
}

/** A kind of engine, as hosts run it. */
export interface EngineKind<Engine> {
  create(parts: Parts): Engine;
  /** Watches all sessions, and says from when on nothing is missed; missing if nobody watches. */
  watch?(engine: Engine, onReady: () => void): AsyncIterable<{ readonly sessionId: string; readonly version: number }>;
}

/** A host, which lives, crashes, and lives again. */
export class Host<Engine> {
  readonly name: string;
  readonly #store: SharedStore;
  readonly #kind: EngineKind<Engine>;
  /** How far its clock is ahead, in milliseconds. */
  skew = 0;
  life: Life<Engine> | undefined;
  /** What its watchers have seen. */
  readonly watched: Watched[] = [];
  #lives = 0;

  constructor(name: string, store: SharedStore, kind: EngineKind<Engine>) {
    this.name = name;
    this.#store = store;
    this.#kind = kind;
  }

  /** Begins a new life. */
  start(): Life<Engine> {
    this.#lives += 1;
    const of = `${this.name}.${this.#lives}`;
    const { schedule } = this.#store;
    const storage = new SimStorage(this.#store, of);
    const clock = this.#clock(of, () => this.life?.of === of);
    const engine = this.#kind.create({
      of,
      storage,
      clock,
      verifiers: { measured: measured(schedule, of, this.#store) },
    });
    let end = () => {};
    const crashed = new Promise<void>((resolve) => {
      end = resolve;
    });
    const crash = () => {
      schedule.note(`${of}: crashes`);
      for (const watched of this.watched) watched.isOver = true;
      storage.crash();
      this.life = undefined;
      end();
    };
    this.life = { of, engine, storage, crashed, crash };
    void this.#watch(this.life);
    return this.life;
  }

  /** Watches; if the store fails, it is watched again. */
  async #watch(life: Life<Engine>): Promise<void> {
    if (this.#kind.watch === undefined) return;
    const { of, engine } = life;
    const { schedule, versions, acknowledged, nature } = this.#store;
    const [seen, own, from] = [new Map<string, number[]>(), new Map<string, number>(), new Map(versions)];
    const old = nature.pollMs === undefined ? from : new Map(acknowledged);
    const watched: Watched = { of, seen, from, old, own, ready: undefined, isOver: false };
    this.watched.push(watched);
    life.storage.onAppended = (id, version) => {
      if (version > (from.get(id) ?? 0) && !own.has(id)) own.set(id, version);
    };
    const onReady = () => {
      watched.ready = new Map(versions);
    };
    try {
      for await (const { sessionId, version } of this.#kind.watch(engine, onReady)) {
        seen.set(sessionId, [...(seen.get(sessionId) ?? []), version]);
      }
    } catch (error) {
      watched.isOver = true;
      // The crash has closed the host's database.
      if (life.storage.end.aborted) return;
      if (codeOf(error) !== "STORAGE_FAILED") throw error;
      await schedule.wait(of, "watches again");
      return this.#watch(life);
    }
  }

  #clock(of: string, isAlive: () => boolean): Clock {
    const { schedule } = this.#store;
    let ids = 0;
    return {
      now: () => schedule.now + this.skew,
      elapsed: () => schedule.now,
      after: (milliseconds, callback) => (isAlive() ? schedule.after(of, milliseconds, callback) : () => {}),
      random: () => schedule.choices.pick(`clock-of-${of}`, 1000) / 1000,
      newId: () => `${of.replace(".", "-")}-${++ids}`,
    };
  }
}

/** A verifier that takes its time, looks at what the evidence says of itself, and sometimes can't tell. */
function measured(schedule: Schedule, of: string, { trouble }: SharedStore): Verifier {
  return {
    verify: ({ evidence }, { signal }) =>
      new Promise<VerifyResult>((resolve, reject) => {
        signal.addEventListener("abort", () => {
          if (!trouble.isCancelling) trouble.disturbed.add(evidence.n);
        });
        const what = `measures submission ${String(evidence.n)}`;
        schedule.add(of, what, () => {
          if (signal.aborted) return reject(new Error("aborted"));
          const disturbed = trouble.left > 0 && schedule.choices.chance(`verifier-of-${of}`, 2);
          if (!disturbed) return resolve({ ok: evidence.good === true, message: "measured" });
          trouble.left -= 1;
          trouble.disturbed.add(evidence.n);
          // Either it fails, or it never ends: then the deadline does.
          if (schedule.choices.pick(`verifier-of-${of}`, 2) === 0) reject(new Error("the instrument is broken"));
        });
      }),
  };
}

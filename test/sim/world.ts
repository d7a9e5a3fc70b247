/**
 * A simulated world: hosts over one store, writers who call them, and what goes wrong. A round lets every writer do a few
 * things while hosts crash and messages are lost; then all faults end, what is late arrives, and everything is checked.
 */
import { type Choices, type HostTrouble, SeededChoices } from "./choices.js";
import { type EngineKind, Host, type Life } from "./host.js";
import { waitForCrypto } from "./runtime.js";
import { Schedule } from "./schedule.js";
import { codeOf, NetworkStore, type SharedStore, type Trouble } from "./store.js";

/** The size of a world. */
export interface Size {
  readonly rounds: number;
  readonly writers: number;
  readonly hosts: number;
  /** Sessions at once. */
  readonly sessions: number;
  /** What each writer does in a round. */
  readonly operations: number;
  /** Faults in a round, at most. */
  readonly faults: number;
}

export const USUAL: Size = { rounds: 2, writers: 3, hosts: 3, sessions: 2, operations: 4, faults: 6 };

/** The answer to a call, or its refusal; `lost` if the writer never got either. */
export type Outcome<T> =
  | {
      readonly kind: "answer";
      readonly value: T;
      /** True if the writer has given up on an earlier try that may still be carried out. */
      readonly mayStillHappen: boolean;
    }
  | { readonly kind: "refusal"; readonly error: unknown; readonly mayStillHappen: boolean }
  | { readonly kind: "lost"; readonly mayStillHappen: boolean };

/** What is simulated: an engine, what writers do with it, and what must be true afterwards. */
export interface Product<Engine> extends EngineKind<Engine> {
  /** Lets a writer do one thing. */
  act(writer: Writer<Engine>): Promise<void>;
  /** Finishes what crashed hosts have left to the next reader; missing if they leave nothing. */
  settle?(auditor: Life<Engine>): Promise<void>;
  /** Returns what is wrong at the end of a round, when nothing is on its way any more. */
  check(auditor: Life<Engine>): Promise<readonly string[]>;
}

/** The result of a simulation. */
export interface Report {
  readonly seed: number;
  /** Identifies everything that has happened, in order. */
  readonly hash: string;
  readonly steps: number;
  /** What was wrong; empty if nothing was. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
  /** The choices that were not the usual ones. */
  readonly unusual: readonly string[];
}

/** A kind of store. */
export type StoreClass = new (schedule: Schedule, trouble: Trouble) => SharedStore;

/** More steps than any round needs: a world that does not come to rest has a problem. */
const STEPS_MAX = 20_000;

/** A world, and all that is in it. */
export class World<Engine> {
  readonly schedule: Schedule;
  readonly store: SharedStore;
  readonly size: Size;
  readonly hosts: readonly Host<Engine>[];
  /** The calls that hosts have not answered yet. */
  readonly underWay = new Set<Promise<void>>();
  readonly #product: Product<Engine>;
  /** What watchers had seen that a loss of power has undone. */
  readonly #undone: string[] = [];
  #steps = 0;

  constructor(
    choices: Choices,
    size: Size,
    makeProduct: (world: World<Engine>) => Product<Engine>,
    Store: StoreClass = NetworkStore,
  ) {
    this.size = size;
    this.schedule = new Schedule(choices);
    this.store = new Store(this.schedule, { left: 0, percent: 4, disturbed: new Set(), isCancelling: false });
    this.#product = makeProduct(this);
    const names = Array.from({ length: size.hosts }, (_, index) => `host${index + 1}`);
    this.hosts = names.map((name) => new Host(name, this.store, this.#product));
  }

  /** Runs all rounds, up to the first one with a problem. Returns what is wrong. */
  async run(): Promise<readonly string[]> {
    for (const host of this.hosts) host.start();
    // Adapters that take time to open are opened.
    await this.#rest();
    for (let round = 1; round <= this.size.rounds; round += 1) {
      this.schedule.note(`round ${round}`);
      const problems = await this.#round(round);
      if (problems.length > 0) return problems;
    }
    return [];
  }

  /** Returns a number that a writer picks. */
  pick(writer: Writer<Engine>, count: number): number {
    return this.schedule.choices.pick(`${writer.name} in round ${writer.round}`.replaceAll(" ", "-"), count);
  }

  get steps(): number {
    return this.#steps;
  }

  /** Lets steps happen until a promise is kept. */
  async until<T>(promise: Promise<T>, before: () => Promise<void> | undefined = () => undefined): Promise<T> {
    let ended: { readonly value: T } | { readonly error: unknown } | undefined;
    promise.then(
      (value) => {
        ended = { value };
      },
      (error: unknown) => {
        ended = { error };
      },
    );
    for (let steps = 0; ended === undefined; steps += 1) {
      const disturbed = before();
      if (disturbed !== undefined) await disturbed;
      const happened = await this.schedule.next();
      this.#steps += 1;
      if (ended !== undefined) break;
      if (!happened)
        throw new Error(`nothing happens any more, but something is waited for:\n${this.schedule.waiting}`);
      if (steps > STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} steps:\n${this.schedule.waiting}`);
    }
    if ("error" in ended) throw ended.error;
    return ended.value;
  }

  async #round(round: number): Promise<readonly string[]> {
    const { size, store } = this;
    const names = Array.from({ length: size.writers }, (_, index) => `writer${index + 1}`);
    store.trouble.left = size.faults;
    const writers = names.map((name) => new Writer(this, name, round, this.#product));
    try {
      await this.work(writers);
      return await this.end(round);
    } catch (error) {
      return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    }
  }

  /** Lets writers do all that they have to do, while things go wrong. */
  async work(writers: readonly Writer<Engine>[]): Promise<void> {
    await this.until(Promise.all(writers.map((writer) => writer.work())), () => this.#disturb());
  }

  /** Returns what is wrong after the writers' work, when all faults have ended. */
  async end(round: number): Promise<readonly string[]> {
    const { store } = this;
    store.trouble.left = 0;
    for (const host of this.hosts) this.#heal(host);
    await this.#rest();
    // A call that its writer gave up goes on, perhaps for minutes, and may still write.
    if (this.underWay.size > 0) await this.until(Promise.all(this.underWay));
    const auditor = new Host(`auditor${round}`, store, this.#product).start();
    await this.until(this.#product.settle?.(auditor) ?? Promise.resolve());
    await this.#rest();
    const { pollMs } = store.nature;
    if (pollMs !== undefined) {
      await this.until(this.#pause(3 * pollMs));
      await this.#rest();
    }
    const problems = await this.until(this.#product.check(auditor));
    auditor.crash();
    return [...this.#undone, ...store.undurable, ...problems];
  }

  #losePower(): void {
    this.store.losePower?.();
    const { versions } = this.store;
    for (const { of, seen } of this.hosts.flatMap(({ watched }) => watched)) {
      for (const [id, found] of seen) {
        const last = found.at(-1) ?? 0;
        if (last > (versions.get(id) ?? 0))
          this.#undone.push(`the watcher of ${of} saw ${last} of ${id}, which is gone`);
      }
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.schedule.after("world", milliseconds, resolve));
  }

  /** Lets everything arrive that is on its way. */
  async #rest(): Promise<void> {
    while (await this.schedule.next({ timers: false })) this.#steps += 1;
  }

  /** Perhaps crashes a host, cuts it off, or sets its clock. */
  #disturb(): Promise<void> | undefined {
    const { trouble } = this.store;
    const { choices, causes } = this.schedule;
    if (trouble.left <= 0) return undefined;
    const picked = choices.pickTrouble === undefined ? this.#pickTrouble() : choices.pickTrouble();
    if (picked === undefined) return undefined;
    trouble.left -= 1;
    const { host: index, what } = picked;
    const host = this.hosts[index];
    if (host === undefined) return undefined;
    causes?.begin(`trouble ${what}`);
    causes?.concerns(host.life?.of ?? host.name);
    if (what === 0) {
      host.life?.crash();
      this.schedule.add("world", `${host.name} starts again`, () => this.#heal(host));
    } else if (what === 1 && this.store.losePower !== undefined) {
      this.schedule.note("world: the power fails");
      for (const { life } of this.hosts) life?.crash();
      this.#losePower();
      for (const each of this.hosts) this.schedule.add("world", `${each.name} starts again`, () => this.#heal(each));
    } else if (what === 1 && host.life !== undefined) {
      this.schedule.note(`${host.name}: is cut off`);
      host.life.storage.isCut = true;
      this.schedule.add("world", `${host.name} is connected again`, () => this.#heal(host));
    } else {
      host.skew = (choices.pick("trouble", 21) - 10) * 60_000;
      causes?.sees(String(host.skew));
      this.schedule.note(`${host.name}: its clock is ${host.skew} ms ahead`);
    }
    // Where it matters what follows from what, writers learn of a crash before anything else happens.
    return causes === undefined ? undefined : this.schedule.settle();
  }

  #pickTrouble(): HostTrouble | undefined {
    const { choices } = this.schedule;
    if (!choices.chance("trouble", 3)) return undefined;
    return { host: choices.pick("trouble", this.hosts.length), what: choices.pick("trouble", 3) };
  }

  #heal(host: Host<Engine>): void {
    if (host.life === undefined) host.start();
    else host.life.storage.isCut = false;
    this.schedule.causes?.concerns(host.life?.of ?? host.name);
  }
}

/** How often a writer repeats a call whose answer is lost. */
const TRIES_MAX = 30;

/** A writer: an agent or a person, who calls any host, and calls again with the same key if an answer is lost. */
export class Writer<Engine> {
  readonly name: string;
  readonly round: number;
  readonly world: World<Engine>;
  readonly #product: Product<Engine>;
  #keys = 0;

  constructor(world: World<Engine>, name: string, round: number, product: Product<Engine>) {
    this.world = world;
    this.name = name;
    this.round = round;
    this.#product = product;
  }

  /** Returns a key for a call. */
  newKey(): string {
    this.#keys += 1;
    return `${this.name} ${this.round}.${this.#keys}`;
  }

  async work(): Promise<void> {
    const { schedule, size } = this.world;
    for (let count = 0; count < size.operations; count += 1) {
      await schedule.wait(this.name, "acts");
      await this.#product.act(this);
    }
  }

  /**
   * Calls a host, and others if no answer comes. A writer may cancel a call by its signal, and then leaves it so, or calls
   * again.
   */
  async ask<T>(what: string, work: Work<Engine, T>): Promise<Outcome<T>> {
    let mayStillHappen = false;
    for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
      const life = await this.#aHost();
      this.world.schedule.note(`${this.name}: asks ${life.of}: ${what}`);
      const outcome = await this.#once(what, life, work);
      // A crash may have ended the call.
      this.world.schedule.causes?.concerns(this.name);
      if (outcome.kind === "answer") return { ...outcome, mayStillHappen };
      mayStillHappen ||= outcome.mayStillHappen;
      if (outcome.kind === "refusal" && !isNoAnswer(outcome.error)) {
        if (codeOf(outcome.error) !== "CANCELLED") return { ...outcome, mayStillHappen };
        // What an earlier try has sent may arrive after a cancelled one.
        if (this.world.pick(this, 2) === 0) return { ...outcome, mayStillHappen: tries > 1 };
      }
      await this.world.schedule.wait(this.name, `tries again: ${what}`);
    }
    return { kind: "lost", mayStillHappen };
  }

  async #aHost(): Promise<Life<Engine>> {
    const { schedule, hosts } = this.world;
    for (;;) {
      const lives = hosts.flatMap(({ life }) => life ?? []);
      const life = lives[schedule.choices.pick(this.name, Math.max(1, lives.length))];
      if (life !== undefined) {
        schedule.causes?.concerns(life.of);
        return life;
      }
      await schedule.wait(this.name, "looks for a host");
    }
  }

  #cancellable({ of }: Life<Engine>) {
    const { schedule, store } = this.world;
    const { trouble } = store;
    const controller = new AbortController();
    const cancel = () => {
      schedule.causes?.concerns(of);
      trouble.isCancelling = true;
      controller.abort();
      trouble.isCancelling = false;
    };
    return { signal: controller.signal, cancel };
  }

  #once<T>(what: string, life: Life<Engine>, work: Work<Engine, T>): Promise<Outcome<T>> {
    const { schedule, store } = this.world;
    const line = `line-of-${this.name}`;
    const { signal, cancel } = this.#cancellable(life);
    return new Promise((resolve) => {
      const isLost = () => {
        if (store.trouble.left <= 0 || !schedule.choices.chance(line, 4)) return false;
        store.trouble.left -= 1;
        return true;
      };
      const lost = () => resolve({ kind: "lost", mayStillHappen: false });
      const giveUp = () => resolve({ kind: "lost", mayStillHappen: true });
      if (isLost()) {
        const [said, quit] = schedule.choices.pick(line, 2) === 0 ? ["gives up", giveUp] : ["cancels", cancel];
        schedule.add(this.name, `${said}: ${what}`, quit);
      }
      void life.crashed.then(lost);
      const arrives = (said: string, outcome: Outcome<T>) => {
        const isAway = isLost();
        schedule.add(this.name, `${what}: ${isAway ? "the answer is lost" : said}`, () =>
          isAway ? lost() : resolve(outcome),
        );
      };
      const refused = (error: unknown) => {
        const code = codeOf(error);
        const isFor = code !== "CANCELLED" || signal.aborted;
        arrives(code, {
          kind: "refusal",
          error: isFor ? error : `${code}, which nobody wanted`,
          mayStillHappen: false,
        });
      };
      const done = work(life.engine, signal).then(
        (value) => arrives("answered", { kind: "answer", value, mayStillHappen: false }),
        refused,
      );
      const over = Promise.race([done, life.crashed]);
      this.world.underWay.add(over);
      void over.then(() => this.world.underWay.delete(over));
    });
  }
}

/** What a writer has a host do; some calls can be cancelled by their signal. */
type Work<Engine, T> = (engine: Engine, signal: AbortSignal) => Promise<T>;

/** Returns true for an error after which nobody knows if something was done. */
function isNoAnswer(error: unknown): boolean {
  return codeOf(error) === "STORAGE_FAILED";
}

/** How to run a world. Defaults: the usual size, all choices, the store in memory. */
export interface SimulateOptions {
  readonly size?: Size;
  readonly kept?: Iterable<string> | undefined;
  readonly store?: StoreClass | undefined;
}

/** Runs a world from a seed. */
export async function simulate<Engine>(
  seed: number,
  makeProduct: (world: World<Engine>) => Product<Engine>,
  { size = USUAL, kept, store }: SimulateOptions = {},
): Promise<Report> {
  const choices = new SeededChoices(seed, kept);
  const world = new World(choices, size, makeProduct, store);
  const endWaiting = waitForCrypto(world.schedule);
  const problems = await world.run().finally(() => {
    endWaiting();
    world.store.close();
  });
  const { schedule, steps } = world;
  return { seed, hash: schedule.hash, steps, problems, trace: schedule.trace, unusual: choices.unusual };
}

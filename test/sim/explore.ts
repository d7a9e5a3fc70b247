/**
 * Explores small worlds whole: three writers, two sessions, three hosts, and at most one crash, cut, wrong clock, fault of the
 * store, lost answer or cancelled call. Every order of the steps is tried, or those of the first steps, up to a depth; the
 * rest takes its usual course then. Two orders that lead to the same state are followed once. The state is the store, the
 * hosts, what everybody knows so far (causes.ts), and what is on its way: the code between two steps depends on nothing else.
 * scripts.ts has what the writers do.
 */
import { Causes, digest } from "./causes.js";
import type { Choices, HostTrouble, Named } from "./choices.js";
import type { Host } from "./host.js";
import type { Schedule } from "./schedule.js";
import { type Script, type Scripted, WRITERS } from "./scripts.js";
import type { SharedStore } from "./store.js";
import { type Size, World, Writer } from "./world.js";

/** What was explored. */
export interface Explored {
  /** Runs from the beginning to the end. */
  readonly runs: number;
  /** Different states. */
  readonly states: number;
  /** What was stored, and what the writers knew, when they had done all that they had to do. */
  readonly ends: ReadonlySet<string>;
  /** What is wrong in the first run with a problem, its trace, and its choices. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
  readonly choices: readonly number[];
}

/** How much may go wrong, and how deep to go. */
export interface Exploration {
  /** How many things go wrong, at most. */
  readonly faults: 0 | 1;
  /**
   * How many steps of each session are explored, in each run; of both together where what happens to one may matter to the
   * other. So all orders of so many steps are. Default: all.
   */
  readonly depth?: number;
  /** True to try the orders that need not be tried, too. */
  readonly triesAll?: boolean;
  /** The choices of one run: only this one is made. */
  readonly only?: readonly number[] | undefined;
}

const SIZE: Size = { rounds: 1, writers: 3, hosts: 3, sessions: 2, operations: 1, faults: 0 };

/** Runs every order of the steps, up to the first run with a problem. */
export async function explore<Engine>(script: Script<Engine>, exploration: Exploration): Promise<Explored> {
  const seen = new Set<string>();
  const ends = new Set<string>();
  const open: (readonly number[])[] = [exploration.only ?? []];
  let runs = 0;
  for (let prefix = open.pop(); prefix !== undefined; prefix = open.pop()) {
    const choices = new ExploredChoices(exploration, prefix, seen);
    const { end, problems, trace } = await runScript(script, choices, exploration.faults);
    runs += 1;
    const values = choices.made.map(({ value }) => value);
    if (problems.length > 0) return { runs, states: seen.size, ends, problems, trace, choices: values };
    if (end !== undefined) ends.add(end);
    if (exploration.only !== undefined) break;
    for (const [index, { state, count }] of choices.made.entries()) {
      if (index < prefix.length) continue;
      if (seen.has(state)) break;
      seen.add(state);
      const before = values.slice(0, index);
      for (let value = 1; value < count; value += 1) open.push([...before, value]);
    }
  }
  return { runs, states: seen.size, ends, problems: [], trace: [], choices: [] };
}

/** What is explored. */
interface Scene {
  readonly hosts: readonly Pick<Host<unknown>, "life" | "skew">[];
  readonly schedule: Schedule;
  readonly store: SharedStore;
  /** The time, which stands still. */
  readonly now: number;
}

/** Thrown when a run comes to a state that was there before: from here on it is the run that came here first. */
class SeenBefore extends Error {}

/**
 * What kind of thing may go wrong in a run: something with one of the sessions, or a crash of the third host. Its writer is the only one
 * whose calls go to a host of the other session then.
 */
const KINDS = [0, 1, "crash"] as const;

/** Choices of which the first are given, and the others are the usual ones. */
class ExploredChoices implements Choices {
  readonly made: { readonly value: number; readonly count: number; readonly state: string }[] = [];
  readonly causes = new Causes();
  readonly #depth: number;
  /** True if orders are left out that need not be tried. */
  readonly #leavesOut: boolean;
  readonly #prefix: readonly number[];
  readonly #seen: ReadonlySet<string>;
  #scene: Scene | undefined;
  #kind: (typeof KINDS)[number] | undefined;
  /** How many steps each session has had. */
  readonly #steps: [number, number] = [0, 0];
  /** The sessions of which no further steps are explored. */
  readonly #over = new Set<number>();
  /** The writers that have asked a host. */
  readonly #asked = new Set<number>();
  /** True once a writer has asked a host of the other session. */
  #isMixed = false;

  constructor({ depth, triesAll = false }: Exploration, prefix: readonly number[], seen: ReadonlySet<string>) {
    this.#depth = depth ?? Number.POSITIVE_INFINITY;
    this.#leavesOut = !triesAll;
    this.#prefix = prefix;
    this.#seen = seen;
  }

  /** From now on there is something to explore. */
  open(scene: Scene): void {
    this.#scene = scene;
    const isChosen = this.#leavesOut && scene.store.trouble.left > 0;
    if (isChosen) this.#kind = KINDS[this.#decide("kind", KINDS.length, scene)];
  }

  /** Ends the exploration. Returns what is stored, and what the writers know. */
  close(): string {
    const told = this.causes.known.filter(([of]) => WRITERS.includes(of));
    const end = digest(JSON.stringify([this.#scene?.store.content(), told]));
    this.#scene = undefined;
    return end;
  }

  /** Verifiers and deciders do what they usually do. */
  pick(of: string, count: number): number {
    const scene = this.#scene;
    if (scene === undefined) return 0;
    if (/^writer\d$/.test(of)) return this.#hostOf(writerOf(of), scene);
    // Of all clocks, the two that are most wrong.
    if (of === "trouble") return this.#decide(of, 2, scene) * (count - 1);
    return this.#mayFail(of) || of.includes("-in-round-") ? this.#decide(of, count, scene) : 0;
  }

  chance(of: string): boolean {
    const scene = this.#scene;
    return scene !== undefined && this.#mayFail(of) && this.#decide(of, 2, scene) === 1;
  }

  pickStep(steps: readonly Named[]): number {
    const [first] = steps;
    if (this.#scene === undefined || first === undefined) return 0;
    if (this.#scene.schedule.now !== this.#scene.now) throw new Error("the time has moved: orders may depend on it");
    const among = this.#among(steps, this.#scene);
    const place = stepPlace(among[0] ?? first);
    const isExplored = this.#isExplored(place, this.#scene);
    // The state in which the usual course begins may have been there before, too.
    const isOpen = isExplored ? among.length > 1 : !this.#over.has(place);
    if (!isExplored) this.#over.add(place);
    const index = isOpen ? this.#decide("order", isExplored ? among.length : 1, this.#scene) : 0;
    const step = among[index] ?? first;
    this.#steps[stepPlace(step)] += 1;
    return steps.indexOf(step);
  }

  pickTrouble(): HostTrouble | undefined {
    const scene = this.#scene;
    if (scene === undefined) return undefined;
    const all = scene.hosts.flatMap((_, host) => [0, 1, 2].map((what) => ({ host, what })));
    const possible = all.filter((trouble) => this.#isPossible(trouble, scene));
    if (possible.length === 0) return undefined;
    return possible[this.#decide("trouble", possible.length + 1, scene) - 1];
  }

  /** Returns true if a call to the store, or to a host, may fail. */
  #mayFail(of: string): boolean {
    const scene = this.#scene;
    if (scene === undefined || !/^(?:store|line)-of-/.test(of)) return false;
    const place = placeOf(writerOf(of));
    // The step that is under way counts already.
    return (this.#kind === undefined || this.#kind === place) && this.#isExplored(place, scene, 1);
  }

  #isPossible({ host, what }: HostTrouble, scene: Scene): boolean {
    const place = placeOf(host + 1);
    const isCrashOfThird = host === 2 && what === 0;
    const isAsked = this.#kind === undefined || this.#kind === (isCrashOfThird ? "crash" : place);
    return isAsked && this.#isExplored(place, scene);
  }

  /** Returns true if a step of a session is explored: the next one, or the one that is under way. */
  #isExplored(place: 0 | 1, scene: Scene, underWay: 0 | 1 = 0): boolean {
    const [first, second] = this.#steps;
    const steps = this.#mayMix(scene) ? first + second : this.#steps[place];
    return steps - underWay < this.#depth;
  }

  /** Returns true if what happens to one session may matter to the other one. */
  #mayMix({ hosts, store }: Scene): boolean {
    // Watchers see both sessions.
    if (!this.#leavesOut || this.#isMixed || store.isWatched) return true;
    return hosts[2]?.life === undefined || (this.#kind === "crash" && store.trouble.left > 0);
  }

  /** Each writer asks a host of its own first. Without an answer it asks that one again, or the other one of its session. */
  #hostOf(writer: number, scene: Scene): number {
    const living = [1, 2, 3].filter((host) => scene.hosts[host - 1]?.life !== undefined);
    const near = living.filter((host) => placeOf(host) === placeOf(writer));
    const own = [...near.filter((host) => host === writer), ...near.filter((host) => host !== writer), ...living];
    const isAgain = this.#asked.has(writer) && near.length > 1 && this.#isExplored(placeOf(writer), scene, 1);
    this.#asked.add(writer);
    const host = own[isAgain ? this.#decide("host", near.length, scene) : 0] ?? writer;
    this.#isMixed ||= placeOf(host) !== placeOf(writer);
    return Math.max(0, living.indexOf(host));
  }

  /**
   * Returns the steps of which each has to be tried as the next one. What happens to one session has nothing to do with the
   * other one, so it may all come first: a persistent set (P. Godefroid, "Partial-order methods for the verification of
   * concurrent systems", 1996). The session that something goes wrong with comes last, since it has more ends.
   */
  #among(steps: readonly Named[], scene: Scene): readonly Named[] {
    if (this.#mayMix(scene)) return steps;
    const places = steps.map(stepPlace);
    const first = this.#kind === 0 ? Math.max(...places) : Math.min(...places);
    return steps.filter((_, index) => places[index] === first);
  }

  #decide(of: string, count: number, scene: Scene): number {
    const isNew = this.made.length >= this.#prefix.length;
    const value = this.#prefix[this.made.length] ?? 0;
    const depths = this.#depth === Number.POSITIVE_INFINITY ? [] : this.#steps;
    const place = [this.#kind, depths, of, this.causes.choices];
    const state = isNew ? digest(`${JSON.stringify(place)} ${this.#state(scene)}`) : "";
    this.made.push({ value, count, state });
    this.causes.choices.push(`${of}=${value}`);
    // Not in the middle of a call, where a host would take this for a failure of the store.
    if (isNew && of === "order" && this.#seen.has(state)) throw new SeenBefore();
    return value;
  }

  #state({ hosts, schedule, store }: Scene): string {
    const { event } = this.causes;
    // Nobody asks a dead host any more, and its life has a name of its own.
    const known = this.causes.known.filter(
      ([of]) => !of.startsWith("host") || hosts.some(({ life }) => life?.of === of),
    );
    const sides = hosts.map(({ life, skew }) => [life?.of, life?.storage.isCut, skew]);
    return JSON.stringify([known, event, schedule.ahead, sides, store.content(), store.trouble.left]);
  }
}

/** Returns the number of the writer whom a name is about: each writer has a host of its own. */
function writerOf(name: string): number {
  const [, number] = /(?:writer|host)(\d)/.exec(name) ?? [];
  if (number === undefined) throw new Error(`${name} is about no writer`);
  return Number(number);
}

/** Returns the session that a step is about. */
function stepPlace({ of, what }: Named): 0 | 1 {
  return placeOf(writerOf(`${of} ${what}`));
}

/** Returns the session of a writer: see scripts.ts. */
function placeOf(writer: number): 0 | 1 {
  return writer === 3 ? 1 : 0;
}

/** Runs a script in a world of its own. Returns the end that it has come to, unless it came to a state that was there before. */
async function runScript<Engine>(script: Script<Engine>, choices: ExploredChoices, faults: number) {
  const products: Scripted<Engine>[] = [];
  const world = new World<Engine>(choices, SIZE, (made) => {
    const product = script(made);
    products.push(product);
    return product;
  });
  const { schedule, store, hosts } = world;
  const [product = script(world)] = products;
  for (const host of hosts) host.start();
  await world.until(product.begin(new Writer(world, "setter", 0, product)));
  schedule.causes = choices.causes;
  store.trouble.left = faults;
  choices.open({ hosts, schedule, store, now: schedule.now });
  try {
    await world.work(WRITERS.map((name) => new Writer(world, name, 1, product)));
  } catch (error) {
    if (error instanceof SeenBefore) return { problems: [], trace: [] };
    throw error;
  }
  const end = choices.close();
  schedule.causes = undefined;
  const problems = await world.end(1);
  return { end, problems, trace: schedule.trace };
}

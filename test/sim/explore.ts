/**
 * Explores small worlds whole: three writers, two sessions, three hosts, and at most one crash, cut or fault. Every order of
 * the first steps is tried, up to a depth; the rest takes its usual course. Two orders that lead to the same state are
 * followed once. The state is the store, the hosts, what everybody has been told so far, and what is on its way: the code
 * between two steps depends on nothing else. scripts.ts has what the writers do.
 */
import { createHash } from "node:crypto";
import type { Choices } from "./choices.js";
import { type Script, type Scripted, WRITERS } from "./scripts.js";
import { type Size, World, Writer } from "./world.js";

/** What was explored. */
export interface Explored {
  /** Runs from the beginning to the end. */
  readonly runs: number;
  /** Different states. */
  readonly states: number;
  /** What is wrong in the first run with a problem, and its trace. */
  readonly problems: readonly string[];
  readonly trace: readonly string[];
}

/** How much may go wrong, and how deep to go. */
export interface Exploration {
  /** How many choices of the next step are explored, in each run. */
  readonly depth: number;
  /** How many crashes, cuts and faults there are, at most. */
  readonly faults: number;
  /** The most runs. Default: no limit. */
  readonly runsMax?: number;
}

const SIZE: Size = { rounds: 1, writers: 3, hosts: 3, sessions: 2, operations: 1, faults: 0 };

/** Runs every order of the first steps. */
export async function explore<Engine>(
  script: Script<Engine>,
  { depth, faults, runsMax = Number.POSITIVE_INFINITY }: Exploration,
): Promise<Explored> {
  const seen = new Set<string>();
  const open: (readonly number[])[] = [[]];
  let runs = 0;
  for (let prefix = open.pop(); prefix !== undefined && runs < runsMax; prefix = open.pop()) {
    const choices = new ExploredChoices(prefix, depth, seen);
    const { problems, trace } = await runScript(script, choices, faults);
    runs += 1;
    if (problems.length > 0) return { runs, states: seen.size, problems, trace };
    for (const [index, { state, count }] of choices.made.entries()) {
      if (index < prefix.length) continue;
      if (seen.has(state)) break;
      seen.add(state);
      const before = choices.made.slice(0, index).map(({ value }) => value);
      for (let value = 1; value < count; value += 1) open.push([...before, value]);
    }
  }
  return { runs, states: seen.size, problems: [], trace: [] };
}

/** Thrown when a run comes to a state that was there before: from here on it is the run that came here first. */
class SeenBefore extends Error {}

/** Choices of which the first are given, and the others are the usual ones. */
class ExploredChoices implements Choices {
  readonly picksOrder = true;
  readonly made: { readonly value: number; readonly count: number; readonly state: string }[] = [];
  /** Returns the state. */
  state = () => "";
  /** What was chosen since the last step. */
  sinceStep: string[] = [];
  /** True while there is something to explore. */
  isOpen = false;
  readonly #prefix: readonly number[];
  readonly #depth: number;
  readonly #seen: ReadonlySet<string>;
  #ordered = 0;

  constructor(prefix: readonly number[], depth: number, seen: ReadonlySet<string>) {
    this.#prefix = prefix;
    this.#depth = depth;
    this.#seen = seen;
  }

  pick(of: string, count: number): number {
    // Clocks, and who asks which host, are as usual: the first writer asks the first host.
    const asked = /^writer(\d)$/.exec(of);
    if (asked !== null) return (Number(asked[1]) - 1) % count;
    if (!this.isOpen || count < 2 || !(of === "order" || isFault(of))) return 0;
    // All clocks that are wrong are the same to the engines.
    if (count > 20) return 0;
    if (of === "order") this.#ordered += 1;
    return this.#decide(of, count);
  }

  chance(of: string): boolean {
    if (!this.isOpen || !isFault(of)) return false;
    return this.#decide(of, 2) === 1;
  }

  #decide(of: string, count: number): number {
    if (this.#ordered > this.#depth) return 0;
    const value = this.#prefix[this.made.length] ?? 0;
    const state = `${this.#ordered} ${of} ${this.state()} ${this.sinceStep}`;
    const isNew = this.made.length >= this.#prefix.length;
    this.made.push({ value, count, state });
    this.sinceStep.push(`${of}=${value}`);
    // The order is chosen by the world; what goes wrong, by a host, which would take this for a failure of the store.
    if (isNew && of === "order" && this.#seen.has(state)) throw new SeenBefore();
    return value;
  }
}

/** Returns true for what goes wrong: a host, the store, or a writer's call. */
function isFault(of: string): boolean {
  return of === "trouble" || of.startsWith("store-of-") || of.startsWith("line-of-");
}

/** Runs a script in a world of its own. */
async function runScript<Engine>(script: Script<Engine>, choices: ExploredChoices, faults: number) {
  const products: Scripted<Engine>[] = [];
  const world = new World<Engine>(choices, SIZE, (made) => {
    const product = script(made);
    products.push(product);
    return product;
  });
  const { schedule, store } = world;
  const [product = script(world)] = products;
  for (const host of world.hosts) host.start();
  await world.until(product.begin(new Writer(world, "setter", 0, product)));
  const told = new Map<string, string>();
  schedule.onNews = (of, what) => {
    told.set(of, digest(`${told.get(of)}\n${what}\n${store.content}`));
    choices.sinceStep = [];
  };
  choices.state = () => {
    const hosts = world.hosts.map(({ life, skew }) => [life?.of, life?.storage.isCut, skew]);
    const waiting = schedule.waiting.split("\n").sort();
    return digest(JSON.stringify([[...told].sort(), waiting, hosts, store.content, store.trouble.left]));
  };
  choices.isOpen = true;
  store.trouble.left = faults;
  try {
    await world.work(WRITERS.map((name) => new Writer(world, name, 1, product)));
  } catch (error) {
    if (error instanceof SeenBefore) return { problems: [], trace: [] };
    throw error;
  }
  choices.isOpen = false;
  const problems = await world.end(1);
  return { problems, trace: schedule.trace };
}

function digest(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}

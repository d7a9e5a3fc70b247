/**
 * Contracts of ports: cases that every implementation must pass, as tests or as one call with a report.
 * This is the entry file of the folder:
 *
 * - contract.ts: cases, results and reports; what cases need to wait for and assert; commits, random numbers and a clock for
 *   tests
 * - storage-contract/: the cases for storage adapters; contract.ts there lists them by subject
 * - content-contract.ts: the cases for content providers and sources of plans
 * - broken.ts: adapters with one known fault each, to test the contracts
 * - faulty-storage.ts: a storage that fails on request, to test hosts
 * - scripted-agent.ts, model-server.ts: an agent and a model provider that follow a script
 */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Commit, SessionQuery, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { digest } from "../workflow/json.js";
import { parseSessionId, shown } from "../workflow/names.js";

/** One promise that an implementation of a port must keep. */
export interface ContractCase {
  /** The promise, after its subject: `append: refuses a second first commit`. */
  readonly name: string;
  /**
   * Tests it on its own storage or content. Rejects if the promise is broken, usually with an `AssertionError`. Resolves with
   * the reason if it could not be tested, for example because the adapter has no `watch`.
   */
  readonly run: () => Promise<string | undefined>;
}

/** Ends a case that cannot be tested with this implementation. */
export class NotTried extends Error {}

/** Runs a check. Returns the reason if it ended with {@link NotTried}. */
export async function outcomeOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof NotTried) return error.message;
    throw error;
  }
}

/** Returns an optional part of an implementation. Ends the case if it is missing. */
export function ifThere<T>(value: T | undefined, missing: string): T {
  if (value === undefined) throw new NotTried(missing);
  return value;
}

export async function refuses(code: ErrorCode, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (isPhasegateError(error, code)) return;
    assert.fail(`It must be refused with ${code}, and failed with: ${errorText(error)}`);
  }
  assert.fail(`It must be refused with ${code}, and was not`);
}

function errorText(error: unknown): string {
  return isPhasegateError(error) ? `${error.code}: ${error.message}` : String(error);
}

/** Runs several checks to their ends, and fails with all that are broken. The name says what is checked. */
export async function eachOf(checks: Iterable<readonly [name: string, check: () => Promise<void>]>): Promise<void> {
  const broken: string[] = [];
  for (const [name, check] of checks) {
    try {
      await check();
    } catch (error) {
      broken.push(`${name}: ${explained(error).message}`);
    }
  }
  if (broken.length > 0) assert.fail(broken.join("\n"));
}

const SHOWN_MAX = 400;

/**
 * Returns an error whose message says what was expected and what came. The message that Node generates shows code of this
 * package, and values without a bound. `after` is the call that was made last.
 */
export function explained(error: unknown, after?: string): Error {
  const call = after === undefined ? "" : ` (after ${after})`;
  if (!(error instanceof assert.AssertionError)) return new Error(`${errorText(error)}${call}`, { cause: error });
  const { actual, expected, operator, generatedMessage, message } = error;
  if (operator === "fail" || operator === undefined) {
    // Several lines are several checks, each with its name.
    return message.includes("\n") ? error : new assert.AssertionError({ message: `${message}${call}` });
  }
  const values = `expected ${valueText(expected)}, and got ${valueText(actual)}`;
  // Node adds its own comparison behind the first line.
  const [said = ""] = message.split("\n");
  const what = operator === "==" ? said : `${said}: ${values}`;
  return new assert.AssertionError({ message: `${generatedMessage ? values : what}${call}`, actual, expected });
}

function valueText(value: unknown): string {
  const text = inspect(value, {
    depth: 4,
    maxArrayLength: 10,
    maxStringLength: 80,
    breakLength: Number.POSITIVE_INFINITY,
  });
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

/** Returns true if a call succeeds, and false if it fails with `CONFLICT`. Any other failure breaks the promise. */
export async function wins(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    await refuses("CONFLICT", Promise.reject(error));
    return false;
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function hashesIn(log: AsyncIterable<Commit>): Promise<string[]> {
  return (await collect(log)).map(({ hash }) => hash);
}

/** Returns the sessions on all pages of a query. */
export async function allPages(
  storage: StorageAdapter,
  query: SessionQuery & { readonly limit: number },
): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  for (let page = await storage.list(query); ; ) {
    const { length } = page.items;
    assert.ok(length <= query.limit, `a page of ${length} sessions, where the limit is ${query.limit}`);
    all.push(...page.items);
    if (page.cursor === undefined) return all;
    page = await storage.list({ ...query, cursor: page.cursor });
  }
}

export function present<T>(value: T | undefined, what: string): T {
  assert.ok(value !== undefined, `${what} must be there`);
  return value;
}

/** The longest wait for an answer or for a line of a child process, in milliseconds. */
const WAIT_MS = 30_000;

/** Waits for a promise. Fails with `what` after a limit, so that no case hangs. */
export async function comes<T>(call: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new assert.AssertionError({ message: `${what}, and did not within ${WAIT_MS / 1000} s` });
    timer = setTimeout(() => reject(error), WAIT_MS);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

export interface ContractResult {
  readonly name: string;
  /** `not tried`: the implementation or the options lack something that the case needs. */
  readonly outcome: "kept" | "broken" | "not tried";
  /** The reason why the case was not tried. */
  readonly reason?: string;
  readonly error?: unknown;
}

/** The results of a contract. */
export interface ContractReport {
  /** One for each case, in their order. */
  readonly results: readonly ContractResult[];
  /** The number of cases that passed. */
  readonly kept: number;
  /** The number of cases that failed. */
  readonly broken: number;
  /** The number of cases that could not be tested. */
  readonly notTried: number;
}

export interface ContractRun {
  /** Runs only cases whose names contain this text. Default: all. */
  readonly only?: string;
  /** Called with each result. Default: none. */
  readonly onResult?: (result: ContractResult) => void;
}

/** A broken contract. The message names each broken case with its error. */
export class ContractError extends Error {
  /** All results. */
  readonly report: ContractReport;

  /** Creates the error for a report with broken cases. */
  constructor(report: ContractReport) {
    const broken = report.results.filter(({ outcome }) => outcome === "broken");
    const lines = broken.map(
      ({ name, error }) => `- ${name}: ${error instanceof Error ? error.message : String(error)}`,
    );
    super(`${broken.length} of ${report.results.length} cases are not kept:\n${lines.join("\n")}`);
    this.name = "ContractError";
    this.report = report;
  }
}

/** Runs cases one after the other, and returns the report. Throws a {@link ContractError} if one is broken. */
export async function runCases(cases: readonly ContractCase[], { only = "", onResult }: ContractRun) {
  const results: ContractResult[] = [];
  const chosen = cases.filter(({ name }) => name.includes(only));
  if (chosen.length === 0) throw noCase(only);
  for (const one of chosen) {
    const result = await runCase(one);
    results.push(result);
    onResult?.(result);
  }
  const count = (outcome: ContractResult["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const report: ContractReport = {
    results,
    kept: count("kept"),
    broken: count("broken"),
    notTried: count("not tried"),
  };
  if (report.broken > 0) throw new ContractError(report);
  return report;
}

/** Without it, a run of nothing would look like one in which everything is kept. */
function noCase(only: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `no case has ${shown(only)} in its name`, {
    remedy: "Correct the text, or leave it out for all cases.",
    details: { field: "only", expected: "a part of a name" },
  });
}

async function runCase({ name, run }: ContractCase): Promise<ContractResult> {
  try {
    const reason = await run();
    return reason === undefined ? { name, outcome: "kept" } : { name, outcome: "not tried", reason };
  } catch (error) {
    return { name, outcome: "broken", error };
  }
}

/** The parts of a commit that a test chooses. Defaults are used for the rest. */
export interface CommitParts extends Partial<Omit<Commit, "sessionId" | "summary">> {
  /** The id of the session. Default `session_1`. */
  readonly sessionId?: string;
  /** Parts of the summary. Default: an active phased session. */
  readonly summary?: Partial<SessionSummary>;
}

const CREATED_AT = "2026-01-02T03:04:05.006Z";

/**
 * Returns a commit for tests of a storage adapter: by default the first one of an active session. Its hash is made from
 * the previous hash, its version and its body.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when `sessionId` is not a valid id.
 */
export function makeCommit(parts: CommitParts = {}): Commit {
  const { summary, sessionId: givenId = "session_1", ...rest } = parts;
  const sessionId = parseSessionId(givenId);
  const { version = 1, previousHash = "", at = CREATED_AT, body = JSON.stringify({ sessionId, version }) } = rest;
  const hash = digest(`${previousHash}\n${version}\n${body}`);
  const defaults: SessionSummary = {
    sessionId,
    kind: "phased",
    workflowType: "demo",
    target: "src/demo.ts",
    status: "active",
    current: 1,
    total: 3,
    createdAt: CREATED_AT,
    updatedAt: at,
    activeSince: 1,
  };
  return { schema: 1, hash, ...rest, sessionId, version, previousHash, at, body, summary: { ...defaults, ...summary } };
}

/**
 * Returns the commit after another one. If it makes the session active again, `activeSince` is its version, as in commits
 * of an engine.
 */
export function nextCommit(previous: Commit, parts: CommitParts = {}): Commit {
  const { summary, version = previous.version + 1, ...rest } = parts;
  const status = summary?.status ?? previous.summary.status;
  const reopens = status === "active" && previous.summary.status !== "active";
  return makeCommit({
    sessionId: previous.sessionId,
    previousHash: previous.hash,
    at: previous.at,
    ...rest,
    version,
    summary: {
      ...previous.summary,
      updatedAt: rest.at ?? previous.at,
      ...(reopens ? { activeSince: version } : {}),
      ...summary,
    },
  });
}

/** Returns the first commits of a session, at least one, each following the one before. */
export function commitChain(length: number, parts: CommitParts = {}): [Commit, ...Commit[]] {
  let last = makeCommit(parts);
  const chain: [Commit, ...Commit[]] = [last];
  while (chain.length < length) {
    last = nextCommit(last);
    chain.push(last);
  }
  return chain;
}

export async function appendAll<const T extends readonly Commit[]>(storage: StorageAdapter, commits: T): Promise<T> {
  for (const commit of commits) await storage.append(commit);
  return commits;
}

/** Returns a generator of pseudo-random numbers from 0 to 1, which depend on the seed only (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

export function pick<T>(random: () => number, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

/** A clock that moves only when a test advances it. */
export class FakeClock implements Clock {
  #now: number;

  /** Creates a clock at an ISO 8601 time. Default: 1 January 2026, UTC. */
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#now = Date.parse(start);
  }

  /** Returns the time in milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** Advances the clock, in milliseconds. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

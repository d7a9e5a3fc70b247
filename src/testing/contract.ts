/**
 * Contracts of ports: cases that every implementation must pass, as tests or as one call with a report.
 * This is the entry file of the folder:
 *
 * - contract.ts: cases, results and reports; what cases need to wait for and assert
 * - storage-contract/: the cases for storage adapters; contract.ts there lists them by subject
 * - content-contract.ts: the cases for content providers and sources of plans
 * - broken.ts: adapters with one known fault each, to test the contracts
 * - faulty-storage.ts: a storage that fails on request, to test hosts
 * - commits.ts: commits and a clock for tests
 * - scripted-agent.ts, model-server.ts: an agent and a model provider that follow a script
 */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { type ErrorCode, isPhasegateError } from "../errors.js";

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

/** Asserts that a call is refused with a code. */
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

/** The most characters of a value in a message. */
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

/** Returns all items of an iteration. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Returns a value that must not be undefined. */
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

/** The result of one case. */
export interface ContractResult {
  /** The name of the case. */
  readonly name: string;
  /** `not tried`: the implementation or the options lack something that the case needs. */
  readonly outcome: "kept" | "broken" | "not tried";
  /** Why the case was not tried. */
  readonly reason?: string;
  /** The error of a broken case. */
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

/** Options for running a contract as one call. */
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
  for (const one of cases.filter(({ name }) => name.includes(only))) {
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

async function runCase({ name, run }: ContractCase): Promise<ContractResult> {
  try {
    const reason = await run();
    return reason === undefined ? { name, outcome: "kept" } : { name, outcome: "not tried", reason };
  } catch (error) {
    return { name, outcome: "broken", error };
  }
}

import assert from "node:assert/strict";
import { type ErrorCode, isPhasegateError } from "../errors.js";
/** One thing that an implementation of a port must do. */
export interface ContractCase {
  readonly name: string;
  /**
   * Tries it, on storage or content of its own. Rejects, as a rule with an `AssertionError`, if the promise is not kept;
   * resolves with the reason where it could not be tried, as with an adapter that has no `watch`.
   */
  readonly run: () => Promise<string | undefined>;
}

/** Ends a case that the implementation gives nothing to try. */
export class NotTried extends Error {}

/** What a case's `run` does: an end by {@link NotTried} is a reason, not a failure. */
export async function outcomeOf(check: () => Promise<void>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof NotTried) return error.message;
    throw error;
  }
}

/** Something that an implementation may have or not; without it the case ends here. */
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
    assert.fail(`It must be refused with ${code}, and failed with: ${String(error)}`);
  }
  assert.fail(`It must be refused with ${code}, and was not`);
}

/** Whether a call succeeds, where losing a race is allowed: any other failure than `CONFLICT` is none of those. */
export async function wins(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    await refuses("CONFLICT", Promise.reject(error));
    return false;
  }
}

/** All that an iteration gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A value that must be there. */
export function present<T>(value: T | undefined, what: string): T {
  assert.ok(value !== undefined, `${what} must be there`);
  return value;
}

/** How long a contract waits for what must come at some time: an answer, a child's word. */
const PATIENCE_MS = 30_000;

/** What must come at some time; a failure that says what was waited for if it doesn't, so that nothing hangs. */
export async function comes<T>(call: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new assert.AssertionError({ message: `${what}, and did not within ${PATIENCE_MS / 1000} s` });
    timer = setTimeout(() => reject(error), PATIENCE_MS);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What became of one case. */
export interface ContractResult {
  readonly name: string;
  /** `not tried`: the implementation, or the options, gave nothing to try it with. */
  readonly outcome: "kept" | "broken" | "not tried";
  /** Why it was not tried. */
  readonly reason?: string;
  /** What it failed with. */
  readonly error?: unknown;
}

/** What a run of a contract has found. */
export interface ContractReport {
  /** One for each case, in their order. */
  readonly results: readonly ContractResult[];
  readonly kept: number;
  readonly broken: number;
  readonly notTried: number;
}

/** How to run a contract as one call. */
export interface ContractRun {
  /** Only cases whose names contain this text. */
  readonly only?: string;
  /** Told of each result as it comes. */
  readonly onResult?: (result: ContractResult) => void;
}

/** A contract that is not kept; the message names each case and why. */
export class ContractError extends Error {
  readonly report: ContractReport;

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

/** Runs cases one after the other, and gives what became of them; throws a {@link ContractError} if one is broken. */
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

import assert from "node:assert/strict";
import { type ErrorCode, isPhasegateError } from "../errors.js";

/** One thing that an implementation of a port must do. `run` throws an `AssertionError` if it doesn't. */
export interface ContractCase {
  readonly name: string;
  /** Tries it, on storage or content of its own. */
  readonly run: () => Promise<void>;
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

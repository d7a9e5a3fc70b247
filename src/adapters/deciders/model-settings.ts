import { PhasegateError } from "../../errors.js";
import type { OnExchange } from "./exchange.js";

/** What all deciders that ask a model take. */
export interface ModelDeciderOptions {
  /**
   * How long one request may take, in milliseconds. Default 45,000: two requests and a wait between them fit into the
   * engine's `limits.deciderDeadlineMs`.
   */
  readonly timeoutMs?: number;
  /**
   * A provider that limits its rate says how long to wait. Up to so many milliseconds that is done, and asked once more;
   * default 10,000. With 0 nobody waits.
   */
  readonly maxRetryAfterMs?: number;
  /** How large a prompt may be, in characters / 4. Default 100,000. */
  readonly maxPromptTokens?: number;
  /** Hears of every request and answer, redacted: for a log of AI interactions. */
  readonly onExchange?: OnExchange;
}

/** The options, checked and whole. */
export interface ModelSettings {
  readonly timeoutMs: number;
  readonly maxRetryAfterMs: number;
  readonly maxPromptTokens: number | undefined;
  readonly onExchange: OnExchange | undefined;
  /** What must not be told to anybody. */
  readonly secrets: readonly string[];
}

const HOUR = 3_600_000;

/** Checks the options. Throws `INVALID_INPUT`. */
export function modelSettings(options: ModelDeciderOptions, secrets: readonly string[]): ModelSettings {
  const { timeoutMs = 45_000, maxRetryAfterMs = 10_000, maxPromptTokens, onExchange } = options;
  requireNumber("timeoutMs", timeoutMs, 1, HOUR);
  requireNumber("maxRetryAfterMs", maxRetryAfterMs, 0, HOUR);
  if (maxPromptTokens !== undefined) requireNumber("maxPromptTokens", maxPromptTokens, 1, Number.MAX_SAFE_INTEGER);
  return { timeoutMs, maxRetryAfterMs, maxPromptTokens, onExchange, secrets };
}

function requireNumber(field: string, value: number, least: number, most: number): void {
  if (typeof value === "number" && value >= least && value <= most) return;
  throw invalidOption(field, `a number from ${least} to ${most}`);
}

/** An option that can't be taken. What was given isn't shown: it may be a key in the wrong place. */
export function invalidOption(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} must be ${expected}`, {
    remedy: `Give ${expected} as ${field}.`,
    details: { field, expected },
  });
}

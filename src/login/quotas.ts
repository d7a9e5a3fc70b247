/**
 * How much each actor may use of a server, so that one does not slow the others: calls and bytes over time, sessions, and
 * verifiers at once. Counted by the actor's name, in this process. Pure, apart from the clock.
 */
import { type Clock, clockCheck, systemClock } from "../ports/clock.js";
import { check, checkOptions, type OptionChecks, optionally } from "../workflow/host-options.js";

/** The limits of {@link createQuotas}; a missing one does not limit. All are for one actor, and more than 0. */
export interface QuotaLimits {
  /** Sessions that are not ended. */
  readonly sessions?: number;
  /** Calls in a minute. All of them may come at once. */
  readonly callsPerMinute?: number;
  /** Bytes of requests and answers in an hour. */
  readonly bytesPerHour?: number;
  /** Verifiers that run at the same time. */
  readonly verifiersAtOnce?: number;
}

/** Options of {@link createQuotas}. */
export interface QuotaOptions extends QuotaLimits {
  /** Tells the time. Default: the runtime's. */
  readonly clock?: Clock;
  /** Actors whose calls and bytes are remembered; the one that called longest ago is forgotten first. Default: 10,000. */
  readonly maxActors?: number;
}

/** What is refused because an actor has used up a limit. */
export interface QuotaRefusal {
  /** Always false. */
  readonly ok: false;
  /** The limit that is used up. */
  readonly which: keyof QuotaLimits;
  /** Its value. */
  readonly limit: number;
  /** When to come back, in whole seconds. Missing for sessions: they don't end by waiting. */
  readonly retryAfterSeconds?: number;
}

/** The answer to whether an actor may do something. */
export type QuotaAnswer = { readonly ok: true } | QuotaRefusal;

/** Counts what actors use. */
export interface Quotas {
  /**
   * Takes one call, and the bytes of its request: all of an hour, if they are not a number from 0. A refused call takes
   * nothing. Ask for each call, after the login.
   */
  call(actor: string, bytes?: number): QuotaAnswer;
  /** Counts bytes that are only known later, such as those of an answer. They may delay the next calls, by up to an hour. */
  addBytes(actor: string, bytes: number): void;
  /** Tells whether an actor who has so many sessions may start one more. */
  session(actor: string, sessions: number): QuotaAnswer;
  /** Takes a place for a verifier, until it is released. */
  verifier(actor: string): VerifierPlace | QuotaRefusal;
}

/** One of an actor's places for verifiers. */
export interface VerifierPlace {
  /** Always true. */
  readonly ok: true;
  /** Gives it back. More than once does nothing. */
  release(): void;
}

/** A token bucket: `left` at a time. It is less than 0 after more was counted than was left. */
interface Bucket {
  left: number;
  at: number;
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Verifiers run for seconds. */
const VERIFIER_PAUSE = 2;

const limit = optionally(check("more than 0", (value) => typeof value === "number" && value > 0));
const CHECKS: OptionChecks<QuotaOptions> = {
  sessions: limit,
  callsPerMinute: limit,
  bytesPerHour: limit,
  verifiersAtOnce: limit,
  clock: optionally(clockCheck),
  maxActors: limit,
};

/**
 * Creates counters for the limits.
 *
 * @throws {PhasegateError} `INVALID_INPUT` for an unknown limit, and for one that is not more than 0.
 */
export function createQuotas(options: QuotaOptions): Quotas {
  checkOptions("createQuotas", options, CHECKS);
  const { sessions, callsPerMinute, bytesPerHour, verifiersAtOnce, clock = systemClock, maxActors = 10_000 } = options;
  const calls = callsPerMinute === undefined ? undefined : bucketsOf(callsPerMinute, MINUTE, maxActors, clock);
  const bytes = bytesPerHour === undefined ? undefined : bucketsOf(bytesPerHour, HOUR, maxActors, clock);
  // Only actors with running verifiers are in it, so it is as small as what runs.
  const running = new Map<string, number>();
  return {
    call(actor, size = 0) {
      const wait = calls?.waitFor(actor, 1) ?? 0;
      if (wait > 0) return refusal("callsPerMinute", callsPerMinute ?? 0, wait);
      const pause = bytes?.waitFor(actor, size) ?? 0;
      if (pause > 0) return refusal("bytesPerHour", bytesPerHour ?? 0, pause);
      calls?.take(actor, 1);
      bytes?.take(actor, size);
      return { ok: true };
    },
    addBytes: (actor, size) => bytes?.take(actor, size),
    session: (_, count) =>
      sessions === undefined || count < sessions ? { ok: true } : { ok: false, which: "sessions", limit: sessions },
    verifier(actor) {
      const count = running.get(actor) ?? 0;
      if (verifiersAtOnce !== undefined && count >= verifiersAtOnce) {
        return refusal("verifiersAtOnce", verifiersAtOnce, VERIFIER_PAUSE * 1000);
      }
      running.set(actor, count + 1);
      let released = false;
      const release = () => {
        if (released) return;
        released = true;
        const left = (running.get(actor) ?? 1) - 1;
        if (left === 0) running.delete(actor);
        else running.set(actor, left);
      };
      return { ok: true, release };
    },
  };
}

/** What an answer says of a refusal, over any transport. */
export interface QuotaError {
  /** `BUSY` if waiting a little helps, `LIMIT` otherwise. */
  readonly code: "BUSY" | "LIMIT";
  /** What is used up. */
  readonly message: string;
  /** What to do about it. */
  readonly remedy: string;
  /** The limit that is used up. */
  readonly which: keyof QuotaLimits;
  /** When to come back, in whole seconds; missing if waiting does not help. */
  readonly retryAfterSeconds?: number;
}

const WORDS: Readonly<Record<keyof QuotaLimits, string>> = {
  sessions: "sessions that are not ended",
  callsPerMinute: "calls in a minute",
  bytesPerHour: "bytes in an hour",
  verifiersAtOnce: "verifiers at once",
};

/** Returns what to answer to a refused call. */
export function quotaError({ which, limit, retryAfterSeconds }: QuotaRefusal): QuotaError {
  const remedy =
    retryAfterSeconds === undefined
      ? "Complete one of your sessions first."
      : `Send the same call again in ${retryAfterSeconds} s.`;
  return {
    code: which === "verifiersAtOnce" || which === "callsPerMinute" ? "BUSY" : "LIMIT",
    message: `You have used up your ${limit} ${WORDS[which]}.`,
    remedy,
    which,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** Returns the answer to a refused HTTP request: 429, with `Retry-After`, and the error for JSON-RPC. */
export function quotaResponse(refused: QuotaRefusal): Response {
  const { message, remedy, ...data } = quotaError(refused);
  const { retryAfterSeconds } = refused;
  return Response.json(
    { jsonrpc: "2.0", error: { code: -32_000, message: `${message} ${remedy}`, data }, id: null },
    { status: 429, headers: retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) } },
  );
}

function refusal(which: keyof QuotaLimits, limit: number, milliseconds: number): QuotaRefusal {
  return { ok: false, which, limit, retryAfterSeconds: Math.ceil(milliseconds / 1000) };
}

/** Buckets of several actors that hold `size` and fill up in `time` milliseconds. */
function bucketsOf(size: number, time: number, maxActors: number, clock: Clock) {
  const buckets = new Map<string, Bucket>();
  // A number that was read out of a header may be none. It must not end the limit.
  const amountOf = (amount: number): number => (amount >= 0 ? amount : size);
  const bucketOf = (actor: string): Bucket => {
    const now = clock.now();
    const { left, at } = buckets.get(actor) ?? { left: size, at: now };
    // A clock that is set back fills nothing.
    const filled = Math.min(size, left + (size * Math.max(0, now - at)) / time);
    return { left: filled, at: now };
  };
  return {
    /** Returns the milliseconds until so much is left; of more than a full bucket, until it is full. 0: now. */
    waitFor(actor: string, amount: number): number {
      const missing = Math.min(amountOf(amount), size) - bucketOf(actor).left;
      // Fractions add up to almost a whole.
      return missing > 1e-9 * size ? (missing * time) / size : 0;
    },
    take(actor: string, amount: number): void {
      const { left, at } = bucketOf(actor);
      buckets.delete(actor);
      buckets.set(actor, { left: Math.max(left - amountOf(amount), -size), at });
      for (const oldest of buckets.keys()) {
        if (buckets.size <= maxActors) break;
        buckets.delete(oldest);
      }
    },
  };
}

import { utf8ToBytes } from "@noble/hashes/utils.js";
import { PhasegateError } from "../errors.js";
import type { EvidenceLimits } from "../gate/evidence.js";
import type { Enforcement } from "../gate/verdict.js";
import type { Clock, TargetGuard } from "../ports/clock.js";
import type { ContentProvider, PlanSource, SourceParser } from "../ports/content-provider.js";
import type { SessionStatus, StorageAdapter } from "../ports/storage-adapter.js";
import type { Verifier } from "../ports/verifier.js";
import { shown } from "../workflow/names.js";
import type { AttemptLimits } from "./state/commands.js";

const PUBLIC_KEY = /^ed25519:[A-Za-z0-9_-]{43}$/;

/** How much an engine takes on. */
export interface EngineLimits extends AttemptLimits {
  /** Bytes of JSON in one submission. Default 10 MiB. */
  readonly maxEvidenceBytes: number;
  /** How deep evidence may be nested. Default 64. */
  readonly maxEvidenceDepth: number;
  /** Active sessions at once, counted from the storage's index; `Infinity` for no limit. Default 100. */
  readonly maxActiveSessions: number;
  /** Operations at once; beyond it calls are refused with `BUSY`. Default 100. */
  readonly maxConcurrent: number;
  /** Verifiers of one gate that run side by side. Default 4. */
  readonly maxVerifiersAtOnce: number;
  /** How long the verifiers of one gate may take together, in milliseconds. Default 120,000. */
  readonly verifyDeadlineMs: number;
}

/** The limits of an engine that is given none. */
export const DEFAULT_LIMITS: EngineLimits = {
  maxAttempts: 3,
  maxAttemptsTotal: 12,
  maxEvidenceBytes: 10 * 1024 * 1024,
  maxEvidenceDepth: 64,
  maxActiveSessions: 100,
  maxConcurrent: 100,
  maxVerifiersAtOnce: 4,
  verifyDeadlineMs: 120_000,
};

/** Which syncs of a plan agents may ask for. */
export type AgentSync = "keeps-gates" | "any";

/** What an engine is made of. */
export interface EngineOptions {
  /** Where sessions are kept. */
  readonly storage: StorageAdapter;
  /** Where workflows come from. */
  readonly content: ContentProvider;
  /** Limits that differ from {@link DEFAULT_LIMITS}. */
  readonly limits?: Partial<EngineLimits>;
  /** How gate files are read; `strict` if not given. */
  readonly enforcement?: Enforcement;
  /** Where targets may lie. Without it only the path's own form is checked. */
  readonly targets?: TargetGuard;
  /** Where plans come from, for workflows whose phases come out of one. */
  readonly plans?: PlanSource;
  /** Parsers of plans by name, beside the built-in ones; one of the same name comes before it. */
  readonly parsers?: Readonly<Record<string, SourceParser>>;
  /**
   * Verifiers by the names that gates use: `createVerifiers` of `phasegate/verify` makes the built-in ones. A workflow
   * whose gates name one that is not here can't be started.
   */
  readonly verifiers?: Readonly<Record<string, Verifier>>;
  /**
   * What an agent may sync by itself: `keeps-gates`, the default, leaves a sync to the host after which gates ask for less,
   * or tasks that must be claimed have other names, or fewer criteria, requirements or lines of text; `any` lets it sync
   * whatever its plan says.
   */
  readonly agentSync?: AgentSync;
  /** Makes every session's log an HMAC chain; a text is taken as UTF-8. */
  readonly hashKey?: string | Uint8Array;
  /**
   * Who may say yes at gates that ask for a person: Ed25519 public keys by name, each 32 bytes as `ed25519:`
   * and base64url. Keep an approver's key until the sessions that were approved with it are done.
   */
  readonly approvers?: Readonly<Record<string, string>>;
  /** Whether approvals that nobody has signed count too; false if not given. They are recorded as such. */
  readonly allowUnsignedApprovals?: boolean;
  /** How long `cleanup()` keeps sessions, by where they stand; if not given, 7 days, wherever they stand. Checked when it is called. */
  readonly retention?: Retention;
  /** Where the time comes from; the system's clock if not given. */
  readonly clock?: Clock;
}

/** Whose word counts at gates that ask for a person. */
export interface ApprovalOptions {
  /** Public keys by name. */
  readonly approvers: ReadonlyMap<string, string>;
  readonly unsigned: boolean;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly storage: StorageAdapter;
  readonly content: ContentProvider;
  readonly limits: EngineLimits;
  readonly evidenceLimits: EvidenceLimits;
  readonly enforcement: Enforcement;
  readonly clock: Clock;
  readonly targets?: TargetGuard;
  readonly plans?: PlanSource;
  readonly parsers: Readonly<Record<string, SourceParser>>;
  readonly verifiers: Readonly<Record<string, Verifier>>;
  readonly agentSync: AgentSync;
  readonly hashKey?: Uint8Array;
  readonly approvals: ApprovalOptions;
  readonly retention?: Retention;
}

/** Fills in the defaults. */
export function resolveOptions(options: EngineOptions): ResolvedOptions {
  const {
    storage,
    content,
    enforcement = "strict",
    clock = { now: () => Date.now() },
    targets,
    plans,
    hashKey,
    retention,
  } = options;
  const limits = resolveLimits(options.limits ?? {});
  return {
    storage,
    content,
    limits,
    evidenceLimits: { maxBytes: limits.maxEvidenceBytes, maxDepth: limits.maxEvidenceDepth },
    enforcement,
    clock,
    parsers: options.parsers ?? {},
    verifiers: options.verifiers ?? {},
    approvals: resolveApprovals(options),
    agentSync: options.agentSync ?? "keeps-gates",
    ...(retention === undefined ? {} : { retention }),
    ...(plans === undefined ? {} : { plans }),
    ...(targets === undefined ? {} : { targets }),
    ...(hashKey === undefined ? {} : { hashKey: typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey }),
  };
}

function resolveApprovals({ approvers = {}, allowUnsignedApprovals = false }: EngineOptions): ApprovalOptions {
  for (const [name, key] of Object.entries(approvers)) {
    if (name.trim() !== "" && typeof key === "string" && PUBLIC_KEY.test(key)) continue;
    throw new PhasegateError("INVALID_INPUT", `approvers.${shown(name)} is no Ed25519 public key`, {
      remedy: "Give the key as `phasegate keygen` has printed it: ed25519: and 43 characters of base64url.",
      details: { field: `approvers.${name}`, expected: "ed25519:<base64url of 32 bytes>" },
    });
  }
  return { approvers: new Map(Object.entries(approvers)), unsigned: allowUnsignedApprovals === true };
}

/** Limits that were not given, or given as undefined, have their defaults; what is no limit is refused. */
function resolveLimits(given: Partial<EngineLimits>): EngineLimits {
  const limits: { -readonly [L in keyof EngineLimits]: number } = { ...DEFAULT_LIMITS };
  for (const name of Object.keys(DEFAULT_LIMITS).filter((key): key is keyof EngineLimits => key in DEFAULT_LIMITS)) {
    const limit = given[name] ?? DEFAULT_LIMITS[name];
    if (!(limit >= 1)) throw badLimit(name, limit);
    limits[name] = limit;
  }
  return limits;
}

function badLimit(name: string, limit: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `limits.${name} is ${limit}: it must be 1 or more`, {
    remedy: "Give a number of 1 or more, or Infinity for no limit; leave it out for the default.",
    details: { field: `limits.${name}`, expected: "a number of 1 or more" },
  });
}

/** All of them. */
export const LIVING = ["active", "paused", "completed", "failed"] as const satisfies readonly SessionStatus[];
/** Where a session that is still there can stand. */
export type LivingStatus = (typeof LIVING)[number];

/**
 * How long sessions are kept after their last commit, in milliseconds, by where they stand; those of a status that isn't
 * named are kept for ever. Nothing is deleted by itself: it is what {@link Engine.cleanup} goes by when the host calls it.
 */
export type Retention = Readonly<Partial<Record<LivingStatus, number>>>;

/** Checks a retention that a host has given. Throws `INVALID_INPUT`. */
export function checkRetention(retention: Retention): void {
  for (const [status, age] of Object.entries(retention)) {
    if (!LIVING.some((known) => known === status)) throw unknownStatus(status);
    if (age !== undefined && !isAge(age)) throw badAge(`retention.${status}`, age);
  }
}

/** Whether a number is an age. */
export function isAge(age: number): boolean {
  return Number.isFinite(age) && age >= 0;
}

/** What isn't an age, under the name that it was given by. */
export function badAge(field: string, age: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is ${age}: it must be a number of milliseconds`, {
    remedy: "Give an age in milliseconds, 0 or more; leave it out for the default.",
    details: { field, expected: "milliseconds, 0 or more" },
  });
}

function unknownStatus(status: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `retention.${shown(status)} is nothing that a session can be`, {
    remedy: `Name ${LIVING.join(", ")}, as many as are to be cleaned up.`,
    details: { field: `retention.${shown(status)}`, expected: LIVING.join(", ") },
  });
}

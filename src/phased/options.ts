/** The options of an engine with their defaults and checks, including how long `cleanup` keeps sessions. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { type Approvers, checkApprovers, currentApprovers } from "../approval/approvers.js";
import type { ApprovalOptions } from "../approval/decision.js";
import { PhasegateError } from "../errors.js";
import type { EvidenceLimits } from "../gate/evidence.js";
import type { AttemptLimits } from "../gate/judge.js";
import type { Enforcement } from "../gate/verdict.js";
import { type ActorQuotas, checkOwner, type Owner, ownerCheck } from "../ports/actor.js";
import { type Clock, clockCheck, type FullClock, fullClock, systemClock, type TargetGuard } from "../ports/clock.js";
import type { ContentProvider, PlanSource, SourceParser } from "../ports/content-provider.js";
import { type SessionStatus, type StorageAdapter, storageCheck } from "../ports/storage-adapter.js";
import { type Telemetry, telemetryCheck } from "../ports/telemetry.js";
import type { Verifier } from "../ports/verifier.js";
import { CHILD_CHECK } from "../workflow/child-workflow.js";
import {
  callable,
  check,
  checkOptions,
  either,
  flag,
  fromOne,
  group,
  having,
  isOpen,
  key,
  type OptionChecks,
  oneOf,
  optionally,
  text,
} from "../workflow/host-options.js";

/** The limits of an engine. */
export interface EngineLimits extends AttemptLimits {
  /** Bytes of JSON in one submission. Default 10 MiB. */
  readonly maxEvidenceBytes: number;
  /** The nesting depth of evidence. Default 64. */
  readonly maxEvidenceDepth: number;
  /** Active sessions at once, counted from the storage's index; `Infinity` for no limit. Default 100. */
  readonly maxActiveSessions: number;
  /** Operations at once; more are refused with `BUSY`. Default 100. */
  readonly maxConcurrent: number;
  /** Verifiers of one gate that run in parallel. Default 4. */
  readonly maxVerifiersAtOnce: number;
  /** The time for all verifiers of one gate together, in milliseconds. Default 120,000. */
  readonly verifyDeadlineMs: number;
}

/** The default limits. */
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

/** All statuses except `deleted`. */
export const LIVING = ["active", "paused", "completed", "failed"] as const satisfies readonly SessionStatus[];
/** The status of a session that is not deleted. */
export type LivingStatus = (typeof LIVING)[number];

/**
 * How long sessions are kept after their last commit, in milliseconds, by status; those of a status that is not listed
 * are kept forever. Nothing is deleted automatically: {@link Engine.cleanup} uses it when the host calls it.
 */
export type Retention = Readonly<Partial<Record<Exclude<SessionStatus, "deleted">, number>>>;

/** The options of an engine. */
export interface EngineOptions {
  /** Stores the sessions. */
  readonly storage: StorageAdapter;
  /** Provides the workflows. */
  readonly content: ContentProvider;
  /** Limits that differ from {@link DEFAULT_LIMITS}. */
  readonly limits?: Partial<EngineLimits>;
  /** How gate files are enforced. Default: `strict`. */
  readonly enforcement?: Enforcement;
  /** Checks targets against the file system. Default: only the form of the path is checked. */
  readonly targets?: TargetGuard;
  /** Provides plans, for workflows whose phases come from one. Default: none. */
  readonly plans?: PlanSource;
  /**
   * Parsers of plans by name, in addition to the built-in ones; they take precedence over a built-in one of
   * the same name.
   */
  readonly parsers?: Readonly<Record<string, SourceParser>>;
  /**
   * Verifiers by the names that gates use: `createVerifiers` of `phasegate/verify` makes the built-in ones.
   * A workflow that uses a missing one can't be started.
   */
  readonly verifiers?: Readonly<Record<string, Verifier>>;
  /**
   * Which plan syncs an agent may request. With `keeps-gates`, the default, only the host may adopt a plan
   * that asks for less: weaker gates, renamed tasks, or fewer criteria, requirements or lines of text in a
   * required task. With `any`, an agent may adopt any plan.
   */
  readonly agentSync?: "keeps-gates" | "any";
  /**
   * How agents claim what neither a verifier nor an approval backs. With `plain`, the default, as `true`. With `backed`, as
   * `{claim: true, proof: "where it can be seen"}`: the proof is recorded, and a file that it names must exist (checked by
   * the verifier `file_exists`, if the host has it).
   */
  readonly claims?: "plain" | "backed";
  /** Turns every session's log into an HMAC chain; a string is encoded as UTF-8. */
  readonly hashKey?: string | Uint8Array;
  /**
   * The people who may approve at gates that require it: by name a public key, or several. A key is an Ed25519 key, 32
   * bytes as `ed25519:` and base64url, or a passkey. Keep an approver's key until the sessions that were approved with
   * it are completed. A function returns the approvers as they are now: it is called before each check, and returns the
   * same object until they change.
   */
  readonly approvers?: Approvers | (() => Approvers);
  /** Also accepts unsigned approvals; they are recorded as such. Default: false. */
  readonly allowUnsignedApprovals?: boolean;
  /**
   * Where people see the inspector's page, such as `https://tools.example.com/inspector`: what waits for a person, and
   * `approvalRequested` and `waiverRequested`, then have the `link` to the request. It has no secret; whoever opens it must
   * have logged in there.
   */
  readonly inspectorUrl?: string;
  /**
   * How long `cleanup()` keeps sessions, by status. Default: 7 days for every status. Checked when
   * `cleanup()` is called.
   */
  readonly retention?: Retention;
  /** Who owns the sessions that the host itself starts, not an actor by `as`. Default: nobody. */
  readonly owner?: Owner;
  /** Tells the time, sets timers and draws random numbers. Default: the runtime's own. */
  readonly clock?: Clock;
  /** How much each actor may use, whom the engine is given to by `as`. Default: no quotas; the limits are for all. */
  readonly quotas?: ActorQuotas | undefined;
  /** Watches the engine: `createTelemetry` of `phasegate/otel` makes one. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options with all defaults filled in. */
export interface ResolvedOptions
  extends Pick<EngineOptions, "storage" | "content" | "inspectorUrl" | "telemetry" | "quotas">,
    Required<Pick<EngineOptions, "enforcement" | "parsers" | "verifiers" | "agentSync" | "claims">> {
  readonly limits: EngineLimits;
  readonly evidenceLimits: EvidenceLimits;
  readonly clock: FullClock;
  readonly targets?: TargetGuard | undefined;
  readonly plans?: PlanSource | undefined;
  readonly hashKey?: Uint8Array;
  readonly approvals: ApprovalOptions;
  readonly retention?: Retention | undefined;
  readonly owner?: Owner | undefined;
}

/** The checks of {@link EngineLimits}. */
export const limitChecks: OptionChecks<EngineLimits> = {
  maxAttempts: optionally(fromOne),
  maxAttemptsTotal: optionally(fromOne),
  maxEvidenceBytes: optionally(fromOne),
  maxEvidenceDepth: optionally(fromOne),
  maxActiveSessions: optionally(fromOne),
  maxConcurrent: optionally(fromOne),
  maxVerifiersAtOnce: optionally(fromOne),
  verifyDeadlineMs: optionally(fromOne),
};

/** Without methods it may only be empty: limits without what counts them, as in `{ sessions: 1 }`, would limit nothing. */
const isQuotas = (value: unknown) =>
  isOpen(value) &&
  (["session", "verifier"].some((name) => callable.accepts(Reflect.get(value, name))) ||
    Object.values(value).every((one) => one === undefined));

/** The checks of the options that engines of all kinds have. */
export const sharedChecks = {
  storage: storageCheck,
  enforcement: optionally(oneOf("strict", "as-defined")),
  verifiers: optionally(
    check(
      `an object of verifiers by name, without ${CHILD_CHECK}, which is the engine's own`,
      (given) => isOpen(given) && !Object.hasOwn(given, CHILD_CHECK),
    ),
  ),
  hashKey: optionally(key),
  approvers: optionally(either("approvers by name, or a function", having(""), callable)),
  allowUnsignedApprovals: optionally(flag),
  inspectorUrl: optionally(text),
  clock: optionally(clockCheck),
  owner: optionally(ownerCheck),
  quotas: optionally(check("what createQuotas() returns", isQuotas)),
  telemetry: optionally(telemetryCheck),
};

/** Checks the options of {@link createEngine}. Throws `INVALID_INPUT`. */
export function checkEngineOptions(options: EngineOptions): void {
  checkOptions("createEngine", options, {
    ...sharedChecks,
    content: having("a provider of workflows, such as new MemoryContent({ workflows })", "list", "definition", "text"),
    limits: optionally(group("an object of limits", limitChecks)),
    targets: optionally(having("a guard of targets, such as createProjectRoot() makes", "check")),
    plans: optionally(having("a source of plans", "read", "replace")),
    parsers: optionally(having("an object of parsers by name")),
    agentSync: optionally(oneOf("keeps-gates", "any")),
    claims: optionally(oneOf("plain", "backed")),
    retention: optionally(having("an object of times by status")),
  });
}

/**
 * Fills in the defaults of options that were checked.
 * @throws {PhasegateError} `INVALID_INPUT` when an approver's key or `inspectorUrl` is invalid.
 */
export function resolveOptions(options: EngineOptions): ResolvedOptions {
  const { storage, content, enforcement = "strict", clock = systemClock, targets, plans, hashKey, retention } = options;
  const { telemetry, verifiers = {} } = options;
  const limits = resolveLimits(options.limits ?? {});
  return {
    storage: telemetry?.storage(storage) ?? storage,
    content,
    limits,
    evidenceLimits: { maxBytes: limits.maxEvidenceBytes, maxDepth: limits.maxEvidenceDepth },
    enforcement,
    clock: fullClock(clock),
    parsers: options.parsers ?? {},
    verifiers: telemetry?.verifiers(verifiers) ?? verifiers,
    telemetry,
    approvals: resolveApprovals(options),
    agentSync: options.agentSync ?? "keeps-gates",
    claims: options.claims ?? "plain",
    inspectorUrl: options.inspectorUrl === undefined ? undefined : checkInspectorUrl(options.inspectorUrl),
    retention,
    owner: options.owner && checkOwner(options.owner),
    quotas: options.quotas,
    plans,
    targets,
    hashKey: typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey,
  };
}

/** Returns the address without a slash at its end. A secret in it, or a query, would be in every link. */
export function checkInspectorUrl(url: string): string {
  const { protocol = "", search, hash, username, password } = URL.canParse(url) ? new URL(url) : {};
  if (/^https?:$/.test(protocol) && !search && !hash && !username && !password) {
    let end = url.length;
    while (url[end - 1] === "/") end -= 1;
    return url.slice(0, end);
  }
  throw new PhasegateError("INVALID_INPUT", "inspectorUrl is not the address of a page", {
    remedy: "Give it as https://tools.example.com/inspector: with http or https, and without a password, ? and #.",
    details: { field: "inspectorUrl", expected: "an http or https URL" },
  });
}

/** Fills in the defaults for missing or undefined limits. */
function resolveLimits(given: Partial<EngineLimits>): EngineLimits {
  const known = Object.entries(given).filter(
    ([name, limit]) => Object.hasOwn(DEFAULT_LIMITS, name) && limit !== undefined,
  );
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(known) };
}

function resolveApprovals({ approvers = {}, allowUnsignedApprovals = false }: EngineOptions): ApprovalOptions {
  const unsigned = allowUnsignedApprovals === true;
  if (typeof approvers !== "function") return { approvers: checkApprovers(approvers), unsigned };
  const current = currentApprovers(approvers);
  return {
    get approvers() {
      return current();
    },
    unsigned,
  };
}

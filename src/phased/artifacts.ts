/**
 * Values in a session's log, such as evidence and artifacts: inline, or by digest as a payload when they are large.
 * A value that JSON would change can't be stored. Payloads are checked against their digest when they are loaded.
 */
import { hashEvidence } from "../approval/message.js";
import { checkPayload, tampered } from "../log/commit.js";
import { digest, isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { EngineContext, LoadedSession } from "./engine-context.js";
import { readingRefusal } from "./state/commands.js";
import type { EvidenceRef, ValueRef, Waived } from "./state/events.js";
import { artifacts, type PhaseAttempt, type RecordedEvent, submittedAttempts } from "./state/history.js";
import type { PhasedSession, SessionCommit } from "./state/machine.js";
import type { VerifyContext } from "./verify/run-verifiers.js";

/** The accepted evidence of one phase. */
export interface ArtifactView {
  /** The phase's number. */
  readonly phase: number;
  /** The time at which the gate passed: ISO 8601, UTC. */
  readonly at: string;
  /** The output of the gate's schema, or the evidence itself. */
  readonly artifact: JsonValue;
  /** What was not required, since a person had waived it: what the evidence says of that, nothing has checked. */
  readonly waived?: readonly Waived[];
  /** The evidence's field `outputs`, if it has one. */
  readonly outputs?: JsonValue;
  /** The evidence's field `commands_executed`, if it has one. */
  readonly commandsExecuted?: JsonValue;
}

/** Returns every event of a session up to its current version, oldest first. Reads the whole log. */
export async function readEvents({ kernel }: EngineContext, session: PhasedSession): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for await (const { events, at, version } of kernel.log(session.sessionId)) {
    if (version > session.version) break;
    for (const event of events) recorded.push({ event, at, version });
  }
  return recorded;
}

/** Returns the artifacts of the completed phases, or of one of them, ordered by phase. */
export async function loadArtifacts(
  context: EngineContext,
  session: PhasedSession,
  only?: number,
): Promise<ArtifactView[]> {
  const { sessionId } = session;
  const found = artifacts(await readEvents(context, session));
  const views: ArtifactView[] = [];
  for (const { phase, at, version, evidence, output, waived } of found.values()) {
    if (only !== undefined && phase !== only) continue;
    const object = await loadEvidence(context, { sessionId, version }, evidence);
    const { outputs, commands_executed: commandsExecuted } = object;
    views.push({
      phase,
      at,
      artifact: output === undefined ? object : await loadValue(context, { sessionId, version }, output),
      waived,
      outputs,
      commandsExecuted,
    });
  }
  return views.sort((one, other) => one.phase - other.phase);
}

/** What a history has beside the attempts. */
export interface HistoryRequest {
  /** True for the evidence of all attempts, or the indexes of those whose evidence is wanted. Default: none. */
  readonly evidence?: boolean | readonly number[];
}

/** Selects commits of a session. */
export interface CommitsRequest {
  /** Only commits below this version. Default: all. */
  readonly before?: number;
  /** The greatest number of commits. Default 50. */
  readonly limit?: number;
}

/** Returns commits of a session, newest first, each checked. Reads these and the one before them. */
export async function viewCommits(
  { kernel }: EngineContext,
  { sessionId, version }: PhasedSession,
  { before = version + 1, limit = 50 }: CommitsRequest,
): Promise<readonly SessionCommit[]> {
  const end = Math.min(before, version + 1);
  const first = Math.max(1, end - limit);
  if (first >= end) return [];
  const commits: SessionCommit[] = [];
  for await (const commit of kernel.log(sessionId, first === 1 ? undefined : await kernel.at(sessionId, first - 1))) {
    if (commit.version >= end) break;
    commits.push(commit);
  }
  return commits.reverse();
}

/**
 * Returns every attempt of a session with the evidence that was submitted and its hash, or with that of `only`, by index.
 * Reads the whole log.
 */
export async function attemptsWithEvidence(
  context: EngineContext,
  session: PhasedSession,
  only?: readonly number[],
): Promise<PhaseAttempt[]> {
  const { sessionId } = session;
  const attempts: PhaseAttempt[] = [];
  for (const [index, { submitted, ...attempt }] of submittedAttempts(await readEvents(context, session)).entries()) {
    if (submitted === undefined || only?.includes(index) === false) {
      attempts.push(attempt);
      continue;
    }
    const evidence = await loadEvidence(context, { sessionId, version: submitted.version }, submitted.evidence);
    attempts.push({ ...attempt, evidence, evidenceHash: hashEvidence(evidence) });
  }
  return attempts;
}

/**
 * Returns the artifact of a completed phase; undefined for the current one, and for one that was skipped. Throws
 * `PHASE_LOCKED` for one that is ahead.
 */
export async function viewArtifact(
  context: EngineContext,
  { session, structure }: LoadedSession,
  number: number,
): Promise<ArtifactView | undefined> {
  const refusal = readingRefusal(session.head, number, structure);
  if (refusal !== undefined) throw refusal;
  const [artifact] = await loadArtifacts(context, session, number);
  return artifact;
}

/** A position in a log. */
interface Place {
  readonly sessionId: SessionId;
  readonly version: number;
}

/** Loads evidence from the log. */
export async function loadEvidence(context: EngineContext, place: Place, evidence: EvidenceRef): Promise<JsonObject> {
  const value = await loadValue(context, place, evidence);
  if (!isJsonObject(value)) throw tampered(place, "a payload of it is no object");
  return value;
}

/** Loads a value from the log; checks a payload against its digest. */
export async function loadValue(
  { options }: Pick<VerifyContext, "options">,
  place: Place,
  ref: ValueRef,
): Promise<JsonValue> {
  if ("inline" in ref) return ref.inline;
  const text = await options.storage.payload(place.sessionId, ref.payload);
  checkPayload(place, ref.payload, text);
  return JSON.parse(text);
}

/** Returns a value as JSON has it; undefined if JSON would change it, other than -0 to 0. */
export function asJson(value: unknown): JsonValue | undefined {
  const through = throughJson(value);
  return through !== undefined && isSame(value, through) ? through : undefined;
}

/** Returns true if two values are the same in JSON, which knows no -0. Keys with undefined count as missing. */
export function isSame(before: unknown, after: unknown): boolean {
  if (typeof before !== "object" || before === null) return before === after;
  if (Array.isArray(before)) {
    return Array.isArray(after) && before.length === after.length && before.every((v, i) => isSame(v, after[i]));
  }
  if (!isJsonObject(after)) return false;
  const prototype: unknown = Object.getPrototypeOf(before);
  if (prototype !== Object.prototype && prototype !== null) return false;
  let keys = 0;
  for (const [key, value] of Object.entries(before)) {
    if (value === undefined) continue;
    keys += 1;
    const other = after[key];
    if (value !== other && !isSame(value, other)) return false;
  }
  return keys === Object.keys(after).length;
}

/** Values with more characters of JSON are stored as payloads. */
const INLINE_MAX = 64 * 1024;
/** Limits how many keys of a payload are stored in the log. */
const NAMES_MAX = 100;

/** Returns a reference to a value for the log, and the payloads that it needs. */
export function storeValue<T extends JsonValue>(value: T, characters = JSON.stringify(value).length) {
  if (characters <= INLINE_MAX) return { ref: { inline: value }, payloads: [] };
  const body = JSON.stringify(value);
  const hash = digest(body);
  const names = isJsonObject(value) ? Object.keys(value).slice(0, NAMES_MAX) : [];
  return { ref: { payload: hash, characters: body.length, names }, payloads: [{ hash, body }] };
}

/** Returns a value after a round trip through JSON; undefined if JSON can't represent it. */
function throughJson(value: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Loads evidence and artifacts from a session's log. Payloads are checked against their digest. */

import { checkPayload, tampered } from "../log/commit.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedSession } from "./pinned.js";
import type { EvidenceRef, ValueRef } from "./state/events.js";
import { artifacts, type RecordedEvent } from "./state/history.js";
import type { VerifyContext } from "./verify/verify-context.js";

/** The accepted evidence of one phase. */
export interface ArtifactView {
  /** The phase's number. */
  readonly phase: number;
  /** The time at which the gate passed: ISO 8601, UTC. */
  readonly at: string;
  /** The output of the gate's schema, or the evidence itself. */
  readonly artifact: JsonValue;
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

/** Returns the artifacts of the completed phases, ordered by phase. */
export async function loadArtifacts(context: EngineContext, session: PhasedSession): Promise<ArtifactView[]> {
  const { sessionId } = session;
  const found = artifacts(await readEvents(context, session));
  const views: ArtifactView[] = [];
  for (const { phase, at, version, evidence, output } of found.values()) {
    const object = await loadEvidence(context, { sessionId, version }, evidence);
    const { outputs, commands_executed: commandsExecuted } = object;
    views.push({
      phase,
      at,
      artifact: output === undefined ? object : await loadValue(context, { sessionId, version }, output),
      ...(outputs === undefined ? {} : { outputs }),
      ...(commandsExecuted === undefined ? {} : { commandsExecuted }),
    });
  }
  return views.sort((one, other) => one.phase - other.phase);
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

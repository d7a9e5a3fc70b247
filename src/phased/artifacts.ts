import { checkPayload, tampered } from "../log/commit.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedSession } from "./pinned.js";
import type { EvidenceRef, ValueRef } from "./state/events.js";
import { artifacts, type RecordedEvent } from "./state/history.js";
import type { VerifyContext } from "./verify/verify-context.js";
/** Accepted evidence of one phase, with its payload. */
export interface ArtifactView {
  readonly phase: number;
  /** When the gate passed. */
  readonly at: string;
  /** What the gate's schema made of the evidence, or the evidence itself. */
  readonly artifact: JsonValue;
  /** The evidence's own `outputs`, where it has them. */
  readonly outputs?: JsonValue;
  /** The evidence's own `commands_executed`, where it has them. */
  readonly commandsExecuted?: JsonValue;
}

/** Every event of a session up to where it stands, oldest first. Reads the whole log. */
export async function readEvents({ kernel }: EngineContext, session: PhasedSession): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for await (const { events, at, version } of kernel.log(session.sessionId)) {
    if (version > session.version) break;
    for (const event of events) recorded.push({ event, at, version });
  }
  return recorded;
}

/** The artifacts of the phases that count as completed, in the order of their phases. */
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

/** Evidence out of the log. */
export async function loadEvidence(context: EngineContext, place: Place, evidence: EvidenceRef): Promise<JsonObject> {
  const value = await loadValue(context, place, evidence);
  if (!isJsonObject(value)) throw tampered(place, "a payload of it is no object");
  return value;
}

/** Where something stands in a log. */
interface Place {
  readonly sessionId: SessionId;
  readonly version: number;
}

/** A value out of the log; a payload is checked against its digest. */
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

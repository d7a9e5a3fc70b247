import { digest } from "../definition/digest.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../definition/json.js";
import type { SessionId } from "../definition/names.js";
import { tampered } from "../kernel/commit-body.js";
import type { EvidenceRef } from "../session/events.js";
import { artifacts, type RecordedEvent } from "../session/history.js";
import type { EngineContext } from "./context.js";

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

/** Every event of a session, oldest first. Reads the whole log. */
export async function readEvents({ kernel }: EngineContext, sessionId: SessionId): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for await (const { events, at, version } of kernel.log(sessionId)) {
    for (const event of events) recorded.push({ event, at, version });
  }
  return recorded;
}

/** The artifacts of the phases that count as completed, in the order of their phases. */
export async function loadArtifacts(context: EngineContext, sessionId: SessionId): Promise<ArtifactView[]> {
  const found = artifacts(await readEvents(context, sessionId));
  const views: ArtifactView[] = [];
  for (const { phase, at, evidence, output } of found.values()) {
    const object = await loadEvidence(context, sessionId, evidence);
    const { outputs, commands_executed: commandsExecuted } = object;
    views.push({
      phase,
      at,
      artifact: output ?? object,
      ...(outputs === undefined ? {} : { outputs }),
      ...(commandsExecuted === undefined ? {} : { commandsExecuted }),
    });
  }
  return views.sort((one, other) => one.phase - other.phase);
}

/** Evidence out of the log; a payload is checked against its digest. */
export async function loadEvidence(
  { options }: EngineContext,
  sessionId: SessionId,
  evidence: EvidenceRef,
): Promise<JsonObject> {
  if ("inline" in evidence) return evidence.inline;
  const text = await options.storage.payload(sessionId, evidence.payload);
  if (text === undefined || digest(text) !== evidence.payload) {
    throw tampered({ sessionId, version: 0 }, "a payload is missing or was changed");
  }
  const parsed: unknown = JSON.parse(text);
  if (!isJsonObject(parsed)) throw tampered({ sessionId, version: 0 }, "a payload is no object");
  return parsed;
}

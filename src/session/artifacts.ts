/** What passed gates have handed on, out of the log. */
import { isJsonObject } from "../definition/json.js";
import type { EventOf } from "./events.js";
import type { RecordedEvent } from "./history.js";
import type { EvidenceRef, ValueRef } from "./refs.js";

/** Accepted evidence, as later phases see it. */
export interface Artifact {
  readonly phase: number;
  readonly at: string;
  readonly version: number;
  /** Its place among the phases, from 0. */
  readonly position: number;
  readonly evidence: EvidenceRef;
  /** What a schema made of the evidence, where that is something else. */
  readonly output?: ValueRef;
}

/** What one phase has handed on, by name. */
export interface ArtifactName {
  readonly position: number;
  readonly names: readonly string[];
}

/** The evidence of the phases that count as completed, by phase number. */
export function artifacts(events: Iterable<RecordedEvent>): Map<number, Artifact> {
  return fold(events, new Map(), ({ event, at, version }) => {
    const { phase, position, evidence, output } = event;
    return { phase, position, at, version, evidence, ...(output === undefined ? {} : { output }) };
  });
}

/** The names of those artifacts alone; `earlier` is what came of the events before these. */
export function artifactNames(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, ArtifactName>,
): Map<number, ArtifactName> {
  return fold(events, earlier, ({ event }) => ({
    position: event.position,
    names: namesOf(event.output, event.evidence),
  }));
}

/** A gate that passes adds to what is there; a rollback takes all from its place on out again. */
function fold<T extends { readonly position: number }>(
  events: Iterable<RecordedEvent>,
  earlier: ReadonlyMap<number, T>,
  make: (passed: { event: EventOf<"gate_passed">; at: string; version: number }) => T,
): Map<number, T> {
  const found = new Map(earlier);
  for (const { event, at, version } of events) {
    if (event.type === "gate_passed") found.set(event.phase, make({ event, at, version }));
    else if (event.type === "rolled_back") {
      for (const [phase, { position }] of found) if (position >= event.position) found.delete(phase);
    }
  }
  return found;
}

/** The keys of what was handed on; a payload's stand beside its digest. */
function namesOf(output: ValueRef | undefined, evidence: EvidenceRef): readonly string[] {
  const handedOn = output ?? evidence;
  if ("payload" in handedOn) return handedOn.names;
  return isJsonObject(handedOn.inline) ? Object.keys(handedOn.inline) : [];
}

import { contentUnavailable } from "../adapters/content-answers.js";
import { parseSessionId } from "../definition/names.js";
import { createEngine, type Engine } from "../engine/engine.js";
import type { EngineOptions } from "../engine/options.js";
import { PhasegateError } from "../errors.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine/routed-engine.js";
import { routedMachine } from "../routed/session/routed-machine.js";
import { recordedMachine } from "../workspace/session/recorded-machine.js";
import { openState } from "./open-state.js";
import { RecordedReader } from "./recorded-reader.js";

/** What says whose approvals count, and what looks at what a phase begins with. */
type Trust = Pick<EngineOptions, "approvers" | "hashKey" | "verifiers">;

/** An engine for one session, by the kind of session that it is. */
export type OpenedSession =
  | { readonly kind: "phased"; readonly engine: Engine }
  | { readonly kind: "routed"; readonly engine: RoutedEngine }
  | { readonly kind: "recorded"; readonly engine: RecordedReader };

/**
 * An engine that looks at a session, or says a person's word: it needs no workflows, since what a session was started on
 * is in its log.
 */
export async function openSession(state: string, sessionId: string, trust: Trust = {}): Promise<OpenedSession> {
  const id = parseSessionId(sessionId);
  const storage = await openState(state);
  // Which kind it is stands where no hash covers it: under another kind's machine, a log is none that holds together.
  const kind = (await storage.read(id))?.summary.kind;
  if (kind === recordedMachine.kind) return { kind: "recorded", engine: new RecordedReader(storage, trust.hashKey) };
  if (kind !== routedMachine.kind) {
    return { kind: "phased", engine: createEngine({ storage, content: NO_WORKFLOWS, ...trust }) };
  }
  const workflows = { list: async () => [], definition: async () => undefined };
  return { kind: "routed", engine: createRoutedEngine({ storage, workflows, decider: NO_DECIDER, ...trust }) };
}

const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async (type, part) => {
    throw contentUnavailable(type, part, "texts are not shown here");
  },
};

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "nothing is decided here", {
      remedy: "Let the server go on with it.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};

import { contentUnavailable } from "../adapters/content-answers.js";
import { parseSessionId, type SessionId, shown } from "../definition/names.js";
import type { LookAt } from "../engine/checked-page.js";
import { createEngine, type Engine } from "../engine/engine.js";
import { lookAtSession } from "../engine/list-sessions.js";
import { Notifications } from "../engine/notifications.js";
import { type EngineOptions, resolveOptions } from "../engine/options.js";
import { createContext } from "../engine/phased.js";
import { PhasegateError } from "../errors.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { lookAtInstance } from "../routed/engine/believed.js";
import { RoutedNotifications } from "../routed/engine/notifications.js";
import { resolveRoutedOptions } from "../routed/engine/resolve-options.js";
import { createRoutedContext } from "../routed/engine/routed-context.js";
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
  return {
    kind: "routed",
    engine: createRoutedEngine({ storage, workflows: NO_ROUTED, decider: NO_DECIDER, ...trust }),
  };
}

/** Looks at sessions of any kind for a list, each out of its log, as far as it is believed. */
export function createLooker(storage: StorageAdapter, trust: Trust): LookAt {
  const { hashKey } = trust;
  const phased = createContext(resolveOptions({ storage, content: NO_WORKFLOWS, ...trust }), new Notifications());
  const resolved = resolveRoutedOptions({ storage, workflows: NO_ROUTED, decider: NO_DECIDER, ...trust });
  const routed = createRoutedContext(resolved, new RoutedNotifications());
  const recorded = new RecordedReader(storage, hashKey);
  const looks: Readonly<Record<string, (id: SessionId) => Promise<SessionSummary | undefined>>> = {
    phased: (id) => lookAtSession(phased, id),
    [routedMachine.kind]: (id) => lookAtInstance(routed, id),
    [recordedMachine.kind]: (id) => recorded.lookAt(id),
  };
  return async (id, listed) => {
    // Which kind it is is told where no hash covers it: under another kind's machine, a log is none that holds together.
    const kind = (listed ?? (await storage.read(id))?.summary)?.kind;
    if (kind === undefined) return undefined;
    const look = Object.hasOwn(looks, kind) ? looks[kind] : undefined;
    if (look === undefined) throw unknownKind(kind);
    return look(id);
  };
}

function unknownKind(kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `sessions of the kind ${shown(kind)} can't be read here`, {
    remedy: "Use the program that made the session.",
    details: { operation: "list" },
  });
}

const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async (type, part) => {
    throw contentUnavailable(type, part, "texts are not shown here");
  },
};

const NO_ROUTED = { list: async () => [], definition: async () => undefined };

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "nothing is decided here", {
      remedy: "Let the server go on with it.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};

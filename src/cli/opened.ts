import type { ListedSession, LookAt } from "../engine/lists.js";
import { PhasegateError } from "../errors.js";
import type { AttemptLimits } from "../gate/judge.js";
import { createEngine, type Engine } from "../phased/engine.js";
import { lookAtSession } from "../phased/lists.js";
import { Notifications } from "../phased/notifications.js";
import { type EngineOptions, resolveOptions } from "../phased/options.js";
import { createContext } from "../phased/phased.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { RecordedReader } from "../read/sources.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine.js";
import { RoutedNotifications } from "../routed/notifications.js";
import { createRoutedContext, type RoutedEngineOptions, resolveRoutedOptions } from "../routed/options.js";
import { routedMachine } from "../routed/state/machine.js";
import { lookAtInstance } from "../routed/views.js";
import { parseSessionId, type SessionId, shown } from "../workflow/names.js";
import { recordedMachine } from "../workspace/session/machine.js";
import { sessionMeant } from "./session-id.js";
import { openState } from "./state.js";

/** What a command gives its engines: whom it trusts, limits of attempts, and what it can show besides the logs. */
export type Setup = Partial<Pick<EngineOptions, "approvers" | "hashKey" | "verifiers" | "allowUnsignedApprovals">> &
  Partial<Pick<EngineOptions, "content" | "plans">> &
  Partial<Pick<RoutedEngineOptions, "workflows">> & { readonly limits?: Partial<AttemptLimits> };

/** Returns the options of engines that start nothing, and decide on no steps. */
function optionsOver(
  storage: StorageAdapter,
  { content = NO_WORKFLOWS, plans, workflows = NO_ROUTED, limits, ...trust }: Setup,
): { readonly phased: EngineOptions; readonly routed: RoutedEngineOptions } {
  // The operator is the host: a server's limit of active sessions is not theirs.
  const shared = { storage, limits: { maxActiveSessions: Number.POSITIVE_INFINITY, ...limits }, ...trust };
  return {
    phased: { ...shared, content, plans },
    routed: { ...shared, workflows, decider: NO_DECIDER },
  };
}

/** An engine for one session, by the kind of session that it is, with the whole id of the session. */
export type OpenedSession = { readonly sessionId: SessionId; readonly storage: StorageAdapter } & (
  | { readonly kind: "phased"; readonly engine: Engine }
  | { readonly kind: "routed"; readonly engine: RoutedEngine }
  | { readonly kind: "recorded"; readonly engine: RecordedReader }
);

/** Engines of all kinds over one state, for a host that looks at all of it. */
export interface OpenedState {
  readonly storage: StorageAdapter;
  readonly engine: Engine;
  readonly routed: RoutedEngine;
}

/** Opens engines over all sessions of a state. */
export async function openAll(state: string, setup: Setup): Promise<OpenedState> {
  const storage = await openState(state);
  return orClosed(storage, () => enginesOver(storage, setup));
}

/** Returns engines over all sessions of an open storage. */
export function enginesOver(storage: StorageAdapter, setup: Setup): OpenedState {
  const { phased, routed } = optionsOver(storage, setup);
  return { storage, engine: createEngine(phased), routed: createRoutedEngine(routed) };
}

/**
 * Opens an engine that shows a session, or passes a decision to it. It decides on no steps, and starts nothing. `given` is the
 * session's id, or the end of it.
 */
export async function openSession(state: string, given: string, setup: Setup): Promise<OpenedSession> {
  parseSessionId(given);
  const storage = await openState(state);
  return orClosed(storage, async () => sessionIn(storage, await sessionMeant(storage, given), setup));
}

/** Closes a storage if what is to use it can't be opened: open connections would keep the process alive. */
async function orClosed<T>(storage: StorageAdapter, open: () => Promise<T> | T): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await storage.close?.();
    throw error;
  }
}

/** Returns an engine for the session with this whole id in an open storage, by the kind of session that it is. */
export async function sessionIn(storage: StorageAdapter, sessionId: SessionId, setup: Setup): Promise<OpenedSession> {
  // The summary is not covered by a hash. If its kind was changed, the log fails its check under the wrong machine.
  const kind = (await storage.read(sessionId))?.summary.kind;
  const common = { sessionId, storage };
  if (kind === recordedMachine.kind) return { ...common, kind: "recorded", engine: recordedIn(storage, setup.hashKey) };
  const { phased, routed } = optionsOver(storage, setup);
  return kind === routedMachine.kind
    ? { ...common, kind: "routed", engine: createRoutedEngine(routed) }
    : { ...common, kind: "phased", engine: createEngine(phased) };
}

/** Returns a function that reads the entry of a session in a list from its log, up to the first unaccepted approval. */
export function createLooker(storage: StorageAdapter, setup: Setup): LookAt {
  const options = optionsOver(storage, setup);
  const phased = createContext(resolveOptions(options.phased), new Notifications());
  const routed = createRoutedContext(resolveRoutedOptions(options.routed), new RoutedNotifications());
  const recorded = recordedIn(storage, setup.hashKey);
  const looks: Readonly<Record<string, (id: SessionId) => Promise<ListedSession | undefined>>> = {
    phased: (id) => lookAtSession(phased, id),
    [routedMachine.kind]: (id) => lookAtInstance(routed, id),
    [recordedMachine.kind]: (id) => recorded.lookAt(id),
  };
  return async (id, listed) => {
    // As in openSession: a changed kind makes the log fail its check.
    const kind = (listed ?? (await storage.read(id))?.summary)?.kind;
    if (kind === undefined) return undefined;
    const look = Object.hasOwn(looks, kind) ? looks[kind] : undefined;
    if (look === undefined) throw unknownKind(kind);
    return look(id);
  };
}

/** Moving a session returns its phase with its text, which no command shows. */
const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => ({ text: "", revision: "", sources: [], tokens: 0 }),
};

const NO_ROUTED = { list: async () => [], definition: async () => undefined };

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "this command decides on no steps", {
      remedy: "Continue the instance on its server.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};

function recordedIn(storage: StorageAdapter, hashKey: EngineOptions["hashKey"]): RecordedReader {
  return new RecordedReader({ storage, hashKey });
}

function unknownKind(kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `sessions of the kind ${shown(kind)} can't be read here`, {
    remedy: "Use the program that made the session.",
    details: { operation: "list" },
  });
}

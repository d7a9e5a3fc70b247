import { createEngine, type Engine } from "../phased/engine.js";
import type { EngineOptions } from "../phased/options.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { RecordedReader } from "../read/sources.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine.js";
import { routedMachine } from "../routed/state/machine.js";
import type { SessionId } from "../workflow/names.js";
import { recordedMachine } from "../workspace/session/machine.js";
import { optionsOver, type Setup } from "./engine-options.js";
import { sessionMeant, typedId } from "./session-id.js";
import { openState } from "./state.js";

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
  typedId(given);
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

function recordedIn(storage: StorageAdapter, hashKey: EngineOptions["hashKey"]): RecordedReader {
  return new RecordedReader({ storage, hashKey });
}

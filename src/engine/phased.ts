/**
 * The operations on phased sessions, and what they work with: loaded by `import()`, as one, with the first
 * call of an engine. Who only defines workflows, reads plans or checks gates never needs it.
 */
import { Kernel } from "../kernel/kernel.js";
import { announce } from "./announce.js";
import { ArtifactNames } from "./artifact-names.js";
import type { EngineContext } from "./engine-context.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import { phasedMachine } from "./phased-machine.js";
import { Pinned } from "./pinned.js";

export { gateFailures, phaseHistory } from "../session/history.js";
export { readEvents } from "./artifacts.js";
export { cleanup } from "./cleanup.js";
export { completePhase } from "./complete-phase.js";
export { loadSession, sessionNotFound } from "./context.js";
export { viewPhase, viewTask } from "./phase-view.js";
export { deleteSession, migrate, movePast, pause, resume, retryPhase, rollback } from "./session-commands.js";
export { startSession } from "./start-session.js";
export { startOptions, viewFullState, viewState } from "./state-view.js";

/** Makes what the operations of an engine share. */
export function createContext(options: ResolvedOptions, notifications: Notifications): EngineContext {
  const kernel = new Kernel({
    ...options,
    machine: phasedMachine,
    onCommit: (session) => announce(notifications, session),
    onConflict: (sessionId, version) => notifications.notify("conflict", { sessionId, version }),
  });
  const pinned = new Pinned(kernel, options.content);
  return { options, kernel, pinned, artifactNames: new ArtifactNames(kernel), notifications };
}

import type { Clock } from "../ports/clock.js";
import type { WorkspaceLimits } from "./limits.js";
import type { Roots } from "./roots/roots.js";
import type { WorkspaceAct } from "./session/acts.js";

/**
 * One client of a workspace, as its tools see it: what it reads through, and which sessions it may write. A face makes one
 * for each connection.
 */
export interface Connection {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  /** The session that this connection created or reopened last; none before the first. */
  readonly sessionId: string | undefined;
  /**
   * Notes what was done, in the manifest and the log of the connection's session. What is done before there is a session
   * is kept, and noted as the session begins.
   */
  record(act: WorkspaceAct): Promise<void>;
}

import type { Clock } from "../ports/clock.js";
import type { WorkspaceLimits } from "./options.js";
import type { Roots } from "./roots/roots.js";
import type { SessionKeeper } from "./session/keeper.js";
import type { WorkspaceAct } from "./session/machine.js";

/**
 * One client of a workspace, as its tools see it: what it reads through, and which sessions it may write. A face makes one
 * for each connection.
 */
export interface Connection {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  readonly sessions: SessionKeeper;
  /** The session that this connection created or reopened last; none before the first. */
  readonly sessionId: string | undefined;
  /** Whether the connection has created or reopened a session. */
  owns(id: string): boolean;
  /** Whether it may reopen a session, which is the host's to say. */
  mayReopen(id: string): boolean;
  /** Makes a session the connection's own, and the one that it records to; so many kept acts stand in its log already. */
  adopt(id: string, recorded: number): void;
  /**
   * Notes what was done in the log of a session: the connection's own if none is named. What is done before there is one is
   * kept, and noted as the session begins.
   */
  record(act: WorkspaceAct, sessionId?: string): Promise<void>;
  /** What was done before there was a session. */
  readonly kept: readonly WorkspaceAct[];
}

/** The interface through which the tools see a client of a workspace. */
import type { FullClock } from "../ports/clock.js";
import type { WorkspaceLimits } from "./options.js";
import type { Roots } from "./roots/roots.js";
import type { SessionKeeper } from "./session/keeper.js";
import type { WorkspaceAct } from "./session/machine.js";

/** A client of a workspace: the roots that it reads, and the sessions that it may write. */
export interface Connection {
  readonly roots: Roots;
  readonly limits: WorkspaceLimits;
  readonly clock: FullClock;
  readonly sessions: SessionKeeper;
  /** The session that this connection created or reopened last; undefined before the first. */
  readonly sessionId: string | undefined;
  /** Returns true if the connection created or reopened this session. */
  owns(id: string): boolean;
  /** Returns true if the host lets the connection reopen this session. */
  mayReopen(id: string): boolean;
  /**
   * Makes a session the connection's current one. The first `recorded` of the pending acts are in its log already and
   * are dropped.
   */
  adopt(id: string, recorded: number): void;
  /**
   * Records an act in a session's log; default: the current session's. Without a session the act is pending until one
   * is created.
   */
  record(act: WorkspaceAct, sessionId?: string): Promise<void>;
  /** The pending acts: what was done before there was a session. */
  readonly kept: readonly WorkspaceAct[];
}

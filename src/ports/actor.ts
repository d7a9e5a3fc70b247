/** Who calls a server that several people and agents share, and what they may do with whose session. Pure. */

/**
 * What an actor may do. `agent`: work on their own sessions. `viewer`: see all sessions. `approver`: see all sessions, and
 * answer those that wait for a person. `operator`: everything.
 */
export type Role = "agent" | "viewer" | "approver" | "operator";
/** The roles, for checks of values from outside. */
export const ROLES = ["agent", "viewer", "approver", "operator"] as const satisfies readonly Role[];

/** Somebody who was authenticated: an agent, a person or a program. */
export interface Actor {
  /** Identifies the actor. The owner of each session that they start. 1 to 200 characters, none of them hidden. */
  readonly name: string;
  /** The team of the sessions that they start. Default: none. */
  readonly team?: string;
  /** What they may do. Default: `agent` alone. */
  readonly roles?: readonly Role[];
}

/**
 * What a call does to a session: `see` reads it, `work` moves it on as an agent does, `decide` answers for a person who was
 * asked, `operate` is the host's: skip, override, migrate, assign, delete.
 */
export type Access = "see" | "work" | "decide" | "operate";

/** The session that a call is about. */
export interface OwnedSession {
  /** Its id; missing while it is being started. */
  readonly sessionId?: string;
  /** The kind of engine that it belongs to: `phased`, `routed` or `recorded`. */
  readonly kind: string;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The subject of its work. */
  readonly target: string;
  /** Who it belongs to; missing if nobody was recorded. */
  readonly owner?: string;
  /** The team of its owner; missing if none was recorded. */
  readonly team?: string;
}

/** A call that is to be allowed or not. */
export interface AccessRequest {
  readonly actor: Actor;
  /** What the call does to the session. */
  readonly action: Access;
  /** The name of the engine's method, such as `completePhase`. */
  readonly operation: string;
  readonly session: OwnedSession;
}

/**
 * Decides whether an actor may do something. A session that they may not `see` does not exist for them. Called often, so it
 * must be fast.
 */
export type Authorize = (request: AccessRequest) => boolean;

/** The default: agents see and move their own sessions alone; the other roles do what {@link Role} says. */
export function byOwner({ actor, action, session }: AccessRequest): boolean {
  const { name, roles = ["agent"] } = actor;
  if (roles.includes("operator")) return true;
  if (roles.includes("agent") && session.owner === name && (action === "see" || action === "work")) return true;
  if (roles.includes("approver") && (action === "see" || action === "decide")) return true;
  return roles.includes("viewer") && action === "see";
}

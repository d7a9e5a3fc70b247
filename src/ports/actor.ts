/** Who calls a server that several people and agents share, and what they may do with whose session. Pure. */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { HIDDEN, shown } from "../workflow/names.js";
import type { SessionSummary } from "./storage-adapter.js";

/** Who a session belongs to. */
export interface Owner {
  /** Identifies the owner: 1 to 200 characters, none of them hidden. */
  readonly name: string;
  /** The team that they belong to, of the same form. None if missing. */
  readonly team?: string | undefined;
}

/** Checks a stored owner. */
export const ownerSchema = z.object({ name: z.string(), team: z.optional(z.string()) });

/**
 * What an actor may do. `agent`: work on their own sessions. `viewer`: see all sessions. `approver`: see all sessions, and
 * answer those that wait for a person. `operator`: everything.
 */
export type Role = "agent" | "viewer" | "approver" | "operator";
/** The roles, for checks of values from outside. */
export const ROLES = ["agent", "viewer", "approver", "operator"] as const satisfies readonly Role[];

/** Somebody who was authenticated: an agent, a person or a program. The owner of each session that they start. */
export interface Actor extends Owner {
  /** What they may do. Default: `agent` alone. */
  readonly roles?: readonly Role[];
}

/**
 * What a call does: `see` reads, `work` moves a session on as an agent does, `decide` answers for a person who was asked,
 * `operate` is the host's: skip, override, migrate, assign, clean up.
 */
export type Access = "see" | "work" | "decide" | "operate";

/** The session that a call is about. */
export interface CalledSession extends Pick<SessionSummary, "kind" | "workflowType" | "target" | "owner" | "team"> {
  /** Missing while it is being started. */
  readonly sessionId?: string;
}

/** A call that is to be allowed or not. */
export interface AccessRequest {
  /** Who calls. */
  readonly actor: Actor;
  /** What the call does. */
  readonly action: Access;
  /** The name of the engine's method, such as `completePhase`. */
  readonly operation: string;
  /**
   * The session that it is about; of one that is being started, as it will be. Missing for a call about all sessions, such
   * as `statistics`.
   */
  readonly session?: CalledSession;
}

/**
 * Decides whether an actor may do something. A session that they may not `see` does not exist for them; one that they may
 * see, but not move, refuses with `NOT_ALLOWED`. It is called several times in a call, so it must be fast.
 */
export type Authorize = (request: AccessRequest) => boolean;

/** The default: agents see and move their own sessions alone; the other roles do what {@link Role} says. */
export const byOwner: Authorize = ({ actor: { name, roles = ["agent"] }, action, session }) => {
  if (roles.includes("operator")) return true;
  if (action === "see" && (roles.includes("viewer") || roles.includes("approver"))) return true;
  if (action === "decide" && roles.includes("approver")) return true;
  return roles.includes("agent") && (action === "see" || action === "work") && session?.owner === name;
};

/** Returns the part of a summary that says who a session belongs to. */
export function ownedBy({ name, team }: Owner): { readonly owner: string; readonly team?: string } {
  return { owner: name, ...(team === undefined ? {} : { team }) };
}

/** The longest name of an owner or a team, in characters. */
const NAME_MAX = 200;

/** Checks the name of an owner or a team: 1 to 200 characters, none of them hidden, no blanks around them. */
export function isOwnerName(name: unknown): name is string {
  if (typeof name !== "string" || name === "" || name.length > NAME_MAX || name !== name.trim()) return false;
  return name.search(HIDDEN) === -1 && !/[\t\n]/.test(name);
}

/**
 * Returns an owner with nothing else in it.
 * @throws {PhasegateError} `INVALID_INPUT` when a name is empty, too long, or has hidden characters.
 */
export function checkOwner({ name, team }: Owner): Owner {
  for (const [field, value] of Object.entries({ owner: name, team: team ?? name })) {
    if (isOwnerName(value)) continue;
    throw new PhasegateError("INVALID_INPUT", `the ${field} ${shown(value)} is not valid`, {
      remedy: `Use 1 to ${NAME_MAX} visible characters, without blanks around them.`,
      details: { field, expected: `1 to ${NAME_MAX} visible characters` },
    });
  }
  return { name, ...(team === undefined ? {} : { team }) };
}

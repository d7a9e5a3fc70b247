/** The actors who share a server, the owners of sessions, and the rule for who may do what. Pure. */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { HIDDEN } from "../workflow/hidden.js";
import { checkOptions, having, optionally, texts } from "../workflow/host-options.js";
import { isJsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import type { SessionSummary } from "./storage-adapter.js";

export const ownerSchema = z.object({
  /** Identifies the owner: 1 to 200 characters, none of them hidden. */
  name: z.string(),
  /** The team that they belong to, of the same form. */
  team: z.optional(z.string()),
});
/** The actor, and their team, that a session belongs to. */
export type Owner = Readonly<z.infer<typeof ownerSchema>>;

export const ownerCheck = having("an owner, such as { name }");

/**
 * The rights of an actor. `agent`: work on their own sessions. `viewer`: see all sessions. `approver`: see all sessions, and
 * answer those that wait for a person. `operator`: everything.
 */
export type Role = "agent" | "viewer" | "approver" | "operator";
/** The roles, for checks of values from outside. */
export const ROLES = ["agent", "viewer", "approver", "operator"] as const satisfies readonly Role[];

/** Somebody who was authenticated: an agent, a person or a program. The owner of each session that they start. */
export interface Actor extends Owner {
  /** Their rights. Default: `agent` alone. */
  readonly roles?: readonly Role[];
}

/** Must be a list: a text would have each role whose name is a part of it. */
const roles = optionally(texts);

export function isActor(value: unknown): value is Actor {
  if (!isJsonObject(value)) return false;
  const { name, team } = value;
  return isOwnerName(name) && (team === undefined || isOwnerName(team)) && roles.accepts(value.roles);
}

/** Returns true if two actors may see and do the same. */
export function isSameActor(one: Actor, other: Actor): boolean {
  return actorKey(one) === actorKey(other);
}

/** Returns a text that is the same for actors who may see and do the same. */
export function actorKey({ name, team, roles = ["agent"] }: Actor): string {
  return JSON.stringify([name, team, [...roles].sort()]);
}

/**
 * The kind of a call: `see` reads, `work` moves a session on as an agent does, `decide` answers for a person who was asked,
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
  /** The caller. */
  readonly actor: Actor;
  /** The kind of the call. */
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

/** The default: agents see and move their own sessions, viewers see all, approvers also decide, operators do all. */
export const byOwner: Authorize = ({ actor: { name, roles = ["agent"] }, action, session }) => {
  if (roles.includes("operator")) return true;
  if (action === "see" && (roles.includes("viewer") || roles.includes("approver"))) return true;
  if (action === "decide" && roles.includes("approver")) return true;
  return roles.includes("agent") && (action === "see" || action === "work") && session?.owner === name;
};

/** The user of an engine, with the rule that says what they may do. */
export interface Caller {
  readonly actor: Actor;
  readonly authorize: Authorize;
}

/**
 * Returns a caller. A rule of the host's own that throws, or answers with anything but true or false, such as a promise,
 * refuses: `report` gets the reason.
 * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
 */
export function callerOf(actor: Actor, authorize: Authorize, report: (error: unknown) => void): Caller {
  checkOwner(actor);
  checkOptions("as", { roles: actor.roles }, { roles });
  if (authorize === byOwner) return { actor, authorize };
  return {
    actor,
    authorize(request) {
      try {
        return yesOrNo("authorize", authorize(request), report);
      } catch (error) {
        report(error);
        return false;
      }
    },
  };
}

/**
 * Returns the answer of a host's callback. Throws for anything but true and false: types don't reach plain JavaScript, and a
 * promise would count as yes. One that rejects would end the process: `onRejected` gets the reason.
 */
export function yesOrNo(name: string, answer: unknown, onRejected: (error: unknown) => void = () => {}): boolean {
  if (typeof answer === "boolean") return answer;
  if (answer instanceof Promise) answer.catch(onRejected);
  throw new TypeError(`${name} must return true or false, and no promise`);
}

export function maySee({ actor, authorize }: Caller, operation: string, session: CalledSession): boolean {
  return authorize({ actor, action: "see", operation, session });
}

/** Returns the fields of a summary that name the owner. */
export function ownedBy({ name, team }: Owner): { readonly owner: string; readonly team?: string } {
  return { owner: name, team };
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
  return { name, team };
}

/** The reason why an actor may not have more. */
export interface QuotaUsedUp {
  readonly ok: false;
  /** The number that they may have. */
  readonly limit: number;
  /** When to come back, in seconds; missing if waiting does not help. */
  readonly retryAfterSeconds?: number;
}

/** A place that was taken. */
export interface TakenPlace {
  readonly ok: true;
  /** Gives it back. */
  release(): void;
}

/** Tells how much of an engine each actor may use. `createQuotas` of `phasegate/login` counts it. */
export interface ActorQuotas {
  /** Tells whether an actor with this number of sessions, active or paused, may start one more. Default: yes. */
  session?(actor: string, sessions: number): { readonly ok: true } | QuotaUsedUp;
  /** Takes a place for one verifier of an actor, until it is released. Default: as many as the engine's limit allows. */
  verifier?(actor: string): TakenPlace | QuotaUsedUp;
}

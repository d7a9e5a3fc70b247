/** An engine for one actor: what each operation does to a session, and whether the actor may do that. */
import { PhasegateError } from "../errors.js";
import {
  type Access,
  type Actor,
  type Authorize,
  byOwner,
  type CalledSession,
  checkOwner,
  type Owner,
  ownedBy,
} from "../ports/actor.js";
import type { Page, SessionQuery, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";

/** The operations that do more than read: those of all engines, so that one table says who may do what. */
const MORE_THAN_READING = {
  work: [
    ...["start", "completePhase", "completeTask", "requestWaiver", "pause", "resume", "retryPhase", "rollback"],
    ...["syncPlan", "deleteSession", "advance", "suspend", "cancel", "retry", "delete"],
  ],
  decide: ["approve", "deny", "waive", "denyWaiver"],
  operate: ["overrideGate", "skipPhase", "migrate", "assign", "cleanup", "release"],
} as const satisfies Record<Exclude<Access, "see">, readonly string[]>;

const ACCESS: ReadonlyMap<string, Access> = new Map(
  (["work", "decide", "operate"] as const).flatMap((access) =>
    MORE_THAN_READING[access].map((operation) => [operation, access] as const),
  ),
);

/** Who uses an engine, and what they may do. */
export interface Caller {
  readonly actor: Actor;
  readonly authorize: Authorize;
}

/**
 * Returns a caller. A rule of the host's own that throws, or answers with anything but true or false, such as a promise,
 * refuses: `report` gets the reason.
 * @throws {PhasegateError} `INVALID_INPUT` when the actor's name or team is invalid.
 */
export function callerOf(actor: Actor, authorize: Authorize, report: (error: unknown) => void): Caller {
  checkOwner(actor);
  if (authorize === byOwner) return { actor, authorize };
  return {
    actor,
    authorize(request) {
      try {
        const answer: unknown = authorize(request);
        if (typeof answer === "boolean") return answer;
        // One that rejects would end the process.
        if (answer instanceof Promise) answer.catch(report);
        throw new TypeError("authorize must return true or false, and no promise");
      } catch (error) {
        report(error);
        return false;
      }
    },
  };
}

/** Returns true if the caller may see a session. */
export function maySee({ actor, authorize }: Caller, operation: string, session: CalledSession): boolean {
  return authorize({ actor, action: "see", operation, session });
}

/**
 * Returns a check of sessions for an operation: false for a session that does not exist for the caller.
 * @throws {PhasegateError} `NOT_ALLOWED` (by the check) when they may see the session, but not do that.
 */
export function admission(caller: Caller, operation: string): (session: SessionSummary) => boolean {
  const { actor, authorize } = caller;
  const action = ACCESS.get(operation) ?? "see";
  return (session) => {
    if (!maySee(caller, operation, session)) return false;
    if (action === "see" || authorize({ actor, action, operation, session })) return true;
    const whose = session.owner === undefined ? "belongs to nobody" : `belongs to ${session.owner}`;
    throw notAllowed(operation, `session ${session.sessionId} ${whose}: you may see it, but not do this`);
  };
}

/**
 * Checks a call that is about no single session, or about one that does not exist yet.
 * @throws {PhasegateError} `NOT_ALLOWED` when the caller may not do that.
 */
export function requireAccess({ actor, authorize }: Caller, operation: string, session?: CalledSession): void {
  const action = ACCESS.get(operation) ?? "see";
  const asked = { actor, action, operation, ...(session === undefined ? {} : { session }) };
  if (!authorize(asked)) throw notAllowed(operation, `${actor.name} may not do this here`);
}

/**
 * Returns the query for the sessions that a caller may see; undefined if only `authorize` knows which these are, and they
 * can't be counted.
 */
export function seenQuery(caller: Caller | undefined, query: SessionQuery): SessionQuery | undefined {
  if (caller === undefined || seesAll(caller)) return query;
  const { actor, authorize } = caller;
  return authorize === byOwner ? { ...query, owner: actor.name } : undefined;
}

/**
 * Lists the sessions that a caller may see. A cursor is the position of such a session, so that it tells of no other. Whose
 * a session is that can't be read is not known: only who sees all sessions gets these.
 */
export async function listSeen(
  storage: Pick<StorageAdapter, "list">,
  caller: Caller | undefined,
  query: SessionQuery,
): Promise<Page<SessionSummary>> {
  if (caller === undefined || seesAll(caller)) return storage.list(query);
  let from = seenQuery(caller, query) ?? query;
  for (;;) {
    const { items, cursor } = await storage.list(from);
    const seen = items.filter((summary) => maySee(caller, "listSessions", summary));
    const last = seen.at(-1);
    if (cursor === undefined) return { items: seen };
    if (last === undefined) from = { ...from, cursor };
    else if (last === items.at(-1)) return { items: seen, cursor };
    // Again, up to the last one that the caller may see.
    else from = { ...from, limit: items.indexOf(last) + 1 };
  }
}

function seesAll({ actor, authorize }: Caller): boolean {
  return authorize({ actor, action: "see", operation: "listSessions" });
}

/**
 * Returns who owns a session that is started: the caller, or whom the host has named.
 * @throws {PhasegateError} `NOT_ALLOWED` when the caller may not start it.
 */
export function ownerFor(
  { caller, options }: { readonly caller?: Caller; readonly options: { readonly owner?: Owner | undefined } },
  session: Pick<CalledSession, "kind" | "workflowType" | "target">,
): Owner | undefined {
  if (caller === undefined) return options.owner;
  const owner = checkOwner(caller.actor);
  requireAccess(caller, "start", { ...session, ...ownedBy(owner) });
  return owner;
}

function notAllowed(operation: string, message: string): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", message, {
    remedy: "Work on your own sessions, or ask the operator of this server.",
    details: { operation },
  });
}

/** An engine for one actor: what each operation does to a session, and whether the actor may do that. */
import { PhasegateError } from "../errors.js";
import {
  type Access,
  type ActorQuotas,
  byOwner,
  type CalledSession,
  type Caller,
  checkOwner,
  maySee,
  type Owner,
  ownedBy,
  type QuotaUsedUp,
} from "../ports/actor.js";
import {
  type Page,
  pagesOf,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
} from "../ports/storage-adapter.js";

/** The operations of all engines that do more than read, in one table that says who may do what. */
const MORE_THAN_READING = {
  work: [
    ...[
      "start",
      "startChild",
      "completePhase",
      "completeTask",
      "requestWaiver",
      "pause",
      "resume",
      "retryPhase",
      "rollback",
    ],
    ...["syncPlan", "deleteSession", "advance", "suspend", "cancel", "retry", "delete"],
    ...["createSession", "saveOutput", "completeSession"],
  ],
  decide: ["approve", "deny", "waive", "denyWaiver"],
  operate: ["overrideGate", "skipPhase", "migrate", "migration", "assign", "cleanup", "release"],
} as const satisfies Record<Exclude<Access, "see">, readonly string[]>;

const ACCESS: ReadonlyMap<string, Access> = new Map(
  (["work", "decide", "operate"] as const).flatMap((access) =>
    MORE_THAN_READING[access].map((operation) => [operation, access] as const),
  ),
);

/**
 * Returns a check of sessions for an operation: false for a session that does not exist for the caller.
 * @throws {PhasegateError} `NOT_ALLOWED` (by the check) when they may see the session, but not do that.
 */
export function admission(caller: Caller, operation: string): (session: CalledSession) => boolean {
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
  const asked = { actor, action, operation, session };
  if (!authorize(asked)) throw notAllowed(operation, `${actor.name} may not do this here`);
}

/** Returns true for the host, and for a caller who may operate as the host does: on this session, or else on all. */
export function mayOperate(caller: Caller | undefined, operation: string, session?: CalledSession): boolean {
  if (caller === undefined) return true;
  const { actor, authorize } = caller;
  return authorize({ actor, action: "operate", operation, session });
}

/**
 * Returns the party that a call speaks for. Only a caller who may operate can speak for the host, for example to grant more
 * attempts than its limit.
 * @throws {PhasegateError} `NOT_ALLOWED` when another caller speaks for the host.
 */
export function speakerOf(
  caller: Caller | undefined,
  operation: string,
  session: CalledSession | undefined,
  by: "host" | "agent" | undefined,
): "host" | "agent" {
  const isHost = mayOperate(caller, operation, session);
  if (by === "host" && !isHost) throw notAllowed(operation, "only an operator may do this for the host");
  return by ?? (isHost ? "host" : "agent");
}

/** Returns the context of an operation for a caller: its log has only the sessions that the caller may use. */
export function limitedFor<Kernel extends Limitable<Kernel>, Context extends { readonly kernel: Kernel }>(
  context: Context,
  caller: Caller | undefined,
  operation: string,
): Context {
  return caller === undefined
    ? context
    : { ...context, caller, kernel: context.kernel.limitedTo(admission(caller, operation)) };
}

/** A log that can be limited to the sessions that a caller may use. */
export interface Limitable<Kernel> {
  limitedTo(admits: (session: SessionSummary) => boolean): Kernel;
}

/**
 * Returns the query for the sessions that a caller may see; undefined if only `authorize` knows them, so that they can't be
 * counted.
 */
export function seenQuery(caller: Caller | undefined, query: SessionQuery): SessionQuery | undefined {
  if (caller === undefined || seesAll(caller)) return query;
  const { actor, authorize } = caller;
  return authorize === byOwner ? { ...query, owner: actor.name } : undefined;
}

/**
 * Lists the sessions that a caller may see. A cursor is the position of such a session, so that it reveals no other. The
 * owner of an unreadable session is unknown: only a caller who sees all sessions gets it.
 */
export async function listSeen(
  storage: Pick<StorageAdapter, "list">,
  caller: Caller | undefined,
  query: SessionQuery,
): Promise<Page<SessionSummary>> {
  if (caller === undefined || seesAll(caller)) return storage.list(query);
  const { actor, authorize } = caller;
  if (authorize === byOwner && query.owner !== undefined && query.owner !== actor.name) return { items: [] };
  let from = seenQuery(caller, query) ?? query;
  for (;;) {
    const { items, cursor } = await storage.list(from);
    const seen = items.filter((summary) => maySee(caller, "listSessions", summary));
    const last = seen.at(-1);
    if (cursor === undefined) return { items: seen };
    if (last === undefined) from = { ...from, cursor };
    else if (last === items.at(-1)) return { items: seen, cursor };
    // Lists again, up to the last one that the caller may see.
    else from = { ...from, limit: items.indexOf(last) + 1 };
  }
}

function seesAll({ actor, authorize }: Caller): boolean {
  return authorize({ actor, action: "see", operation: "listSessions" });
}

/**
 * Returns the owner of a session that `operation` starts: the caller, or the one that the host has named.
 * @throws {PhasegateError} `NOT_ALLOWED` when the caller may not start it.
 */
export function ownerFor(
  { caller, options }: { readonly caller?: Caller; readonly options: { readonly owner?: Owner | undefined } },
  session: Pick<CalledSession, "kind" | "workflowType" | "target">,
  operation = "start",
): Owner | undefined {
  if (caller === undefined) return options.owner;
  const owner = checkOwner(caller.actor);
  requireAccess(caller, operation, { ...session, ...ownedBy(owner) });
  return owner;
}

interface Using {
  readonly caller?: Caller;
  readonly options: { readonly quotas?: ActorQuotas | undefined };
}

/** The sessions that are counted in one request to the storage. */
const COUNTED = 100;

/**
 * Checks that a caller may have one more session.
 * @throws {PhasegateError} `SESSION_LIMIT` when they have used up their quota.
 */
export async function requireOwnPlace({
  caller,
  options: { quotas, storage },
}: Using & { readonly options: { readonly storage: Pick<StorageAdapter, "list"> } }): Promise<void> {
  if (caller === undefined || quotas?.session === undefined) return;
  const { name } = caller.actor;
  const query: SessionQuery = { owner: name, status: ["active", "paused"], limit: COUNTED };
  let count = 0;
  for await (const { items } of pagesOf((one) => storage.list(one), query)) {
    // Sessions of a workspace do not count: nobody has to end them, and no engine starts them.
    count += items.filter(({ kind }) => kind !== "recorded").length;
    const answer = quotas.session(name, count);
    if (answer.ok) continue;
    const { limit } = answer;
    throw new PhasegateError("SESSION_LIMIT", `you have ${limit} sessions, which is as many as you may have`, {
      remedy: "Complete one of them first.",
      details: { limit, actor: name },
    });
  }
}

/**
 * Takes up to `wanted` places for verifiers that run at once: as many as the caller has left, but at least one.
 * @throws {PhasegateError} `BUSY` when they have none left.
 */
export function takePlaces(
  { caller, options: { quotas } }: Using,
  wanted: number,
): { readonly count: number; readonly release: () => void } {
  if (caller === undefined || quotas?.verifier === undefined) return { count: wanted, release: () => {} };
  const taken: (() => void)[] = [];
  for (let missing = wanted; missing > 0; missing -= 1) {
    const place = quotas.verifier(caller.actor.name);
    if (place.ok) taken.push(() => place.release());
    else if (taken.length > 0) break;
    else throw noPlace(place, caller.actor.name);
  }
  const release = () => {
    for (const giveBack of taken) giveBack();
  };
  return { count: taken.length, release };
}

function noPlace({ limit, retryAfterSeconds = 1 }: QuotaUsedUp, actor: string): PhasegateError<"BUSY"> {
  return new PhasegateError("BUSY", `${limit} of your verifiers are running, which is as many as you may run at once`, {
    remedy: `Nothing was done: send the same call again in ${retryAfterSeconds} s.`,
    details: { running: limit, limit, actor },
  });
}

function notAllowed(operation: string, message: string): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", message, {
    remedy: "Work on your own sessions, or ask the operator of this server.",
    details: { operation },
  });
}

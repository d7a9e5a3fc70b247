/**
 * Statistics of phased sessions, from their logs. Each call reads the commits since its cursor, adds them to what the
 * cursor keeps of each session (the tally in state/tally.ts), and sums that up (sums.ts). So the numbers are always those of
 * the sessions that the storage has now, whether they are computed at once or step by step.
 */
import * as z from "zod/mini";
import { BROKEN, type BrokenSession } from "../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { freeze } from "../log/commit.js";
import type { Machine } from "../log/machine.js";
import { SessionLog } from "../log/session-log.js";
import { turns } from "../ports/clock.js";
import { type Changes, pagesOf, type SessionQuery, type StorageAdapter } from "../ports/storage-adapter.js";
import { requireAccess } from "../runtime/access.js";
import { digest } from "../workflow/json.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import { phasedMachine } from "./state/machine.js";
import {
  addToTally,
  type SessionTally,
  sessionTallySchema,
  type TalliedCommit,
  talliedEventsSchema,
  talliedHeadSchema,
} from "./state/tally.js";
import { type SessionCounts, sumUp, type WorkflowStatistics } from "./sums.js";

/** Selects what statistics are about, and continues earlier ones. */
export interface StatisticsRequest {
  /** Only sessions on this workflow. The cursor keeps those on all. Default: all. */
  readonly workflowType?: string;
  /** The cursor of earlier statistics: only what was committed since then is read. Default: everything is read. */
  readonly cursor?: StatisticsCursor;
}

/**
 * What statistics have read so far, for the host to keep: plain JSON, about 1 kB for each session. In the process that made it,
 * pass the object itself: it is not checked again. It belongs to one storage and to one set of approvers. Nothing but its
 * version is meant to be read.
 */
export interface StatisticsCursor {
  /** The version of its format. */
  readonly version: number;
  /** What it counts on from. */
  readonly [member: string]: unknown;
}

/** Statistics of the phased sessions that a storage has now. */
export interface Statistics {
  /** The number of sessions in each state. */
  readonly sessions: SessionCounts;
  /** By the type of the workflow, in alphabetical order. */
  readonly workflows: readonly WorkflowStatistics[];
  /**
   * The number of sessions that passed a gate with an approval or a waiver that this host does not accept. Each counts
   * as it was before that gate.
   */
  readonly unapproved: number;
  /** The sessions that can't be read, each with the reason; they are not counted. Missing if there are none. */
  readonly broken?: readonly BrokenSession[];
  /** Continues these statistics in the next call. */
  readonly cursor: StatisticsCursor;
}

const CURSOR_VERSION = 1;

const cursorSchema = z.object({
  version: z.literal(CURSOR_VERSION),
  /** Identifies the approvers whose approvals were accepted. */
  approvers: z.string(),
  /** When it was made: ISO 8601, UTC. */
  at: z.string(),
  /** The storage's position, if it has positions. */
  position: z.optional(z.string()),
  /** The sessions that could not be read: the next call tries again. */
  again: z.array(z.custom<SessionId>(isSessionId)),
  sessions: z.array(sessionTallySchema),
});

type Cursor = z.infer<typeof cursorSchema>;

/** The cursors that this process has made: they are frozen, and not checked again. */
const made = new WeakMap<StatisticsCursor, Cursor>();

/** The number of sessions that are read in parallel. */
const AT_ONCE = 16;
/** A storage may answer without waiting for anything: after this time, in milliseconds, the host gets its turn. */
const WORK_MS = 50;

/** Computes statistics from the commits since the cursor. */
export async function computeStatistics(
  context: EngineContext,
  { workflowType, cursor: given }: StatisticsRequest,
): Promise<Statistics> {
  const { clock, storage } = context.options;
  if (context.caller !== undefined) requireAccess(context.caller, "statistics");
  const approvers = approversOf(context);
  const before = given === undefined ? undefined : readCursor(given, approvers);
  const at = new Date(clock.now()).toISOString();
  const tallies = new Map(before?.sessions.map((tally) => [tally.sessionId, tally]));
  const { sessionIds, position } = await changedSessions(storage, before, tallies);
  const takeTurns = turns(clock, WORK_MS);
  const broken: BrokenSession[] = [];
  for (let start = 0; start < sessionIds.length; start += AT_ONCE) {
    const batch = sessionIds.slice(start, start + AT_ONCE);
    const read = await Promise.all(batch.map((id) => readSession(context, id, tallies.get(id))));
    for (const [index, id] of batch.entries()) {
      const found = read[index];
      if (found !== undefined && "version" in found) tallies.set(id, found);
      else tallies.delete(id);
      if (found !== undefined && "code" in found) broken.push(found);
    }
    await takeTurns();
  }
  // They may have changed while sessions were read.
  if (approversOf(context) !== approvers) throw otherApprovers();
  if (before !== undefined) refuseOther(before, sessionIds, tallies);
  const cursor: Cursor = {
    version: CURSOR_VERSION,
    ...{ approvers, at, position },
    again: broken.map(({ sessionId }) => sessionId).filter(isSessionId),
    sessions: [...tallies.values()],
  };
  made.set(freeze(cursor), cursor);
  return {
    ...sumUp(tallies.values(), workflowType),
    broken: broken.length === 0 ? undefined : broken,
    cursor,
  };
}

/** Identifies the approvers, which a host may change at any time. */
function approversOf({ options: { approvals } }: EngineContext): string {
  return digest(JSON.stringify([[...approvals.approvers].sort(), approvals.unsigned]));
}

/** Returns the sessions that may have changed since the cursor: all of them, if neither `changes` nor a list can tell. */
async function changedSessions(
  storage: StorageAdapter,
  before: Cursor | undefined,
  tallies: ReadonlyMap<SessionId, SessionTally>,
): Promise<Partial<Changes> & Pick<Changes, "sessionIds">> {
  const since = before?.position;
  const ids = new Set(before?.again);
  // Without positions, sessions that are gone are named by nobody.
  if (storage.changes === undefined || since === undefined) for (const id of tallies.keys()) ids.add(id);
  if (storage.changes !== undefined) {
    const { sessionIds, position } = await storage.changes("phased", since);
    return { sessionIds: [...new Set([...ids, ...sessionIds])], position };
  }
  const list = (query: SessionQuery) => storage.list(query);
  for await (const { items, hashes, damaged = [] } of pagesOf(list, { kind: "phased", limit: 1000 })) {
    for (const [index, { sessionId }] of items.entries()) {
      const hash = hashes?.[index];
      if (hash !== undefined && hash === tallies.get(sessionId)?.hash) ids.delete(sessionId);
      else ids.add(sessionId);
    }
    for (const id of damaged) if (isSessionId(id)) ids.add(id);
  }
  return { sessionIds: [...ids] };
}

/** Reads of each commit only what tallies count. */
const tallyMachine: Machine<never, TalliedCommit["events"][number], TalliedCommit["head"]> = {
  ...phasedMachine,
  decide: () => ({ ok: false, error: new Error("statistics change nothing") }),
  parse: (events, head) => ({ events: talliedEventsSchema.parse(events), head: talliedHeadSchema.parse(head) }),
  summarize: ({ phase: current, ...head }) => ({ ...head, current }),
  payloadsOf: () => [],
};

/** Returns the tally of a session after its newest commit; undefined if it is deleted. */
async function readSession(
  context: EngineContext,
  id: SessionId,
  known: SessionTally | undefined,
): Promise<SessionTally | BrokenSession | undefined> {
  try {
    if (known === undefined) return await addNew(context, id);
    const newest = await context.options.storage.read(id);
    if (newest === undefined) return undefined;
    if (newest.version === known.version && newest.hash === known.hash) return known;
    if (newest.version <= known.version) throw otherSession(id);
    return await addNew(context, id, known);
  } catch (error) {
    if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
    // If the log is intact, it is the cursor that is about another one.
    if (known !== undefined && error.code === "TAMPERED") {
      const again = await readSession(context, id, undefined);
      if (again === undefined || "version" in again) throw otherSession(id);
    }
    return { sessionId: id, code: error.code, message: error.message };
  }
}

/** Adds the commits after a tally. */
async function addNew(context: EngineContext, id: SessionId, known?: SessionTally): Promise<SessionTally | undefined> {
  const { kernel, approvalGuard, pinned, options } = context;
  const from = known?.unapproved ? undefined : known;
  let tally = from && structuredClone(from);
  const log = new SessionLog({ ...options, machine: tallyMachine });
  for await (const commit of log.all(id, from)) tally = addToTally(tally, commit);
  const session = tally && approvalGuard.knowsApprovers ? await kernel.find(id) : undefined;
  if (tally === undefined || session === undefined) return tally;
  const isWaived = tally.phases.some(({ fields = [] }) => fields.some(([, , waived]) => waived > 0));
  return isWaived || PHASED_APPROVALS.asks(await pinned.structure(session)) ? tallyAccepted(context, id) : tally;
}

/** Counts a session without what follows an approval that this host does not accept, until a rollback revokes it. */
async function tallyAccepted({ kernel, options }: EngineContext, id: SessionId): Promise<SessionTally | undefined> {
  let ledger = PHASED_APPROVALS.beginning;
  let tally: SessionTally | undefined;
  let isAccepted = true;
  for await (const commit of kernel.log(id)) {
    ledger = await PHASED_APPROVALS.add(ledger, commit, options.approvals);
    isAccepted = [...PHASED_APPROVALS.audited(ledger)].every(({ distrust }) => distrust === undefined);
    if (isAccepted || commit.head.status === "deleted") tally = addToTally(tally, commit);
  }
  return tally === undefined || isAccepted ? tally : { ...tally, unapproved: true };
}

/** Returns a cursor from the host: one that this process has not made is checked. */
function readCursor(cursor: StatisticsCursor, approvers: string): Cursor {
  // Plain JavaScript may pass anything.
  const version: unknown = cursor?.version;
  if (typeof version === "number" && version > CURSOR_VERSION) {
    throw badCursor(`has version ${version}, and ${CURSOR_VERSION} is the newest that is known here`);
  }
  const known = made.get(cursor) ?? cursorSchema.safeParse(cursor).data;
  if (known === undefined) throw badCursor("is not as statistics have returned it");
  if (known.approvers !== approvers) throw otherApprovers();
  return known;
}

/**
 * Refuses a cursor none of whose sessions is in the storage, if others are that were started before it was made. A storage
 * with positions has refused such a cursor itself.
 */
function refuseOther(
  { at, position, sessions }: Cursor,
  changed: readonly SessionId[],
  tallies: ReadonlyMap<SessionId, SessionTally>,
): void {
  if (position !== undefined || sessions.length === 0) return;
  if (sessions.some(({ sessionId }) => tallies.has(sessionId))) return;
  if (!changed.some((id) => (tallies.get(id)?.pinnedAt ?? at) < at)) return;
  throw badCursor("belongs to another storage: none of its sessions is in this one");
}

function otherApprovers(): PhasegateError<"CURSOR_INVALID"> {
  return badCursor("was made with other approvers");
}

function otherSession(id: SessionId): PhasegateError<"CURSOR_INVALID"> {
  return badCursor(`belongs to another storage, or to a later state of this one: session ${id} differs`);
}

function badCursor(reason: string): PhasegateError<"CURSOR_INVALID"> {
  return new PhasegateError("CURSOR_INVALID", `the cursor of the statistics ${reason}`, {
    remedy: "Leave it out: everything is then read again.",
    details: { cursor: reason },
  });
}

/**
 * Statistics of phased sessions, from their logs. Each call reads the commits since its cursor, adds them to what the
 * cursor keeps of each session (the tally in state/tally.ts), and sums that up (sums.ts). So the numbers are always those of
 * the sessions that the storage has now, whether they are computed at once or step by step.
 *
 * A cursor that the host has kept as JSON is read as a whole. One that this process has made goes on from the sums that it
 * was made with: such a step takes as long among a million sessions as among a few.
 */
import * as z from "zod/mini";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Machine } from "../log/machine.js";
import { SessionLog } from "../log/session-log.js";
import { turns } from "../ports/clock.js";
import type { Changes, StorageAdapter } from "../ports/storage-adapter.js";
import { requireAccess } from "../runtime/access.js";
import { digest } from "../workflow/json.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import { BROKEN, type BrokenSession } from "./lists.js";
import { phasedMachine } from "./state/machine.js";
import {
  addToTally,
  type SessionTally,
  sessionTallySchema,
  type TalliedCommit,
  talliedEventsSchema,
  talliedHeadSchema,
} from "./state/tally.js";
import { type SessionCounts, TallySums, type WorkflowStatistics } from "./sums.js";

/** Selects what statistics are about, and continues earlier ones. */
export interface StatisticsRequest {
  /** Only sessions on this workflow. The cursor keeps those on all. Default: all. */
  readonly workflowType?: string;
  /** The cursor of earlier statistics: only what was committed since then is read. Default: everything is read. */
  readonly cursor?: StatisticsCursor;
}

/**
 * What statistics have read so far, for the host to keep: plain JSON, about 1 kB for each session. In the process that made it,
 * pass the object itself: a call then takes only as long as what is new. It belongs to one storage and to one set of approvers.
 * Nothing but its version is meant to be read.
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

/** What a cursor stands for. */
interface Kept extends Omit<z.infer<typeof cursorSchema>, "version" | "sessions"> {
  readonly storage: StorageAdapter;
  /** Its tallies, or later ones: what is read again is what they lack, whatever they have beyond the cursor's position. */
  readonly sums: TallySums;
  /** True once a step has gone on with the sums. Another one that begins here has its own. */
  isTaken: boolean;
}

/** The tallies of some sessions; undefined for those that are not counted. */
type Changed = ReadonlyMap<SessionId, SessionTally | undefined>;
type Tallies = ReadonlyMap<SessionId, SessionTally>;

/** By the cursors that this process has made. */
const keptBy = new WeakMap<StatisticsCursor, Kept>();

/** The number of sessions that are read in parallel. */
const AT_ONCE = 16;
/** A storage may answer without waiting for anything: after this time, in milliseconds, the host gets its turn. */
const WORK_MS = 50;

/** Computes statistics from the commits since the cursor. */
export async function computeStatistics(
  context: EngineContext,
  { workflowType, cursor: given }: StatisticsRequest,
): Promise<Statistics> {
  const { approvals, clock, storage } = context.options;
  if (context.caller !== undefined) requireAccess(context.caller, "statistics");
  const at = new Date(clock.now()).toISOString();
  const approvers = digest(JSON.stringify([[...approvals.approvers].sort(), approvals.unsigned]));
  const known = given === undefined ? undefined : readCursor(given, approvers, storage);
  const tallies: Tallies = known === undefined ? new Map() : known.sums.tallies;
  const { sessionIds, position } = await changedSessions(storage, known, tallies);
  const changed = new Map<SessionId, SessionTally | undefined>();
  const broken: BrokenSession[] = [];
  const takeTurns = turns(clock, WORK_MS);
  for (let start = 0; start < sessionIds.length; start += AT_ONCE) {
    const batch = sessionIds.slice(start, start + AT_ONCE);
    const read = await Promise.all(batch.map((id) => readSession(context, id, tallies.get(id))));
    for (const [index, id] of batch.entries()) {
      const found = read[index];
      changed.set(id, found !== undefined && "version" in found ? found : undefined);
      if (found !== undefined && "code" in found) broken.push(found);
    }
    await takeTurns();
  }
  if (known !== undefined) refuseOther(known, tallies, changed);
  const again = broken.map(({ sessionId }) => sessionId).filter(isSessionId);
  const sums = takeSums(known);
  for (const [id, tally] of changed) sums.set(id, tally);
  const cursor = cursorOf({ approvers, at, position, again, storage, sums, isTaken: false });
  return { ...sums.of(workflowType), ...(broken.length === 0 ? {} : { broken }), cursor };
}

/** Returns the sums that a step goes on with. */
function takeSums(known: Kept | undefined): TallySums {
  if (known === undefined) return new TallySums();
  if (known.isTaken) return new TallySums(known.sums.tallies.values());
  known.isTaken = true;
  return known.sums;
}

function cursorOf(kept: Kept): StatisticsCursor {
  const { approvers, at, position, again, sums } = kept;
  const cursor = Object.freeze({
    version: CURSOR_VERSION,
    approvers,
    at,
    ...(position === undefined ? {} : { position }),
    again,
    /** Made only when the host stores the cursor. */
    get sessions() {
      return [...sums.tallies.values()];
    },
  });
  keptBy.set(cursor, kept);
  return cursor;
}

/** Returns the sessions that may have changed since the cursor: all of them, if neither `changes` nor a list can tell. */
async function changedSessions(
  storage: StorageAdapter,
  known: Kept | undefined,
  tallies: Tallies,
): Promise<Partial<Changes> & Pick<Changes, "sessionIds">> {
  const ids = new Set(known?.again);
  // Without positions, sessions that are gone are named by nobody.
  if (storage.changes === undefined || known?.position === undefined) for (const id of tallies.keys()) ids.add(id);
  if (storage.changes !== undefined) {
    const { sessionIds, position } = await storage.changes("phased", known?.position);
    return { sessionIds: [...new Set([...ids, ...sessionIds])], position };
  }
  let cursor: string | undefined;
  do {
    const page = await storage.list({ kind: "phased", limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    for (const [index, { sessionId }] of page.items.entries()) {
      const hash = page.hashes?.[index];
      if (hash !== undefined && hash === tallies.get(sessionId)?.hash) ids.delete(sessionId);
      else ids.add(sessionId);
    }
    for (const id of page.damaged ?? []) if (isSessionId(id)) ids.add(id);
    cursor = page.cursor;
  } while (cursor !== undefined);
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

/** Returns what a cursor from the host stands for; of one that this process has not made, only after a check. */
function readCursor(cursor: StatisticsCursor, approvers: string, storage: StorageAdapter): Kept {
  // Plain JavaScript may pass anything.
  const version: unknown = cursor?.version;
  if (typeof version === "number" && version > CURSOR_VERSION) {
    throw badCursor(`has version ${version}, and ${CURSOR_VERSION} is the newest that is known here`);
  }
  let kept = keptBy.get(cursor);
  if (kept?.storage !== storage) {
    const parsed = cursorSchema.safeParse(cursor);
    if (!parsed.success) throw badCursor("is not as statistics have returned it");
    const { sessions, version: _, ...parts } = parsed.data;
    kept = { ...parts, storage, sums: new TallySums(sessions), isTaken: false };
  }
  if (kept.approvers !== approvers) throw badCursor("was made with other approvers");
  return kept;
}

/**
 * Refuses a cursor none of whose sessions is in the storage, if others are that were started before it was made. A storage
 * with positions has refused such a cursor itself.
 */
function refuseOther({ at, position }: Kept, tallies: Tallies, changed: Changed): void {
  if (position !== undefined || tallies.size === 0) return;
  const isGone = (id: SessionId) => changed.has(id) && changed.get(id) === undefined;
  if (![...tallies.keys()].every(isGone)) return;
  if (![...changed.values()].some((found) => found !== undefined && found.pinnedAt < at)) return;
  throw badCursor("belongs to another storage: none of its sessions is in this one");
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

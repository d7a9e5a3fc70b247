/**
 * Statistics of phased sessions, from their logs. Each call reads the commits since its cursor, adds them to what the
 * cursor keeps of each session (the tally in state/tally.ts), and sums that up. So the numbers are always those of
 * the sessions that the storage has now, whether they are computed at once or step by step.
 */
import * as z from "zod/mini";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Machine } from "../log/machine.js";
import { SessionLog } from "../log/session-log.js";
import { turns } from "../ports/clock.js";
import type { Changes, SessionStatus, StorageAdapter } from "../ports/storage-adapter.js";
import { requireAccess } from "../runtime/access.js";
import { digest } from "../workflow/json.js";
import { isSessionId, type SessionId } from "../workflow/names.js";
import { PHASED_APPROVALS } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import { BROKEN, type BrokenSession } from "./lists.js";
import { phasedMachine } from "./state/machine.js";
import {
  addToTally,
  type PhaseTally,
  type SessionTally,
  sessionTallySchema,
  type TalliedCommit,
  talliedEventsSchema,
  talliedHeadSchema,
} from "./state/tally.js";

/** Selects what statistics are about, and continues earlier ones. */
export interface StatisticsRequest {
  /** Only sessions on this workflow. The cursor keeps those on all. Default: all. */
  readonly workflowType?: string;
  /** The cursor of earlier statistics: only what was committed since then is read. Default: everything is read. */
  readonly cursor?: StatisticsCursor;
}

/**
 * What statistics have read so far, for the host to keep: plain JSON, about 1 kB for each session. It belongs to one
 * storage and to one set of approvers. Nothing but its version is meant to be read.
 */
export interface StatisticsCursor {
  /** The version of its format. */
  readonly version: number;
  /** What it counts on from. */
  readonly [member: string]: unknown;
}

/** The number of sessions in each state. Deleted ones are not counted. */
export type SessionCounts = Readonly<Record<Exclude<SessionStatus, "deleted">, number>>;

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

/** Statistics of the sessions on one workflow. */
export interface WorkflowStatistics {
  /** The type of the workflow. */
  readonly workflowType: string;
  /** The number of sessions in each state. */
  readonly sessions: SessionCounts;
  /** The phases that a session has now or has worked at, by number. */
  readonly phases: readonly PhaseStatistics[];
}

/** Statistics of one phase and its gate. Counts of events include those before a rollback. */
export interface PhaseStatistics {
  /** The phase's number. */
  readonly phase: number;
  /** Its name in the newest revision that a session is on; missing if it comes from a plan. */
  readonly name?: string;
  /** The number of sessions that are at the phase now, in each state; completed ones are at none. */
  readonly sessions: Omit<SessionCounts, "completed">;
  /** The number of sessions that have completed the phase, with evidence or by an override. */
  readonly completed: number;
  /** The number of sessions that skip the phase. */
  readonly skipped: number;
  /** The time that the sessions which have completed the phase have spent at it; missing if there are none. */
  readonly time?: TimeSpent;
  /** Submissions that passed or failed; one that waits for an approval counts when it is answered. */
  readonly attempts: number;
  /** Attempts that passed the gate. */
  readonly passed: number;
  /** Attempts that failed at the gate, including those that a person denied. */
  readonly failed: number;
  /** Attempts that a person denied. */
  readonly denied: number;
  /** How often the host has let a session pass without evidence. */
  readonly overridden: number;
  /** Steps ahead that were refused at the phase, as the logs have them: each once in a visit. */
  readonly refusedSteps: number;
  /** The requests for waivers, and their answers. */
  readonly waivers: { readonly requested: number; readonly granted: number; readonly denied: number };
  /** The fields at which attempts failed or that were waived, most failures first. */
  readonly fields: readonly FieldStatistics[];
}

/**
 * The time that sessions have spent at a phase: in all visits, as long as the session was active. Pauses, and the time
 * between a failure and its retry, do not count. Seconds, to the millisecond.
 */
export interface TimeSpent {
  /** The median: the smallest value that half of the sessions do not exceed. */
  readonly medianSeconds: number;
  /** The 90th percentile: the smallest value that nine of ten sessions do not exceed. */
  readonly p90Seconds: number;
}

/** Statistics of one field of evidence. Of each phase of a session, the first 50 fields are told apart. */
export interface FieldStatistics {
  /** The field, as a path with dots and `*` for the numbers of items; `""` is the evidence as a whole. */
  readonly field: string;
  /** Attempts that failed with a problem of this field. */
  readonly failed: number;
  /** Attempts that passed with this field waived. */
  readonly waived: number;
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
  const known = given === undefined ? undefined : readCursor(given, approvers);
  const tallies = new Map(known?.sessions.map((tally) => [tally.sessionId, tally]));
  const { sessionIds, position } = await changedSessions(storage, known, tallies);
  const broken: BrokenSession[] = [];
  const takeTurns = turns(clock, WORK_MS);
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
  const sessions = [...tallies.values()];
  const again = broken.map(({ sessionId }) => sessionId).filter(isSessionId);
  if (known !== undefined) refuseOther(known, sessions);
  const place = position === undefined ? {} : { position };
  const cursor = { version: CURSOR_VERSION, approvers, at, ...place, again, sessions };
  const chosen = workflowType === undefined ? sessions : sessions.filter((one) => one.workflowType === workflowType);
  return { ...sumUp(chosen), ...(broken.length === 0 ? {} : { broken }), cursor };
}

/** Returns the sessions that may have changed since the cursor: all of them, if neither `changes` nor a list can tell. */
async function changedSessions(
  storage: StorageAdapter,
  known: Cursor | undefined,
  tallies: ReadonlyMap<SessionId, SessionTally>,
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

/** Checks a cursor from the host. */
function readCursor(cursor: StatisticsCursor, approvers: string): Cursor {
  // Plain JavaScript may pass anything.
  const version: unknown = cursor?.version;
  if (typeof version === "number" && version > CURSOR_VERSION) {
    throw badCursor(`has version ${version}, and ${CURSOR_VERSION} is the newest that is known here`);
  }
  const parsed = cursorSchema.safeParse(cursor);
  if (!parsed.success) throw badCursor("is not as statistics have returned it");
  if (parsed.data.approvers !== approvers) throw badCursor("was made with other approvers");
  return parsed.data;
}

/**
 * Refuses a cursor none of whose sessions is in the storage, if others are that were started before it was made. A storage
 * with positions has refused such a cursor itself.
 */
function refuseOther({ at, position, sessions }: Cursor, found: readonly SessionTally[]): void {
  const ids = new Set(found.map(({ sessionId }) => sessionId));
  const isOther = position === undefined && found.some(({ pinnedAt }) => pinnedAt < at);
  if (!isOther || sessions.length === 0 || sessions.some(({ sessionId }) => ids.has(sessionId))) return;
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

function sumUp(tallies: readonly SessionTally[]): Pick<Statistics, "sessions" | "workflows" | "unapproved"> {
  const types = groupBy(tallies, ({ workflowType }) => workflowType);
  const workflows = [...types]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([workflowType, sessions]) => ({ workflowType, sessions: countsOf(sessions), phases: phasesOf(sessions) }));
  return { sessions: countsOf(tallies), workflows, unapproved: tallies.filter(({ unapproved }) => unapproved).length };
}

function countsOf(tallies: readonly SessionTally[]): SessionCounts {
  const counts = { active: 0, paused: 0, completed: 0, failed: 0 };
  for (const { status } of tallies) counts[status] += 1;
  return counts;
}

function phasesOf(tallies: readonly SessionTally[]): PhaseStatistics[] {
  const here = groupBy(
    tallies.filter(({ status }) => status !== "completed"),
    ({ phase }) => phase,
  );
  const worked = groupBy(
    tallies.flatMap(({ phases }) => phases),
    ({ phase }) => phase,
  );
  const names = namesOf(tallies);
  const numbers = [...new Set([...here.keys(), ...worked.keys()])].sort((one, other) => one - other);
  return numbers.map((phase) => {
    const { completed: _, ...sessions } = countsOf(here.get(phase) ?? []);
    const name = names.get(phase);
    return { phase, ...(name === undefined ? {} : { name }), sessions, ...phaseCounts(worked.get(phase) ?? []) };
  });
}

function phaseCounts(tallies: readonly PhaseTally[]): Omit<PhaseStatistics, "phase" | "name" | "sessions"> {
  const sum = (count: (tally: PhaseTally) => number | undefined) =>
    tallies.reduce((total, tally) => total + (count(tally) ?? 0), 0);
  const done = tallies.filter(({ state }) => state === "completed");
  const [passed, failed] = [sum((one) => one.passed), sum((one) => one.failed)];
  return {
    completed: done.length,
    skipped: tallies.filter(({ state }) => state === "skipped").length,
    ...(done.length === 0 ? {} : { time: timeOf(done.map(({ spent }) => spent)) }),
    attempts: passed + failed,
    passed,
    failed,
    denied: sum((one) => one.denied),
    overridden: sum((one) => one.overridden),
    refusedSteps: sum((one) => one.refusedSteps),
    waivers: {
      requested: sum((one) => one.waiversRequested),
      granted: sum((one) => one.waiversGranted),
      denied: sum((one) => one.waiversDenied),
    },
    fields: fieldsOf(tallies),
  };
}

function timeOf(spent: readonly number[]): TimeSpent {
  const sorted = [...spent].sort((one, other) => one - other);
  const seconds = (share: number) => (sorted[Math.ceil(share * sorted.length) - 1] ?? 0) / 1000;
  return { medianSeconds: seconds(0.5), p90Seconds: seconds(0.9) };
}

function fieldsOf(tallies: readonly PhaseTally[]): FieldStatistics[] {
  const all = groupBy(
    tallies.flatMap(({ fields = [] }) => fields),
    ([field]) => field,
  );
  const summed = [...all].map(([field, counts]) => ({
    field,
    failed: counts.reduce((total, [, failed]) => total + failed, 0),
    waived: counts.reduce((total, [, , waived]) => total + waived, 0),
  }));
  return summed.sort((one, other) => other.failed - one.failed || (one.field < other.field ? -1 : 1));
}

/** Returns the names of the phases in the newest structure that a session was bound to. */
function namesOf(tallies: readonly SessionTally[]): ReadonlyMap<number, string> {
  const age = ({ pinnedAt, sessionId }: SessionTally) => `${pinnedAt} ${sessionId}`;
  const named = tallies.filter(({ names }) => names.length > 0);
  let newest = named[0];
  for (const one of named) if (newest === undefined || age(one) > age(newest)) newest = one;
  return new Map(newest?.names);
}

function groupBy<K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

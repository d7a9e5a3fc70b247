/** The sums of the tallies of many sessions, as statistics show them. */
import type { SessionStatus } from "../ports/storage-adapter.js";
import { findAgain } from "./state/find-again.js";
import type { PhaseTally, SessionTally } from "./state/tally.js";

/** The number of sessions in each state. Deleted ones are not counted. */
export type SessionCounts = Readonly<Record<Exclude<SessionStatus, "deleted">, number>>;

/** Statistics of the sessions on one workflow. */
export interface WorkflowStatistics {
  /** The type of the workflow. */
  readonly workflowType: string;
  /** The number of sessions in each state. */
  readonly sessions: SessionCounts;
  /** The number of those that were started for a phase of another session. Missing if there are none. */
  readonly children?: number;
  /**
   * The phases that a session has now or has worked at, by their numbers in the newest revision that a session is on. Phases of
   * other revisions are those of the same name.
   */
  readonly phases: readonly PhaseStatistics[];
}

/** Statistics of one phase and its gate. Counts of events include those before a rollback. */
export interface PhaseStatistics {
  /** The phase's number. */
  readonly phase: number;
  /** Its name in the newest revision that a session is on; missing if it comes from a plan. */
  readonly name?: string;
  /** True if that revision has no phase of this name, and `phase` is its number in an older one. Missing otherwise. */
  readonly gone?: true;
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
  /**
   * The first attempts of the sessions, and how many of them passed. A session in which an attempt has failed counts as one
   * whose first attempt failed, also if that was after a rollback.
   */
  readonly firstAttempts: { readonly made: number; readonly passed: number };
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
  /** The numbers that the host has noted on submissions, by name. Missing without any. */
  readonly noted?: readonly NotedStatistics[];
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

/** Statistics of a number that the host has noted on submissions. */
export interface NotedStatistics {
  /** Its name. */
  readonly name: string;
  /** Its sum over all submissions. */
  readonly sum: number;
  /** The median of the sums of each session that has it: the smallest value that half of them do not exceed. */
  readonly median: number;
}

/** Sums up the tallies of sessions on all workflows, or on one. */
export function sumUp(
  tallies: Iterable<SessionTally>,
  only?: string,
): {
  readonly sessions: SessionCounts;
  readonly workflows: readonly WorkflowStatistics[];
  readonly unapproved: number;
} {
  const byType = new Map<string, SessionTally[]>();
  const sessions = noSessions();
  let unapproved = 0;
  for (const tally of tallies) {
    if (only !== undefined && tally.workflowType !== only) continue;
    sessions[tally.status] += 1;
    if (tally.unapproved === true) unapproved += 1;
    const same = byType.get(tally.workflowType);
    if (same === undefined) byType.set(tally.workflowType, [tally]);
    else same.push(tally);
  }
  const workflows = [...byType].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, same]) => sumWorkflow(same));
  return { sessions, workflows, unapproved };
}

function noSessions() {
  return { active: 0, paused: 0, completed: 0, failed: 0 };
}

function sumWorkflow(tallies: readonly SessionTally[]): WorkflowStatistics {
  const sessions = noSessions();
  let newest: SessionTally | undefined;
  for (const tally of tallies) {
    if (tally.names.length > 0 && (newest === undefined || ageOf(tally) > ageOf(newest))) newest = tally;
  }
  const names = new Map(newest?.names);
  const phases = new Map<string, { readonly place: Place; readonly sums: PhaseSums }>();
  for (const tally of tallies) {
    const placeOf = placesIn(names, tally);
    const at = (phase: number) => {
      const place = placeOf(phase);
      const key = JSON.stringify([place.phase, place.gone && place.name]);
      const found = phases.get(key) ?? { place, sums: new PhaseSums() };
      phases.set(key, found);
      return found.sums;
    };
    sessions[tally.status] += 1;
    if (tally.status !== "completed") at(tally.phase).sessions[tally.status] += 1;
    for (const phase of tally.phases) at(phase.phase).add(phase);
  }
  return {
    workflowType: tallies[0]?.workflowType ?? "",
    sessions,
    children: tallies.filter(({ child }) => child).length || undefined,
    phases: [...phases.values()]
      .sort(({ place: one }, { place: other }) => one.phase - other.phase || compare(one.name, other.name))
      .map(({ place, sums }) => sums.view(place)),
  };
}

/** Where statistics count a phase. */
type Place = Pick<PhaseStatistics, "phase" | "name" | "gone">;

/** Returns a function that finds where the phases of a session are counted, by their numbers in its own revision. */
function placesIn(newest: ReadonlyMap<number, string>, tally: SessionTally): (phase: number) => Place {
  const [own, now] = [tally.names.map(partOf), [...newest].map(partOf)];
  return (phase) => {
    const part = own.find(({ number }) => number === phase);
    if (part === undefined || newest.get(phase) === part.name) return { phase, name: newest.get(phase) };
    const found = findAgain(part, own, now);
    return found ? { phase: found.number, name: found.name } : { phase, name: part.name, gone: true };
  };
}

function partOf([number, name]: readonly [number, string]): { readonly number: number; readonly name: string } {
  return { number, name };
}

function compare(one = "", other = ""): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Structures are as old as their pinning; of those with one time, one is chosen, which is always the same. */
function ageOf({ pinnedAt, sessionId }: SessionTally): string {
  return `${pinnedAt} ${sessionId}`;
}

const COUNTS = [
  ...(["passed", "failed", "denied", "overridden", "refusedSteps"] as const),
  ...(["waiversRequested", "waiversGranted", "waiversDenied"] as const),
];

/** The sums of the work at one phase. */
class PhaseSums {
  /** The sessions that are at it. */
  readonly sessions = { active: 0, paused: 0, failed: 0 };
  readonly #counts = {
    ...{ passed: 0, failed: 0, denied: 0, overridden: 0, refusedSteps: 0 },
    ...{ waiversRequested: 0, waiversGranted: 0, waiversDenied: 0 },
  };
  readonly #fields = new Map<string, FieldStatistics>();
  /** The times of the sessions that have completed it, in milliseconds. */
  readonly #spent: number[] = [];
  /** The sums of each session, by the name of what was noted. */
  readonly #noted = new Map<string, number[]>();
  readonly #firstAttempts = { made: 0, passed: 0 };
  #skipped = 0;

  add(tally: PhaseTally): void {
    if (tally.passed !== undefined || tally.failed !== undefined) this.#firstAttempts.made += 1;
    if (tally.passed !== undefined && tally.failed === undefined) this.#firstAttempts.passed += 1;
    if (tally.state === "skipped") this.#skipped += 1;
    if (tally.state === "completed") this.#spent.push(tally.spent);
    for (const name of COUNTS) this.#counts[name] += tally[name] ?? 0;
    for (const [noted, sum] of Object.entries(tally.noted ?? {})) {
      const sums = this.#noted.get(noted);
      if (sums === undefined) this.#noted.set(noted, [sum]);
      else sums.push(sum);
    }
    for (const [field, failed, waived] of tally.fields ?? []) {
      const sum = this.#fields.get(field);
      this.#fields.set(field, { field, failed: failed + (sum?.failed ?? 0), waived: waived + (sum?.waived ?? 0) });
    }
  }

  view(place: Place): PhaseStatistics {
    const { passed, failed, waiversRequested, waiversGranted, waiversDenied, ...counts } = this.#counts;
    const spent = this.#spent.sort((one, other) => one - other);
    const seconds = (share: number) => atShare(spent, share) / 1000;
    return {
      ...place,
      sessions: this.sessions,
      completed: spent.length,
      skipped: this.#skipped,
      time: spent.length === 0 ? undefined : { medianSeconds: seconds(0.5), p90Seconds: seconds(0.9) },
      attempts: passed + failed,
      passed,
      failed,
      firstAttempts: this.#firstAttempts,
      ...counts,
      waivers: { requested: waiversRequested, granted: waiversGranted, denied: waiversDenied },
      fields: [...this.#fields.values()].sort(
        (one, other) => other.failed - one.failed || (one.field < other.field ? -1 : 1),
      ),
      noted: this.#noted.size === 0 ? undefined : [...this.#noted].sort(byName).map(statisticsOf),
    };
  }
}

/** Returns the smallest of these sorted values that a share of them does not exceed; 0 for an empty list. */
function atShare(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return compare(one, other);
}

function statisticsOf([name, sums]: readonly [string, readonly number[]]): NotedStatistics {
  const sorted = sums.toSorted((one, other) => one - other);
  return { name, sum: sorted.reduce((sum, one) => sum + one, 0), median: atShare(sorted, 0.5) };
}

/**
 * The sums of the tallies of many sessions, as statistics show them. A tally is added or taken away by itself, so that a new
 * commit costs about as much among a million sessions as among a few.
 */

import { freeze } from "../log/commit.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import type { PhaseTally, SessionTally } from "./state/tally.js";

/** The number of sessions in each state. Deleted ones are not counted. */
export type SessionCounts = Readonly<Record<Exclude<SessionStatus, "deleted">, number>>;

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

/** Tallies by session, with their sums. */
export class TallySums {
  readonly #tallies = new Map<SessionTally["sessionId"], SessionTally>();
  readonly #workflows = new Map<string, WorkflowSums>();
  /** Sessions on one workflow share the names of its phases. */
  readonly #names = new Map<string, SessionTally["names"]>();

  get tallies(): ReadonlyMap<SessionTally["sessionId"], SessionTally> {
    return this.#tallies;
  }

  /** Replaces the tally of a session, or takes it away. A tally is frozen: its host may see it in a cursor. */
  set(id: SessionTally["sessionId"], tally: SessionTally | undefined): void {
    const before = this.#tallies.get(id);
    if (before === tally) return;
    if (before !== undefined) this.#count(before, -1);
    if (tally === undefined) this.#tallies.delete(id);
    else {
      const key = JSON.stringify(tally.names);
      const names = this.#names.get(key) ?? tally.names;
      this.#names.set(key, names);
      const kept = freeze({ ...tally, names });
      this.#tallies.set(id, kept);
      this.#count(kept, 1);
    }
  }

  /** Returns the sums of the sessions on all workflows, or on one. */
  of(only?: string): {
    readonly sessions: SessionCounts;
    readonly workflows: readonly WorkflowStatistics[];
    readonly unapproved: number;
  } {
    const chosen = [...this.#workflows].filter(([type]) => only === undefined || type === only);
    const sessions = { active: 0, paused: 0, completed: 0, failed: 0 };
    let unapproved = 0;
    for (const [, sums] of chosen) {
      for (const status of STATUSES) sessions[status] += sums.sessions[status];
      unapproved += sums.unapproved;
    }
    const workflows = chosen
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([workflowType, sums]) => {
        const names = new Map(sums.names ?? sums.findNames(this.#tallies.values(), workflowType));
        const phases = [...sums.phases].sort(([one], [other]) => one - other);
        return {
          workflowType,
          sessions: { ...sums.sessions },
          phases: phases.map(([phase, of]) => of.view(phase, names.get(phase))),
        };
      });
    return { sessions, workflows, unapproved };
  }

  #count(tally: SessionTally, sign: 1 | -1): void {
    const sums = this.#workflows.get(tally.workflowType) ?? new WorkflowSums();
    this.#workflows.set(tally.workflowType, sums);
    sums.count(tally, sign);
    if (STATUSES.every((status) => sums.sessions[status] === 0)) this.#workflows.delete(tally.workflowType);
  }
}

const STATUSES = ["active", "paused", "completed", "failed"] as const;

/** The sums of the sessions on one workflow. */
class WorkflowSums {
  readonly sessions = { active: 0, paused: 0, completed: 0, failed: 0 };
  readonly phases = new Map<number, PhaseSums>();
  unapproved = 0;
  /** The names of the phases in the newest structure that a session is bound to; missing if it is not known which one is. */
  names: SessionTally["names"] | undefined = [];
  /** The age of the newest names. While `names` is missing, no session has newer ones. */
  #age = "";

  count(tally: SessionTally, sign: 1 | -1): void {
    this.sessions[tally.status] += sign;
    if (tally.unapproved === true) this.unapproved += sign;
    if (tally.status !== "completed") this.#countPhase(tally.phase, (sums) => (sums.sessions[tally.status] += sign));
    for (const phase of tally.phases) this.#countPhase(phase.phase, (sums) => sums.count(phase, sign));
    if (sign === 1) this.#offerNames(tally);
    else if (ageOf(tally) === this.#age) this.names = undefined;
  }

  /** Finds the newest names among those of all sessions: the one that had them is gone, or has older ones. */
  findNames(tallies: Iterable<SessionTally>, type: string): SessionTally["names"] {
    [this.names, this.#age] = [[], ""];
    for (const tally of tallies) if (tally.workflowType === type) this.#offerNames(tally);
    return this.names;
  }

  #offerNames(tally: SessionTally): void {
    const age = ageOf(tally);
    if (tally.names.length > 0 && age >= this.#age) [this.names, this.#age] = [tally.names, age];
  }

  #countPhase(phase: number, change: (sums: PhaseSums) => void): void {
    const sums = this.phases.get(phase) ?? new PhaseSums();
    this.phases.set(phase, sums);
    change(sums);
    if (sums.isEmpty) this.phases.delete(phase);
  }
}

/** Structures are as old as their pinning; of those with one time, one is chosen, which is always the same. */
function ageOf({ pinnedAt, sessionId }: SessionTally): string {
  return `${pinnedAt} ${sessionId}`;
}

const COUNTS = ["passed", "failed", "denied", "overridden", "refusedSteps"] as const;
const WAIVERS = ["waiversRequested", "waiversGranted", "waiversDenied"] as const;

/** The sums of the work at one phase. */
class PhaseSums {
  /** The sessions that are at it. */
  readonly sessions = { active: 0, paused: 0, completed: 0, failed: 0 };
  readonly #counts = {
    ...{ passed: 0, failed: 0, denied: 0, overridden: 0, refusedSteps: 0 },
    ...{ waiversRequested: 0, waiversGranted: 0, waiversDenied: 0 },
  };
  readonly #fields = new Map<string, readonly [failed: number, waived: number]>();
  /** The times of the sessions that have completed it, in milliseconds. */
  readonly #spent = new SortedNumbers();
  /** The sessions that have worked at it, and those that skip it. */
  #worked = 0;
  #skipped = 0;

  get isEmpty(): boolean {
    return this.#worked === 0 && STATUSES.every((status) => this.sessions[status] === 0);
  }

  count(tally: PhaseTally, sign: 1 | -1): void {
    this.#worked += sign;
    if (tally.state === "skipped") this.#skipped += sign;
    if (tally.state === "completed") this.#spent[sign === 1 ? "add" : "remove"](tally.spent);
    for (const name of [...COUNTS, ...WAIVERS]) this.#counts[name] += sign * (tally[name] ?? 0);
    for (const [field, failed, waived] of tally.fields ?? []) {
      const [allFailed, allWaived] = this.#fields.get(field) ?? [0, 0];
      const sums = [allFailed + sign * failed, allWaived + sign * waived] as const;
      if (sums[0] === 0 && sums[1] === 0) this.#fields.delete(field);
      else this.#fields.set(field, sums);
    }
  }

  view(phase: number, name: string | undefined): PhaseStatistics {
    const { completed: _, ...sessions } = this.sessions;
    const { passed, failed, waiversRequested, waiversGranted, waiversDenied, ...counts } = this.#counts;
    const fields = [...this.#fields].map(([field, [failed, waived]]) => ({ field, failed, waived }));
    const seconds = (share: number) => this.#spent.at(Math.ceil(share * this.#spent.size) - 1) / 1000;
    return {
      phase,
      name,
      sessions,
      completed: this.#spent.size,
      skipped: this.#skipped,
      ...(this.#spent.size === 0 ? {} : { time: { medianSeconds: seconds(0.5), p90Seconds: seconds(0.9) } }),
      attempts: passed + failed,
      passed,
      failed,
      ...counts,
      waivers: { requested: waiversRequested, granted: waiversGranted, denied: waiversDenied },
      fields: fields.sort((one, other) => other.failed - one.failed || (one.field < other.field ? -1 : 1)),
    };
  }
}

/** The most numbers in one list: to put one in moves half of them. */
const LIST_MAX = 1024;

/** Numbers in ascending order, in lists of limited length. */
class SortedNumbers {
  readonly #lists: number[][] = [];
  size = 0;

  add(number: number): void {
    const place = Math.min(this.#listOf(number), Math.max(0, this.#lists.length - 1));
    const list = this.#lists[place] ?? [];
    if (this.#lists.length === 0) this.#lists.push(list);
    list.splice(placeIn(list, number), 0, number);
    if (list.length > LIST_MAX) this.#lists.splice(place + 1, 0, list.splice(LIST_MAX / 2));
    this.size += 1;
  }

  /** Takes away one of those that are equal to a number that was added. */
  remove(number: number): void {
    const place = this.#listOf(number);
    const list = this.#lists[place] ?? [];
    list.splice(placeIn(list, number), 1);
    if (list.length === 0) this.#lists.splice(place, 1);
    this.size -= 1;
  }

  /** Returns the number at a place in the order; 0 if there is none. */
  at(index: number): number {
    let left = index;
    for (const list of this.#lists) {
      const number = list[left];
      if (number !== undefined) return number;
      left -= list.length;
    }
    return 0;
  }

  /** Returns the place of the first list that ends with this number or a larger one. */
  #listOf(number: number): number {
    return firstFrom(this.#lists.length, (place) => (this.#lists[place]?.at(-1) ?? 0) >= number);
  }
}

/** Returns the place of the first number in a list that is not less. */
function placeIn(list: readonly number[], number: number): number {
  return firstFrom(list.length, (index) => (list[index] ?? 0) >= number);
}

/** Returns the first index below an end from which on something holds, by halves; the end if there is none. */
function firstFrom(end: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The tally that statistics keep of one session: what became of its phases, how long they took, and why gates refused. */
import * as z from "zod/mini";
import type { Recorded } from "../../log/commit.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { addNoted, notedSchema } from "./noted.js";

const count = z.optional(z.int().check(z.positive()));

/** What statistics keep of one session's work at one phase. A missing count is 0. */
const phaseTallySchema = z.object({
  phase: z.int(),
  /** The time in which the session was active at the phase, in all visits, in milliseconds. Without the time since `since`. */
  spent: z.number().check(z.nonnegative()),
  /** What became of the phase; missing if it is still to be done. */
  state: z.optional(z.enum(["completed", "skipped"])),
  passed: count,
  failed: count,
  denied: count,
  overridden: count,
  refusedSteps: count,
  waiversRequested: count,
  waiversGranted: count,
  waiversDenied: count,
  /** How often attempts failed at a field, and how often the gate was passed with it waived. */
  fields: z.optional(z.array(z.tuple([z.string(), z.int(), z.int()]))),
  /** The sums of the numbers that the host has noted on submissions, by name. */
  noted: z.optional(z.record(z.string(), z.number())),
});

/** Checks a stored tally: what statistics keep of one session, as plain JSON. */
export const sessionTallySchema = z.object({
  sessionId: z.custom<SessionId>(isSessionId),
  /** The last commit that it counts. */
  version: z.int().check(z.positive()),
  hash: z.string(),
  workflowType: z.string(),
  status: z.enum(["active", "paused", "completed", "failed"]),
  /** The current phase. */
  phase: z.int(),
  /** Since when the session is active at its phase: ISO 8601, UTC; missing while it is not. */
  since: z.optional(z.string()),
  /** The time of the commit that pinned its workflow, and the numbers and names of its phases, without those of a plan. */
  pinnedAt: z.string(),
  names: z.array(z.tuple([z.int(), z.string()])),
  phases: z.array(phaseTallySchema),
  /** True if it was started for a phase of another session. */
  child: z.optional(z.literal(true)),
  /** True if it ends before a gate that was passed with an approval or a waiver that this host does not accept. */
  unapproved: z.optional(z.literal(true)),
});

/** What statistics keep of one session. */
export type SessionTally = z.infer<typeof sessionTallySchema>;
/** What statistics keep of one session's work at one phase. */
export type PhaseTally = z.infer<typeof phaseTallySchema>;

const atPhase = { phase: z.int() };
const judged = { ...atPhase, noted: z.optional(notedSchema) };
const named = z.object({ number: z.int(), name: z.string(), plan: z.optional(z.unknown()) });
const waived = z.array(z.object({ fields: z.array(z.string()) }));

/** Checks what tallies read of a commit's events, and drops the rest: evidence may be large. */
export const talliedEventsSchema = z.array(
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("started"),
      structure: z.object({ phases: z.array(named) }),
      parent: z.optional(z.unknown()),
    }),
    z.object({ type: z.literal("plan_synced"), structure: z.object({ phases: z.array(named) }) }),
    z.object({
      type: z.literal("migrated"),
      structure: z.object({ phases: z.array(named) }),
      position: z.int(),
      places: z.optional(z.array(z.tuple([z.int(), z.int()]))),
    }),
    z.object({ type: z.literal("gate_passed"), ...judged, waived: z.optional(waived) }),
    z.object({ type: z.literal("gate_failed"), ...judged, problems: z.array(z.object({ field: z.string() })) }),
    z.object({ type: z.enum(["phase_entered", "gate_overridden", "phase_skipped"]), ...atPhase }),
    z.object({
      type: z.enum(["denied", "step_refused", "waiver_requested", "waiver_granted", "waiver_denied"]),
      ...atPhase,
    }),
    z.object({ type: z.literal("rolled_back"), to: z.int() }),
    z.object({ type: z.enum(["paused", "resumed", "failed", "retried", "completed", "deleted"]) }),
    z.object({ type: z.enum(["approval_requested", "approved", "plan_ticked", "snapshots_taken"]) }),
    z.object({ type: z.enum(["task_completed", "task_given_up", "assigned", "child_claimed"]) }),
  ]),
);
type TalliedEvent = z.infer<typeof talliedEventsSchema>[number];

/** Checks what tallies and summaries read of a head. */
export const talliedHeadSchema = z.object({
  status: z.enum(["active", "paused", "completed", "failed", "deleted"]),
  workflowType: z.string(),
  target: z.string(),
  phase: z.int(),
  createdAt: z.string(),
});
/** A commit as tallies read it. */
export type TalliedCommit = Recorded<TalliedEvent, z.infer<typeof talliedHeadSchema>>;

/** Adds a commit to a tally, which it changes; undefined once the session is deleted. */
export function addToTally(
  tally: SessionTally | undefined,
  { sessionId, version, hash, at, head, events }: Omit<TalliedCommit, "summary">,
): SessionTally | undefined {
  const { status, phase, workflowType } = head;
  if (status === "deleted") return undefined;
  const place = { version, hash, workflowType };
  const next: SessionTally = tally ?? { sessionId, ...place, status, phase, pinnedAt: at, names: [], phases: [] };
  for (const event of events) addEvent(next, event, at);
  return Object.assign(next, place, { status, phase });
}

/** The events with a count of their own. */
const COUNTED = {
  denied: "denied",
  step_refused: "refusedSteps",
  waiver_requested: "waiversRequested",
  waiver_granted: "waiversGranted",
  waiver_denied: "waiversDenied",
} as const;
/** The places of the counts of a field. */
const [FAILED, WAIVED] = [1, 2] as const;

function addEvent(tally: SessionTally, event: TalliedEvent, at: string): void {
  switch (event.type) {
    case "started":
      if (event.parent !== undefined) tally.child = true;
      pin(tally, event.structure, at);
      return;
    case "migrated":
      move(tally, event, at);
      pin(tally, event.structure, at);
      return;
    case "plan_synced":
      pin(tally, event.structure, at);
      return;
    case "phase_entered":
    case "resumed":
    case "retried":
      tally.since ??= at;
      return;
    case "paused":
    case "failed":
      endWork(tally, at);
      return;
    case "gate_passed":
    case "gate_overridden":
    case "phase_skipped": {
      // A migration may skip a phase before the current one, whose work goes on.
      if (event.phase === tally.phase) endWork(tally, at);
      const phase = phaseIn(tally, event.phase);
      phase.state = event.type === "phase_skipped" ? "skipped" : "completed";
      if (event.type === "gate_overridden") increase(phase, "overridden");
      if (event.type !== "gate_passed") return;
      increase(phase, "passed");
      sumNoted(phase, event);
      for (const name of new Set((event.waived ?? []).flatMap(({ fields }) => fields))) addField(phase, name, WAIVED);
      return;
    }
    case "gate_failed": {
      const phase = phaseIn(tally, event.phase);
      increase(phase, "failed");
      sumNoted(phase, event);
      for (const name of new Set(event.problems.map(({ field }) => fieldName(field)))) addField(phase, name, FAILED);
      return;
    }
    case "rolled_back":
      endWork(tally, at);
      for (const phase of tally.phases) if (phase.phase >= event.to) delete phase.state;
      return;
    case "denied":
    case "step_refused":
    case "waiver_requested":
    case "waiver_granted":
    case "waiver_denied":
      increase(phaseIn(tally, event.phase), COUNTED[event.type]);
  }
}

function pin(tally: SessionTally, { phases }: { phases: readonly z.infer<typeof named>[] }, at: string): void {
  tally.pinnedAt = at;
  tally.names = phases.flatMap(({ number, name, plan }) => (plan === undefined ? [[number, name]] : []));
}

/**
 * Gives the phases their numbers in another definition, found by their names. Those that it does not have are not counted any
 * more, and those that are to be done again have no state. Phases of a plan are known by their numbers alone: where the static
 * phases have other numbers, which may shift them, their counts are left out.
 */
function move(
  tally: SessionTally,
  { structure: { phases }, position, places }: Extract<TalliedEvent, { type: "migrated" }>,
  at: string,
): void {
  const isActive = tally.since !== undefined;
  endWork(tally, at);
  const numbers = phases.map(({ number }) => number);
  const kept = new Map(
    places === undefined
      ? numbers.slice(0, position + 1).map((number) => [number, number] as const)
      : tally.names.flatMap(([known], from) => {
          const to = numbers[places.find(([place]) => place === from)?.[1] ?? -1];
          return to === undefined ? [] : [[known, to] as const];
        }),
  );
  const taken = new Set(kept.values());
  const statics = phases.filter(({ plan }) => plan === undefined);
  const isShifted = statics.map(({ number }) => number).join() !== tally.names.map(([number]) => number).join();
  const free = statics.filter(({ number }) => !taken.has(number));
  const names = new Map(tally.names);
  tally.phases = tally.phases.flatMap((one): PhaseTally[] => {
    const { state, ...counts } = one;
    const number = kept.get(one.phase);
    if (number !== undefined) return [{ ...one, phase: number }];
    const known = names.get(one.phase);
    if (known === undefined) return isShifted ? [] : [one];
    const place = free.findIndex(({ name }) => name === known);
    return place < 0 ? [] : free.splice(place, 1).map((found) => ({ ...counts, phase: found.number }));
  });
  tally.phase = kept.get(tally.phase) ?? tally.phase;
  if (isActive) tally.since = at;
}

/** Adds the time since the session became active at its phase. It counts no more until the session is active again. */
function endWork(tally: SessionTally, at: string): void {
  const spent = Date.parse(at) - Date.parse(tally.since ?? at);
  // The clock may have been set back in between.
  if (spent > 0) phaseIn(tally, tally.phase).spent += spent;
  delete tally.since;
}

function phaseIn({ phases }: SessionTally, phase: number): PhaseTally {
  const known = phases.find((one) => one.phase === phase);
  if (known !== undefined) return known;
  const added: PhaseTally = { phase, spent: 0 };
  phases.push(added);
  return added;
}

function increase(
  phase: PhaseTally,
  name: "passed" | "failed" | "overridden" | (typeof COUNTED)[keyof typeof COUNTED],
) {
  phase[name] = (phase[name] ?? 0) + 1;
}

function sumNoted(phase: PhaseTally, { noted }: Extract<TalliedEvent, { type: "gate_passed" | "gate_failed" }>): void {
  if (noted === undefined) return;
  phase.noted ??= {};
  addNoted(phase.noted, noted);
}

/** Limits the fields of a phase that one session's tally tells apart, and their names: agents may invent them. */
const FIELDS_MAX = 50;
const FIELD_LENGTH_MAX = 100;

/** Returns the field of a problem, with `*` in place of the numbers of items. */
function fieldName(field: string): string {
  return field.replace(/(?<=\.)\d+(?=\.|$)/g, "*").slice(0, FIELD_LENGTH_MAX);
}

function addField(phase: PhaseTally, name: string, place: typeof FAILED | typeof WAIVED): void {
  phase.fields ??= [];
  let field = phase.fields.find(([known]) => known === name);
  if (field === undefined) {
    if (place === FAILED && phase.fields.length >= FIELDS_MAX) return;
    field = [name, 0, 0];
    phase.fields.push(field);
  }
  field[place] += 1;
}

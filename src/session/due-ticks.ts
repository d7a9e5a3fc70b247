/**
 * What has not been written into a plan yet. A commit and a file are two writes: the head says what is
 * due, so that whoever comes next can make it good, however often that takes.
 */
import type { EventOf } from "./events.js";
import type { DueTicks, HeadFacts } from "./head.js";
import { addToRanges, cutRanges, inRanges, joinRanges } from "./ranges.js";

const NOTHING: DueTicks = { tick: [], untick: [] };

/** A phase out of a plan has passed. */
export function dueAfterPass({ due = NOTHING }: HeadFacts, { position, ticks }: EventOf<"gate_passed">): Due {
  return ticks === undefined ? leftOf(due) : leftOf({ ...due, tick: addToRanges(due.tick, position) });
}

/** Phases out of a plan are no longer completed, those among them whose ticks have not been written yet included. */
export function dueAfterRollback(head: HeadFacts, { unticksFrom: from }: EventOf<"rolled_back">): Due {
  const { due = NOTHING, completed } = head;
  if (from === undefined) return leftOf(due);
  return leftOf({
    tick: cutRanges(due.tick, from),
    untick: joinRanges(due.untick, completed, (place) => place >= from || inRanges(due.untick, place)),
  });
}

/**
 * Ticks were written. Somebody may have rolled back, or passed, a phase while they were: then the file
 * is behind again, and the opposite is due.
 */
export function dueAfterTicks(head: HeadFacts, { ticks, unticks }: EventOf<"plan_ticked">): Due {
  const { due = NOTHING, completed } = head;
  const late = joinRanges(ticks, [], (place) => !inRanges(completed, place));
  return leftOf({
    tick: joinRanges(due.tick, unticks, (place) => inRanges(completed, place) && !inRanges(ticks, place)),
    untick: joinRanges(due.untick, late, (place) => !inRanges(unticks, place)),
  });
}

interface Due {
  due: DueTicks | undefined;
}

function leftOf(due: DueTicks): Due {
  return { due: due.tick.length === 0 && due.untick.length === 0 ? undefined : due };
}

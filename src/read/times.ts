/** When a session was refused, and when it waited: for a person, or because somebody had paused it. */
import type { Session } from "../phased/session.js";
import type { SessionCommit } from "../phased/state/machine.js";
import type { Times } from "./model.js";

type EventType = SessionCommit["events"][number]["type"];

/** What begins each wait, and what ends it. A session that goes elsewhere waits for nothing more. */
const BEGIN: Partial<Record<EventType, Times["waits"][number]["for"]>> = {
  approval_requested: "approval",
  waiver_requested: "waiver",
  paused: "paused",
};
const END: Partial<Record<EventType, readonly Times["waits"][number]["for"][]>> = {
  approved: ["approval"],
  denied: ["approval"],
  waiver_granted: ["waiver"],
  waiver_denied: ["waiver"],
  resumed: ["paused"],
  gate_passed: ["approval", "waiver"],
  gate_overridden: ["approval", "waiver"],
  phase_skipped: ["approval", "waiver"],
  rolled_back: ["approval", "waiver"],
  failed: ["approval", "waiver"],
};

/** As many commits are looked at, the newest. */
const COMMITS_MAX = 500;

export async function timesOf(session: Session): Promise<Times> {
  const commits = await session.commits({ limit: COMMITS_MAX });
  const refusals: string[] = [];
  const waits: { for: Times["waits"][number]["for"]; from: string; to?: string }[] = [];
  for (const { at, events } of commits.toReversed()) {
    for (const { type } of events) {
      if (type === "gate_failed") refusals.push(at);
      for (const ended of END[type] ?? []) {
        const open = waits.findLast((one) => one.for === ended && one.to === undefined);
        if (open !== undefined) open.to = at;
      }
      const begun = BEGIN[type];
      if (begun !== undefined) waits.push({ for: begun, from: at });
    }
  }
  return { refusals, waits };
}

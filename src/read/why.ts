/** Why a session stands where it stands: what a person needs first, on the page of a session and in the terminal. */

import { waivedText } from "../gate/waivers.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import { isAttemptAt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedView } from "../routed/types.js";
import type { RecordedEntry } from "../workspace/session/machine.js";
import type { ListedSession, Why } from "./model.js";
import { standingOf } from "./standing.js";

/** The longest reason, in characters. */
export const REASON_MAX = 300;

/** Returns why a phased session stands where it stands. */
export function whyPhased(summary: ListedSession, state: StateView, attempts: readonly PhaseAttempt[]): Why {
  const standing = standingOf(summary);
  const at = `${summary.current} ${summary.phaseName ?? ""}`.trim();
  if (standing === "done" || standing === "deleted") return { standing };
  if (standing === "paused") {
    const { pausedAt, note } = state.head.status === "paused" ? state.head : {};
    const notes = attempts.flatMap(({ notes = [] }) => notes);
    const { by } = notes.findLast((one) => one.event === "paused" && one.at === pausedAt) ?? {};
    return { standing, at, by, reason: cut(note) };
  }
  const asked = state.awaiting ?? state.awaitingWaiver;
  if (standing === "needs_you" && asked !== undefined) {
    const fields = state.awaiting === undefined ? state.awaitingWaiver?.fields : undefined;
    return { standing, at, waits: { for: fields === undefined ? "approval" : "waiver", by: asked.approvers, fields } };
  }
  if (standing === "working" && state.waived !== undefined) {
    const [waiver] = state.waived.slice(-1);
    return { standing, at, reason: waiver && cut(waivedText(waiver)) };
  }
  const last = attempts.findLast((one) => isAttemptAt(one, state.currentPhase) && one.status === "failed");
  const reason = standing === "working" || last === undefined ? undefined : cut(foundIn(last));
  const waits = standing === "needs_you" ? ({ for: "host" } as const) : undefined;
  return { standing, at, reason, attempts: summary.refused, waits };
}

/** Returns why a routed session stands where it stands; `entries` are those of its history. */
export function whyRouted(
  summary: ListedSession,
  { reason, awaiting }: Pick<RoutedView, "reason" | "awaiting">,
  entries: readonly RoutedEntry[],
): Why {
  const last = entries.findLast(({ report, outcomeStatus }) => report !== undefined || outcomeStatus !== "ASSIGNED");
  const found = last?.problems === undefined ? undefined : foundIn(last);
  const said = found === undefined || reason === undefined ? (found ?? reason) : `${found} (${reason})`;
  return whyOther(summary, said, awaiting?.approvers);
}

/** Returns why a recorded session stands where it stands: what its agent has said at the end. */
export function whyRecorded(summary: ListedSession, entries: readonly RecordedEntry[]): Why {
  const end = entries.findLast((entry) => entry.type === "completed");
  return whyOther(summary, end?.summary);
}

function whyOther(summary: ListedSession, reason: string | undefined, approvers?: readonly string[]): Why {
  const standing = standingOf(summary);
  const at = typeof summary.current === "string" && summary.current !== "" ? summary.current : undefined;
  if (standing === "done" || standing === "deleted") return { standing };
  const waits = standing === "needs_you" ? ({ for: "approval", by: approvers } as const) : undefined;
  return { standing, at, waits, reason: waits === undefined ? cut(reason) : undefined };
}

/** Returns what an attempt has failed with: the first check that found something, with the place, or else the first problem. */
function foundIn({
  problems = [],
  verification = [],
}: Pick<RoutedEntry, "problems" | "verification">): string | undefined {
  const check = verification.find(({ ok }) => !ok);
  if (check?.exit === undefined) return check?.message ?? problems[0]?.message;
  const { ran, verifier, exit, output = [] } = check;
  return [`${ran ?? verifier} exits ${exit}`, firstPlaceIn(output)].filter((part) => part !== undefined).join(", ");
}

const LINE_MAX = 300;

/** Returns the first place in an output, as `discount.test.ts:88`. */
function firstPlaceIn(output: readonly string[]): string | undefined {
  for (const text of output) {
    for (const word of text.slice(0, LINE_MAX).split(/[\s()[\]/\\]/)) {
      const [file = "", line = ""] = word.split(":");
      if (/^\d+$/.test(line) && /.\.[a-z]+$/i.test(file)) return `${file}:${line}`;
    }
  }
  return undefined;
}

function cut(text: string | undefined): string | undefined {
  return text !== undefined && text.length > REASON_MAX ? `${text.slice(0, REASON_MAX)}…` : text;
}

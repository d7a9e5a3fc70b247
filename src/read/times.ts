/** When a session was refused, and when it waited: for a person, or because somebody had paused it. */
import type { Session } from "../phased/session.js";
import { isWaiverOpen } from "../phased/state/commands.js";
import type { SessionHead } from "../phased/state/head.js";
import type { Times } from "./model.js";

type Wait = Times["waits"][number];

/** Returns what a session waits for in a state, with what tells one wait from the next. */
function waitsIn(head: SessionHead): Partial<Record<Wait["for"], string | number>> {
  return {
    approval: head.status === "active" ? head.awaiting?.version : undefined,
    waiver: isWaiverOpen(head) ? head.waiver?.version : undefined,
    paused: head.status === "paused" ? head.pausedAt : undefined,
  };
}

/** As many commits are looked at, the newest. */
const COMMITS_MAX = 500;

export async function timesOf(session: Session): Promise<Times> {
  const commits = await session.commits({ limit: COMMITS_MAX });
  const refusals: string[] = [];
  const waits: (Wait & { to?: string })[] = [];
  const open = new Map<Wait["for"], { readonly key: string | number; readonly wait: Wait & { to?: string } }>();
  for (const { at, events, head } of commits.toReversed()) {
    if (events.some(({ type }) => type === "gate_failed")) refusals.push(at);
    const now = waitsIn(head);
    for (const what of ["approval", "waiver", "paused"] as const) {
      const [before, key] = [open.get(what), now[what]];
      if (before?.key === key) continue;
      if (before !== undefined) before.wait.to = at;
      open.delete(what);
      if (key === undefined) continue;
      const wait: Wait & { to?: string } = { for: what, from: at };
      waits.push(wait);
      open.set(what, { key, wait });
    }
  }
  return { refusals, waits };
}

/** What the host may do with a session from the page, if it is switched on. Each is recorded with who did it, and why. */
import { PhasegateError } from "../errors.js";
import type { MoveResult } from "../phased/commands.js";
import type { Session } from "../phased/session.js";
import type { Kind } from "../read/model.js";
import type { InspectorSources } from "../read/sources.js";
import type { RoutedSession } from "../routed/session.js";
import type { ActionBody, HostAction } from "./wire.js";

/** A person's name and reason, and the phase that the person has seen: the session may be at the next one by now. */
interface Said {
  readonly by: string;
  readonly note: string;
  readonly phase: number;
}

/** Each action, and the session's status after it. */
type Actions<S> = Partial<Record<HostAction, (session: S, said: Said) => Promise<string>>>;

const ROUTED: Actions<RoutedSession> = {
  pause: async (session, { by, note }) => (await session.suspend({ by, note })).status,
  resume: async (session, { by, note }) => (await session.release({ from: "paused", by, note })).status,
  retry: async (session, { by, note }) => (await session.release({ from: "failed", by, note })).status,
  delete: remove,
};

const PHASED: Actions<Session> = {
  pause: async (session, { by, note }) => {
    await session.pause({ by, note });
    return "paused";
  },
  resume: async (session, { by, note }) => (await session.resume({ by, note })).phase.status,
  retry: async (session, { by, note, phase }) => (await session.retryPhase(phase, { by, note })).phase.status,
  skip: async (session, { by, note, phase }) => movedTo(await session.skipPhase(phase, { by, note })),
  override: async (session, { by, note, phase }) => movedTo(await session.overrideGate(phase, { by, note })),
  delete: remove,
};

async function remove(session: Session | RoutedSession, { by, note }: Said): Promise<string> {
  await session.delete({ by, note });
  return "deleted";
}

function movedTo({ nextPhase }: MoveResult): string {
  return nextPhase === null ? "completed" : "active";
}

/** Carries an action out, and returns the session's status after it. */
export async function act(
  { engine, routed }: InspectorSources,
  kind: Kind,
  id: string,
  { action, by, note, phase }: ActionBody,
): Promise<{ readonly status: string }> {
  const who = "Say who does it, and why: the history keeps both.";
  if (by.trim() === "") throw unsaid("by", who, "a text");
  if (note.trim() === "") throw unsaid("note", who, "a text");
  const said = { by, note, phase: phase ?? 0 };
  if (kind === "routed" && routed !== undefined && ROUTED[action] !== undefined)
    return { status: await ROUTED[action](routed.session(id), said) };
  if (kind !== "phased" || engine === undefined || PHASED[action] === undefined) throw unsupported(action, kind);
  if (phase === undefined && (action === "retry" || action === "skip" || action === "override"))
    throw unsaid("phase", "Give the number of the phase that was seen.", "the number of a phase");
  return { status: await PHASED[action](engine.session(id), said) };
}

function unsaid(field: string, remedy: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is empty`, { remedy, details: { field, expected } });
}

function unsupported(action: string, kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `${action} is not for ${kind} sessions`, {
    remedy: "Use an action that this kind of session has.",
    details: { operation: action },
  });
}

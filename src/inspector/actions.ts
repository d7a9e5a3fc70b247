/** What the host may do with a session from the page, if it is switched on. Each is recorded with who did it, and why. */
import { PhasegateError } from "../errors.js";
import type { MoveResult } from "../phased/commands.js";
import type { Kind } from "../read/model.js";
import type { InspectorSources } from "../read/sources.js";
import type { ActionBody, HostAction } from "./wire.js";

export const HOST_ACTIONS = [
  "retry",
  "skip",
  "override",
  "pause",
  "resume",
  "delete",
] as const satisfies readonly HostAction[];

/** Carries an action out, and returns the session's status after it. */
export async function act(
  { engine, routed }: InspectorSources,
  kind: Kind,
  id: string,
  { action, by, note, phase }: ActionBody,
): Promise<{ readonly status: string }> {
  if (by.trim() === "" || note.trim() === "") throw unsaid(by.trim() === "" ? "by" : "note");
  if (kind === "routed" && routed !== undefined) {
    const said = { operator: by, note };
    if (action === "pause") return routed.session(id).suspend({ operator: by, reason: note });
    if (action === "resume") return routed.session(id).release({ from: "SUSPENDED", ...said });
    if (action === "retry") return routed.session(id).release({ from: "FAILED", ...said });
    if (action === "delete") {
      await routed.session(id).delete({ operator: by, reason: note });
      return { status: "deleted" };
    }
  }
  if (kind !== "phased" || engine === undefined) throw unsupported(action, kind);
  // What a person has seen: the session may be at the next phase by now.
  if (phase === undefined && (action === "retry" || action === "skip" || action === "override")) throw unsaid("phase");
  const at = phase ?? 0;
  const said = { operator: by, note };
  switch (action) {
    case "pause":
      await engine.session(id).pause(said);
      return { status: "paused" };
    case "resume":
      return { status: (await engine.session(id).resume(said)).phase.status };
    case "retry":
      return { status: (await engine.session(id).retryPhase(at, { ...said })).phase.status };
    case "skip":
      return movedTo(await engine.session(id).skipPhase(at, { by, reason: note }));
    case "override":
      return movedTo(await engine.session(id).overrideGate(at, { by, reason: note }));
    case "delete":
      await engine.session(id).delete({ operator: by, reason: note });
      return { status: "deleted" };
  }
}

function movedTo({ nextPhase }: MoveResult): { readonly status: string } {
  return { status: nextPhase === null ? "completed" : "active" };
}

function unsaid(field: string): PhasegateError<"INVALID_INPUT"> {
  const isText = field !== "phase";
  return new PhasegateError("INVALID_INPUT", `${field} is empty`, {
    remedy: isText
      ? "Say who does it, and why: the history keeps both."
      : "Give the number of the phase that was seen.",
    details: { field, expected: isText ? "a text" : "the number of a phase" },
  });
}

function unsupported(action: string, kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `${action} is not for ${kind} sessions`, {
    remedy: "Use an action that this kind of session has.",
    details: { operation: action },
  });
}

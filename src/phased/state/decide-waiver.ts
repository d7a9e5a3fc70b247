/**
 * Decides waivers: an agent asks that some of what its gate asks for is not required, and a person grants or denies
 * it. Neither counts as an attempt, and the session's status stays. A waiver ends with the visit to its phase, and
 * when the gate may have changed.
 */
import { approvalRefused } from "../../approval/message.js";
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { waivable, waiverName } from "../../gate/waivers.js";
import { nearest, shown } from "../../workflow/names.js";
import type { GateDefinition } from "../../workflow/structure.js";
import {
  asksNoMore,
  type CommandOf,
  invalidTransition,
  isWaiverOpen,
  notCurrent,
  REQUESTS_MAX,
  type TransitionContext,
  tooLong,
} from "./commands.js";
import { approvalOf, type Decided, NOTE_MAX } from "./decide-gate.js";
import type { EventOf } from "./events.js";
import type { HeadFacts, SessionHead } from "./head.js";

/** Limits how many names one request has: they are stored in the head, which must stay small. */
const WAIVED_MAX = 50;

/** Returns the names that are waived at the current phase. */
export function waivedNames({ waived = [] }: Pick<HeadFacts, "waived">): string[] {
  return waived.flatMap(({ fields }) => fields);
}

/** Decides an agent's request. A new request takes the place of one that is still open. */
export function requestWaiver(
  head: SessionHead,
  command: CommandOf<"requestWaiver">,
  { structure }: TransitionContext,
): Decided {
  const { phase, reason } = command;
  if (head.status !== "active" && head.status !== "failed") return invalidTransition(head, structure, command.type);
  const current = structure.phases[head.position];
  if (current === undefined || phase !== head.phase) return notCurrent(head, phase, structure);
  if (head.awaiting !== undefined) {
    const why = `the evidence for phase ${phase} is complete, and waits for an approval`;
    return invalidTransition(head, structure, command.type, { why });
  }
  if (reason.length > NOTE_MAX) return tooLong("reason", NOTE_MAX);
  if (asksNoMore(head)) {
    const message = `${REQUESTS_MAX} waivers were asked for in phase ${phase}, and none of the last was granted`;
    return notAllowed(phase, message, "Do what can be done");
  }
  const { gate } = current;
  const waived = waivedNames(head);
  const named = [...new Set(command.fields.map((name) => waiverName(gate, name)))];
  const fields = named.filter((name) => !waived.includes(name));
  const refusal = namesRefusal(head, gate, named, fields);
  if (refusal !== undefined) return refusal;
  const approvers = approvalOf(gate)?.approvers;
  const whom = approvers === undefined ? {} : { approvers: [...approvers] };
  return [{ type: "waiver_requested", phase, fields, reason, ...whom }];
}

/** Decides a person's answer to the request that is open. */
export function decideWaiver(head: SessionHead, command: CommandOf<"waive"> | CommandOf<"denyWaiver">): Decided {
  const { asked, by, authenticated, signature, keyId } = command;
  const refusal = answerRefusal(head, asked.version);
  if (refusal !== undefined) return refusal;
  const { note = "" } = command;
  if (note.length > NOTE_MAX) return tooLong("note", NOTE_MAX);
  const { phase, fields } = asked.event;
  const answered = {
    phase,
    by,
    asked: asked.version,
    authenticated,
    ...(signature === undefined ? {} : { signature }),
    ...(keyId === undefined ? {} : { keyId }),
  };
  if (command.type === "denyWaiver") return [{ type: "waiver_denied", ...answered, note: command.note }];
  const granted: EventOf<"waiver_granted"> = { type: "waiver_granted", ...answered, fields };
  return [command.note === undefined ? granted : { ...granted, note: command.note }];
}

/** Returns the reason why a request that this commit has made can't be answered now; undefined if it can. */
export function answerRefusal(head: SessionHead, version: number | undefined): AnyPhasegateError | undefined {
  const { phase, waiver } = head;
  if (!isWaiverOpen(head) || waiver === undefined) {
    return approvalRefused(`nothing waits for a waiver in phase ${phase}`, "Read the session's state first.", {
      phase,
      reason: "not_waiting",
    });
  }
  if (waiver.version === version) return undefined;
  return approvalRefused(
    `phase ${phase} waits for another waiver`,
    "Read the request that is open now: it was made after the one that you have seen.",
    { phase, reason: "other_request" },
  );
}

/** Returns the reason why these names can't be waived; undefined if they can. */
function namesRefusal(
  head: SessionHead,
  gate: GateDefinition,
  named: readonly string[],
  fields: readonly string[],
): AnyPhasegateError | undefined {
  const { phase } = head;
  const { names, excluded } = waivable(gate, waivedNames(head));
  if (named.length === 0 || named.length > WAIVED_MAX) {
    return badFields(`'fields' must name 1 to ${WAIVED_MAX} fields`, names);
  }
  if (fields.length === 0) return badFields(`${named.map(shown).join(", ")}: waived already`, names);
  const fixed = fields.find((name) => excluded.includes(name));
  if (fixed !== undefined) return notAllowed(phase, `the workflow allows no waiver of ${shown(fixed)}`);
  if (names.length === 0) return notAllowed(phase, `the gate of phase ${phase} shows nothing that can be waived`);
  const unknown = fields.find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const similar = nearest(unknown, names);
  const meant = similar === undefined ? "" : ` (did you mean ${shown(similar)}?)`;
  return badFields(`the gate of phase ${phase} requires nothing called ${shown(unknown)}${meant}`, names);
}

/** Limits the names in an error. */
const NAMES_SHOWN = 20;

function badFields(message: string, names: readonly string[]): PhasegateError<"INVALID_INPUT"> {
  const more = names.length > NAMES_SHOWN ? `, and ${names.length - NAMES_SHOWN} more` : "";
  const expected = `${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: expected === "" ? "Name the fields that can't be met." : `Name what can't be met, of: ${expected}.`,
    details: { field: "fields", ...(expected === "" ? {} : { expected }) },
  });
}

function notAllowed(phase: number, message: string, instead = "Do it"): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", message, {
    remedy: `${instead}; or pause the session with a note that says what can't be done, and tell the person you work for.`,
    details: { phase, operation: "requestWaiver" },
  });
}

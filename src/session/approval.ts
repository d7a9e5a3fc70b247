import type { ApprovalDefinition, GateDefinition, WorkflowStructure } from "../definition/structure.js";
import { type AnyPhasegateError, type ErrorDetails, PhasegateError } from "../errors.js";
import type { Problem } from "../gate/verdict.js";
import type { CommandOf } from "./commands.js";
import type { EventOf } from "./events.js";
import type { SessionHead } from "./head.js";
import { invalidTransition } from "./refusals.js";

/** What a gate asks a person; undefined where it asks nobody. */
export function approvalOf(gate: GateDefinition | undefined): ApprovalDefinition | undefined {
  return gate?.kind === "fields" || gate?.kind === "schema" ? gate.approval : undefined;
}

/** Why nobody can say yes or no now; undefined if somebody can, to that evidence. */
export function decisionRefusal(
  head: SessionHead,
  structure: WorkflowStructure,
  command: "approve" | "deny",
  evidenceHash: string,
): AnyPhasegateError | undefined {
  if (head.status !== "active") return invalidTransition(head, structure, command);
  const { awaiting, phase } = head;
  if (awaiting === undefined) return notWaiting(phase);
  if (awaiting.evidenceHash === evidenceHash) return undefined;
  return approvalRefused(
    `phase ${phase} waits for a word on other evidence than that`,
    "Look at the evidence that waits now: what was handed in since takes the place of what was seen.",
    { phase, reason: "other_evidence" },
  );
}

/** A person's word as an event; the engine has found out whether it is theirs. */
export function decidedEvent(
  command: CommandOf<"approve"> | CommandOf<"deny">,
): EventOf<"approved"> | EventOf<"denied"> {
  const { by, authenticated, signature, keyId, evidenceHash, asked } = command;
  const decided = {
    phase: asked.event.phase,
    by,
    evidenceHash,
    asked: asked.version,
    authenticated,
    ...(signature === undefined ? {} : { signature }),
    ...(keyId === undefined ? {} : { keyId }),
  };
  if (command.type === "deny") return { type: "denied", ...decided, note: command.note };
  return { type: "approved", ...decided, ...(command.note === undefined ? {} : { note: command.note }) };
}

/** What a denial leaves to mend: the person's own words. */
export function denialProblem({ by, note, authenticated }: CommandOf<"deny">): Problem {
  const who = authenticated ? by : `${by} (not authenticated)`;
  return { field: "", problem: "denied", message: `${who} denied the approval: ${note}` };
}

/** There is nothing to say yes or no to. */
export function notWaiting(
  phase: number,
  because = "nothing waits for an approval",
): PhasegateError<"APPROVAL_REFUSED"> {
  return approvalRefused(`${because} in phase ${phase}`, "Look where the session stands before you decide again.", {
    phase,
    reason: "not_waiting",
  });
}

/** A person's word that can't be taken. */
export function approvalRefused(
  message: string,
  remedy: string,
  details: ErrorDetails["APPROVAL_REFUSED"],
): PhasegateError<"APPROVAL_REFUSED"> {
  return new PhasegateError("APPROVAL_REFUSED", message, { remedy, details });
}

/** What follows where a phase is tried again, or an earlier one is. */
import { PhasegateError } from "../errors.js";
import { begunOf, type CommandOf, type TransitionContext } from "./commands.js";
import type { SessionHead } from "./head.js";
import { type Decided, entered, isTicked } from "./outcomes.js";
import { inRanges } from "./ranges.js";
import { exhausted, invalidTransition, notCurrent, rollbackTargets } from "./refusals.js";

/** Attempts in a row begin anew, with the last evidence or without it. */
export function retryPhase(head: SessionHead, command: CommandOf<"retryPhase">, context: TransitionContext): Decided {
  const { structure, limits } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, "retryPhase");
  if (command.phase !== head.phase) return notCurrent(head, command.phase, structure);
  const { phase, resetEvidence, by } = command;
  const refusal = exhausted(head, limits);
  if (refusal !== undefined && by === "agent") return refusal;
  // Whoever comes back to a phase whose attempts are used up has failed nothing since, and needs the host all the same.
  if (refusal === undefined && head.status === "active" && head.attempts === 0) {
    return invalidTransition(head, structure, "retryPhase", { why: `no attempt at phase ${phase} has failed` });
  }
  return [{ type: "retried", phase, resetEvidence, by, ...begunOf(context) }];
}

/** Phases from there on are no longer done. */
export function rollback(head: SessionHead, command: CommandOf<"rollback">, context: TransitionContext): Decided {
  const { structure } = context;
  const isOpen = head.status === "failed" || head.status === "active" || command.reopens === true;
  if (!isOpen) return invalidTransition(head, structure, "rollback");
  const targets = rollbackTargets(head, structure);
  if (!targets.includes(command.to)) return rollbackRange(command.to, head.phase, targets);
  const position = structure.phases.findIndex(({ number }) => number === command.to);
  const cleared = structure.phases.filter((_, place) => place >= position && inRanges(head.completed, place));
  const numbers = cleared.map(({ number }) => number);
  const from = structure.phases.findIndex((_, place) => place >= position && isTicked(place, context));
  const unticks = from < 0 ? {} : { unticksFrom: from };
  return [
    { type: "rolled_back", from: head.phase, to: command.to, position, cleared: numbers, by: command.by, ...unticks },
    entered(command.to, position, context),
  ];
}

function rollbackRange(to: number, current: number, targets: number[]): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  const range =
    targets.length === 0 ? "there is no phase before it" : `possible: ${targets[0]} to ${targets[targets.length - 1]}`;
  return new PhasegateError("PHASE_OUT_OF_RANGE", `can't roll back from phase ${current} to ${to}: ${range}`, {
    remedy:
      targets.length === 0
        ? `Retry phase ${current} instead.`
        : `Roll back to an earlier phase: ${targets.join(", ")}.`,
    details: { requested: to, valid: targets },
  });
}

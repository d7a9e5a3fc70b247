/** A session in short, as a client shows it beside an agent's call. */
import { conceal } from "../gate/check-gate.js";
import type { Session } from "../phased/session.js";
import { isAttemptAt, type PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import { defined } from "../workflow/json.js";
import type { SessionInShort } from "./model.js";
import { phaseState } from "./phase-state.js";

/** As many phases, fields and problems are shown, the newest phases. */
const ITEMS_MAX = 20;
/** The longest name, and the longest text, in characters. */
const NAME_MAX = 120;
const TEXT_MAX = 2000;

/** Returns a session in short; `isVerifying` if the checks of the current phase run. Like an agent, it is shown no name of a phase ahead, and of problems what the gate tells. */
export async function sessionInShort(
  session: Session,
  { isVerifying = false }: { readonly isVerifying?: boolean } = {},
): Promise<SessionInShort> {
  const state = await session.state();
  const { sessionId, head, structure, status } = state;
  const reached = status === "completed" ? structure.phases : structure.phases.slice(0, head.position + 1);
  const now = phaseState(state, state.currentPhase);
  const isRefused = !isVerifying && (now === "refused" || (now === "failed" && head.submission !== undefined));
  return defined({
    sessionId,
    workflow: cut(structure.name, NAME_MAX),
    target: cut(head.target, NAME_MAX),
    status,
    phases: reached.slice(-ITEMS_MAX).map(({ number, name }) => {
      const isNow = isVerifying && number === state.currentPhase;
      return { number, name: cut(name, NAME_MAX), state: isNow ? ("verifying" as const) : phaseState(state, number) };
    }),
    earlier: Math.max(0, reached.length - ITEMS_MAX),
    ahead: structure.phases.length - reached.length,
    refused: isRefused ? refusalIn(await session.history(), state.currentPhase) : undefined,
    asked: askedBy(state),
    unapproved: state.unapproved?.message,
  });
}

function refusalIn(attempts: readonly PhaseAttempt[], phase: number): SessionInShort["refused"] {
  const last = attempts.findLast((one) => isAttemptAt(one, phase) && one.status === "failed");
  if (last?.problems === undefined) return undefined;
  const problems = conceal(last.problems, last.reveal ?? "fields").map(({ message }) => cut(message, TEXT_MAX));
  return {
    phase,
    attempt: last.attempt,
    problems: problems.slice(0, ITEMS_MAX),
    more: Math.max(0, problems.length - ITEMS_MAX),
  };
}

function askedBy({ awaiting, awaitingWaiver }: StateView): SessionInShort["asked"] {
  if (awaiting !== undefined) {
    const { phase, prompt, approvers, link } = awaiting;
    return defined({ what: "approval" as const, phase, question: cut(prompt, TEXT_MAX), fields: [], approvers, link });
  }
  if (awaitingWaiver === undefined) return undefined;
  const { phase, reason, approvers, link } = awaitingWaiver;
  const fields = awaitingWaiver.fields.slice(0, ITEMS_MAX).map((name) => cut(name, NAME_MAX));
  return defined({ what: "waiver" as const, phase, question: cut(reason, TEXT_MAX), fields, approvers, link });
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

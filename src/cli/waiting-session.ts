import type { ApprovalResult } from "../engine/approval/decide.js";
import type { Engine } from "../engine/engine.js";
import { checksOf } from "../gate/checks-of.js";
import type { RoutedEngine } from "../routed/engine/routed-engine.js";
import type { RoutedView } from "../routed/engine/types.js";
import type { ApprovalSignature } from "../session/approval-message.js";
import type { ShownRequest } from "./approval-report.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import type { OpenedSession } from "./open-sessions.js";
import { printable } from "./terminal.js";

/** What a person says, signed. */
export interface SignedWord {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string;
  readonly evidenceHash: string;
  readonly signature: ApprovalSignature;
}

/** A session that waits for a person. */
export interface WaitingSession {
  readonly request: ShownRequest;
  /** Hands the word in; gives what came of it, as lines for a terminal. */
  answer(word: SignedWord): Promise<readonly string[]>;
}

/** The built-in verifier that looks at what a phase begins with. */
const SEES_BEGINNINGS = "changed_since_phase_start";

/** What a session waits for; a failure where it waits for nobody. `verifiers` are those that can look at the next phase. */
export async function waitingSession(
  opened: OpenedSession,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  if (opened.kind === "recorded") throw waitsForNobody(sessionId, "a recorded session, which has no gates");
  return opened.kind === "routed"
    ? waitingInstance(opened.engine, sessionId)
    : waitingPhase(opened.engine, sessionId, verifiers);
}

async function waitingPhase(
  engine: Engine,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  const request = await engine.getApproval(sessionId);
  if (request === undefined) {
    const { status, phase } = (await engine.getState(sessionId)).head;
    throw waitsForNobody(sessionId, `${status}, in phase ${phase}`);
  }
  return {
    request,
    answer: async ({ decision, note, ...word }) => {
      const noted = note === undefined ? {} : { note };
      const result =
        decision === "approve"
          ? await engine.approve(sessionId, { ...word, ...noted })
          : await engine.deny(sessionId, { ...word, note: note ?? "" });
      return [phaseOutcome(result), ...unrecorded(result, verifiers)];
    },
  };
}

async function waitingInstance(engine: RoutedEngine, sessionId: string): Promise<WaitingSession> {
  const { awaiting, status, currentStep = "the start" } = await engine.status(sessionId);
  if (awaiting === undefined) throw waitsForNobody(sessionId, `${status}, at ${currentStep}`);
  return {
    request: awaiting,
    answer: async ({ decision, note, ...word }) => {
      const noted = note === undefined ? {} : { note };
      const view =
        decision === "approve"
          ? await engine.approve(sessionId, { ...word, ...noted })
          : await engine.deny(sessionId, { ...word, note: note ?? "" });
      return [stepOutcome(decision, word.by, awaiting.step, view)];
    },
  };
}

function waitsForNobody(sessionId: string, where: string): CommandFailure {
  const message = `session ${sessionId} waits for no approval: it is ${printable(where)}`;
  return new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
}

function phaseOutcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left = result.status === "failed" ? "the session has failed" : `${result.attemptsLeft} attempts left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} is to be mended, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}

function stepOutcome(decision: "approve" | "deny", by: string, step: string, { status }: RoutedView): string {
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${printable(step)} has passed, the next call asks what follows.`;
  }
  const failed = status === "FAILED" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${printable(step)} is to be mended${failed}.`;
}

/** Which checks of the next phase compare with how it began, and can't: nothing here could look. */
function unrecorded(result: ApprovalResult, verifiers: Readonly<Record<string, unknown>>): string[] {
  const next = result.passed ? result.nextPhase : null;
  if (next === null || Object.hasOwn(verifiers, SEES_BEGINNINGS)) return [];
  if (checksOf(next.gate).every(({ verifier }) => verifier !== SEES_BEGINNINGS)) return [];
  return [
    `Phase ${next.number} is compared with how it began, and without --project nothing has looked at that: its gate`,
    "refuses the first try for this reason, and retry_phase then records how the phase begins.",
  ];
}

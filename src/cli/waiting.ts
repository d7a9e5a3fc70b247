/** What a session asks a person, as lines: an approval, of a phase or of a routed step, or a waiver; and what an answer does. */
import type { Writable } from "node:stream";
import { checksOf } from "../gate/check-gate.js";
import { UNCHECKED, uncheckedFields } from "../gate/unchecked.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { ApprovalResult } from "../phased/approval/requests.js";
import type { WaiverRequest } from "../phased/approval/waivers.js";
import type { InspectorSources } from "../read/sources.js";
import { type Asked, answer, askedBy, type Decision } from "../read/waiting.js";
import type { RoutedQuestion, RoutedView } from "../routed/types.js";
import { SINCE_VERIFIERS, sinceOf } from "../workflow/gate-definition.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { barred, EVIDENCE_MAX, evidenceLines, resultLines } from "./attempts.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { type Field, headLines } from "./show.js";
import type { OpenedSession } from "./state.js";
import { counted, printable, styled, timeText } from "./terminal.js";

/** The commands: `deny` answers a request of either kind. */
export type DecideCommand = "approve" | "waive" | "deny";

/** What is to be seen before a decision, by the option that gives its hash. */
export const SEEN = { phase: "--evidence-hash", step: "--evidence-hash", waiver: "--request" } as const;

/** Returns what a session asks that the command can answer. Throws if it waits on nothing of the kind. */
export async function askedFor(opened: OpenedSession, sessionId: string, command: DecideCommand): Promise<Asked> {
  const wanted = command === "waive" ? "waiver" : "approval";
  if (opened.kind === "recorded") throw notWaiting(sessionId, wanted, "a recorded session, which has no gates");
  if (opened.kind === "routed") {
    if (command === "waive") throw notWaiting(sessionId, wanted, "a routed workflow, which has none");
    const asked = await askedBy(enginesOf(opened), "routed", sessionId);
    if (asked !== undefined) return asked;
    const { status, currentStep = "the start" } = await opened.engine.status(sessionId);
    throw notWaiting(sessionId, wanted, `${status}, at ${currentStep}`);
  }
  const asked = await askedBy(enginesOf(opened), "phased", sessionId);
  const isMeant = command === "deny" || (command === "waive") === (asked?.what === "waiver");
  if (asked !== undefined && isMeant) return asked;
  const { status, phase: number } = (await opened.engine.getState(sessionId)).head;
  throw notWaiting(sessionId, wanted, `${status}, in phase ${number}`);
}

function enginesOf(opened: OpenedSession): InspectorSources {
  if (opened.kind === "phased") return { engine: opened.engine };
  return opened.kind === "routed" ? { routed: opened.engine } : {};
}

export function askedLines({ what, question }: Asked, stream: Writable, full: boolean): readonly string[] {
  return what === "waiver" ? waiverLines(question, stream) : requestLines(question, stream, full);
}

/** Passes a decision to the engine, and returns the outcome as lines. */
export async function decided(
  opened: OpenedSession,
  asked: Asked,
  decision: Decision,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  const evidenceHash = asked.what === "waiver" ? undefined : asked.question.evidenceHash;
  const answered = await answer(enginesOf(opened), asked, { ...decision, evidenceHash });
  const by = printable(decision.by);
  if (answered.what === "waiver") {
    const { granted, fields, phase } = answered.result;
    return [`${granted ? "Waived" : "No waiver"} by ${by}: ${printable(fields.join(", "))}, in phase ${phase}.`];
  }
  if (answered.what === "step") return [stepOutcome(decision, asked.question, answered.result)];
  const { result } = answered;
  if (opened.kind !== "phased" || !result.passed) return [phaseOutcome(result)];
  const { structure } = await opened.engine.getState(asked.question.sessionId);
  return [phaseOutcome(result), ...unrecorded(result, structure, verifiers)];
}

function notWaiting(sessionId: string, wanted: "approval" | "waiver", where: string): CommandFailure {
  const message = `session ${sessionId} waits for no ${wanted}: it is ${printable(where)}`;
  return new CommandFailure(message, EXIT.problems, "See `phasegate show`.");
}

function phaseOutcome(result: ApprovalResult): string {
  if (!result.passed) {
    const left =
      result.status === "failed" ? "the session has failed" : `${counted(result.attemptsLeft, "attempt")} left`;
    return `Denied by ${printable(result.by)}: phase ${result.phase} needs to be fixed, ${left}.`;
  }
  const next = result.nextPhase === null ? "the workflow is complete" : `phase ${result.nextPhase.number} is next`;
  return `Approved by ${printable(result.by)}: phase ${result.phase} has passed, ${next}.`;
}

function stepOutcome({ decision, by }: Decision, question: Asked["question"], { status }: RoutedView): string {
  const step = "step" in question ? printable(question.step) : "";
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${step} has passed, the next call decides on the next step.`;
  }
  const failed = status === "FAILED" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${step} needs to be fixed${failed}.`;
}

/** Warns if a phase compares files with their state now, and this state was not recorded. */
export function unrecorded(
  left: { readonly phase: number; readonly nextPhase: PhaseDefinition | null },
  { phases }: WorkflowStructure,
  verifiers: Readonly<Record<string, unknown>>,
): string[] {
  const { phase, nextPhase: next } = left;
  if (next === null) return [];
  for (const { number, gate } of phases.filter(({ number: other }) => other >= next.number)) {
    const baselines = checksOf(gate).filter(
      ({ verifier }) => SINCE_VERIFIERS.includes(verifier) && !Object.hasOwn(verifiers, verifier),
    );
    const isOwn = number === next.number && baselines.some(({ params }) => sinceOf(params) === undefined);
    if (!isOwn && !baselines.some(({ params }) => sinceOf(params) === phase)) continue;
    const moment = isOwn ? "its start" : `the end of phase ${phase}`;
    return [
      `Phase ${number} checks files against their state at ${moment}, which was not recorded without --project. A server`,
      "with --project records the files when it next loads the session: what has changed until then is not seen.",
    ];
  }
  return [];
}

/** Returns a request as lines; those of an agent or an author begin with a bar. */
function requestLines(request: ApprovalRequest | RoutedQuestion, stream: Writable, full: boolean): string[] {
  const { phase, attempt, verification, evidence, evidenceHash, prompt } = request;
  const at: Field = "step" in request ? ["step", printable(request.step)] : ["phase", String(phase)];
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [styled(stream, "bold", title), ...lines, ""];
  const results = verification.flatMap((result) => resultLines(result, stream));
  const unchecked = uncheckedFields(evidence, verification);
  const warnings = "warnings" in request ? request.warnings : [];
  return [
    ...questionHead(request, [at[0], `${at[1]}, attempt ${attempt}`], ["evidence", evidenceHash], stream),
    "",
    ...section("Request", barred(prompt)),
    ...section("Evidence", evidenceLines(evidence, EVIDENCE_MAX, full)),
    ...section(UNCHECKED, unchecked.length === 0 ? [] : barred(unchecked.join(", "))),
    ...section(
      "Results of the checks",
      results.map((line) => `  │ ${line}`),
    ),
    ...section(
      "Warnings of the gate",
      warnings.flatMap(({ message }) => barred(message)),
    ),
  ];
}

/** Returns the head of a question: what it is about, who may answer, and the hash that an answer names. */
function questionHead(question: Asked["question"], at: Field, hash: Field, stream: Writable): string[] {
  const { sessionId, workflowType, revision, askedAt, approvers } = question;
  const fields: Field[] = [
    ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
    ["target", "target" in question ? printable(question.target) : undefined],
    at,
    ["asked", timeText(askedAt)],
    ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
    hash,
  ];
  return headLines(sessionId, fields, stream);
}

function waiverLines(request: WaiverRequest, stream: Writable): string[] {
  const { phase, phaseName, fields, requirements, reason } = request;
  const asked = fields.map((name, index) => [name, requirements[index] ?? ""].filter(Boolean).join(": "));
  const section = (title: string, lines: readonly string[]) => ["", styled(stream, "bold", title), ...lines];
  return [
    ...questionHead(request, ["phase", `${phase}: ${printable(phaseName)}`], ["request", request.request], stream),
    ...section("To be waived", asked.flatMap(barred)),
    ...section("Reason", barred(reason)),
    "",
  ];
}

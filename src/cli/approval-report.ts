import type { Writable } from "node:stream";
import type { ApprovalRequest } from "../engine/approval/awaited.js";
import { resultLines } from "./session-tree.js";
import { printable, styled } from "./terminal.js";
import { timeText } from "./time-text.js";

/** As much evidence as a person reads on a screen; more is shown on request. */
const EVIDENCE_MAX = 8000;

/** What a person is asked, of a phase or of a step. */
export type ShownRequest = Omit<ApprovalRequest, "target" | "warnings" | "sessionId"> &
  Partial<Pick<ApprovalRequest, "target" | "warnings">> & { readonly sessionId: string; readonly step?: string };

/**
 * What a person is asked, as lines for a terminal. Every line that an agent or an author has written
 * begins with a bar, so that none can pass for one of ours.
 */
export function approvalLines(request: ShownRequest, stream: Writable, { full = false } = {}): string[] {
  const { sessionId, workflowType, revision, target, phase, step, attempt, askedAt, approvers } = request;
  const { warnings = [], verification } = request;
  const fields: readonly (readonly [string, string])[] = [
    ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
    ...(target === undefined ? [] : [["target", printable(target)] as const]),
    [step === undefined ? "phase" : "step", `${step === undefined ? phase : printable(step)}, attempt ${attempt}`],
    ["asked", timeText(askedAt)],
    ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
    ["evidence", request.evidenceHash],
  ];
  return [
    styled(stream, "bold", sessionId),
    ...fields.map(([key, value]) => `  ${key.padEnd(9)} ${value}`),
    "",
    styled(stream, "bold", "What is asked"),
    ...barred(request.prompt),
    "",
    styled(stream, "bold", "Evidence"),
    ...evidenceLines(JSON.stringify(request.evidence, undefined, 2), full),
    ...(verification.length === 0 ? [] : ["", styled(stream, "bold", "Verified")]),
    ...verification.flatMap((result) => resultLines(result, stream)).map((line) => `  │ ${line}`),
    ...(warnings.length === 0 ? [] : ["", styled(stream, "bold", "Warnings of the gate")]),
    ...warnings.flatMap(({ message }) => barred(message)),
    "",
  ];
}

function evidenceLines(json: string, full: boolean): string[] {
  if (full || json.length <= EVIDENCE_MAX) return barred(json);
  const left = json.length - EVIDENCE_MAX;
  return [...barred(json.slice(0, EVIDENCE_MAX)), `  … ${left} more characters: --full shows them all`];
}

function barred(text: string): string[] {
  return printable(text, { lines: true })
    .split("\n")
    .map((line) => `  │ ${line}`);
}

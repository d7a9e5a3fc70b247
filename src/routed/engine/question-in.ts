import { isJsonObject } from "../../definition/json.js";
import type { RoutedCommit } from "./routed-session.js";
import type { RoutedQuestion } from "./types.js";

/** What a commit asks a person, of the step with that place. */
export function questionIn(
  { sessionId, hash, at, events, head }: RoutedCommit,
  phase: number,
): Omit<RoutedQuestion, "unsignedAllowed"> | undefined {
  const asked = events.find(({ type }) => type === "approval_requested");
  const reported = events.find(({ type }) => type === "reported");
  if (asked?.type !== "approval_requested" || reported?.type !== "reported") return undefined;
  const { step, prompt, approvers, evidenceHash } = asked;
  const { report, verification = [] } = reported;
  return {
    ...{ sessionId, workflowType: head.workflow, revision: head.revision, phase, evidenceHash, request: hash },
    ...{ step, prompt, verification, attempt: head.attempts + 1, askedAt: at },
    evidence: isJsonObject(report.details) ? report.details : {},
    ...(approvers === undefined ? {} : { approvers }),
  };
}

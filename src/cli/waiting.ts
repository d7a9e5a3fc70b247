/**
 * What a session waits for: an approval, of a phase or of a routed step, or a waiver. Each is shown as lines, and takes
 * a person's answer.
 */
import type { Writable } from "node:stream";
import type { ApprovalQuestion, ApprovalSignature, WaiverQuestion } from "../approval/message.js";
import { checksOf } from "../gate/check-gate.js";
import { UNCHECKED, uncheckedFields } from "../gate/unchecked.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { ApprovalResult } from "../phased/approval/requests.js";
import type { WaiverRequest } from "../phased/approval/waivers.js";
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedView } from "../routed/types.js";
import { SINCE_VERIFIERS, sinceOf } from "../workflow/gate-definition.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { barred, EVIDENCE_MAX, evidenceLines, resultLines } from "./attempts.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { headLines } from "./show.js";
import type { OpenedSession } from "./state.js";
import { counted, printable, styled, timeText } from "./terminal.js";

/** The commands: `deny` answers a request of either kind. */
export type Decision = "approve" | "waive" | "deny";

/** A decision with its signature, if it has one. */
export interface SignedDecision {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string;
  readonly signature?: ApprovalSignature;
}

/** A session that waits for a person. */
export interface WaitingSession {
  readonly question: ApprovalQuestion | WaiverQuestion;
  /** The hash of what the person has to see, and the option that gives it. */
  readonly seen: { readonly hash: string; readonly option: "--evidence-hash" | "--request" };
  /** True if the engine takes no unsigned answer. */
  readonly mustSign: boolean;
  /** Returns what the person has to see. */
  lines(stream: Writable, full: boolean): readonly string[];
  /** Passes the decision to the engine, and returns the outcome as lines. */
  answer(signed: SignedDecision): Promise<readonly string[]>;
}

/** Returns what a session waits on that the command can answer. Throws if it waits on nothing of the kind. */
export async function waitingSession(
  opened: OpenedSession,
  sessionId: string,
  decision: Decision,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession> {
  const wanted = decision === "waive" ? "waiver" : "approval";
  if (opened.kind === "recorded") throw notWaiting(sessionId, wanted, "a recorded session, which has no gates");
  if (opened.kind === "routed") {
    if (decision === "waive") throw notWaiting(sessionId, wanted, "a routed workflow, which has none");
    return waitingInstance(opened.engine, sessionId);
  }
  const waiver = decision === "approve" ? undefined : await waitingWaiver(opened.engine, sessionId);
  if (waiver !== undefined) return waiver;
  const phase = decision === "waive" ? undefined : await waitingPhase(opened.engine, sessionId, verifiers);
  if (phase !== undefined) return phase;
  const { status, phase: number } = (await opened.engine.session(sessionId).state()).head;
  throw notWaiting(sessionId, wanted, `${status}, in phase ${number}`);
}

/** Returns the common part of a session that waits for an approval. */
function asked(request: ShownRequest): Omit<WaitingSession, "answer"> {
  return {
    question: request,
    seen: { hash: request.evidenceHash, option: "--evidence-hash" },
    mustSign: true,
    lines: (stream, full) => requestLines(request, stream, full),
  };
}

async function waitingPhase(
  engine: Engine,
  sessionId: string,
  verifiers: Readonly<Record<string, unknown>>,
): Promise<WaitingSession | undefined> {
  const request = await engine.session(sessionId).approval();
  if (request === undefined) return undefined;
  const { evidenceHash } = request;
  return {
    ...asked(request),
    answer: async ({ decision, note, ...signer }) => {
      const signed = { ...signer, evidenceHash };
      const noted = note === undefined ? {} : { note };
      const result =
        decision === "approve"
          ? await engine.session(sessionId).approve({ ...signed, ...noted })
          : await engine.session(sessionId).deny({ ...signed, note: note ?? "" });
      const { structure } = await engine.session(sessionId).state();
      return [phaseOutcome(result), ...(result.passed ? unrecorded(result, structure, verifiers) : [])];
    },
  };
}

async function waitingInstance(engine: RoutedEngine, sessionId: string): Promise<WaitingSession> {
  const { awaiting, status, currentStep = "the start" } = await engine.session(sessionId).state();
  if (awaiting === undefined) throw notWaiting(sessionId, "approval", `${status}, at ${currentStep}`);
  const { evidenceHash } = awaiting;
  return {
    ...asked(awaiting),
    answer: async ({ decision, note, ...signer }) => {
      const signed = { ...signer, evidenceHash };
      const noted = note === undefined ? {} : { note };
      const view =
        decision === "approve"
          ? await engine.session(sessionId).approve({ ...signed, ...noted })
          : await engine.session(sessionId).deny({ ...signed, note: note ?? "" });
      return [stepOutcome(decision, signed.by, awaiting.step, view)];
    },
  };
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

function stepOutcome(decision: "approve" | "deny", by: string, step: string, { status }: RoutedView): string {
  if (decision === "approve") {
    return `Approved by ${printable(by)}: the gate of ${printable(step)} has passed, the next call decides on the next step.`;
  }
  const failed = status === "FAILED" ? ", and the instance has failed" : "";
  return `Denied by ${printable(by)}: ${printable(step)} needs to be fixed${failed}.`;
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

/** A request for an approval, of a phase or of a step. */
type ShownRequest = Omit<ApprovalRequest, "target" | "warnings" | "sessionId"> &
  Partial<Pick<ApprovalRequest, "target" | "warnings">> & { readonly sessionId: string; readonly step?: string };

/**
 * Returns a request as lines. Lines that an agent or an author has written begin with a bar, so that they cannot pass for
 * lines of this command.
 */
function requestLines(request: ShownRequest, stream: Writable, full: boolean): string[] {
  const { sessionId, workflowType, revision, target, phase, step, attempt, askedAt, approvers } = request;
  const { warnings = [], verification } = request;
  const place = step === undefined ? (["phase", phase] as const) : (["step", printable(step)] as const);
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [styled(stream, "bold", title), ...lines, ""];
  const head = headLines(
    sessionId,
    [
      ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
      ["target", target === undefined ? undefined : printable(target)],
      [place[0], `${place[1]}, attempt ${attempt}`],
      ["asked", timeText(askedAt)],
      ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
      ["evidence", request.evidenceHash],
    ],
    stream,
  );
  const results = verification.flatMap((result) => resultLines(result, stream));
  const unchecked = uncheckedFields(request.evidence, verification);
  return [
    ...head,
    "",
    ...section("Request", barred(request.prompt)),
    ...section("Evidence", evidenceLines(request.evidence, EVIDENCE_MAX, full)),
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

/** Returns the request for a waiver that a session waits on; undefined if it waits on none. */
async function waitingWaiver(engine: Engine, sessionId: string): Promise<WaitingSession | undefined> {
  const request = await engine.session(sessionId).waiver();
  if (request === undefined) return undefined;
  return {
    question: request,
    seen: { hash: request.request, option: "--request" },
    mustSign: request.approvers !== undefined,
    lines: (stream) => waiverLines(request, stream),
    answer: async ({ decision, note, ...signer }) => {
      const given = { ...signer, request: request.request };
      const { granted, by, fields, phase } =
        decision === "approve"
          ? await engine.session(sessionId).waive({ ...given, ...(note === undefined ? {} : { note }) })
          : await engine.session(sessionId).denyWaiver({ ...given, note: note ?? "" });
      const names = printable(fields.join(", "));
      return [`${granted ? "Waived" : "No waiver"} by ${printable(by)}: ${names}, in phase ${phase}.`];
    },
  };
}

function waiverLines(request: WaiverRequest, stream: Writable): string[] {
  const { sessionId, workflowType, revision, target, phase, phaseName, fields, reason, askedAt, approvers } = request;
  const asked = fields.map((name, index) => [name, request.requirements[index] ?? ""].filter(Boolean).join(": "));
  const head = headLines(
    sessionId,
    [
      ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
      ["target", printable(target)],
      ["phase", `${phase}: ${printable(phaseName)}`],
      ["asked", timeText(askedAt)],
      ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
      ["request", request.request],
    ],
    stream,
  );
  const section = (title: string, lines: readonly string[]) => ["", styled(stream, "bold", title), ...lines];
  return [...head, ...section("To be waived", asked.flatMap(barred)), ...section("Reason", barred(reason)), ""];
}

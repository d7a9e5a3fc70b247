/**
 * Submits evidence to the gate of the current phase. Order: safety of the evidence, state, earlier approvals, schema or
 * fields and rules, then verifiers, and a person's approval last. After a conflict with another writer the verdict is
 * reused if nothing that it depends on has changed: verifiers may be slow or not repeatable.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { hashEvidence } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { checksOf } from "../gate/check-gate.js";
import { type Proof, placesNamedIn, readClaims, readFalse } from "../gate/claims.js";
import { checkEvidenceSafety, type SafeEvidence } from "../gate/evidence.js";
import { measuredOutcome } from "../gate/format.js";
import { type Judged, judge } from "../gate/judge.js";
import { givenUpProblems, withNoted } from "../gate/plan-gate.js";
import { hasRules } from "../gate/verdict.js";
import { validateWaived } from "../gate/waivers.js";
import type { PreparedOr } from "../log/log.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { Skips } from "../rules/options.js";
import { childWorkflowOf } from "../workflow/child-workflow.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { type SessionId, shown } from "../workflow/names.js";
import type { PhaseDefinition, VerifyDefinition, WorkflowStructure } from "../workflow/structure.js";
import { loadWaived } from "./approval/requests.js";
import { asJson, isSame, loadEvidence, storeValue } from "./artifacts.js";
import {
  execute,
  loadPlanned,
  loadSession,
  phaseAsked,
  preparing,
  refuseUnapproved,
  requestFor,
  requirePhase,
} from "./context.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import { type CompleteResult, describe, isGateEvent, ruleSurroundings } from "./gate-answer.js";
import { landing, submissionRefusal } from "./state/commands.js";
import { approvalOf } from "./state/decide-gate.js";
import type { ChildReceipt, EvidenceRef, Snapshot, ValueRef, Verification } from "./state/events.js";
import { type PhasedSession, requireEvent } from "./state/machine.js";
import type { Noted } from "./state/noted.js";
import { inRanges, type Ranges } from "./state/ranges.js";
import type { PhasedCommand } from "./state/transition.js";
import { beginPhase } from "./verify/snapshots.js";
import { cancelled, type Followed, verifyEvidence } from "./verify/verify.js";

/** A submission of evidence. */
export interface CompleteRequest<Phase extends number = number, Evidence = unknown> extends Followed {
  /** The number of the phase that it is for. */
  readonly phase: Phase;
  /** The evidence; plain JSON. */
  readonly evidence: Evidence;
  /** What the host notes on the submission, for people and statistics: no gate looks at it. In a repeated call it has no effect. */
  readonly noted?: Noted | undefined;
  /** A repeated call with the same key gets the same answer. */
  readonly idempotencyKey?: string;
}

/** Which submission is asked for. */
interface SubmissionRequest {
  readonly phase: number;
  readonly idempotencyKey: string;
}

/** A request whose evidence was checked and copied on arrival. */
export interface CopiedRequest extends Omit<CompleteRequest, "evidence"> {
  readonly submission: SafeEvidence;
  /** Asked once nothing was run for the call: true if the session need not remember its key. Default: it remembers it. */
  readonly mayForget?: (() => boolean) | undefined;
}

/** Takes evidence to the gate of the current phase, and advances the session if it passes. */
export async function completePhase(
  context: EngineContext,
  id: SessionId,
  { phase, submission, noted, idempotencyKey, mayForget, ...followed }: CopiedRequest,
): Promise<CompleteResult> {
  const request = requestFor(idempotencyKey, ["completePhase", phase, submission.evidence]);
  // A snapshot that is taken now would have the work in it, so a submission without one is refused.
  const unchecked = { snapshotsFirst: false };
  const executed = await execute<{ asked: number }>(
    context,
    id,
    preparing(context, id, createJudge(context, phase, { submission, noted, followed, mayForget })),
    request,
    unchecked,
  );
  // The session already waits for a decision on the same evidence: that question is the answer again.
  const outcome = "answer" in executed ? await context.kernel.again(id, executed.answer.asked) : executed;
  return answerTo(context, outcome, Object.keys(submission.evidence));
}

/**
 * Returns the answer to an earlier submission, with the names of its evidence; undefined if the session remembers no submission
 * with this key.
 */
export async function findSubmission(
  context: EngineContext,
  id: SessionId,
  { phase, idempotencyKey }: SubmissionRequest,
): Promise<{ readonly result: CompleteResult; readonly submitted: readonly string[] } | undefined> {
  await loadSession(context, id, { snapshotsFirst: false });
  const version = await context.kernel.ledTo(id, idempotencyKey);
  if (version === undefined) return undefined;
  const outcome = await context.kernel.again(id, version);
  const event = outcome.events.find(isGateEvent);
  if (event?.phase !== phase) {
    throw new PhasegateError(
      "IDEMPOTENCY_KEY_REUSED",
      `the key ${shown(idempotencyKey)} is not of a submission for phase ${phase}`,
      {
        remedy: "Use the key and the phase that the submission had.",
        details: { key: idempotencyKey },
      },
    );
  }
  await refuseUnapproved(context, outcome);
  const { evidence } = event;
  const submitted = "inline" in evidence ? Object.keys(evidence.inline) : evidence.names;
  return { result: await answerTo(context, outcome, submitted), submitted };
}

async function answerTo(
  context: EngineContext,
  outcome: PhasedOutcome,
  submitted: readonly string[],
): Promise<CompleteResult> {
  const structure = await context.pinned.structure(outcome);
  const accepted = await loadWaived(context, outcome, structure);
  return describe(context, outcome, structure, { accepted, submitted });
}

/** The verdict on a submission with all that is recorded, and what it depends on. */
interface Evaluation {
  readonly dependsOn: string;
  readonly judged: Judged<Verification> & {
    readonly evidence: EvidenceRef;
    readonly proofs?: readonly Proof[];
    readonly output?: ValueRef;
    readonly evidenceHash?: string;
    readonly unmet?: ReadonlyMap<string, string>;
    readonly children?: readonly ChildReceipt[] | undefined;
    readonly uncounted?: true | undefined;
  };
  readonly payloads: readonly Payload[];
  /** Those of the phase that is entered. */
  readonly snapshots: Snapshot[] | undefined;
  readonly skips: Skips | undefined;
  /** True if verifiers or snapshots were run. */
  readonly hasRun: boolean;
}

/**
 * Returns a function that judges the submission on the current state. After a conflict it is called again
 * and reuses its verdict, if nothing that it depends on has changed.
 */
function createJudge(
  context: EngineContext,
  number: number,
  {
    submission,
    noted,
    followed,
    mayForget = () => false,
  }: Pick<Submitted, "submission" | "followed"> & Pick<CopiedRequest, "noted" | "mayForget">,
) {
  let evaluation: Evaluation | undefined;
  return async (
    session: PhasedSession,
    structure: WorkflowStructure,
    confirm: () => Promise<void>,
  ): Promise<PreparedOr<PhasedCommand, { asked: number }>> => {
    const meanwhile = evaluation && (await sinceBegun(context, session));
    const refusal = submissionRefusal(session.head, number, structure, context.options.limits, meanwhile);
    if (refusal !== undefined) throw refusal;
    await context.approvalGuard.check(session, structure);
    const { awaiting } = session.head;
    if (awaiting !== undefined && awaiting.evidenceHash === hashEvidence(submission.evidence)) {
      return { answer: { asked: awaiting.version } };
    }
    const { waiver, submission: last } = session.head;
    if (waiver !== undefined && waiver.denied !== true && waiver.version === last?.version) {
      const failed = requireEvent(await context.kernel.at(session.sessionId, last.version), "gate_failed");
      const asking = await loadEvidence(context, { ...session, version: last.version }, failed.evidence);
      if (isSame(asking, submission.evidence)) return { answer: { asked: last.version } };
    }
    const whole = requirePhase(structure, number);
    const waived = await loadWaived(context, session, structure);
    const phase = phaseAsked(context, session.head, whole, waived);
    const dependsOn = dependenciesOf(session, phase);
    if (evaluation?.dependsOn !== dependsOn) {
      const submitted = { session, structure, phase, submission, followed };
      evaluation = { ...(await evaluate(context, submitted, confirm)), dependsOn };
    }
    if (followed.signal?.aborted) throw cancelled("completePhase");
    const { judged, payloads, snapshots, skips, hasRun } = evaluation;
    // The children stand as they did: saying so again is no commit.
    if (judged.uncounted && !judged.verdict.passed && last !== undefined) {
      const { events } = await context.kernel.at(session.sessionId, last.version);
      const before = events.find((event) => event.type === "gate_failed")?.problems;
      if (before !== undefined && isSame(before, judged.verdict.problems)) return { answer: { asked: last.version } };
    }
    const ticks = judged.verdict.passed && structure.plan !== undefined ? await loadPlanned() : undefined;
    const tickedBefore = ticks && (await ticks.tickedBefore(context, session, structure, phase));
    const command = { ...judged, type: "completePhase", phase: number, noted, waived, ...tickedBefore } as const;
    return {
      command: { command, structure, limits: context.options.limits, snapshots, skips },
      payloads,
      forgetsKey: !hasRun && mayForget(),
    };
  };
}

/** Says what has happened to a session that was active when checks began; undefined if it still is. */
async function sinceBegun(
  { kernel }: EngineContext,
  { sessionId, version, head: { status } }: PhasedSession,
): Promise<string | undefined> {
  if (status === "active") return undefined;
  if (status === "failed") return "the session has failed";
  const { events } = await kernel.at(sessionId, version);
  const by = events.find((event) => event.type === "paused")?.operator;
  return `the session was ${status}${by === undefined ? "" : ` by ${by}`}`;
}

/** Identifies what a verdict depends on apart from the evidence. */
function dependenciesOf({ head }: PhasedSession, { gate }: PhaseDefinition): string {
  const { structureVersion, submission, baseline, attempts } = head;
  const merged = submission?.merge === true ? submission.version : 0;
  // Rules can read the attempt's number.
  const attempt = gate.kind === "fields" && hasRules(gate) ? attempts : "";
  const waived = head.waived?.map(({ version }) => version) ?? "";
  const noted = gate.kind === "plan" ? `${head.tasks?.done} ${head.tasks?.givenUp}` : "";
  // After a rollback the artifacts and snapshots are other ones: each entry has a baseline of its own.
  return `${structureVersion} ${merged} ${baseline} ${attempt} ${waived} ${noted}`;
}

/** Returns the plan's ids of the tasks of a phase with these numbers. */
function plannedIds({ tasks }: PhaseDefinition, numbers: Ranges): readonly string[] {
  return tasks.flatMap(({ number, plan }) => (plan !== undefined && inRanges(numbers, number) ? [plan.id] : []));
}

/** A submission with the phase that it is for. */
interface Submitted {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly phase: PhaseDefinition;
  readonly submission: SafeEvidence;
  readonly followed: Followed;
}

/** Takes a submission to the gate of its phase. If the phase will be left, also takes the snapshots of the next one. */
async function evaluate(
  context: EngineContext,
  submitted: Submitted,
  confirm: () => Promise<void>,
): Promise<Omit<Evaluation, "dependsOn">> {
  const { session, structure, phase, followed } = submitted;
  const { submission: last, position } = session.head;
  const submission =
    last?.merge === true ? await mergeLast(context, session, last.version, submitted.submission) : submitted.submission;
  const stored = storeValue(submission.evidence, submission.characters);
  const { enforcement, telemetry } = context.options;
  const said = readFalse(phase.gate, submission.evidence, enforcement);
  const { gate, evidence: plain } = said ?? { gate: phase.gate, evidence: submission.evidence };
  const claims = gate.kind === "open" || gate.proofs === undefined ? undefined : readClaims(gate, plain);
  const { evidence: claimed, proofs } = claims ?? { evidence: plain, proofs: [] };
  const { done = [], givenUp } = session.head.tasks ?? {};
  const evidence = gate.kind === "plan" ? withNoted(claimed, plannedIds(phase, done)) : claimed;
  const lookups = proofs.length === 0 ? [] : lookupsFor(context, proofs);
  const child = childWorkflowOf(gate);
  const hasChecks = checksOf(gate).length + lookups.length > 0;
  // Verifiers must not run, and nothing must be measured, for a phase that another host has already completed.
  if (hasChecks || telemetry !== undefined) await confirm();
  const schema = gate.kind === "schema" ? await context.pinned.schema(structure, phase) : undefined;
  const isWaived = gate.kind === "schema" && gate.waived !== undefined;
  const schemaResult = await (isWaived && schema
    ? validateWaived(schema, gate, evidence)
    : schema?.["~standard"].validate(evidence));
  const made =
    outputOf(schemaResult, evidence, structure) ??
    (proofs.length === 0 && said === undefined && evidence === claimed ? undefined : evidence);
  const contradicted =
    gate.kind === "plan" && givenUp !== undefined ? givenUpProblems(gate, evidence, plannedIds(phase, givenUp)) : [];
  const { sessionId, head } = session;
  const about = { sessionId, workflowType: structure.type, phase: phase.number, attempt: head.attempts + 1 };
  // A program may run for minutes; this reads a few logs.
  const children =
    child && (await (await import("./children.js")).checkChildren(context, session, structure, phase, child));
  const handedOn = children?.completed?.artifact ?? made;
  const output = handedOn === undefined ? undefined : storeValue(handedOn);
  const checks = {
    enforcement,
    found: [...(said?.problems ?? []), ...(claims?.problems ?? []), ...contradicted],
    schemaResult,
    surroundings: () => ruleSurroundings(context, session, structure, phase),
    verify: children
      ? () => Promise.resolve(children)
      : hasChecks
        ? () => verifyEvidence(context, session, structure, phase, evidence, lookups, followed)
        : undefined,
  };
  const judged = await (telemetry === undefined
    ? judge(gate, evidence, checks)
    : telemetry.measure(
        { kind: "gate", ...about, evidence },
        () => judge(gate, evidence, checks),
        ({ verdict }) => measuredOutcome(gate, verdict),
      ));
  // Before snapshots are taken: they run programs, too.
  if (followed.signal?.aborted) throw cancelled("completePhase");
  const asksPerson = approvalOf(gate) !== undefined;
  const isLeft = judged.verdict.passed && !asksPerson;
  const skips = isLeft ? await context.pinned.skips(session, structure) : undefined;
  // Only verifiers take snapshots.
  const takesSnapshots = isLeft && Object.getOwnPropertyNames(context.options.verifiers).length > 0;
  const begun = takesSnapshots
    ? await beginPhase(context, session, structure, landing(position + 1, structure, skips), { confirm })
    : undefined;
  return {
    judged: {
      ...judged,
      evidence: stored.ref,
      proofs,
      output: output?.ref,
      children: children?.completed?.receipts,
      uncounted: children && true,
      unmet: said?.unmet.size ? said.unmet : undefined,
      evidenceHash: asksPerson ? hashEvidence(submission.evidence) : undefined,
    },
    payloads: [...stored.payloads, ...(output?.payloads ?? []), ...(begun?.payloads ?? [])],
    snapshots: begun?.snapshots,
    skips,
    hasRun: judged.verification !== undefined || begun !== undefined,
  };
}

/** Returns the checks that the places exist which proofs name, if the host has a verifier for that. */
function lookupsFor({ options }: EngineContext, proofs: readonly Proof[]): VerifyDefinition[] {
  if (!Object.hasOwn(options.verifiers, FILE_EXISTS)) return [];
  return proofs.flatMap(({ field, proof }) =>
    placesNamedIn(proof).map(({ path, line, mayBeFolder }) => ({
      verifier: FILE_EXISTS,
      params: { path, ...(line !== undefined && { min_lines: line }), ...(mayBeFolder && { allow_folder: true }) },
      field,
    })),
  );
}

/** The built-in verifier that looks a file up. */
const FILE_EXISTS = "file_exists";

/** After a retry without a reset, a submission is merged over the one before it. */
async function mergeLast(
  context: EngineContext,
  { sessionId }: PhasedSession,
  version: number,
  submission: SafeEvidence,
): Promise<SafeEvidence> {
  const { events } = await context.kernel.at(sessionId, version);
  // A withdrawn question counts too: nothing was wrong with its evidence.
  const event = events.find((candidate) => candidate.type === "gate_failed" || candidate.type === "approval_requested");
  if (event === undefined) return submission;
  const earlier = await loadEvidence(context, { sessionId, version }, event.evidence);
  return checkEvidenceSafety({ ...earlier, ...submission.evidence }, context.options.evidenceLimits);
}

/** Returns the output of a schema, where it differs from the evidence; it must be JSON to be stored. */
function outputOf(
  result: StandardSchemaV1.Result<unknown> | undefined,
  evidence: JsonObject,
  structure: WorkflowStructure,
): JsonValue | undefined {
  if (result === undefined || result.issues || isSame(result.value, evidence)) return undefined;
  const output = asJson(result.value);
  if (output !== undefined) return output;
  throw new PhasegateError("DEFINITION_INVALID", `a schema of ${structure.type} gives something that is not JSON`, {
    remedy: "Let the output of evidence schemas be plain JSON: no Date, Map, class or undefined in it.",
    details: { workflowType: structure.type, diagnostics: ["the output of the evidence schema is not JSON"] },
  });
}

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { hashEvidence } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { checkGate, checksOf } from "../gate/check-gate.js";
import { checkEvidenceSafety, type SafeEvidence } from "../gate/evidence.js";
import { compileRules } from "../gate/gate-rules.js";
import type { Verdict } from "../gate/verdict.js";
import { keyedRequest } from "../log/machine.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { loadEvidence } from "./artifacts.js";
import { checkWorkflow, execute, requirePhase, sessionNotFound } from "./context.js";
import type { EngineContext, PhasedOutcome } from "./engine-context.js";
import { type CompleteResult, describe, groundOfRules, ruleSurroundings } from "./gate-answer.js";
import type { PhasedSession } from "./pinned.js";
import { loadPlanned } from "./plan/load-planned.js";
import { submissionRefusal } from "./state/commands.js";
import { approvalOf } from "./state/decide-gate.js";
import type { EvidenceRef, ValueRef, Verification } from "./state/events.js";
import { asJson, isSame, storeValue } from "./stored-values.js";
import { type Begun, beginPhase, withBegun } from "./verify/snapshots.js";
import { verifyEvidence } from "./verify/verify.js";
/** Evidence for a phase. */
export interface CompleteRequest<Phase extends number = number, Evidence = unknown> {
  readonly phase: Phase;
  readonly evidence: Evidence;
  /** The same key gives the same answer, however often the call is repeated. */
  readonly idempotencyKey?: string;
}

/** A request whose evidence was copied when it came; a copy that can't be made throws when it is asked for. */
interface TakenRequest extends Omit<CompleteRequest, "evidence"> {
  readonly takeEvidence: () => SafeEvidence;
}

/** Takes evidence to the gate of the current phase, and the session on if it passes. */
export async function completePhase(
  context: EngineContext,
  sessionId: string,
  { phase, takeEvidence, idempotencyKey }: TakenRequest,
): Promise<CompleteResult> {
  const id = parseSessionId(sessionId);
  const submission = takeEvidence();
  const request =
    idempotencyKey === undefined
      ? undefined
      : keyedRequest(idempotencyKey, ["completePhase", phase, submission.evidence]);
  const judge = createJudge(context, phase, submission);
  const prepare = (session: PhasedSession | undefined, confirm: () => Promise<void>) => {
    if (session === undefined || session.head.status === "deleted") return refuseMissing(context, id);
    checkWorkflow(context, session);
    return judge(session, confirm);
  };
  let outcome: PhasedOutcome;
  try {
    outcome = await execute(context, id, prepare, request);
  } catch (error) {
    outcome = await asked(context, error);
  }
  return describe(context, outcome, await context.pinned.structure(outcome), Object.keys(submission.evidence));
}

async function refuseMissing(context: EngineContext, id: SessionId): Promise<never> {
  throw await sessionNotFound(context, id);
}

/** The same evidence is waited on already: its question stands, and is the answer once more. */
class AlreadyAsked extends Error {
  readonly session: PhasedSession;
  readonly version: number;

  constructor(session: PhasedSession, version: number) {
    super("the same evidence waits for an approval");
    this.session = session;
    this.version = version;
  }
}

async function asked({ kernel }: EngineContext, error: unknown): Promise<PhasedOutcome> {
  if (!(error instanceof AlreadyAsked)) throw error;
  return kernel.again(error.session.sessionId, error.version);
}

/** A verdict, what it rests on, and what the phase behind the gate begins with. */
interface Judged {
  readonly ground: string;
  readonly evaluation: Evaluation & { readonly evidenceHash?: string };
  readonly begun: Begun | undefined;
}

/**
 * Judges a submission on the state at hand. After a conflict it is asked again, and keeps its verdict
 * if nothing that the verdict rests on has changed: verifying may be slow, or not repeatable.
 */
function createJudge(context: EngineContext, number: number, submission: SafeEvidence) {
  const { pinned, options } = context;
  let kept: Judged | undefined;
  return async (session: PhasedSession, confirm: () => Promise<void>) => {
    const known = pinned.structure(session);
    const structure = known instanceof Promise ? await known : known;
    const refusal = submissionRefusal(session.head, number, structure, options.limits);
    if (refusal !== undefined) throw refusal;
    const checking = context.approvalGuard.check(session, structure);
    if (checking !== undefined) await checking;
    const { structureVersion, submission: last, awaiting, baseline } = session.head;
    if (awaiting !== undefined && awaiting.evidenceHash === hashEvidence(submission.evidence)) {
      throw new AlreadyAsked(session, awaiting.version);
    }
    const phase = requirePhase(structure, number);
    const merge = last?.merge === true ? last.version : 0;
    // Whoever went back and came again has other artifacts behind them, and another beginning to compare with.
    const ground = `${structureVersion} ${merge} ${baseline} ${groundOfRules(session, phase.gate)}`;
    if (kept?.ground !== ground) {
      // Commands aren't run for a phase that another host has completed long since.
      if (checksOf(phase.gate).length > 0) await confirm();
      const merged = last?.merge === true ? await mergeLast(context, session, last.version, submission) : submission;
      const evaluation = await evaluate(context, { session, structure, phase, submission: merged });
      const asksPerson = approvalOf(phase.gate) !== undefined;
      const bound = asksPerson ? { evidenceHash: hashEvidence(merged.evidence) } : {};
      const isLeft = evaluation.verdict.passed && !asksPerson;
      const next = isLeft ? beginPhase(context, session, structure, session.head.position + 1) : undefined;
      kept = { ground, evaluation: { ...evaluation, ...bound }, begun: next && (await next) };
    }
    const { payloads, ...judged } = kept.evaluation;
    const isTicked = judged.verdict.passed && structure.plan !== undefined;
    const stood = isTicked ? await stoodBefore(context, session, structure, number) : undefined;
    const marks = stood === undefined ? {} : { stood };
    const command = { type: "completePhase", phase: number, ...judged, ...marks } as const;
    return withBegun({ command, structure, limits: options.limits }, kept.begun, payloads);
  };
}

/** What stands as done in the session's plan before it is ticked. */
async function stoodBefore(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  number: number,
): Promise<readonly string[] | undefined> {
  const { standingTicks } = await loadPlanned();
  return standingTicks(context, session, structure, requirePhase(structure, number));
}

/** After a retry without a reset, a submission stands on the one before it. */
async function mergeLast(
  context: EngineContext,
  { sessionId }: PhasedSession,
  version: number,
  submission: SafeEvidence,
): Promise<SafeEvidence> {
  const { events } = await context.kernel.at(sessionId, version);
  // A question that was taken back counts too: there was nothing wrong with its evidence.
  const event = events.find((candidate) => candidate.type === "gate_failed" || candidate.type === "approval_requested");
  if (event === undefined) return submission;
  const earlier = await loadEvidence(context, { sessionId, version }, event.evidence);
  return checkEvidenceSafety({ ...earlier, ...submission.evidence }, context.options.evidenceLimits);
}

/** A gate's word on a submission, ready to be decided on. */
interface Evaluation {
  readonly verdict: Verdict;
  readonly evidence: EvidenceRef;
  readonly output?: ValueRef;
  /** What the gate's verifiers have found, where any were run. */
  readonly verification?: readonly Verification[];
  readonly payloads: readonly Payload[];
}

/** What is judged, and where. */
interface Submitted {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly phase: PhaseDefinition;
  readonly submission: SafeEvidence;
}

/**
 * Runs what a gate needs that is not pure, and asks the gate. Verifiers come last, and only for evidence that has
 * nothing else wrong with it: they may be slow. What they don't find blocks whatever `strict` and `enforcement` say.
 */
async function evaluate(context: EngineContext, submitted: Submitted): Promise<Evaluation> {
  const { session, structure, phase, submission } = submitted;
  const { evidence } = submission;
  const stored = storeValue(evidence, submission.characters);
  const schema = phase.gate.kind === "schema" ? await context.pinned.schema(structure, phase) : undefined;
  const schemaResult = schema && (await schema["~standard"].validate(evidence));
  const judging = schemaResult
    ? checkGate(phase.gate, evidence, { schemaResult })
    : withRules(context, submitted, evidence);
  const verdict = judging instanceof Promise ? await judging : judging;
  const made = outputOf(schemaResult, submission, structure);
  const output = made === undefined ? undefined : storeValue(made);
  const judged = {
    evidence: stored.ref,
    ...(output === undefined ? {} : { output: output.ref }),
    payloads: output === undefined ? stored.payloads : [...stored.payloads, ...output.payloads],
  };
  const verifying = verdict.passed ? verifyEvidence(context, session, structure, phase, evidence) : undefined;
  if (verifying === undefined) return { verdict, ...judged };
  const { problems, verification } = await verifying;
  if (problems.length === 0) return { verdict, verification, ...judged };
  return { verdict: { passed: false, problems, warnings: verdict.warnings }, verification, ...judged };
}

/** No pause where the gate has no rules. */
function withRules(
  context: EngineContext,
  { session, structure, phase }: Submitted,
  evidence: JsonObject,
): Verdict | Promise<Verdict> {
  const { enforcement } = context.options;
  const compiling = compileRules(phase.gate);
  if (compiling === undefined) return checkGate(phase.gate, evidence, { enforcement });
  return Promise.all([compiling, ruleSurroundings(context, session, structure, phase)]).then(([rules, surroundings]) =>
    checkGate(phase.gate, evidence, { enforcement, rules, surroundings }),
  );
}

/** What a schema made of the evidence, where that is something else; it must be JSON to be kept. */
function outputOf(
  result: StandardSchemaV1.Result<unknown> | undefined,
  { evidence }: SafeEvidence,
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

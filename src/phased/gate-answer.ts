import { revealOf } from "../gate/check-gate.js";
import { exampleEvidence, requiredFormat } from "../gate/format.js";
import { hasRules, type RuleSurroundings, rulesOf } from "../gate/rule-set.js";
import type { Problem } from "../gate/verdict.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { GateDefinition, PhaseDefinition, Reveal, WorkflowStructure } from "../workflow/structure.js";
import { type AwaitedApproval, awaitedBy } from "./approval/awaited.js";
import { loadArtifacts } from "./artifacts.js";
import { requirePhase } from "./context.js";
import type { EngineContext, PhasedOutcome, TickReport } from "./engine-context.js";
import type { PhasedSession } from "./pinned.js";
import { exhausted } from "./state/commands.js";
import type { EventOf, EvidenceRef, SessionEvent, Verification } from "./state/events.js";
import { type SessionHead, spentAt } from "./state/head.js";
/** What every answer of a gate says. */
export interface GateAnswer {
  readonly sessionId: SessionId;
  readonly phase: number;
  /** Which try it was since the phase was entered, or last retried. */
  readonly attempt: number;
  /** The version of the session that this was the answer at. */
  readonly version: number;
  /** Whether an earlier call led to this answer: the session may have moved since. */
  readonly replayed: boolean;
  /** What the gate's verifiers have found, where any were run. */
  readonly verification?: readonly Verification[];
  /** How much of all this the gate lets agents see; hosts have the whole. */
  readonly reveal: Reveal;
}

/** What a gate answers. An unmet gate is a result, no error. */
export type CompleteResult =
  | (GateAnswer & {
      readonly passed: true;
      readonly evidenceAccepted: readonly string[];
      readonly warnings: readonly Problem[];
      /** The phase that the session entered; null when the workflow was complete. */
      readonly nextPhase: PhaseDefinition | null;
      /** What was written into the session's plan, where the phase comes out of one. */
      readonly ticks?: TickReport;
    })
  | (GateAnswer & {
      readonly passed: false;
      readonly problems: readonly Problem[];
      /** How many more attempts there are before the session fails; 0 if it has. */
      readonly attemptsLeft: number;
      readonly status: SessionHead["status"];
      /** Whether the agent has used up its attempts: only the host can grant more. */
      readonly exhausted: boolean;
      /** What the gate asks for. */
      readonly requiredFormat: JsonValue;
      readonly example?: JsonObject;
      /** Nothing is wrong with the evidence, but a person must say yes to it first: there are no problems then. */
      readonly awaiting?: AwaitedApproval;
    });

/** The answer to a commit: the same when the call that led to it is repeated. */
export function describe(
  context: EngineContext,
  outcome: PhasedOutcome,
  structure: WorkflowStructure,
  submitted?: readonly string[],
): CompleteResult {
  const { head, events, ticks } = outcome;
  // Where a person has decided, that stands before what followed from it.
  const event = events.find(isGateEvent);
  if (event?.type === "gate_passed") {
    const { evidence, warnings = [] } = event;
    const entered = events.find(({ type }) => type === "phase_entered");
    const nextPhase = entered?.type === "phase_entered" ? requirePhase(structure, entered.phase) : null;
    const evidenceAccepted = namesOf(evidence, submitted);
    const passed = {
      passed: true,
      ...answered(outcome, structure, event),
      evidenceAccepted,
      warnings,
      nextPhase,
    } as const;
    return { ...passed, ...(ticks === undefined ? {} : { ticks }) };
  }
  if (event === undefined) throw new Error("a submission that no gate has judged");
  const awaiting = event.type === "approval_requested" ? awaitedBy(outcome, event) : undefined;
  const problems = event.type === "gate_failed" ? event.problems : [];
  const { gate } = requirePhase(structure, event.phase);
  const example = exampleEvidence(gate);
  return {
    passed: false,
    ...answered(outcome, structure, event),
    problems,
    attemptsLeft: attemptsLeft(context, head),
    status: head.status,
    exhausted: exhausted(head, context.options.limits) !== undefined,
    requiredFormat: requiredFormat(gate),
    ...(example === undefined ? {} : { example }),
    ...(awaiting === undefined ? {} : { awaiting }),
  };
}

type GateEvent = EventOf<"gate_passed" | "gate_failed" | "approval_requested">;

function isGateEvent(event: SessionEvent): event is GateEvent {
  return event.type === "gate_passed" || event.type === "gate_failed" || event.type === "approval_requested";
}

function answered(
  { sessionId, version, replayed }: PhasedOutcome,
  structure: WorkflowStructure,
  { phase, attempt, verification }: GateEvent,
): GateAnswer {
  const { gate } = requirePhase(structure, phase);
  const verified = verification === undefined ? {} : { verification };
  return { sessionId, phase, attempt, version, replayed, ...verified, reveal: revealOf(gate) };
}

function attemptsLeft({ options }: EngineContext, head: SessionHead): number {
  const { maxAttempts, maxAttemptsTotal } = options.limits;
  if (head.status !== "active") return 0;
  return Math.max(0, Math.min(maxAttempts - head.attempts, maxAttemptsTotal - spentAt(head, head.position)));
}

/** Of long evidence the log has not all names, so those that were submitted are told where they are known. */
function namesOf(evidence: EvidenceRef, submitted: readonly string[] | undefined): readonly string[] {
  return "inline" in evidence ? Object.keys(evidence.inline) : (submitted ?? evidence.names);
}

/** What the rules of a phase's gate see beside the evidence. The log is read only where one asks for artifacts. */
export async function ruleSurroundings(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  { gate, number, plan }: PhaseDefinition,
): Promise<RuleSurroundings> {
  const { sessionId, head } = session;
  const { workflowType, target, attempts } = head;
  return {
    session: { id: sessionId, workflowType, target, phase: number, attempt: attempts + 1 },
    ...(plan === undefined ? {} : { plan: planFacts(plan) }),
    ...(asksFor("artifacts", gate) ? { artifacts: await artifactsBefore(context, session, structure) } : {}),
  };
}

/** What the plan says of the phase, without keys that have nothing. */
function planFacts({ number, goal, estimatedDuration }: NonNullable<PhaseDefinition["plan"]>): JsonObject {
  return {
    number,
    ...(goal === undefined ? {} : { goal }),
    ...(estimatedDuration === undefined ? {} : { estimatedDuration }),
  };
}

/** What a verdict by rules rests on beside evidence and structure: another attempt is another question. */
export function groundOfRules({ head }: PhasedSession, gate: GateDefinition): string {
  return gate.kind === "fields" && hasRules(gate) ? `${head.attempts}` : "";
}

/** A name in a text that means something else costs a look into the log, and nothing more. */
function asksFor(name: string, gate: GateDefinition): boolean {
  return gate.kind === "fields" && rulesOf(gate).some(({ rule }) => rule.cel.includes(name));
}

async function artifactsBefore(
  context: EngineContext,
  session: PhasedSession,
  { phases }: WorkflowStructure,
): Promise<Record<string, JsonValue>> {
  const earlier = new Set(phases.slice(0, session.head.position).map(({ number }) => number));
  const found = (await loadArtifacts(context, session)).filter(({ phase }) => earlier.has(phase));
  return Object.fromEntries(found.map(({ phase, artifact }) => [String(phase), artifact]));
}

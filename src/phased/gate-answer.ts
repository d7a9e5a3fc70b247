/**
 * The answer to a submission, computed from its commit, so that a repeated call gets the same one; and what
 * rules can read in addition to the evidence.
 */
import { revealOf } from "../gate/check-gate.js";
import { requiredFormat } from "../gate/format.js";
import { evidenceForm } from "../gate/forms.js";
import { type AttemptLimits, attemptsLeft } from "../gate/judge.js";
import { droppedIds } from "../gate/plan-gate.js";
import { type Problem, type RuleSurroundings, rulesOf } from "../gate/verdict.js";
import { unaskedFields, waivableProblems, waivedNames } from "../gate/waivers.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { hasChildCheck } from "../workflow/child-workflow.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import { PhaseNames } from "../workflow/phase-names.js";
import type { GateDefinition, PhaseDefinition, Reveal, WorkflowStructure } from "../workflow/structure.js";
import { type AwaitedApproval, type AwaitedWaiver, awaitedBy, awaitedWaiverBy } from "./approval/ledger.js";
import { loadArtifacts } from "./artifacts.js";
import { gateAsked, requirePhase } from "./context.js";
import type { EngineContext, PhasedOutcome, TickReport } from "./engine-context.js";
import { asksNoMore, exhausted, isWaiverOpen } from "./state/commands.js";
import type { EventOf, Parent, SessionEvent, Verification, Waived } from "./state/events.js";
import { type SessionHead, spentAt } from "./state/head.js";
import { isOneOf, type PhasedSession } from "./state/machine.js";

/** The answer of a gate. An unmet gate is a result, not an error. */
export type CompleteResult = {
  /** The session that submitted the evidence. */
  readonly sessionId: SessionId;
  /** The phase that the evidence was for. */
  readonly phase: number;
  /** The number of the attempt since the phase was entered or last retried. */
  readonly attempt: number;
  /** The version of the session after this answer. */
  readonly version: number;
  /** True if an earlier call led to this answer: the session may have changed since. */
  readonly replayed: boolean;
  /** Ids of the phase's tasks that the plan had dropped: they were not required. Missing if there are none. */
  readonly dropped?: readonly string[];
  /** The results of the gate's verifiers, if any were run. */
  readonly verification?: readonly Verification[];
  /** How much of this the gate shows to agents; hosts get everything. */
  readonly reveal: Reveal;
} & (
  | {
      readonly passed: true;
      /** The names of the accepted evidence, without what was waived. */
      readonly evidenceAccepted: readonly string[];
      /** The problems that do not block. */
      readonly warnings: readonly Problem[];
      /** The phase that the session entered; null if the workflow is completed. */
      readonly nextPhase: PhaseDefinition | null;
      /** The phases that the workflow's rules skipped on the way there. None if missing. */
      readonly skipped?: readonly SkippedPhase[];
      /** The session and phase that this session was started for, if it is a child. */
      readonly parent?: Parent | undefined;
      /** What was written into the session's plan, if the phase comes from one. */
      readonly ticks?: TickReport;
      /** What was not required, since a person had waived it. */
      readonly waived?: readonly Waived[];
    }
  | {
      readonly passed: false;
      /** All problems at once. */
      readonly problems: readonly Problem[];
      /** The number of attempts left before the session fails; 0 if it has failed. */
      readonly attemptsLeft: number;
      /** The session's status after this answer. */
      readonly status: SessionStatus;
      /** True if the agent has used all its attempts: only the host can grant more. */
      readonly exhausted: boolean;
      /** What the gate expects, as a JSON Schema. */
      readonly requiredFormat: JsonValue;
      /** Evidence that the gate would accept. */
      readonly example?: JsonObject;
      /** True if a request for a waiver at this phase waits for a person. */
      readonly waitsForWaiver: boolean;
      /** The request that this submission has made, since it says that something can't be claimed: `{value: false, why}`. */
      readonly waiverAsked?: AwaitedWaiver;
      /** The names of what a waiver could be asked for, among the problems. */
      readonly waivable: readonly string[];
      /** The evidence is complete but a person must approve it first; there are no problems then. */
      readonly awaiting?: AwaitedApproval;
    }
);

/** A phase that one of the workflow's rules skipped. */
export interface SkippedPhase {
  /** The phase's number. */
  readonly phase: number;
  /** The phase's name. */
  readonly name: string;
  /** The reason, in the words of the workflow's author. */
  readonly reason: string;
}

/** Returns the phases that the workflow's rules skipped in a commit; undefined if there are none. */
export function skippedIn(
  events: readonly SessionEvent[],
  { phases }: WorkflowStructure,
): readonly SkippedPhase[] | undefined {
  const skipped: SkippedPhase[] = [];
  for (const event of events) {
    if (event.type !== "phase_skipped" || event.rule === undefined) continue;
    skipped.push({ phase: event.phase, name: phases[event.position]?.name ?? "", reason: event.reason });
  }
  return skipped.length === 0 ? undefined : skipped;
}

/** Returns the answer to a commit; the same for a repeated call. `accepted` are the waivers that count now. */
export function describe(
  context: EngineContext,
  outcome: PhasedOutcome,
  structure: WorkflowStructure,
  { accepted, submitted }: { readonly accepted: readonly Waived[]; readonly submitted?: readonly string[] },
): CompleteResult {
  const { head, events, ticks } = outcome;
  // A person's decision comes before the gate event that followed from it.
  const event = events.find(isGateEvent);
  if (event?.type === "gate_passed") {
    const { evidence, warnings = [], waived } = event;
    const entered = events.at(-1);
    const nextPhase = entered?.type === "phase_entered" ? (structure.phases[entered.position] ?? null) : null;
    // The log has not all names of large evidence, so the submitted names are used where they are known.
    const names = "inline" in evidence ? Object.keys(evidence.inline) : (submitted ?? evidence.names);
    return {
      ...answered(outcome, structure, event),
      passed: true,
      evidenceAccepted:
        waived === undefined ? names : withoutWaived(names, requirePhase(structure, event.phase), waived),
      warnings,
      nextPhase,
      parent: head.parent,
      skipped: skippedIn(events, structure),
      ticks,
      waived,
    };
  }
  if (event === undefined) throw new Error("a submission that no gate has judged");
  const asked = events.find(isOneOf("waiver_requested"));
  const problems = event.type === "gate_failed" ? event.problems : [];
  const { gate: whole } = requirePhase(structure, event.phase);
  const waived = waivedNames(accepted);
  const gate = gateAsked(context, whole, waived);
  const { limits, inspectorUrl } = context.options;
  return {
    ...answered(outcome, structure, event),
    passed: false,
    problems,
    attemptsLeft: leftFor(head, limits),
    status: head.status,
    exhausted: exhausted(head, limits) !== undefined,
    waitsForWaiver: isWaiverOpen(head),
    waiverAsked: asked && awaitedWaiverBy({ commit: outcome, event: asked }, inspectorUrl),
    requiredFormat: requiredFormat(gate),
    example: evidenceForm(gate),
    waivable: asksNoMore(head) ? [] : waivableProblems(whole, waived, problems, failedChecks(event)),
    awaiting: event.type === "approval_requested" ? awaitedBy({ commit: outcome, event }, inspectorUrl) : undefined,
  };
}

/**
 * Returns what the rules of a phase's gate can read in addition to the evidence. Reads the log only if a
 * rule uses artifacts.
 */
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
    plan: plan && planFacts(plan),
    options: asksFor("options", gate) ? await context.pinned.options(sessionId) : undefined,
    artifacts: asksFor("artifacts", gate) ? await artifactsBefore(context, session, structure) : undefined,
  };
}

/** Returns for each check of the gate as a whole that was run if it has failed. */
function failedChecks({ verification = [] }: GateEvent): boolean[] {
  return verification.filter(({ field }) => field === undefined).map(({ ok }) => !ok);
}

type GateEvent = EventOf<"gate_passed" | "gate_failed" | "approval_requested">;

/** Returns true for the event of a submission: it was judged, or waits for an approval. */
export function isGateEvent(event: SessionEvent): event is GateEvent {
  return event.type === "gate_passed" || event.type === "gate_failed" || event.type === "approval_requested";
}

function withoutWaived(names: readonly string[], { gate }: PhaseDefinition, waived: readonly Waived[]) {
  const unasked = unaskedFields(gate, waivedNames(waived));
  return names.filter((name) => !unasked.includes(name));
}

function answered(
  { sessionId, version, replayed }: PhasedOutcome,
  structure: WorkflowStructure,
  { phase, attempt, verification }: GateEvent,
) {
  const asked = requirePhase(structure, phase);
  const ids = droppedIds(asked);
  const dropped = ids.length === 0 ? undefined : ids;
  return { sessionId, phase, attempt, version, replayed, dropped, verification, reveal: revealOf(asked.gate) };
}

function leftFor(head: SessionHead, limits: AttemptLimits): number {
  if (head.status !== "active") return 0;
  return attemptsLeft({ inARow: head.attempts, inTotal: spentAt(head, head.position) }, limits);
}

/** Returns what the plan says about the phase, without empty keys: rules can ask for them. */
function planFacts({ number, goal, estimatedDuration }: NonNullable<PhaseDefinition["plan"]>): JsonObject {
  return {
    number,
    ...(goal === undefined ? {} : { goal }),
    ...(estimatedDuration === undefined ? {} : { estimatedDuration }),
  };
}

/** Returns true if a rule contains the name. A false positive only costs reading the log. */
function asksFor(name: string, gate: GateDefinition): boolean {
  if (hasChildCheck(gate)) return true;
  return gate.kind === "fields" && rulesOf(gate).some(({ rule }) => rule.cel.includes(name));
}

/**
 * Returns the artifacts of the phases before the current one by each of their keys. Names are not enumerable: a rule that
 * counts artifacts, or goes through them, finds each once, under its number.
 */
async function artifactsBefore(
  context: EngineContext,
  session: PhasedSession,
  { phases }: WorkflowStructure,
): Promise<Record<string, JsonValue>> {
  const earlier = new Set(phases.slice(0, session.head.position).map(({ number }) => number));
  const names = new PhaseNames(phases);
  const found: Record<string, JsonValue> = {};
  for (const { phase, artifact } of await loadArtifacts(context, session)) {
    if (!earlier.has(phase)) continue;
    for (const key of names.keysOf(phase)) {
      Object.defineProperty(found, key, { value: artifact, enumerable: key === String(phase) });
    }
  }
  return found;
}

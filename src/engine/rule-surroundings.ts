import type { JsonObject, JsonValue } from "../definition/json.js";
import type { GateDefinition, PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { hasRules, type RuleSurroundings, rulesOf } from "../gate/rules/rule-set.js";
import { loadArtifacts } from "./artifacts.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedSession } from "./pinned.js";

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

import type { GateDefinition, Reveal, VerifyDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { Problem } from "./verdict.js";
/** How much of what a gate asks for its agents are shown. */
export function revealOf(gate: GateDefinition): Reveal {
  return "reveal" in gate ? (gate.reveal ?? "fields") : "fields";
}

/**
 * Problems as an agent may see them, so that it can't write to the test: with `names`, only which fields
 * there is something with, and whether they are missing; with `none`, only how many. Hosts keep the whole.
 */
export function conceal(problems: readonly Problem[], reveal: Reveal): readonly Problem[] {
  if (reveal === "fields" || problems.length === 0) return problems;
  // A person's words are for the agent: they hide what they want to hide.
  const said = problems.filter(({ problem }) => problem === "denied");
  const found = problems.filter(({ problem }) => problem !== "denied");
  if (found.length === 0) return said;
  if (reveal === "names") return [...new Map(found.map((problem) => [problem.field, bare(problem)])).values(), ...said];
  const count = found.length === 1 ? "1 thing is" : `${found.length} things are`;
  const message = `The gate isn't met: ${count} missing or wrong. What it asks for isn't shown.`;
  return [{ field: "", problem: "invalid", message }, ...said];
}

function bare({ field, problem }: Problem): Problem {
  const kind = problem === "missing" ? problem : "invalid";
  if (field === "") return { field, problem: kind, message: "The evidence as a whole doesn't meet the gate" };
  const message = kind === "missing" ? `Required evidence '${field}' not provided` : `'${field}' doesn't meet the gate`;
  return { field, problem: kind, message };
}

const NONE: readonly VerifyDefinition[] = [];

/** The checks against reality that a gate asks for, in their order. */
export function checksOf(gate: GateDefinition): readonly VerifyDefinition[] {
  return "verify" in gate ? (gate.verify ?? NONE) : NONE;
}

/** The names of all verifiers that a workflow's gates need, each once: a host that lacks one can't run it. */
export function verifierNames({ phases }: WorkflowStructure): readonly string[] {
  return [...new Set(phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier)))];
}

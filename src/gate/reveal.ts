import type { GateDefinition, Reveal } from "../definition/structure.js";
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
  if (reveal === "names") return [...new Map(problems.map((problem) => [problem.field, bare(problem)])).values()];
  const count = problems.length === 1 ? "1 thing is" : `${problems.length} things are`;
  const message = `The gate isn't met: ${count} missing or wrong. What it asks for isn't shown.`;
  return [{ field: "", problem: "invalid", message }];
}

function bare({ field, problem }: Problem): Problem {
  const kind = problem === "missing" ? problem : "invalid";
  if (field === "") return { field, problem: kind, message: "The evidence as a whole doesn't meet the gate" };
  const message = kind === "missing" ? `Required evidence '${field}' not provided` : `'${field}' doesn't meet the gate`;
  return { field, problem: kind, message };
}

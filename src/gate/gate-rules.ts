import type { FieldGate, GateDefinition } from "../workflow/structure.js";
import { type CompiledRules, hasRules } from "./rule-set.js";

/** How many gates' rules are kept compiled, by their content. */
const KEPT = 256;

const byGate = new WeakMap<FieldGate, Promise<CompiledRules>>();
const byContent = new Map<string, Promise<CompiledRules>>();

/**
 * The rules of a gate, compiled once for all gates of the same content; undefined where it has none. The
 * language is loaded by the first gate that needs it. A rule that can't be compiled is no rejection: its
 * check gives a problem, so that the gate stays shut.
 */
export function compileRules(gate: GateDefinition): Promise<CompiledRules> | undefined {
  if (gate.kind !== "fields" || !hasRules(gate)) return undefined;
  const known = byGate.get(gate);
  if (known !== undefined) return known;
  const compiled = compileContent(gate);
  byGate.set(gate, compiled);
  // A language that could not be loaded may be there the next time; whoever asked now is told by the rejection.
  compiled.catch(() => forget(gate, compiled));
  return compiled;
}

function forget(gate: FieldGate, compiled: Promise<CompiledRules>): void {
  byGate.delete(gate);
  for (const [content, kept] of byContent) if (kept === compiled) byContent.delete(content);
}

function compileContent(gate: FieldGate): Promise<CompiledRules> {
  const { fields, rules } = gate;
  const content = JSON.stringify([fields, rules]);
  const known = byContent.get(content);
  const compiled = known ?? import("./run-gate-rules.js").then(({ createRules }) => createRules(gate));
  // The newest stands last.
  byContent.delete(content);
  byContent.set(content, compiled);
  const [oldest] = byContent.keys();
  if (oldest !== undefined && byContent.size > KEPT) byContent.delete(oldest);
  return compiled;
}

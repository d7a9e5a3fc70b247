/**
 * Compiles the rules of gates once and caches them by content. The rule language is loaded by the first
 * gate that needs it.
 */

import type { FieldGate, GateDefinition } from "../workflow/structure.js";
import { type CompiledRules, hasRules } from "./verdict.js";

const byGate = new WeakMap<FieldGate, Promise<CompiledRules>>();

/**
 * Returns the rules of a gate, compiled once for all gates with the same content; undefined if it has none.
 * A rule that can't be compiled does not reject: checking it gives a problem, so that the gate stays shut.
 * Rejects only if the rule language can't be loaded.
 */
export function compileRules(gate: GateDefinition): Promise<CompiledRules> | undefined {
  if (gate.kind !== "fields" || !hasRules(gate)) return undefined;
  const known = byGate.get(gate);
  if (known !== undefined) return known;
  const compiled = compileContent(gate);
  byGate.set(gate, compiled);
  // Loading the language may succeed the next time. This caller gets the rejection.
  compiled.catch(() => forget(gate, compiled));
  return compiled;
}

const byContent = new Map<string, Promise<CompiledRules>>();

/** Limits how many compiled rule sets are cached by content. */
const KEPT = 256;

function compileContent(gate: FieldGate): Promise<CompiledRules> {
  const { fields, rules } = gate;
  const content = JSON.stringify([fields, rules]);
  const known = byContent.get(content);
  const compiled = known ?? import("./run-gate-rules.js").then(({ createRules }) => createRules(gate));
  // Insertion order is age: the newest is last.
  byContent.delete(content);
  byContent.set(content, compiled);
  const [oldest] = byContent.keys();
  if (oldest !== undefined && byContent.size > KEPT) byContent.delete(oldest);
  return compiled;
}

function forget(gate: FieldGate, compiled: Promise<CompiledRules>): void {
  byGate.delete(gate);
  for (const [content, kept] of byContent) if (kept === compiled) byContent.delete(content);
}

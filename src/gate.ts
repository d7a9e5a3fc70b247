/**
 * Gates outside of an engine: checks evidence against a gate, as an engine does when a phase is handed in; and the types
 * of gates and of their problems. For hosts that show what a gate would say, and for tests of workflows. Needs nothing of
 * Node's.
 *
 * @packageDocumentation
 */

export { checkGate, conceal, type GateContext, verifierNames } from "./gate/check-gate.js";
export { compileRules } from "./gate/judge.js";
export type { CompiledRules, Enforcement, Problem, Verdict } from "./gate/verdict.js";
export type { FieldDefinition, FieldType, GateDefinition, Reveal, VerifyDefinition } from "./workflow/structure.js";
export type { FieldGateInput, FieldInput, RuleInput } from "./workflow/workflow-input.js";

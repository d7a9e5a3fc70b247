/** The types that the files of the rule language share: scopes, compiled rules and faults. */
import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { JsonObject } from "../workflow/json.js";
import type { PhaseNames } from "../workflow/phase-names.js";
import type { FieldDefinition, FieldType } from "../workflow/structure.js";

/** The phases whose artifacts a rule can read. */
export interface EarlierPhases {
  /** All phases of the workflow. */
  readonly phases: PhaseNames;
  /** Those before the rule's own by number, each with the names of its fields; undefined if it may have any. */
  readonly fields: ReadonlyMap<number, readonly string[] | undefined>;
  /** Of those that are workflows which are known: the fields of the phases of these, by their names. */
  readonly inner: ReadonlyMap<number, ReadonlyMap<string, readonly string[] | undefined>>;
}

/** The part of a field that rules need. */
export type RuleField = Pick<FieldDefinition, "name" | "type">;

export interface RuleSubject {
  /** The type of `value`; missing for rules of the whole gate. */
  readonly value?: FieldType;
  /** The value of `params`; `any` while it isn't known yet. */
  readonly params?: JsonObject | "any";
  /** Set for a rule that gives a value of any type; with `item`, it reads one of a list. It has no `evidence`. */
  readonly gives?: "value" | "value of item";
}

export interface CompiledRule {
  readonly ok: true;
  readonly tree: ASTNode;
  /** The evidence fields that it uses; undefined if it may use any. */
  readonly names: ReadonlySet<string> | undefined;
  /** Returns the maximum number of steps of a pattern per character. */
  patternSteps(pattern: string): number;
  /** Runs the rule without a time limit. Throws if it can't be evaluated. */
  run(variables: Record<string, unknown>): unknown;
}

/** The reason that a text can't run as a rule, and what to write instead. */
export interface RuleFault {
  readonly ok: false;
  /** The reason why the rule can't be run, without the rule. */
  readonly why: string;
  readonly message: string;
  readonly hint: string;
}

export interface RuleCompiler {
  compile(cel: string, subject: RuleSubject): CompiledRule | RuleFault;
}

/** The variables of a rule outside of a gate, with their types. */
export type RuleVariables = Readonly<Record<string, FieldType>>;

/** The only keys that the objects among the variables can have. */
export type VariableKeys = Readonly<Record<string, readonly string[]>>;

export interface RuleLanguage {
  /** Returns the compiler for a gate with these fields. Rules can read any artifact if `earlier` is missing. */
  forFields(fields: readonly RuleField[], earlier?: EarlierPhases): RuleCompiler;
  /** Returns the compiler for rules that see only these variables; `keys` has the only keys of those that have few. */
  forVariables(variables: RuleVariables, keys?: VariableKeys): { compile(cel: string): CompiledRule | RuleFault };
}

/** The reason why a rule can't be run, and what to write instead. */
export type WhyAndHint = readonly [why: string, hint: string];

/** The names that a rule may use. */
export interface RuleScope {
  readonly environment: Environment;
  readonly variables: readonly string[];
  /** The only keys that variables can have, where they are known. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
  /** The fields of the gate; undefined for a rule outside of a gate. */
  readonly fields?: readonly RuleField[];
  /** The phases whose artifacts it can read, where they are known. */
  readonly earlier?: EarlierPhases;
  /** True if the rule may give a value of any type, and not only true or false. */
  readonly givesAny?: boolean;
}

import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { JsonObject } from "../workflow/json.js";
import type { FieldDefinition, FieldType } from "../workflow/structure.js";

/** What rules need to know of a field. */
export type RuleField = Pick<FieldDefinition, "name" | "type">;

/** What a rule is about. */
export interface RuleSubject {
  /** The type of `value`; left out for rules of the whole gate, which have none. */
  readonly value?: FieldType;
  /** What `params` is. Where it isn't known yet, parameters of any name are taken. */
  readonly params?: JsonObject | "any";
}

/** A rule that can be run. */
export interface CompiledRule {
  readonly ok: true;
  readonly tree: ASTNode;
  /** The fields of evidence that it names; undefined if it may look at any. */
  readonly names: ReadonlySet<string> | undefined;
  /** How many steps a pattern takes for each character of a text, at most. */
  patternSteps(pattern: string): number;
  /** Runs it, without any bound but that of its own text. Gives what it says; throws where it can't be worked out. */
  run(variables: Record<string, unknown>): unknown;
}

/** Why a text can't be run as a rule. */
export interface RuleFault {
  readonly ok: false;
  readonly message: string;
  readonly hint: string;
}

/** Compiles the rules of one gate. */
export interface RuleCompiler {
  compile(cel: string, subject: RuleSubject): CompiledRule | RuleFault;
}

/** What a rule that belongs to no gate can use, by name, each with its type. */
export type RuleVariables = Readonly<Record<string, FieldType>>;

/** The language, loaded. */
export interface RuleLanguage {
  /** For a gate with these fields. */
  forFields(fields: readonly RuleField[]): RuleCompiler;
  /** For rules that see these variables and nothing else. */
  forVariables(variables: RuleVariables): { compile(cel: string): CompiledRule | RuleFault };
}

/** What names a rule may use. */
export interface RuleScope {
  readonly environment: Environment;
  readonly fields: readonly RuleField[];
  readonly subject: RuleSubject;
  /** All that it can use, where that isn't what a gate's rules can. */
  readonly variables?: RuleVariables;
}

/** Finds names for the rules of a gate, by which its fields name them when the gate is written down again. */
import { builtInValidator, isValidatorName, VERIFYING_VALIDATORS } from "../../rules/validators.js";
import type { FieldDefinition, FieldType, RuleDefinition } from "../structure.js";

export interface NamedRules {
  /** The rules that `validators` must define, by name. */
  readonly table: ReadonlyMap<string, RuleDefinition>;
  /** Returns the text of a rule below `validator`: its name, or the rule itself. */
  nameOf(rule: RuleDefinition): string;
}

/** `asWritten` returns true for a source that a reader turns into the rule's CEL, beside names and CEL itself. */
export function nameRules(
  fields: readonly FieldDefinition[],
  asWritten: (source: string) => boolean = () => false,
): NamedRules {
  const table = new Map<string, RuleDefinition>();
  const names = new Map<RuleDefinition, string>();
  for (const { name, type, rules = [] } of fields) {
    for (const rule of rules.filter(
      (one) => !isPlain(one, type) && !(one.message === undefined && asWritten(one.source)),
    )) {
      const known = table.get(rule.source);
      // A lambda may mean another rule for another type of value.
      const isFree = known === undefined || (known.cel === rule.cel && known.message === rule.message);
      const own = isFree ? rule.source : `${rule.source} (${name})`;
      table.set(own, rule);
      names.set(rule, own);
    }
  }
  return { table, nameOf: (rule) => names.get(rule) ?? rule.source };
}

/** Returns true for a built-in validator, and for a rule that stands for itself. */
function isPlain({ source, cel, message }: RuleDefinition, type: FieldType): boolean {
  if (message !== undefined) return false;
  if (builtInValidator(source, type)?.cel === cel) return true;
  return source === cel && !isValidatorName(source) && !VERIFYING_VALIDATORS.has(source);
}

export function isLambda(source: string): boolean {
  return /^lambda\b/.test(source);
}

/** Runs compiled rules within a bound, and explains failed evaluations to agents that didn't write the rule. */
import { type Growth, growthOf, quickBound, ruleCost } from "./cost.js";
import type { CompiledRule } from "./rule-types.js";

/** The result of a rule, and why it could not be evaluated. */
export type RuleOutcome = { readonly holds: true } | { readonly holds: false; readonly because?: string };

/** Maximum number of steps of one rule: some tens of milliseconds. */
const STEPS_MAX = 1_000_000;

const HOLDS: RuleOutcome = { holds: true };
const DOES_NOT_HOLD: RuleOutcome = { holds: false };

/** Returns a rule that only runs if the size of its input allows it to end in time. Never throws. */
export function boundedRule(
  compiled: CompiledRule,
  stepsMax = STEPS_MAX,
): (variables: Record<string, unknown>) => RuleOutcome {
  const growth = growthOf(compiled.tree);
  return (variables) => {
    try {
      if (growth !== undefined && !isAffordable(growth, compiled, variables, stepsMax)) {
        return {
          holds: false,
          because: `was not run: on values of this size it could take more than ${stepsMax} steps`,
        };
      }
      return compiled.run(variables) === true ? HOLDS : DOES_NOT_HOLD;
    } catch (error) {
      return { holds: false, because: `can't be worked out: ${failureInWords(error)}` };
    }
  };
}

type Say = (parts: readonly string[]) => string;

/** CEL's messages by their beginning, with the same in plain words. */
const WORDS: readonly (readonly [RegExp, Say])[] = [
  [/^no such overload: !(.+)$/s, ([of = ""]) => `"not" (!) is for true or false, not for ${typeInWords(of)}`],
  [/^no such overload: -(.+)$/s, ([of = ""]) => `${typeInWords(of)} has no minus`],
  [/^no such overload: (.+) in (.+)$/s, ([, of = ""]) => `nothing can be looked for in ${typeInWords(of)}`],
  [
    /^no such overload: (.+?) (==|!=|<=?|>=?) (.+)$/s,
    ([a = "", sign, b = ""]) => `${typeInWords(a)} can't be compared with ${typeInWords(b)} (${sign})`,
  ],
  [
    /^no such overload: (.+?) ([-+*/%]) (.+)$/s,
    ([a = "", sign, b = ""]) => `${typeInWords(a)} and ${typeInWords(b)} don't go together (${sign})`,
  ],
  [/^found no matching overload for '([^(]+)\((.*)\)'$/s, ([called = "", args = ""]) => unfit(called, args)],
  [/^No such key: index out of bounds, index (-?\d+)/, ([at]) => `the list has no element ${at}, counted from 0`],
  [/^No such key: (.*)$/s, ([key = ""]) => `there is no key ${JSON.stringify(key)}`],
  [/(?:must be bool|must return bool|requires bool operands), got '([^']+)'/, ([of = ""]) => wantsBool(of)],
  [/^Expression of type '(.+)' cannot be range/, ([of = ""]) => `${typeInWords(of)} is no list to go through`],
  [/^(int|uint)\(\) type error/, () => "it can't be made a whole number"],
  [/^double\(\) type error/, () => "it can't be made a number"],
  [/^bool\(\) /, () => "it can't be made true or false"],
  [/^integer overflow/, () => "a whole number becomes too large"],
  [/^modulo by zero/, () => "division by zero"],
  [/^string\.join.*must contain only strings/, () => "only a list of texts can be joined"],
  [/^string\.\w+\(.*index out of range/, () => "the text is shorter than the part that is asked for"],
];

/** Returns why an evaluation failed, as part of a sentence. */
export function failureInWords(error: unknown): string {
  // After its first line, CEL's message quotes the rule.
  const said = (error instanceof Error ? error.message : String(error)).replace(/\n\n>[\s\S]*$/, "");
  for (const [pattern, say] of WORDS) {
    const found = pattern.exec(said);
    if (found !== null) return say(found.slice(1));
  }
  return said.replace(/\n[\s\S]*$/, "").replace(/dyn<(\w+)>/g, "$1");
}

function isAffordable(
  growth: Growth,
  { tree, patternSteps }: CompiledRule,
  variables: Record<string, unknown>,
  stepsMax: number,
): boolean {
  if (growth.byValue && quickBound(growth, variables.value) <= stepsMax) return true;
  return ruleCost(tree, variables, patternSteps) <= stepsMax;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["int", "a whole number"],
  ["uint", "a whole number"],
  ["double", "a number"],
  ["bool", "true or false"],
  ["null", "null"],
  ["list", "a list"],
  ["map", "an object"],
  ["dyn", "a value"],
  ["evidence", "the evidence"],
  ["params", "the parameters"],
  ["session", "the session"],
  ["type", "a type"],
]);

/** Returns a CEL type in words: `dyn<list<string>>` is a list. */
function typeInWords(type: string): string {
  const name = /^(?:dyn<)?(\w+)/.exec(type)?.[1] ?? type;
  return TYPES.get(name) ?? type;
}

function unfit(called: string, args: string): string {
  const dot = called.lastIndexOf(".");
  const name = called.slice(dot + 1);
  const types = [...(dot === -1 ? [] : [called.slice(0, dot)]), ...args.split(/, (?![^<]*>)/)].filter(
    (type) => type !== "",
  );
  return types.length === 0 ? `${name} wants something` : `${name} is not for ${types.map(typeInWords).join(" and ")}`;
}

function wantsBool(of: string): string {
  return `true or false is wanted where there is ${typeInWords(of)}`;
}

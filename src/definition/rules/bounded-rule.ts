import { failureInWords } from "./explain-failure.js";
import { ruleCost } from "./rule-cost.js";
import { type Growth, growthOf, quickBound } from "./rule-growth.js";
import type { CompiledRule } from "./rule-types.js";

/** How many steps one rule may take: some tens of milliseconds. */
const STEPS_MAX = 1_000_000;

/** Whether a rule holds; where that could not be found out, why. */
export type RuleOutcome = { readonly holds: true } | { readonly holds: false; readonly because?: string };

const HOLDS: RuleOutcome = { holds: true };
const DOES_NOT_HOLD: RuleOutcome = { holds: false };

/** A rule that is only run where it can't take long, by the sizes of what it is run on. Never throws. */
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

function isAffordable(
  growth: Growth,
  { tree, patternSteps }: CompiledRule,
  variables: Record<string, unknown>,
  stepsMax: number,
): boolean {
  if (growth.byValue && quickBound(growth, variables.value) <= stepsMax) return true;
  return ruleCost(tree, variables, patternSteps) <= stepsMax;
}

import { exampleOf } from "../../definition/field-types.js";
import type { JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import type { FieldDefinition, RuleDefinition } from "../../definition/structure.js";
import type { Problem } from "../verdict.js";

/** A rule that does not hold; or, with `because`, one that could not be worked out. */
export function ruleProblem(
  rule: RuleDefinition,
  field: FieldDefinition | undefined,
  evidence: JsonObject | undefined,
  because: string | undefined,
): Problem {
  const about = field === undefined ? "The rule" : `'${field.name}': the rule`;
  const said = rule.message === undefined ? "" : `: ${rule.message}`;
  const message =
    because === undefined
      ? `${about} ${shown(rule.source)} doesn't hold${said}`
      : `${about} ${shown(rule.source)} ${because}${said}`;
  const isKnown = field?.example !== undefined || field?.sample !== undefined;
  const value = field === undefined ? undefined : evidence?.[field.name];
  return {
    field: field?.name ?? "",
    problem: "invalid",
    message,
    ...(value === undefined ? {} : { got: shown(value) }),
    expected: rule.source,
    ...(field !== undefined && isKnown ? { example: exampleOf(field) } : {}),
  };
}

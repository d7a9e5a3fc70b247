/**
 * Plans in a remark pipeline: `unified().use(remarkParse).use(remarkPlan)`. Needs unified.
 *
 * @packageDocumentation
 */
export type { ParsePlanOptions } from "./plan/parse-plan.js";
export type { Checkbox, Plan, PlanItem, PlanPhase, PlanPosition, PlanTask, TaskState } from "./plan/plan.js";
export { remarkPlan } from "./plan/remark-plan.js";

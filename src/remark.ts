/**
 * Plans in a remark pipeline: `unified().use(remarkParse).use(remarkPlan)`. Needs unified.
 *
 * @packageDocumentation
 */
export { remarkPlan } from "./plan/remark-plan.js";

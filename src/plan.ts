/**
 * Plans outside of an engine: reads a plan out of Markdown or JSON, orders its tasks by what they depend on, ticks one task,
 * and renders a phase's template. Needs nothing of Node's.
 *
 * @packageDocumentation
 */

export { type PlanOrder, planOrder } from "./plan/order.js";
export { type ParsePlanOptions, parsePlan } from "./plan/parse-plan.js";
export type {
  Checkbox,
  Plan,
  PlanItem,
  PlanPhase,
  PlanPosition,
  PlanReading,
  PlanTask,
  TaskState,
} from "./plan/plan.js";
export { type TickOptions, tickTask } from "./plan/tick.js";
export type { SourceParser, TickRequest } from "./ports/content-provider.js";
export { renderTemplate, type TemplateValues } from "./template/template.js";

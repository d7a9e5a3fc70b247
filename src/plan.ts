/**
 * Plans: reads a plan out of Markdown or JSON, orders its tasks by what they depend on, ticks one task, and renders a
 * phase's template, all without an engine; and the types of plans, of their parsers and sources, and of what a session
 * shows of its plan. Needs nothing of Node's.
 *
 * @packageDocumentation
 */

export type { TickReport } from "./phased/engine-context.js";
export type { PlanView } from "./phased/plan/view.js";
export type { PlanChange } from "./phased/state/events.js";
export { planOrder } from "./plan/order.js";
export { type ParsePlanOptions, parsePlan } from "./plan/parse-plan.js";
export type { Plan, PlanItem, PlanPhase, PlanReading, PlanTask, TaskState } from "./plan/plan.js";
export { tickTask } from "./plan/tick.js";
export type { PlanWords } from "./plan/words.js";
export { planToMarkdown, type WritePlanOptions } from "./plan/write.js";
export type { PlanSource, PlanText, SourceParser, TickRequest } from "./ports/content-provider.js";
export { renderTemplate, type TemplateValues } from "./template/template.js";

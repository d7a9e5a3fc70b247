/** What sessions with a plan need: loaded in one piece, when the first of them is met. */
export { livePlan } from "./live-plan.js";
export { pinPlan } from "./pin-plan.js";
export { rereadPlan } from "./rebuild.js";
export { renderedText } from "./rendered-text.js";
export { settleTicks } from "./settle-ticks.js";
export { viewPlannedPhase, viewPlannedTask } from "./view-plan.js";

/**
 * All that sessions on plans need beside what every session needs: loaded by `import()`, as one, when the
 * first of them is met. Only a sync comes by itself: it loads sessions, as all that is here is loaded for them.
 */
export { livePlan } from "./live-plan.js";
export { pinPlan } from "./pin-plan.js";
export { rereadPlan } from "./rebuild.js";
export { renderedText } from "./rendered-text.js";
export { settleTicks } from "./settle-ticks.js";
export { standingTicks } from "./standing-ticks.js";
export { viewPlannedPhase, viewPlannedTask } from "./view-plan.js";

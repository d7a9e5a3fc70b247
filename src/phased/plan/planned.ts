/** The operations on sessions with plans, loaded by `import()` with the first of them. A sync is loaded separately. */

export { pinPlan } from "./pin.js";
export { rereadPlan } from "./rebuild.js";
export { tickedBefore, writeDueTicks } from "./ticks.js";
export { livePlan, renderedText, viewPlannedPhase, viewPlannedTask } from "./view.js";

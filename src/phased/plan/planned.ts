/**
 * All that sessions on plans need beside what every session needs: loaded by `import()`, as one, when the
 * first of them is met. Only a sync comes by itself: it loads sessions, as all that is here is loaded for them.
 */

export { pinPlan } from "./pin.js";
export { rereadPlan } from "./rebuild.js";
export { settleTicks, standingTicks } from "./ticks.js";
export { livePlan, renderedText, viewPlannedPhase, viewPlannedTask } from "./view.js";

/**
 * A host of routed sessions whose decider never answers: `crash-worker <place> <instance>…` reports in all of them at the same
 * time, and prints a line for each once its report has been written.
 */
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { openPlace } from "./open-place.js";

const [place = "", ...instanceIds] = process.argv.slice(2);

const garden = defineRoutedWorkflow({
  name: "GARDEN",
  steps: [
    { name: "Dig", guidance: "Then sow.", instructions: "Dig a bed." },
    { name: "Sow", guidance: "Then water.", instructions: "Sow peas." },
  ],
});

const engine = createRoutedEngine({
  storage: await openPlace(place),
  workflows: routedWorkflows(garden),
  decider: {
    decide: () => {
      console.log("asked");
      return new Promise(() => {});
    },
  },
});
// The timer keeps the process alive while the decider does not answer.
setInterval(() => {}, 1000);
const dug = { report: { status: "success", message: "dug" }, contextUpdates: { depth: 20 }, idempotencyKey: "dig" };
await Promise.all(instanceIds.map((sessionId) => engine.session(sessionId).advance(dug)));

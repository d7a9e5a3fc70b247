/** A host whose decider answers once a file exists; it submits a report on the first step, and prints the answer. */
import { access } from "node:fs/promises";
import { isPhasegateError } from "phasegate";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { openPlace } from "../engine/open-place.js";

const [place = "", sessionId = "", status = "", release = ""] = process.argv.slice(2);
const isThere = () =>
  access(release).then(
    () => true,
    () => false,
  );

const engine = createRoutedEngine({
  storage: await openPlace(place),
  workflows: routedWorkflows(
    defineRoutedWorkflow({
      name: "DEPLOY",
      steps: ["Build", "Test", "Repair", "Release"].map((name) => ({
        name,
        guidance: "g",
        instructions: "i",
      })) as never,
    }),
  ),
  decider: {
    decide: async () => {
      console.log("asked");
      while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 5));
      return { nextStep: "Test", contextUpdates: { decidedFor: status } };
    },
  },
});
try {
  const { currentStep } = await engine.session(sessionId).advance({ report: { status, step_id: "Build" } });
  console.log(JSON.stringify({ currentStep }));
} catch (error) {
  if (!isPhasegateError(error)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
await engine.close();

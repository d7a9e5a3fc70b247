import { FINISH, type RoutedDefinition, type RoutedStep } from "../../definition/routed-definition.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { RoutedContext } from "./routed-context.js";

/** The texts of a workflow as they are now. Throws `DEFINITION_UNAVAILABLE` where they can't be had. */
export async function loadTexts(
  { options, notifications }: RoutedContext,
  workflow: string,
): Promise<RoutedDefinition> {
  try {
    const definition = await options.workflows.definition(workflow);
    if (definition !== undefined) return definition;
  } catch (error) {
    if (isPhasegateError(error)) throw unavailable(workflow, error.message, error);
    // What a source of the host's throws may name paths: only the host is told.
    notifications.notify("internalError", { operation: "definition", error });
    throw unavailable(workflow, "its texts can't be read", error);
  }
  throw unavailable(workflow, "there is no such workflow any more");
}

/** What a client is told at the end. */
const COMPLETE = "Workflow complete.";

/** What a client is told to do. Throws `DEFINITION_UNAVAILABLE` where the step has gone. */
export function instructionsOf(definition: RoutedDefinition, name: string): string {
  return name === FINISH ? COMPLETE : requireStep(definition, name).instructions;
}

function requireStep({ name: workflow, steps }: RoutedDefinition, name: string): RoutedStep {
  const step = steps.find((one) => one.name === name);
  if (step !== undefined) return step;
  throw unavailable(workflow, `it has no step ${name} any more`);
}

function unavailable(workflow: string, why: string, cause?: unknown): PhasegateError<"DEFINITION_UNAVAILABLE"> {
  return new PhasegateError("DEFINITION_UNAVAILABLE", `the workflow ${workflow} could not be loaded: ${why}`, {
    remedy: "Have the workflow's files mended, then retry.",
    details: { workflowType: workflow },
    cause,
  });
}

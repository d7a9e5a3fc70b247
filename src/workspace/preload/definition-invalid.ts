import { PhasegateError } from "../../errors.js";

/** The error of a workflow that can't be read, with the place of each fault. */
export function definitionInvalid(
  workflow: string,
  diagnostics: readonly string[],
): PhasegateError<"DEFINITION_INVALID"> {
  return new PhasegateError("DEFINITION_INVALID", `the workflow can't be read: ${diagnostics.join("; ")}`, {
    remedy: "Tell the user: the file must be mended where this says. Then call again.",
    details: { workflowType: workflow, diagnostics },
  });
}

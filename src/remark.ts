/**
 * Plans in a remark pipeline: `unified().use(remarkParse).use(remarkPlan)`. Needs unified.
 *
 * @packageDocumentation
 */
import type { Plugin } from "unified";
import type { VFile } from "vfile";
import { isPhasegateError } from "./errors.js";
import { type ParsePlanOptions, parsePlan } from "./plan/parse-plan.js";
import type { Plan } from "./plan/plan.js";

/**
 * Reads the file as a plan. The plan is in `file.data.plan`, its diagnostics in `file.messages`; an error is a fatal
 * message. The plugin reads the text of the file and doesn't change the tree: what GFM reads as plain text, such as
 * `[-]`, is only in the text.
 *
 * A file that can't be a plan gets one fatal message and no plan.
 */
export const remarkPlan: Plugin<[Omit<ParsePlanOptions, "file">?]> = (options = {}) => {
  return (_tree, file) => {
    const name = file.path ?? "tasks.md";
    try {
      const { plan, diagnostics } = parsePlan(String(file), { ...options, file: name });
      file.data.plan = plan;
      for (const { severity, code, message, hint, line = 1, column = 1 } of diagnostics) {
        say(file, `${message}${hint === undefined ? "" : ` (${hint})`}`, { line, column }, code, severity === "error");
      }
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      const { line = 1, column = 1 } = error.details;
      say(file, `${error.message} (${error.remedy})`, { line, column }, error.code, true);
    }
  };
};

function say(
  file: VFile,
  message: string,
  place: { readonly line: number; readonly column: number },
  code: string,
  fatal: boolean,
): void {
  const said = file.message(message, place, `phasegate:${code.toLowerCase().replaceAll("_", "-")}`);
  said.fatal = fatal;
}

declare module "vfile" {
  interface DataMap {
    /** The plan that `remarkPlan` has read. */
    plan: Plan;
  }
}

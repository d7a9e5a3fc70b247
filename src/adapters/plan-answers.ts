/** What the sources of plans have in common. Without `node:`. */
import { shown } from "../definition/names.js";
import { parseRelativePath } from "../definition/relative-path.js";
import { PhasegateError } from "../errors.js";

/** The name of a plan in a folder. */
const PLAN_FILE = "tasks.md";

/** Where a plan may lie: the file that was asked for, or the one in the folder. Throws `PATH_REFUSED`. */
export function planPlaces(path: string): { readonly file: string; readonly inFolder: string } {
  const file = parseRelativePath(path);
  return { file, inFolder: file === "." ? PLAN_FILE : `${file}/${PLAN_FILE}` };
}

/** A text that can't be a plan. */
export function notAPlan(file: string, reason: string, remedy: string): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `could not parse ${shown(file)}: ${reason}`, { remedy, details: { file } });
}

import { PhasegateError } from "../errors.js";
import type { PlanSource, PlanText } from "../ports/plan-source.js";
import { digest } from "../workflow/json.js";
import { parseRelativePath, shown } from "../workflow/names.js";
/** Plans in memory: for hosts without a file system, and for tests. */
export class MemoryPlans implements PlanSource {
  private readonly texts = new Map<string, string>();

  /** Texts by their paths. Throws `PATH_REFUSED` for paths that lead out. */
  constructor(plans: Readonly<Record<string, string>> = {}) {
    for (const [path, text] of Object.entries(plans)) this.set(path, text);
  }

  /** The text at a path, as it is now; undefined if there is none. */
  get(path: string): string | undefined {
    return this.texts.get(parseRelativePath(path));
  }

  /** Puts a text at a path, or takes it away with `undefined`. */
  set(path: string, text: string | undefined): void {
    const place = parseRelativePath(path);
    if (text === undefined) this.texts.delete(place);
    else this.texts.set(place, text);
  }

  async read(path: string): Promise<PlanText | undefined> {
    const place = this.locate(path);
    const text = this.texts.get(place);
    return text === undefined ? undefined : { path: place, text, hash: digest(text) };
  }

  async replace(path: string, hash: string, text: string): Promise<boolean> {
    const place = this.locate(path);
    const current = this.texts.get(place);
    if (current === undefined || digest(current) !== hash) return false;
    this.texts.set(place, text);
    return true;
  }

  private locate(path: string): string {
    const { file, inFolder } = planPlaces(path);
    return this.texts.has(inFolder) ? inFolder : file;
  }
}

/** What the sources of plans have in common. Without `node:`. */

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

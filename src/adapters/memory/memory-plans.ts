import { digest } from "../../definition/digest.js";
import { parseRelativePath } from "../../definition/relative-path.js";
import type { PlanSource, PlanText } from "../../ports/plan-source.js";
import { planPlaces } from "../plan-answers.js";

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

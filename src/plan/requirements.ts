/**
 * Reads the requirements of a document: those that tasks cite and it does not have, where it surely lacks them, and their
 * titles.
 */
import type { Plan, PlanTask } from "./plan.js";

/** A requirement that the document does not have, and the first task that cites it. */
export interface MissingRequirement {
  readonly id: string;
  readonly task: PlanTask;
}

const HEADING = /^ {0,3}(#{1,6})[ \t](.*)$/;
/** `Requirement 1: Log in`, `1.2 Log in`. */
const NUMBERED_TITLE = /^\W{0,4}(?:[a-z]{1,20}[ \t]+){0,2}(\d+(?:\.\d+)*)(?![\w-])/i;
const NUMBERED_ITEM = /^ {0,3}(\d{1,4})[.)][ \t]/;
const CODE = /^([A-Z]+(?:-[A-Z]+)*)-?\d+(?:\.\d+)*$/i;
const ANY_ID = /\b\d{1,6}(?:\.\d{1,6}){1,4}(?!\w)|\b[A-Z]{1,12}(?:-[A-Z]{1,12}){0,3}-?\d{1,6}(?:\.\d{1,6}){0,4}(?!\w)/g;

/** Returns the requirements that tasks cite by id and that a document with ids of this kind does not have, each once. */
export function missingRequirements({ phases }: Plan, text: string): MissingRequirement[] {
  const { has, isKind } = readRequirements(text);
  const missing = new Map<string, MissingRequirement>();
  for (const task of phases.flatMap(({ tasks }) => tasks)) {
    const cited = task.requirements.flatMap((id) => (/^[\d.]+ ?[-–] ?[\d.]+$/.test(id) ? id.split(/ ?[-–] ?/) : [id]));
    for (const id of cited) {
      if (isKind(id) && !has(id) && !missing.has(id)) missing.set(id, { id, task });
    }
  }
  return [...missing.values()];
}

/** Reads the ids of a document: numbered titles, the numbered items below each, and ids anywhere in its text. */
function readRequirements(text: string) {
  const ids = new Set<string>();
  const kinds = new Set<string>();
  /** Titles whose items have no numbers: any part of theirs may be there. */
  const unnumbered = new Set<string>();
  let section: { readonly id: string; readonly level: number; items: number } | undefined;
  const add = (id: string) => {
    ids.add(id.toLowerCase());
    kinds.add(kindOf(id) ?? "");
  };
  for (const line of text.split(/\r?\n/)) {
    const [, marks = "", title = ""] = HEADING.exec(line) ?? [];
    const id = NUMBERED_TITLE.exec(title)?.[1];
    if (id !== undefined) {
      add(id);
      unnumbered.add(id);
      section = { id, level: marks.length, items: 0 };
    } else if (section !== undefined && marks !== "" && marks.length <= section.level) section = undefined;
    const item = NUMBERED_ITEM.exec(line)?.[1];
    if (section !== undefined && item !== undefined) {
      section.items += 1;
      unnumbered.delete(section.id);
      // A list whose items all have the number 1 is shown with ascending ones.
      for (const number of [item, `${section.items}`]) add(`${section.id}.${number}`);
    }
    for (const [found] of line.matchAll(ANY_ID)) add(found);
  }
  return {
    has: (id: string) => ids.has(id.toLowerCase()) || unnumbered.has(id.replace(/\.\d+$/, "")),
    isKind: (id: string) => kinds.has(kindOf(id) ?? "none"),
  };
}

/** A code such as `FR-001` at the beginning of a line, and what follows it. */
const CODED_LINE = /^[\s>#*_|`-]{0,12}([A-Z]{1,12}(?:-[A-Z]{1,12}){0,3}-?\d{1,6}(?:\.\d{1,6}){0,4})(?!\w)(.*)$/;

/**
 * Returns the titles of requirements by id, as far as the document has them: what follows the number of a heading or of an
 * item below it, or a code at the beginning of a line. The first one holds.
 */
export function requirementTitles(text: string): ReadonlyMap<string, string> {
  const titles = new Map<string, string>();
  const add = (id: string, words: string) => {
    const title = words.replace(/^[\s:.)\]*_|`–—-]{0,12}/, "").replace(/[\s*_|`]{1,12}$/, "");
    if (title !== "" && !titles.has(id)) titles.set(id, title);
  };
  let section: { readonly id: string; readonly level: number; items: number } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, marks = "", heading = ""] = HEADING.exec(line) ?? [];
    const [before = "", id] = NUMBERED_TITLE.exec(heading) ?? [];
    if (id !== undefined) {
      add(id, heading.slice(before.length));
      section = { id, level: marks.length, items: 0 };
    } else if (section !== undefined && marks !== "" && marks.length <= section.level) section = undefined;
    const [marker = "", item] = NUMBERED_ITEM.exec(line) ?? [];
    if (section !== undefined && item !== undefined) {
      section.items += 1;
      // A list whose items all have the number 1 is shown with ascending ones.
      for (const number of [item, `${section.items}`]) add(`${section.id}.${number}`, line.slice(marker.length));
    }
    const [, code, rest = ""] = CODED_LINE.exec(line) ?? [];
    if (code !== undefined) add(code, rest);
  }
  return titles;
}

/** Returns the letters of a code such as `FR-001`, or `number`; undefined for a text. */
function kindOf(id: string): string | undefined {
  if (/^\d+(?:\.\d+)*$/.test(id)) return "number";
  return CODE.exec(id)?.[1]?.toLowerCase();
}

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

const HEADING = /^ {0,3}#{1,6}[ \t]/;
/** `Requirement 1: Log in`, `1.2 Log in`. */
const NUMBERED_TITLE = /^\W{0,4}(?:[a-z]{1,20}[ \t]+){0,2}(\d+(?:\.\d+)*)(?![\w-])/i;
const NUMBERED_ITEM = /^ {0,3}(\d{1,4})[.)][ \t]/;
/** `FR-001`, `NFR-SEC-2`, `AC1.2`. */
const CODE = String.raw`[A-Z]{1,12}(?:-[A-Z]{1,12}){0,3}-?\d{1,6}(?:\.\d{1,6}){0,4}(?!\w)`;
const ANY_ID = new RegExp(String.raw`\b\d{1,6}(?:\.\d{1,6}){1,4}(?!\w)|\b${CODE}`, "g");
/** A code at the beginning of a line, and what follows it. */
const CODED_LINE = new RegExp(`^[ \\t>#*_|\`-]{0,12}(${CODE})(.*)$`, "gm");

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
  const ids = new Set([...text.matchAll(ANY_ID)].map(([id]) => id.toLowerCase()));
  /** Titles whose items have no numbers: any part of theirs may be there. */
  const unnumbered = new Set<string>();
  for (const { id, title } of partsOf(text)) {
    ids.add(id);
    if (title === undefined) unnumbered.add(id);
    else unnumbered.delete(title);
  }
  const kinds = new Set([...ids].map(kindOf));
  return {
    has: (id: string) => ids.has(id.toLowerCase()) || unnumbered.has(id.replace(/\.\d+$/, "")),
    isKind: (id: string) => kinds.has(kindOf(id)),
  };
}

/**
 * Returns the titles of requirements by id, as far as the document has them: what follows the number of a heading or of an
 * item below it, or a code at the beginning of a line. The first one holds.
 */
export function requirementTitles(text: string): ReadonlyMap<string, string> {
  const titles = new Map<string, string>();
  const add = (id: string, words: string) => {
    const title = words.replace(/^[\s:.)\]*_|`–—-]+/, "").replace(/[\s*_|`]{1,12}$/, "");
    if (title !== "" && !titles.has(id)) titles.set(id, title);
  };
  for (const { id, words } of partsOf(text)) add(id, words);
  for (const [, code = "", words = ""] of text.matchAll(CODED_LINE)) add(code, words);
  return titles;
}

/** A numbered title, or a numbered item below one. */
interface Part {
  readonly id: string;
  /** What follows the number. */
  readonly words: string;
  /** The id of the title above an item. */
  readonly title?: string;
}

function partsOf(text: string): Part[] {
  let section: { readonly id: string; readonly level: number; items: number } | undefined;
  return text.split(/\r?\n/).flatMap((line): Part[] => {
    const marks = HEADING.exec(line)?.[0];
    if (marks !== undefined) {
      const level = marks.trim().length;
      const title = line.slice(marks.length);
      const [before = "", id] = NUMBERED_TITLE.exec(title) ?? [];
      if (id === undefined) {
        if (section !== undefined && level <= section.level) section = undefined;
        return [];
      }
      section = { id, level, items: 0 };
      return [{ id, words: title.slice(before.length) }];
    }
    const [marker = "", item] = NUMBERED_ITEM.exec(line) ?? [];
    if (section === undefined || item === undefined) return [];
    section.items += 1;
    const { id: title, items } = section;
    // A list whose items all have the number 1 is shown with ascending ones.
    return [item, `${items}`].map((number) => ({ id: `${title}.${number}`, words: line.slice(marker.length), title }));
  });
}

/** Returns the letters of a code such as `FR-001`; an empty text for a number, and another text as it is. */
function kindOf(id: string): string {
  const text = id.toLowerCase();
  const code = /^(?:([a-z]+(?:-[a-z]+)*)-?)?\d+(?:\.\d+)*$/.exec(text);
  return code === null ? text : (code[1] ?? "");
}

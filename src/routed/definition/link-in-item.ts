import { linksIn, type Targets } from "../../definition/markdown/links.js";

/** A longer item is no link with a few words. */
const ITEM_MAX = 2048;

/** A step's name, and where its file is. */
interface StepLink {
  readonly name: string;
  readonly target: string;
}

/**
 * Returns the first link of a list item's first paragraph that leads into `steps/`; undefined if there is none. `targets` says
 * where references lead: `[1]: steps/dig.md` for `[Dig][1]`.
 */
export function linkInItem(source: string, targets: Targets): StepLink | undefined {
  if (source.length > ITEM_MAX) return undefined;
  for (const link of linksIn(source, targets)) {
    const target = fileOf(link.target);
    if (/^(?:\.\/)?steps\//.test(target)) return { name: shownText(link.label), target };
  }
  return undefined;
}

/** The file that a link leads to, without the place in it: `%20` is a blank in its name. */
export function fileOf(url: string): string {
  const [file = ""] = decoded(url).split(/[#?]/, 1);
  return file;
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    // A `%` that belongs to the name.
    return url;
  }
}

/** What a label shows: without marks of code and emphasis, in one line. */
function shownText(label: string): string {
  const parts = label.split(/`+/);
  return parts
    .map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? part : withoutEmphasis(part)))
    .join("")
    .replace(/\s+/g, " ")
    .trim();
}

/** Marks between two letters or between two blanks are no emphasis. */
function withoutEmphasis(text: string): string {
  return text.replace(/\\(.)|[*_]+/gs, (run: string, escaped: string | undefined, at: number) => {
    if (escaped !== undefined) return /[\w\s]/.test(escaped) ? run : escaped;
    const around = `${text.charAt(at - 1) || " "}${text.charAt(at + run.length) || " "}`;
    return /^(?:[\p{L}\p{N}]{2}|\s\s)$/u.test(around) ? run : "";
  });
}

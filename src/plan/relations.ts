/** Finds dependencies in running text: ids of tasks beside a word for a dependency, `…, needs 1.1` or `T001 → T002`. */
import { ANY_ID } from "./ids.js";
import { JOIN_WORDS, type Vocabulary } from "./words.js";

/** A dependency in a text. An undefined side is the task that the text is about. */
export interface Relation {
  /** The text that names the tasks that wait. */
  readonly later?: string;
  /** The text that names what they wait for. */
  readonly needs?: string;
}

/** The dependencies in a text. */
export interface Relations {
  readonly relations: readonly Relation[];
  /** The words that may name a dependency and are not read: `needs 1.1 GB`, which is an amount. */
  readonly unread?: string | undefined;
}

/** Ids in a row: `T001-T003 and T005`. */
interface IdList {
  readonly start: number;
  end: number;
  /** True if the plan has one of them. */
  isKnown: boolean;
  /** True if the last one is a number with a noun behind it, which may be an amount. */
  isAmount: boolean;
}

const WORD = /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{N}_.@-])#?[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*/gu;
const ID = new RegExp(String.raw`^(?:${ANY_ID}|#\d+)(?:-(?:${ANY_ID}|\d+))?$`, "u");

/** Between two tasks: `1.1 → 1.2, 2.1 → 2.2` are two edges. */
const ARROW = /[→⇒]|[-=]>/;

/** How far a word for a dependency may be from an id, and one id of a list from the next, in characters. */
const NEAR = 80;

/** What may follow a number that is no amount: punctuation, another id, or what is said of a task. */
export const AFTER_NUMBER = new RegExp(
  String.raw`^\s*(?:$|[^\s\p{Script=Latin}\p{Script=Cyrillic}\p{N}%]|(?:${JOIN_WORDS}|or|then|is|are|was|were|be|been|has|have|lands?|done|complete[sd]?|finished|merged|ready|ist|sind|fertig|voraus|ab|est|sont|está|están|è|sono)(?![\p{L}\p{N}]))`,
  "iu",
);

const NEGATED = /(?:n['’]t|(?<!\p{L})(?:not|no longer|never|without|nicht|nie|ne|pas|no|não|non|не))\s+$/iu;

/** What may stand before a word for a dependency in a sentence about it: `must come after T001`, `this task can't start until …`. */
const AUXILIARY =
  /^[\s([{_-]*(?:(?:this|the|task|it|is|are|must|should|can|cannot|can['’]t|will|do|not|be|only|also|start|begin|run|come|blocked)\s+)*$/i;

const END_OF_SENTENCE = /[.;|](?=\s)|\s[·—]\s/;

/**
 * What a text is: the `line` of a task, a line of its `description`, or a line `about` dependencies, where a word stands
 * between two lists of tasks. In a description, `after T001` must begin a sentence: elsewhere it may be about anything.
 */
export type Place = "line" | "description" | "about";

/** Returns the dependencies in a text. It is about its task, unless another one is right before the word. */
export function relationsIn(
  text: string,
  words: Vocabulary,
  isId: (word: string) => boolean,
  place: Place = "line",
): Relations {
  const edges = text.split(/[,;]/);
  if (edges.length > 1 && edges.every((edge) => ARROW.test(edge))) {
    const all = edges.map((edge) => relationsIn(edge, words, isId, place));
    return { relations: all.flatMap(({ relations }) => relations), unread: all.find(({ unread }) => unread)?.unread };
  }
  const section = place === "about";
  const plain = text.replace(/\[([^[\]]*)\]\([^()]*\)/g, "$1").replace(/[*`]/g, "");
  const lists = idLists(plain, words, isId);
  const found: Relation[] = [];
  const unsure: string[] = [];
  let isDenied = false;
  for (const [index, list] of lists.entries()) {
    const last = lists[index - 1];
    const from = Math.max(last?.end ?? 0, list.start - NEAR);
    const between = plain.slice(from, list.start).split(END_OF_SENTENCE).at(-1) ?? "";
    const after = plain.slice(list.end, list.end + NEAR);
    const beside = words.relationBefore.exec(between);
    const isBehind = words.relationBehind.test(after);
    const kind = isBehind ? "needs" : words.relationIn(section && last !== undefined ? between : (beside?.[0] ?? ""));
    if (kind === undefined || (!section && !list.isKnown && (place !== "line" || /[^\s.)\]}_]/.test(after)))) continue;
    const own = plain.slice(list.start, list.end);
    const lead = between.slice(0, beside?.index);
    const isWeak = place === "description" && (isBehind || beside?.[1] !== undefined);
    isDenied ||= NEGATED.test(lead);
    if (NEGATED.test(lead) || (isWeak && !AUXILIARY.test(lead))) continue;
    if (list.isAmount) {
      unsure.push(`${beside?.[0] ?? ""}${own}${/^\s*\S*/.exec(after)?.[0]}`.trim());
      continue;
    }
    const isAbout = last !== undefined && (section || (from === last.end && AUXILIARY.test(lead)));
    const other = isAbout ? plain.slice(last.start, last.end) : undefined;
    const [later, needs] = kind === "needs" ? [other, own] : [own, other];
    if (!section || other !== undefined) {
      found.push({ ...(later !== undefined && { later }), ...(needs !== undefined && { needs }) });
    }
  }
  const isDone = !section || found.length > 0 || isDenied;
  const isUnread = !isDone && lists.some(({ isKnown }) => isKnown) && words.relationIn(plain) !== undefined;
  return { relations: found, unread: unsure[0] ?? (isUnread ? text : undefined) };
}

/** Returns the lists of ids in a text. */
function idLists(text: string, words: Vocabulary, isId: (word: string) => boolean): IdList[] {
  const lists: IdList[] = [];
  const phases: IdList[] = [];
  const rest = text.replace(words.phaseList, ({ length }, ...found) => {
    const start = Number(found.at(-2));
    phases.push({ start, end: start + length, isKnown: false, isAmount: false });
    return " ".repeat(length);
  });
  const ids = [...rest.matchAll(WORD)].flatMap(({ 0: word, index: start }) => {
    const end = start + word.length;
    const isKnown = isId(word) || isId(word.replace(/^#/, ""));
    const isAmount = /^[\d.]+$/.test(word) && !AFTER_NUMBER.test(text.slice(end, end + NEAR));
    const isRead = (isKnown || ID.test(word)) && !(isAmount && /^\d+$/.test(word));
    return isRead ? [{ start, end, isKnown, isAmount }] : [];
  });
  for (const list of [...phases, ...ids].sort((one, other) => one.start - other.start)) {
    const last = lists.at(-1);
    if (last !== undefined && list.start - last.end <= NEAR && words.joins.test(text.slice(last.end, list.start))) {
      Object.assign(last, { end: list.end, isKnown: last.isKnown || list.isKnown, isAmount: list.isAmount });
    } else {
      lists.push(list);
    }
  }
  return lists;
}

/** Returns the ids that texts name beside words for a dependency. */
export function idsNamed(
  texts: readonly { readonly text: string }[],
  words: Vocabulary,
  isId: (word: string) => boolean,
): string[] {
  return texts.flatMap(({ text }) =>
    relationsIn(text, words, isId).relations.flatMap(({ later, needs }) =>
      [...`${later ?? ""} ${needs ?? ""}`.matchAll(WORD)].flatMap(([word]) => (isId(word) ? [word] : [])),
    ),
  );
}

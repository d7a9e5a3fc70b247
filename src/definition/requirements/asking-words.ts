/** How sentences ask: with which words, and whether they take it back in the same breath. */
import { type MarkedText, withoutCode } from "./inline-marks.js";

/** What a sentence does with the names in it. */
export interface Asking {
  readonly kind: "required" | "optional" | "not";
  /** Where the names begin, and end. */
  readonly from: number;
  readonly to: number;
  /** Whether nothing stands behind the words that ask: what is asked for is the list or table after them. */
  readonly introduces: boolean;
}

const NOUNS = "(?:\\s+(?:evidence|fields?|values?|artifacts?|outputs?|items?|deliverables?))?";
const MUST =
  /\bmust(?:\s+(?:also|always|then|both|each))?\s+provide\b(?:\s+(?:the\s+)?(?:following|evidence)\b)*\s*:?/i;
const LABEL = new RegExp(`\\b(required|optional)${NOUNS}\\s*:`, "i");
const GATE_LABEL = /\b(?:evidence|checkpoint)(?:\s+(?:required|needed|to provide))?\s*:/i;
const PASSIVE = /\bmust\s+be\s+provided\b/i;
const GATE_PASSIVE = /\b(?:is|are)\s+(?:also\s+)?required\b/i;

/** Before the words that ask: "not required", "no evidence is required", "nobody must provide". */
const TAKEN_BACK = /\b(?:not|non|never|n['’]t|needn['’]t)[\s-]*(?:\w+\s+)?$/i;
/** The same, in the clause that the words stand in. */
const NOBODY = /(?:^\s*|\b(?:and|but|there is)\s+)(?:no|nothing|none|nobody|no one|neither)\b/i;
/** Behind them: "must provide nothing", "required: none". */
const NOTHING = /^\s*(?::\s*)?(?:nothing|none|no\b|n\/a\b|-\s*$)/i;
/** What is taken back later on: "`a` is not required". */
const NOT_NEEDED = /\b(?:not|n['’]t)\s+(?:be\s+)?(?:required|needed|necessary|provided)\b|\bneed\s+not\b/i;

/** How a sentence asks; undefined if it doesn't. `inGate` says that it stands below a gate's heading. */
export function askingOf(sentence: MarkedText, inGate: boolean): Asking | undefined {
  const text = withoutCode(sentence);
  const found = earliest(text, [MUST, LABEL, ...(inGate ? [GATE_LABEL] : [])]);
  if (found === undefined) return passive(text, inGate);
  const from = found.index + found[0].length;
  const rest = text.slice(from);
  const isNothing = isTakenBack(text.slice(0, found.index)) || NOTHING.test(rest);
  const kind = isNothing ? "not" : /optional/i.test(found[1] ?? "") ? "optional" : "required";
  return { kind, from, to: text.length, introduces: /^[\s:*]*$/.test(rest) && /:\s*$/.test(text) };
}

function passive(text: string, inGate: boolean): Asking | undefined {
  const found = PASSIVE.exec(text) ?? (inGate ? GATE_PASSIVE.exec(text) : null);
  if (found === null) return isNotNeeded(text) ? { kind: "not", from: 0, to: 0, introduces: false } : undefined;
  const isNot = isNotNeeded(text) || isTakenBack(text.slice(0, found.index));
  return { kind: isNot ? "not" : "required", from: 0, to: text.length, introduces: false };
}

function isTakenBack(before: string): boolean {
  return TAKEN_BACK.test(before) || NOBODY.test(before.split(/[,;:.]/).at(-1) ?? "");
}

/** "No evidence is required": both words stand in one clause. */
function isNotNeeded(text: string): boolean {
  if (NOT_NEEDED.test(text)) return true;
  return text.split(/[,;.]/).some((clause) => {
    const at = clause.search(/\b(?:no|nothing|none)\b/i);
    return at !== -1 && /\b(?:is|are)\s+required\b/i.test(clause.slice(at));
  });
}

function earliest(text: string, patterns: readonly RegExp[]): RegExpExecArray | undefined {
  const found = patterns.flatMap((pattern) => {
    const match = pattern.exec(text);
    return match === null ? [] : [match];
  });
  return found.sort((one, other) => one.index - other.index)[0];
}

/** Whether a sentence asks under a condition, which a list of fields can't say. */
export function isConditional({ plain }: MarkedText): boolean {
  return /^\W*(?:if|when|unless|in case|where)\b/i.test(plain);
}

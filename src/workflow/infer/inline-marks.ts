/** Reads the inline marks of a line in one pass: parsers take quadratic time over unclosed marks. */

export interface Mark {
  readonly kind: "code" | "strong" | "emphasis";
  readonly text: string;
  /** The position of its words in `plain`. */
  readonly start: number;
  readonly end: number;
}

/** A text without its marks, and the marks. */
export interface MarkedText {
  readonly plain: string;
  /** The marks in order; none is inside another. */
  readonly marks: readonly Mark[];
}

interface Opened {
  readonly sign: string;
  readonly start: number;
}

/** Reads the inline marks of a text. Line ends are kept. Never throws. */
export function readMarks(text: string): MarkedText {
  const source = simplified(text);
  const marks: Mark[] = [];
  const opened: Opened[] = [];
  let plain = "";
  let at = 0;
  while (at < source.length) {
    const code = codeAt(source, at);
    const sign = /^(?:\*\*|__|\*|_)/.exec(source.slice(at, at + 2))?.[0];
    if (code !== undefined) {
      marks.push({ kind: "code", text: code.text, start: plain.length, end: plain.length + code.text.length });
      plain += code.text;
      at = code.end;
    } else if (sign !== undefined && isDelimiter(source, at, sign, opened)) {
      toggle(sign, plain, opened, marks);
      at += sign.length;
    } else {
      const [taken, shown] = character(source, at);
      plain += shown;
      at += taken;
    }
  }
  return { plain, marks: outermost(marks) };
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&gt;": ">",
  "&lt;": "<",
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
  "&ge;": "≥",
  "&le;": "≤",
};

export function decoded(text: string): string {
  return text.replace(/&[a-z#0-9]{2,5};/g, (entity) => ENTITIES[entity] ?? entity);
}

/** Returns a text of the same length with its code spans blanked out. */
export function withoutCode({ plain, marks }: MarkedText): string {
  let text = plain;
  for (const { kind, start, end } of marks) {
    if (kind === "code") text = text.slice(0, start) + "\uFFFC".repeat(end - start) + text.slice(end);
  }
  return text;
}

export function partOf({ plain, marks }: MarkedText, start: number, end: number): MarkedText {
  return {
    plain: plain.slice(start, end),
    marks: marks
      .filter((mark) => mark.start >= start && mark.end <= end)
      .map((mark) => ({ ...mark, start: mark.start - start, end: mark.end - start })),
  };
}

/** Removes comments and addresses of links, and turns marks of HTML into those of Markdown. */
function simplified(text: string): string {
  return withoutComments(text)
    .replace(/<\/?code>/gi, "`")
    .replace(/<\/?(?:b|strong)>/gi, "**")
    .replace(/<br\s*\/?>/gi, "; ")
    .replace(/!?\[([^[\]\n]+)\](?:\([^()\n]*\)|\[[^[\]\n]*\])/g, "$1");
}

/** Returns a text without its comments; their line ends stay. */
export function withoutComments(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let start = text.indexOf("<!--"); start !== -1; start = text.indexOf("<!--", from)) {
    const end = text.indexOf("-->", start + 4);
    if (end === -1) break;
    parts.push(text.slice(from, start), text.slice(start, end).replace(/[^\n]+/g, ""));
    from = end + 3;
  }
  return parts.join("") + text.slice(from);
}

function codeAt(source: string, at: number): { readonly text: string; readonly end: number } | undefined {
  if (source[at] !== "`") return undefined;
  const fence = /^`+/.exec(source.slice(at, at + 8))?.[0] ?? "`";
  const start = at + fence.length;
  const end = source.indexOf(fence, start);
  if (end === -1) return undefined;
  return { text: source.slice(start, end).trim(), end: end + fence.length };
}

/** Checks whether a sign is a mark: it touches the marked text, and an underscore is at the border of a word. */
function isDelimiter(source: string, at: number, sign: string, opened: readonly Opened[]): boolean {
  const before = source[at - 1] ?? " ";
  const after = source[at + sign.length] ?? " ";
  const isWordy = (character: string) => /[\p{L}\p{N}_]/u.test(character);
  if (opened.some((open) => open.sign === sign)) return !/\s/.test(before) && !(sign[0] === "_" && isWordy(after));
  if (/\s/.test(after) || (sign[0] === "_" && isWordy(before))) return false;
  return source.includes(sign, at + sign.length + 1);
}

function character(source: string, at: number): readonly [taken: number, shown: string] {
  const character = source[at] ?? "";
  if (character === "\\" && /[!-/:-@[-`{-~]/.test(source[at + 1] ?? "")) return [2, source[at + 1] ?? ""];
  const entity = character === "&" ? (/^&[a-z#0-9]{2,5};/.exec(source.slice(at, at + 8))?.[0] ?? "") : "";
  const decoded = ENTITIES[entity];
  return decoded === undefined ? [1, character] : [entity.length, decoded];
}

function toggle(sign: string, plain: string, opened: Opened[], marks: Mark[]): void {
  const index = opened.findIndex((open) => open.sign === sign);
  const [open] = index === -1 ? [] : opened.splice(index, 1);
  if (open === undefined) {
    opened.push({ sign, start: plain.length });
    return;
  }
  const text = plain.slice(open.start);
  if (text.trim() === "") return;
  marks.push({ kind: sign.length === 2 ? "strong" : "emphasis", text, start: open.start, end: plain.length });
}

/** Returns marks in order. Of nested marks, code wins, else the outer one. */
function outermost(marks: readonly Mark[]): Mark[] {
  const codes = marks.filter(({ kind }) => kind === "code");
  const holds = (outer: Mark, inner: Mark) => outer !== inner && outer.start <= inner.start && inner.end <= outer.end;
  return marks
    .filter((mark) => mark.kind === "code" || !codes.some((code) => holds(mark, code)))
    .filter((mark) => mark.kind !== "emphasis" || !marks.some((other) => other.kind === "strong" && holds(other, mark)))
    .sort((one, other) => one.start - other.start);
}

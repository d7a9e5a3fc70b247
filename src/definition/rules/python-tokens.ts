/** A piece of a Python expression. */
export interface PythonToken {
  readonly kind: "name" | "number" | "string" | "sign" | "end";
  /** As it stands there; of a string, what it holds. */
  readonly text: string;
  /** Where it begins, in characters from the start of the text. */
  readonly at: number;
}

/** What in a text is no Python that can be read here. Never leaves this folder's readers. */
export class PythonFault extends Error {
  readonly at: number;
  /** Whether it is more than is read, rather than something else. */
  readonly isTooMuch: boolean;

  constructor(at: number, message: string, isTooMuch = false) {
    super(message);
    this.at = at;
    this.isTooMuch = isTooMuch;
  }
}

const SPACE = /[ \t\r\n]*(?:#[^\n]*(?:\n[ \t\r\n]*|$))*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:\.(?!\w))?(?:[eE][+-]?\d+)?/y;
const SIGN = /\*\*|\/\/|==|!=|<=|>=|<<|>>|:=|->|[-+*/%<>()[\]{},:.=|&^~@;!?$]/y;
const STRING = /("""|'''|"|')((?:\\[\s\S]|(?!\1)[^\\])*)\1/y;

/** The tokens of a Python expression. Throws `PythonFault`. */
export function pythonTokens(text: string): PythonToken[] {
  const tokens: PythonToken[] = [];
  let at = length(SPACE, text, 0);
  while (at < text.length) {
    const token = tokenAt(text, at);
    tokens.push(token);
    at = token.end;
    at += length(SPACE, text, at);
  }
  return [...tokens, { kind: "end", text: "the end", at }];
}

function tokenAt(text: string, at: number): PythonToken & { readonly end: number } {
  const name = found(NAME, text, at);
  const quote = text[at + (name?.length ?? 0)];
  if (name !== undefined && (quote === '"' || quote === "'")) {
    throw new PythonFault(at, `a text with ${name} before its quotes`);
  }
  if (name !== undefined) return { kind: "name", text: name, at, end: at + name.length };
  const string = found(STRING, text, at);
  if (string !== undefined) return { kind: "string", text: contentOf(string, at), at, end: at + string.length };
  const number = /^\.?\d/.test(text.slice(at, at + 2)) ? found(NUMBER, text, at) : undefined;
  if (number !== undefined) return { kind: "number", text: number, at, end: at + number.length };
  const sign = found(SIGN, text, at);
  if (sign !== undefined) return { kind: "sign", text: sign, at, end: at + sign.length };
  throw new PythonFault(at, `the character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`);
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

function contentOf(literal: string, at: number): string {
  const quote = literal.startsWith('"""') || literal.startsWith("'''") ? 3 : 1;
  if (quote === 1 && literal.includes("\n")) throw new PythonFault(at, "a text that doesn't end on its line");
  return literal.slice(quote, -quote).replace(/\\([\s\S])/g, (whole, escaped: string) => {
    const character = ESCAPES.get(escaped);
    if (character === undefined) throw new PythonFault(at, `the escape ${whole}`);
    return character;
  });
}

function found(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function length(pattern: RegExp, text: string, at: number): number {
  return found(pattern, text, at)?.length ?? 0;
}

/** The tokens and the syntax tree of the Python expressions that rules use, and the error for all others. */

/** Thrown for a lambda that can't be translated. It does not leave this folder. */
export class PythonFault extends Error {
  /** Position in the text, in characters. */
  readonly at: number;
  /** True if the text exceeds a limit. */
  readonly isTooMuch: boolean;

  constructor(at: number, message: string, isTooMuch = false) {
    super(message);
    this.at = at;
    this.isTooMuch = isTooMuch;
  }
}

/** Keywords of Python, which can't be names. */
export const WORDS = new Set(
  "and or not in is if else for lambda await async yield from import def class return None True False".split(" "),
);

/** A token of a Python expression. */
interface PythonToken {
  readonly kind: "name" | "number" | "string" | "sign" | "end";
  /** The text of the token; of a string, its content. */
  readonly text: string;
  /** Its position in the text, in characters. */
  readonly at: number;
}

const END: PythonToken = { kind: "end", text: "the end", at: 0 };

/** Walks through the tokens of a Python expression. */
export class PythonCursor {
  private readonly tokens: readonly PythonToken[];
  private position = 0;

  /** Throws `PythonFault` for a text that can't be split into tokens. */
  constructor(text: string) {
    this.tokens = pythonTokens(text);
  }

  /** Returns the token before the next one. */
  get last(): PythonToken | undefined {
    return this.tokens[this.position - 1];
  }

  /** Moves past the next token. */
  step(): void {
    this.position += 1;
  }

  /** Requires the end of the text. Throws `PythonFault` for anything else. */
  end(): void {
    if (this.token.kind !== "end") throw this.fault();
  }

  /** Moves past a name that is not a keyword, and returns it. Throws `PythonFault`. */
  name(): string {
    const { kind, text } = this.token;
    if (kind !== "name" || WORDS.has(text)) throw this.fault();
    this.step();
    return text;
  }

  /** Returns the next token. */
  get token(): PythonToken {
    return this.tokens[this.position] ?? END;
  }

  /** Checks whether the next token is this keyword or sign. */
  at(text: string): boolean {
    return this.token.text === text && (this.token.kind === "name" || this.token.kind === "sign");
  }

  /** Moves past a keyword or sign if it is next. */
  take(text: string): boolean {
    if (!this.at(text)) return false;
    this.step();
    return true;
  }

  /** Moves past the next token if it is one of these, and returns it. */
  takeAny(texts: readonly string[]): string | undefined {
    return texts.find((text) => this.take(text));
  }

  /** Requires a keyword or sign next. Throws `PythonFault`. */
  expect(text: string): void {
    if (!this.take(text)) throw this.fault();
  }

  /** Returns the error that the next token can't be read here. */
  fault(): PythonFault {
    const { kind, text, at } = this.token;
    return new PythonFault(at, kind === "end" ? "the end of the text" : text);
  }
}

interface Placed {
  /** Offset of its first character in the text. */
  readonly at: number;
}

/** One step of a comparison chain: `0 < x <= 10`. */
export interface Comparison {
  readonly sign: "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in" | "is" | "is not";
  readonly right: PythonNode;
}

/** An expression of the supported part of Python. */
export type PythonNode = Placed &
  (
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "constant"; readonly value: string | number | bigint | boolean | null }
    | { readonly kind: "list"; readonly items: readonly PythonNode[] }
    | { readonly kind: "dict"; readonly entries: readonly (readonly [PythonNode, PythonNode])[] }
    | { readonly kind: "attribute"; readonly of: PythonNode; readonly name: string }
    | { readonly kind: "subscript"; readonly of: PythonNode; readonly key: PythonNode }
    | { readonly kind: "call"; readonly callee: PythonNode; readonly args: readonly PythonNode[] }
    | { readonly kind: "not" | "minus"; readonly of: PythonNode }
    | { readonly kind: "arithmetic"; readonly sign: string; readonly left: PythonNode; readonly right: PythonNode }
    | { readonly kind: "compare"; readonly first: PythonNode; readonly rest: readonly Comparison[] }
    | { readonly kind: "and" | "or"; readonly items: readonly PythonNode[] }
    | { readonly kind: "choice"; readonly test: PythonNode; readonly yes: PythonNode; readonly no: PythonNode }
    | {
        /** `element for variable in range if condition`, inside of `all(…)` or `any(…)`. */
        readonly kind: "each";
        readonly element: PythonNode;
        readonly variable: string;
        readonly range: PythonNode;
        readonly conditions: readonly PythonNode[];
      }
  );

/** `lambda x, p: …`. */
export interface PythonLambda {
  readonly parameters: readonly string[];
  readonly body: PythonNode;
}

/** Returns the words for an expression that has no equivalent in CEL. */
export function nameOf(node: PythonNode): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "attribute":
      return `.${node.name}`;
    case "each":
      return "for … in";
    case "dict":
      return "a dict";
    default:
      return "this";
  }
}

const SPACE = /[ \t\r\n]*(?:#[^\n]*(?:\n[ \t\r\n]*|$))*/y;

/** Returns the tokens of a Python expression. Throws `PythonFault`. */
function pythonTokens(text: string): PythonToken[] {
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

function length(pattern: RegExp, text: string, at: number): number {
  return found(pattern, text, at)?.length ?? 0;
}

function found(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

const STRING = /("""|'''|"|')((?:\\[\s\S]|(?!\1)[^\\])*)\1/y;

const NUMBER = /0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:\.(?!\w))?(?:[eE][+-]?\d+)?/y;
const SIGN = /\*\*|\/\/|==|!=|<=|>=|<<|>>|:=|->|[-+*/%<>()[\]{},:.=|&^~@;!?$]/y;

function tokenAt(text: string, at: number): PythonToken & { readonly end: number } {
  const name = found(NAME, text, at);
  const quote = text[at + (name?.length ?? 0)];
  if (name !== undefined && (quote === '"' || quote === "'")) {
    throw new PythonFault(at, `the prefix ${name} of a text`);
  }
  if (name !== undefined) return { kind: "name", text: name, at, end: at + name.length };
  const string = found(STRING, text, at);
  if (string !== undefined) return { kind: "string", text: contentOf(string, at), at, end: at + string.length };
  const number = found(NUMBER, text, at);
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
  if (quote === 1 && literal.includes("\n")) throw new PythonFault(at, "a text across lines");
  return literal.slice(quote, -quote).replace(/\\([\s\S])/g, (whole, escaped: string) => {
    const character = ESCAPES.get(escaped);
    if (character === undefined) throw new PythonFault(at, `the escape ${whole}`);
    return character;
  });
}

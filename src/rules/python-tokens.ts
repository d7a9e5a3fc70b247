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

/** Words of Python, which are no names. */
export const WORDS = new Set(
  "and or not in is if else for lambda await async yield from import def class return None True False".split(" "),
);

/** A piece of a Python expression. */
interface PythonToken {
  readonly kind: "name" | "number" | "string" | "sign" | "end";
  /** As it stands there; of a string, what it holds. */
  readonly text: string;
  /** Where it begins, in characters from the start of the text. */
  readonly at: number;
}

const END: PythonToken = { kind: "end", text: "the end", at: 0 };

/** Goes through the tokens of a Python expression, from the first one on. */
export class PythonCursor {
  private readonly tokens: readonly PythonToken[];
  private position = 0;

  /** Throws `PythonFault` for a text that is not made of tokens. */
  constructor(text: string) {
    this.tokens = pythonTokens(text);
  }

  /** The token before the next one. */
  get last(): PythonToken | undefined {
    return this.tokens[this.position - 1];
  }

  /** Steps over the next token, whatever it is. */
  step(): void {
    this.position += 1;
  }

  /** Steps over the end. Throws `PythonFault` for anything else. */
  end(): void {
    if (this.token.kind !== "end") throw this.fault();
  }

  /** Steps over a name that is no word of the language. Throws `PythonFault`. */
  name(): string {
    const { kind, text } = this.token;
    if (kind !== "name" || WORDS.has(text)) throw this.fault();
    this.step();
    return text;
  }

  /** The token that comes next. */
  get token(): PythonToken {
    return this.tokens[this.position] ?? END;
  }

  /** Whether a word or sign comes next. */
  at(text: string): boolean {
    return this.token.text === text && (this.token.kind === "name" || this.token.kind === "sign");
  }

  /** Steps over a word or sign, where it comes next. */
  take(text: string): boolean {
    if (!this.at(text)) return false;
    this.step();
    return true;
  }

  takeAny(texts: readonly string[]): string | undefined {
    return texts.find((text) => this.take(text));
  }

  /** Steps over a word or sign that must come next. Throws `PythonFault`. */
  expect(text: string): void {
    if (!this.take(text)) throw this.fault();
  }

  /** That what comes next can't be read here. */
  fault(): PythonFault {
    const { kind, text, at } = this.token;
    return new PythonFault(at, kind === "end" ? "what is missing at its end" : text);
  }
}

interface Placed {
  /** Where it begins, in characters from the start of the text. */
  readonly at: number;
}

/** One step of a comparison, which may go on: `0 < x <= 10`. */
export interface Comparison {
  readonly sign: "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in" | "is" | "is not";
  readonly right: PythonNode;
}

/** An expression of the part of Python that is read. */
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

/** What a part is called where it has no twin. */
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

/** The tokens of a Python expression. Throws `PythonFault`. */
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

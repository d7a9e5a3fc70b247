/**
 * Reads the subset of Python expressions that rules use, by recursive descent over the grammar in
 * docs.python.org/3/reference/expressions.html. Nothing is evaluated.
 */

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

/** One step of a comparison chain: `0 < x <= 10`. */
export interface Comparison {
  readonly sign: string;
  readonly right: PythonNode;
}

/** An expression of the supported part of Python, with its position in the text. */
export type PythonNode = { readonly at: number } & (
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
interface PythonLambda {
  readonly parameters: readonly string[];
  readonly body: PythonNode;
}

/** Reads `lambda x: …`. Throws `PythonFault`. */
export function parseLambda(text: string): PythonLambda {
  const reader = new PythonReader(text);
  return reader.whole(() => reader.lambda());
}

/** Reads an expression. Throws `PythonFault`. */
export function parsePython(text: string): PythonNode {
  const reader = new PythonReader(text);
  return reader.whole(() => reader.expression());
}

/** Keywords of Python, which can't be names. */
const WORDS = new Set(
  "and or not in is if else for lambda await async yield from import def class return None True False".split(" "),
);

const CONSTANTS = new Map([
  ["None", null],
  ["True", true],
  ["False", false],
]);

interface PythonToken {
  readonly kind: "name" | "number" | "string" | "sign" | "end";
  /** The text of the token; of a string, its content. */
  readonly text: string;
  /** Its position in the text, in characters. */
  readonly at: number;
}

const SPACE = /[ \t\r\n]*(?:#[^\n]*(?:\n[ \t\r\n]*|$))*/y;

const TOKENS = {
  name: /[A-Za-z_][A-Za-z0-9_]*/y,
  string: /("""|'''|"|')((?:\\[\s\S]|(?!\1)[^\\])*)\1/y,
  number: /0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:\.(?!\w))?(?:[eE][+-]?\d+)?/y,
  sign: /\*\*|\/\/|==|!=|<=|>=|<<|>>|:=|->|[-+*/%<>()[\]{},:.=|&^~@;!?$]/y,
} as const;

/** Returns the tokens of a Python expression, without its end. Throws `PythonFault`. */
function pythonTokens(text: string): PythonToken[] {
  const tokens: PythonToken[] = [];
  let at = found(SPACE, text, 0).length;
  while (at < text.length) {
    const [kind, said] = tokenAt(text, at);
    tokens.push({ kind, text: kind === "string" ? contentOf(said, at) : said, at });
    at += said.length;
    at += found(SPACE, text, at).length;
  }
  return tokens;
}

/** Returns what a pattern matches at a position; nothing if it doesn't match. */
function found(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

function tokenAt(text: string, at: number): readonly [kind: PythonToken["kind"], said: string] {
  for (const kind of ["name", "string", "number", "sign"] as const) {
    const said = found(TOKENS[kind], text, at);
    if (said === "") continue;
    if (kind === "name" && /["']/.test(text.charAt(at + said.length))) {
      throw new PythonFault(at, `the prefix ${said} of a text`);
    }
    return [kind, said];
  }
  const [character] = text.slice(at);
  throw new PythonFault(at, `the character ${JSON.stringify(character)}`);
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\", "'": "'", '"': '"', n: "\n", r: "\r", t: "\t" };

function contentOf(literal: string, at: number): string {
  const quote = /^(?:"""|''')/.test(literal) ? 3 : 1;
  if (quote === 1 && literal.includes("\n")) throw new PythonFault(at, "a text across lines");
  return literal.slice(quote, -quote).replace(/\\([\s\S])/g, (whole, escaped: string) => {
    const character = ESCAPES[escaped];
    if (character === undefined) throw new PythonFault(at, `the escape ${whole}`);
    return character;
  });
}

function numberOf(text: string, at: number): number | bigint {
  const digits = text.replaceAll("_", "");
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new PythonFault(at, text);
  if (/[.eE]/.test(digits) && !/x/i.test(digits)) return value;
  if (!Number.isSafeInteger(value)) throw new PythonFault(at, `${text}, which is too large`);
  return BigInt(value);
}

/** Maximum nesting depth of expressions. */
const DEPTH_MAX = 20;
/** Maximum number of chained calls, keys, attributes and sums, as in `x[0][0][0]`: each holds all before it. */
const CHAINED_MAX = 500;

class PythonReader {
  readonly #tokens: readonly PythonToken[];
  readonly #length: number;
  #position = 0;
  #depth = 0;
  #chained = 0;

  constructor(text: string) {
    this.#tokens = pythonTokens(text);
    this.#length = text.length;
  }

  /** Reads all of the text. */
  whole<T>(read: () => T): T {
    const result = read();
    if (this.#token.kind !== "end") throw this.#fault();
    return result;
  }

  lambda(): PythonLambda {
    this.#expect("lambda");
    const parameters = [this.#name()];
    while (this.#take(",")) parameters.push(this.#name());
    this.#expect(":");
    return { parameters, body: this.expression() };
  }

  expression(): PythonNode {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new PythonFault(this.#token.at, `more than ${DEPTH_MAX} levels`, true);
    let node = this.#or();
    if (this.#take("if")) {
      const test = this.#or();
      this.#expect("else");
      node = { kind: "choice", at: node.at, test, yes: node, no: this.expression() };
    }
    this.#depth -= 1;
    return node;
  }

  get #token(): PythonToken {
    return this.#tokens[this.#position] ?? { kind: "end", text: "the end of the text", at: this.#length };
  }

  /** Returns the error that the next token can't be read here. */
  #fault(): PythonFault {
    return new PythonFault(this.#token.at, this.#token.text);
  }

  #next(): PythonToken {
    const token = this.#token;
    this.#position += 1;
    return token;
  }

  /** Moves past the next token if it is one of these keywords or signs, and returns it. */
  #take(...texts: readonly string[]): string | undefined {
    const { kind, text } = this.#token;
    return (kind === "name" || kind === "sign") && texts.includes(text) ? this.#next().text : undefined;
  }

  /** Requires a keyword or sign next. */
  #expect(text: string): void {
    if (this.#take(text) === undefined) throw this.#fault();
  }

  /** Moves past a name that is not a keyword. */
  #name(): string {
    if (this.#token.kind !== "name" || WORDS.has(this.#token.text)) throw this.#fault();
    return this.#next().text;
  }

  #or(): PythonNode {
    return this.#joined("or", () => this.#joined("and", () => this.#not()));
  }

  #joined(kind: "and" | "or", part: () => PythonNode): PythonNode {
    const first = part();
    const items = [first];
    while (this.#take(kind)) items.push(part());
    return items.length === 1 ? first : { kind, at: first.at, items };
  }

  #not(): PythonNode {
    const { at } = this.#token;
    let times = 0;
    while (this.#take("not")) times += 1;
    const node = this.#comparison();
    if (times === 0) return node;
    const once: PythonNode = { kind: "not", at, of: node };
    return times % 2 === 1 ? once : { kind: "not", at, of: once };
  }

  #comparison(): PythonNode {
    const first = this.#sum();
    const rest: Comparison[] = [];
    for (let sign = this.#comparator(); sign !== undefined; sign = this.#comparator()) {
      rest.push({ sign, right: this.#sum() });
    }
    return rest.length === 0 ? first : { kind: "compare", at: first.at, first, rest };
  }

  #comparator(): string | undefined {
    const sign = this.#take("==", "!=", "<=", ">=", "<", ">", "in", "is", "not");
    if (sign === "is") return this.#take("not") ? "is not" : "is";
    if (sign !== "not") return sign;
    this.#expect("in");
    return "not in";
  }

  #sum(): PythonNode {
    return this.#arithmetic(["+", "-"], () => this.#arithmetic(["*", "/", "%"], () => this.#signed()));
  }

  #arithmetic(signs: readonly string[], part: () => PythonNode): PythonNode {
    let left = part();
    for (let sign = this.#take(...signs); sign !== undefined; sign = this.#take(...signs)) {
      this.#chain();
      left = { kind: "arithmetic", at: left.at, sign, left, right: part() };
    }
    return left;
  }

  #chain(): void {
    this.#chained += 1;
    if (this.#chained <= CHAINED_MAX) return;
    throw new PythonFault(this.#token.at, `more than ${CHAINED_MAX} chained parts`, true);
  }

  #signed(): PythonNode {
    const { at } = this.#token;
    if (!this.#take("-")) return this.#postfix();
    const of = this.#postfix();
    if (of.kind === "constant" && (typeof of.value === "number" || typeof of.value === "bigint")) {
      return { kind: "constant", at, value: -of.value };
    }
    return { kind: "minus", at, of };
  }

  #postfix(): PythonNode {
    let node = this.#atom();
    for (; ; this.#chain()) {
      const { at } = node;
      if (this.#take(".")) node = { kind: "attribute", at, of: node, name: this.#name() };
      else if (this.#take("[")) {
        node = { kind: "subscript", at, of: node, key: this.expression() };
        this.#expect("]");
      } else if (this.#take("(")) node = { kind: "call", at, callee: node, args: this.#arguments() };
      else return node;
    }
  }

  #atom(): PythonNode {
    const { kind, text, at } = this.#token;
    const constant = kind === "name" ? CONSTANTS.get(text) : undefined;
    if (kind === "name" && constant === undefined) return { kind: "name", at, name: this.#name() };
    if (kind === "end" || (kind === "sign" && !"[{(".includes(text))) throw this.#fault();
    this.#next();
    if (constant !== undefined) return { kind: "constant", at, value: constant };
    if (kind === "number") return { kind: "constant", at, value: numberOf(text, at) };
    if (kind === "string") {
      let value = text;
      // Adjacent texts are one.
      while (this.#token.kind === "string") value += this.#next().text;
      return { kind: "constant", at, value };
    }
    if (text === "{") return { kind: "dict", at, entries: this.#listed("}", () => this.#entry()).items };
    // A tuple counts as a list.
    const { items, isTuple } = this.#listed(text === "[" ? "]" : ")", () => this.expression());
    const [only] = items;
    return only === undefined || isTuple || text === "[" ? { kind: "list", at, items } : only;
  }

  /** Reads parts separated by commas, and the sign that closes them. */
  #listed<T>(close: string, part: () => T): { readonly items: readonly T[]; readonly isTuple: boolean } {
    const items: T[] = [];
    let hasComma = false;
    while (!this.#isAt(close)) {
      items.push(part());
      hasComma = this.#take(",") !== undefined;
      if (!hasComma) break;
    }
    this.#expect(close);
    return { items, isTuple: items.length !== 1 || hasComma };
  }

  #isAt(sign: string): boolean {
    return this.#token.kind === "sign" && this.#token.text === sign;
  }

  #entry(): readonly [PythonNode, PythonNode] {
    const key = this.expression();
    this.#expect(":");
    return [key, this.expression()];
  }

  /** Reads the arguments of a call; the only one may be `element for variable in range if condition`. */
  #arguments(): readonly PythonNode[] {
    let count = 0;
    return this.#listed(")", () => {
      const element = this.expression();
      count += 1;
      if (count > 1 || !this.#take("for")) return element;
      return this.#each(element);
    }).items;
  }

  #each(element: PythonNode): PythonNode {
    const variable = this.#name();
    this.#expect("in");
    const range = this.#or();
    const conditions: PythonNode[] = [];
    while (this.#take("if")) conditions.push(this.#or());
    // Nothing may follow it in the call.
    if (!this.#isAt(")")) throw this.#fault();
    return { kind: "each", at: element.at, element, variable, range, conditions };
  }
}

/**
 * Reads the part of Python's expressions that rules are written in, by recursive descent over the grammar of
 * the language reference (docs.python.org/3/reference/expressions.html). Nothing is evaluated.
 */
import { PythonFault, type PythonToken, pythonTokens } from "./python-tokens.js";
import type { Comparison, PythonLambda, PythonNode } from "./python-tree.js";

/** How deep expressions may stand in one another. */
const DEPTH_MAX = 20;
const WORDS = new Set(
  "and or not in is if else for lambda await async yield from import def class return None True False".split(" "),
);

/** Reads `lambda x: …`. Throws `PythonFault`. */
export function parseLambda(text: string): PythonLambda {
  const reader = new PythonReader(pythonTokens(text));
  const lambda = reader.lambda();
  reader.end();
  return lambda;
}

/** Reads an expression. Throws `PythonFault`. */
export function parsePython(text: string): PythonNode {
  const reader = new PythonReader(pythonTokens(text));
  const node = reader.expression();
  reader.end();
  return node;
}

class PythonReader {
  private readonly tokens: readonly PythonToken[];
  private position = 0;
  private depth = 0;

  constructor(tokens: readonly PythonToken[]) {
    this.tokens = tokens;
  }

  lambda(): PythonLambda {
    this.expect("lambda");
    const parameters = [this.name()];
    while (this.take(",")) parameters.push(this.name());
    this.expect(":");
    return { parameters, body: this.expression() };
  }

  end(): void {
    if (this.token.kind !== "end") throw this.fault();
  }

  expression(): PythonNode {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) throw new PythonFault(this.token.at, `more than ${DEPTH_MAX} levels`);
    const yes = this.or();
    const node = this.take("if") ? this.choice(yes) : yes;
    this.depth -= 1;
    return node;
  }

  private choice(yes: PythonNode): PythonNode {
    const test = this.or();
    this.expect("else");
    return { kind: "choice", at: yes.at, test, yes, no: this.expression() };
  }

  private or(): PythonNode {
    return this.joined("or", () => this.joined("and", () => this.not()));
  }

  private joined(kind: "and" | "or", part: () => PythonNode): PythonNode {
    const first = part();
    const items = [first];
    while (this.take(kind)) items.push(part());
    return items.length === 1 ? first : { kind, at: first.at, items };
  }

  private not(): PythonNode {
    const { at } = this.token;
    let times = 0;
    while (this.take("not")) times += 1;
    const node = this.comparison();
    if (times === 0) return node;
    const once: PythonNode = { kind: "not", at, of: node };
    return times % 2 === 1 ? once : { kind: "not", at, of: once };
  }

  private comparison(): PythonNode {
    const first = this.sum();
    const rest: Comparison[] = [];
    for (let sign = this.comparator(); sign !== undefined; sign = this.comparator()) {
      rest.push({ sign, right: this.sum() });
    }
    return rest.length === 0 ? first : { kind: "compare", at: first.at, first, rest };
  }

  private comparator(): Comparison["sign"] | undefined {
    for (const sign of ["==", "!=", "<=", ">=", "<", ">", "in"] as const) if (this.take(sign)) return sign;
    if (this.take("is")) return this.take("not") ? "is not" : "is";
    if (this.token.text !== "not" || this.token.kind !== "name") return undefined;
    this.position += 1;
    this.expect("in");
    return "not in";
  }

  private sum(): PythonNode {
    return this.arithmetic(["+", "-"], () => this.arithmetic(["*", "/", "%"], () => this.signed()));
  }

  private arithmetic(signs: readonly string[], part: () => PythonNode): PythonNode {
    let left = part();
    for (let sign = this.takeAny(signs); sign !== undefined; sign = this.takeAny(signs)) {
      left = { kind: "arithmetic", at: left.at, sign, left, right: part() };
    }
    return left;
  }

  private signed(): PythonNode {
    const { at } = this.token;
    if (!this.take("-")) return this.postfix();
    const of = this.postfix();
    if (of.kind !== "constant" || (typeof of.value !== "number" && typeof of.value !== "bigint")) {
      return { kind: "minus", at, of };
    }
    return { kind: "constant", at, value: -of.value };
  }

  private postfix(): PythonNode {
    let node = this.atom();
    for (;;) {
      if (this.take(".")) node = { kind: "attribute", at: node.at, of: node, name: this.name() };
      else if (this.take("[")) node = { kind: "subscript", at: node.at, of: node, key: this.closed("]") };
      else if (this.take("(")) node = { kind: "call", at: node.at, callee: node, args: this.args() };
      else return node;
    }
  }

  private args(): PythonNode[] {
    const args = this.items(")");
    const [element] = args;
    if (element === undefined || args.length > 1 || !this.take("for")) {
      this.expect(")");
      return args;
    }
    const variable = this.name();
    this.expect("in");
    const range = this.or();
    const conditions: PythonNode[] = [];
    while (this.take("if")) conditions.push(this.or());
    this.expect(")");
    return [{ kind: "each", at: element.at, element, variable, range, conditions }];
  }

  private atom(): PythonNode {
    const { kind, text, at } = this.token;
    this.position += 1;
    if (kind === "string") return { kind: "constant", at, value: this.adjacent(text) };
    if (kind === "number") return { kind: "constant", at, value: numberOf(text, at) };
    if (kind === "name") {
      if (text === "True" || text === "False") return { kind: "constant", at, value: text === "True" };
      if (text === "None") return { kind: "constant", at, value: null };
      if (!WORDS.has(text)) return { kind: "name", at, name: text };
    }
    if (kind === "sign" && text === "[") return { kind: "list", at, items: this.list("]") };
    if (kind === "sign" && text === "{") return { kind: "dict", at, entries: this.entries() };
    if (kind === "sign" && text === "(") return this.parenthesis(at);
    this.position -= 1;
    throw this.fault();
  }

  /** Texts side by side are one. */
  private adjacent(first: string): string {
    let text = first;
    while (this.token.kind === "string") {
      text += this.token.text;
      this.position += 1;
    }
    return text;
  }

  /** One expression in parentheses, or a tuple, which is as good as a list. */
  private parenthesis(at: number): PythonNode {
    const items = this.items(")");
    const isTuple = items.length !== 1 || this.tokens[this.position - 1]?.text === ",";
    this.expect(")");
    const [only] = items;
    return only === undefined || isTuple ? { kind: "list", at, items } : only;
  }

  private list(close: string): PythonNode[] {
    const items = this.items(close);
    this.expect(close);
    return items;
  }

  private items(close: string): PythonNode[] {
    const items: PythonNode[] = [];
    while (!this.at(close)) {
      items.push(this.expression());
      if (!this.take(",")) break;
    }
    return items;
  }

  private entries(): (readonly [PythonNode, PythonNode])[] {
    const entries: (readonly [PythonNode, PythonNode])[] = [];
    while (!this.at("}")) {
      const key = this.expression();
      this.expect(":");
      entries.push([key, this.expression()]);
      if (!this.take(",")) break;
    }
    this.expect("}");
    return entries;
  }

  private closed(close: string): PythonNode {
    const node = this.expression();
    this.expect(close);
    return node;
  }

  private name(): string {
    const { kind, text } = this.token;
    if (kind !== "name" || WORDS.has(text)) throw this.fault();
    this.position += 1;
    return text;
  }

  private get token(): PythonToken {
    return this.tokens[this.position] ?? END;
  }

  private at(text: string): boolean {
    return this.token.text === text && (this.token.kind === "name" || this.token.kind === "sign");
  }

  private take(text: string): boolean {
    if (!this.at(text)) return false;
    this.position += 1;
    return true;
  }

  private takeAny(texts: readonly string[]): string | undefined {
    return texts.find((text) => this.take(text));
  }

  private expect(text: string): void {
    if (!this.take(text)) throw this.fault();
  }

  private fault(): PythonFault {
    const { kind, text, at } = this.token;
    return new PythonFault(at, kind === "end" ? "what is missing at its end" : text);
  }
}

const END: PythonToken = { kind: "end", text: "the end", at: 0 };

function numberOf(text: string, at: number): number | bigint {
  const digits = text.replaceAll("_", "");
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new PythonFault(at, text);
  if (/[.eE]/.test(digits) && !/^0x/i.test(digits)) return value;
  if (!Number.isSafeInteger(value)) throw new PythonFault(at, `${text}, which is too large`);
  return BigInt(value);
}

/**
 * Parses the subset of Python expressions that rules use, by recursive descent over the grammar in
 * docs.python.org/3/reference/expressions.html. Nothing is evaluated.
 */
import {
  type Comparison,
  PythonCursor,
  PythonFault,
  type PythonLambda,
  type PythonNode,
  WORDS,
} from "./python-tokens.js";

/** Reads `lambda x: …`. Throws `PythonFault`. */
export function parseLambda(text: string): PythonLambda {
  const reader = new PythonReader(text);
  const lambda = reader.lambda();
  reader.end();
  return lambda;
}

/** Reads an expression. Throws `PythonFault`. */
export function parsePython(text: string): PythonNode {
  const reader = new PythonReader(text);
  const node = reader.expression();
  reader.end();
  return node;
}

/** Maximum nesting depth of expressions. */
const DEPTH_MAX = 20;
/** Maximum number of chained calls, keys, attributes and sums, as in `x[0][0][0]`: each holds all before it. */
const CHAINED_MAX = 500;

class PythonReader {
  private readonly cursor: PythonCursor;
  private depth = 0;
  private chained = 0;

  constructor(text: string) {
    this.cursor = new PythonCursor(text);
  }

  end(): void {
    this.cursor.end();
  }

  lambda(): PythonLambda {
    this.cursor.expect("lambda");
    const parameters = [this.cursor.name()];
    while (this.cursor.take(",")) parameters.push(this.cursor.name());
    this.cursor.expect(":");
    return { parameters, body: this.expression() };
  }

  expression(): PythonNode {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) throw new PythonFault(this.cursor.token.at, `more than ${DEPTH_MAX} levels`, true);
    const yes = this.or();
    const node = this.cursor.take("if") ? this.choice(yes) : yes;
    this.depth -= 1;
    return node;
  }

  private choice(yes: PythonNode): PythonNode {
    const test = this.or();
    this.cursor.expect("else");
    return { kind: "choice", at: yes.at, test, yes, no: this.expression() };
  }

  or(): PythonNode {
    return this.joined("or", () => this.joined("and", () => this.not()));
  }

  private joined(kind: "and" | "or", part: () => PythonNode): PythonNode {
    const first = part();
    const items = [first];
    while (this.cursor.take(kind)) items.push(part());
    return items.length === 1 ? first : { kind, at: first.at, items };
  }

  private not(): PythonNode {
    const { at } = this.cursor.token;
    let times = 0;
    while (this.cursor.take("not")) times += 1;
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
    for (const sign of ["==", "!=", "<=", ">=", "<", ">", "in"] as const) if (this.cursor.take(sign)) return sign;
    if (this.cursor.take("is")) return this.cursor.take("not") ? "is not" : "is";
    if (this.cursor.token.text !== "not" || this.cursor.token.kind !== "name") return undefined;
    this.cursor.step();
    this.cursor.expect("in");
    return "not in";
  }

  private sum(): PythonNode {
    return this.arithmetic(["+", "-"], () => this.arithmetic(["*", "/", "%"], () => this.signed()));
  }

  private arithmetic(signs: readonly string[], part: () => PythonNode): PythonNode {
    let left = part();
    for (let sign = this.cursor.takeAny(signs); sign !== undefined; sign = this.cursor.takeAny(signs)) {
      this.chain();
      left = { kind: "arithmetic", at: left.at, sign, left, right: part() };
    }
    return left;
  }

  private signed(): PythonNode {
    const { at } = this.cursor.token;
    if (!this.cursor.take("-")) return this.postfix();
    const of = this.postfix();
    if (of.kind !== "constant" || (typeof of.value !== "number" && typeof of.value !== "bigint")) {
      return { kind: "minus", at, of };
    }
    return { kind: "constant", at, value: -of.value };
  }

  private postfix(): PythonNode {
    let node = readAtom(this.cursor, () => this.expression());
    for (; ; this.chain()) {
      if (this.cursor.take(".")) node = { kind: "attribute", at: node.at, of: node, name: this.cursor.name() };
      else if (this.cursor.take("[")) node = { kind: "subscript", at: node.at, of: node, key: this.key() };
      else if (this.cursor.take("("))
        node = { kind: "call", at: node.at, callee: node, args: readArguments(this.cursor, this) };
      else return node;
    }
  }

  private chain(): void {
    this.chained += 1;
    if (this.chained <= CHAINED_MAX) return;
    throw new PythonFault(this.cursor.token.at, `more than ${CHAINED_MAX} chained parts`, true);
  }

  private key(): PythonNode {
    const key = this.expression();
    this.cursor.expect("]");
    return key;
  }
}

/** Reads an expression at the cursor. */
type ReadExpression = () => PythonNode;

/** Reads a name, a constant, a list, a dict, or an expression in parentheses. Throws `PythonFault`. */
function readAtom(cursor: PythonCursor, expression: ReadExpression): PythonNode {
  const { kind, text, at } = cursor.token;
  if (kind === "end" || (kind === "sign" && !"[{(".includes(text))) throw cursor.fault();
  if (kind === "name") return nameOrConstant(cursor);
  cursor.step();
  if (kind === "string") return { kind: "constant", at, value: adjacent(cursor, text) };
  if (kind === "number") return { kind: "constant", at, value: numberOf(text, at) };
  if (text === "[") return { kind: "list", at, items: readItems(cursor, "]", expression) };
  if (text === "{") return { kind: "dict", at, entries: readEntries(cursor, expression) };
  return readParenthesis(cursor, at, expression);
}

function nameOrConstant(cursor: PythonCursor): PythonNode {
  const { text, at } = cursor.token;
  if (text === "True" || text === "False" || text === "None") {
    cursor.step();
    return { kind: "constant", at, value: text === "None" ? null : text === "True" };
  }
  if (WORDS.has(text)) throw cursor.fault();
  cursor.step();
  return { kind: "name", at, name: text };
}

/** Joins adjacent texts into one. */
function adjacent(cursor: PythonCursor, first: string): string {
  let text = first;
  for (let { token } = cursor; token.kind === "string"; { token } = cursor) {
    text += token.text;
    cursor.step();
  }
  return text;
}

function numberOf(text: string, at: number): number | bigint {
  const digits = text.replaceAll("_", "");
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new PythonFault(at, text);
  if (/[.eE]/.test(digits) && !/^0x/i.test(digits)) return value;
  if (!Number.isSafeInteger(value)) throw new PythonFault(at, `${text}, which is too large`);
  return BigInt(value);
}

function readItems(cursor: PythonCursor, close: string, expression: ReadExpression): PythonNode[] {
  const items = readList(cursor, close, expression);
  cursor.expect(close);
  return items;
}

/** Reads expressions separated by commas, up to a sign that is not consumed. */
function readList(cursor: PythonCursor, close: string, expression: ReadExpression): PythonNode[] {
  const items: PythonNode[] = [];
  while (!cursor.at(close)) {
    items.push(expression());
    if (!cursor.take(",")) break;
  }
  return items;
}

function readEntries(cursor: PythonCursor, expression: ReadExpression): (readonly [PythonNode, PythonNode])[] {
  const entries: (readonly [PythonNode, PythonNode])[] = [];
  while (!cursor.at("}")) {
    const key = expression();
    cursor.expect(":");
    entries.push([key, expression()]);
    if (!cursor.take(",")) break;
  }
  cursor.expect("}");
  return entries;
}

/** Reads one expression in parentheses, or a tuple, which counts as a list. */
function readParenthesis(cursor: PythonCursor, at: number, expression: ReadExpression): PythonNode {
  const items = readList(cursor, ")", expression);
  const isTuple = items.length !== 1 || cursor.last?.text === ",";
  cursor.expect(")");
  const [only] = items;
  return only === undefined || isTuple ? { kind: "list", at, items } : only;
}

/** Reads at the cursor: any expression, or one that ends before a bare `if`. */
interface Read {
  expression(): PythonNode;
  or(): PythonNode;
}

/** Reads the arguments of a call, up to the closing parenthesis. Throws `PythonFault`. */
function readArguments(cursor: PythonCursor, read: Read): PythonNode[] {
  const args = readList(cursor, ")", () => read.expression());
  const [element] = args;
  if (element === undefined || args.length > 1 || !cursor.take("for")) {
    cursor.expect(")");
    return args;
  }
  const variable = cursor.name();
  cursor.expect("in");
  const range = read.or();
  const conditions: PythonNode[] = [];
  while (cursor.take("if")) conditions.push(read.or());
  cursor.expect(")");
  return [{ kind: "each", at: element.at, element, variable, range, conditions }];
}

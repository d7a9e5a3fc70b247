import { type PythonCursor, WORDS } from "./python-cursor.js";
import { PythonFault } from "./python-tokens.js";
import type { PythonNode } from "./python-tree.js";

/** Reads an expression, from where a cursor stands. */
type ReadExpression = () => PythonNode;

/** Reads what is no operation: a name, a constant, a list, a dict, what stands in parentheses. Throws `PythonFault`. */
export function readAtom(cursor: PythonCursor, expression: ReadExpression): PythonNode {
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

/** Expressions with commas between them, up to a sign that is left standing. */
export function readList(cursor: PythonCursor, close: string, expression: ReadExpression): PythonNode[] {
  const items: PythonNode[] = [];
  while (!cursor.at(close)) {
    items.push(expression());
    if (!cursor.take(",")) break;
  }
  return items;
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

/** Texts side by side are one. */
function adjacent(cursor: PythonCursor, first: string): string {
  let text = first;
  for (let { token } = cursor; token.kind === "string"; { token } = cursor) {
    text += token.text;
    cursor.step();
  }
  return text;
}

function readItems(cursor: PythonCursor, close: string, expression: ReadExpression): PythonNode[] {
  const items = readList(cursor, close, expression);
  cursor.expect(close);
  return items;
}

/** One expression in parentheses, or a tuple, which is as good as a list. */
function readParenthesis(cursor: PythonCursor, at: number, expression: ReadExpression): PythonNode {
  const items = readList(cursor, ")", expression);
  const isTuple = items.length !== 1 || cursor.last?.text === ",";
  cursor.expect(")");
  const [only] = items;
  return only === undefined || isTuple ? { kind: "list", at, items } : only;
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

function numberOf(text: string, at: number): number | bigint {
  const digits = text.replaceAll("_", "");
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new PythonFault(at, text);
  if (/[.eE]/.test(digits) && !/^0x/i.test(digits)) return value;
  if (!Number.isSafeInteger(value)) throw new PythonFault(at, `${text}, which is too large`);
  return BigInt(value);
}

/**
 * Changes of JSON and JSONC texts that keep everything else as it is: comments, order, indentation, line ends and trailing
 * commas. A value is only ever inserted, as the last one of its object or list, so that cutting the insertions out again
 * gives back the text that was there. The edits of jsonc-parser would part a value from the comment behind it.
 */
import {
  createScanner,
  type Edit,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  stripComments,
} from "jsonc-parser";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";

/** Where a value is: the keys that lead to it. The value of an `item` is an element of the list at the keys. */
export interface JsonPlace {
  readonly keys: readonly string[];
  /** Recognizes the element; missing for the value of a property. */
  readonly isOurs?: (value: unknown) => boolean;
}

/** Says why a text can't be changed at a place, and where; undefined if it can. A blank text can. */
export function jsonProblem(text: string, { keys, isOurs }: JsonPlace): string | undefined {
  if (isBlank(text)) return undefined;
  const errors: ParseError[] = [];
  let node = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (node === undefined || error !== undefined) {
    const what = error === undefined ? "it has no value" : words(printParseErrorCode(error.error));
    return `it is not JSON: ${what} in line ${lineAt(text, error?.offset ?? 0)}`;
  }
  for (const [depth, key] of keys.entries()) {
    if (node.type !== "object") return `${nameOf(keys, depth)} is not an object (line ${lineAt(text, node.offset)})`;
    const [property, twice]: Node[] = (node.children ?? []).filter(({ children }) => children?.[0]?.value === key);
    if (twice !== undefined) return `the key ${key} is there twice (line ${lineAt(text, twice.offset)})`;
    node = property?.children?.[1];
    if (node === undefined) return undefined;
  }
  if (isOurs === undefined || node.type === "array") return undefined;
  return `${nameOf(keys, keys.length)} is not a list (line ${lineAt(text, node.offset)})`;
}

function nameOf(keys: readonly string[], depth: number): string {
  return depth === 0 ? "its value" : keys.slice(0, depth).join(".");
}

/** Returns the value at a place; undefined if there is none. The text must have no {@link jsonProblem}. */
export function findJson(text: string, place: JsonPlace): JsonValue | undefined {
  const node = locate(text, place);
  return node && getNodeValue(node);
}

/** What makes a text have a value, and how many objects and lists are made around the value. */
export interface Addition {
  readonly edits: Edit[];
  readonly made: number;
}

/** Returns what to insert so that the value is at the place. A blank text becomes `blank` with the value in it. */
export function addJson(text: string, { keys, isOurs }: JsonPlace, value: JsonValue, blank: JsonObject): Addition {
  const style = styleOf(text);
  const element = isOurs === undefined ? value : [value];
  if (isBlank(text)) {
    const [first = "", ...rest] = keys;
    const whole = written({ ...blank, [first]: nested(rest, element) }, "", style);
    return { edits: [{ offset: 0, length: 0, content: `${whole}${text === "" ? style.eol : ""}` }], made: 0 };
  }
  const depth = keys.findLastIndex((_, index) => locate(text, { keys: keys.slice(0, index + 1) }) !== undefined) + 1;
  const container = locate(text, { keys: keys.slice(0, depth) });
  if (container === undefined) throw new TypeError("the text was not checked before");
  const [key, ...steps] = keys.slice(depth);
  const content = key === undefined ? value : nested(steps, element);
  const made = keys.length - depth - (isOurs === undefined ? 1 : 0);
  return { edits: insertInto(text, container, key, content, style), made };
}

export function replaceJson(text: string, place: JsonPlace, value: JsonValue): Edit | undefined {
  const node = locate(text, place);
  if (node === undefined) return undefined;
  const { offset, length } = node;
  const isFlat = !text.slice(offset, offset + length).includes("\n");
  return { offset, length, content: isFlat ? flat(value) : written(value, indentAt(text, offset), styleOf(text)) };
}

/** Removes the value at a place, and up to `made` objects and lists around it that are empty then. */
export function removeJson(text: string, place: JsonPlace, made: number): string {
  const node = locate(text, place);
  if (node === undefined) return text;
  const isItem = place.isOurs !== undefined;
  let next = cutNode(text, isItem ? node : (node.parent ?? node));
  const parents = isItem ? place.keys : place.keys.slice(0, -1);
  for (let depth = parents.length; depth > 0 && parents.length - depth < made; depth -= 1) {
    const parent = locate(next, { keys: parents.slice(0, depth) });
    // A comment in it is somebody's.
    if (parent === undefined || !isBlank(next.slice(parent.offset + 1, parent.offset + parent.length - 1))) break;
    next = cutNode(next, parent.parent ?? parent);
  }
  return next;
}

/** Checks whether a text has no more in it than `blank`, apart from empty objects and lists. */
export function isJsonLeftover(text: string, blank: JsonObject): boolean {
  if (isBlank(text)) return true;
  if (stripComments(text) !== text || jsonProblem(text, { keys: [] }) !== undefined) return false;
  return pruned(findJson(text, { keys: [] })) === pruned(blank);
}

/** Returns a value as JSON without its empty objects and lists. */
function pruned(value: JsonValue | undefined): string {
  const isEmpty = (inner: unknown) =>
    Array.isArray(inner) ? inner.length === 0 : isJsonObject(inner) && Object.keys(inner).length === 0;
  return JSON.stringify(JSON.parse(JSON.stringify(value), (_, inner) => (isEmpty(inner) ? undefined : inner)));
}

/** Returns a value with objects around it. */
export function nested(keys: readonly string[], value: JsonValue): JsonValue {
  return keys.reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), value);
}

function locate(text: string, { keys, isOurs }: JsonPlace): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const node = root && findNodeAtLocation(root, [...keys]);
  return isOurs === undefined ? node : node?.children?.find((child) => isOurs(getNodeValue(child)));
}

/** How a text is laid out. */
interface Style {
  readonly eol: string;
  readonly unit: string;
}

function styleOf(text: string): Style {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const indented = text.split("\n").find((line) => /^[\t ]+["}\]{[]/.test(line)) ?? "  ";
  return { eol, unit: indented.startsWith("\t") ? "\t" : indented.slice(0, indented.search(/[^ ]|$/)) };
}

/** The longest line with a list in it. A longer list has a line for each element. */
const LINE_MAX = 120;

/** Returns a value as JSON over several lines, all but the first with the indentation before them. */
function written(value: JsonValue, indent: string, style: Style): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = indent + style.unit;
  const isList = Array.isArray(value);
  if (isList && value.every((one) => typeof one !== "object")) {
    const line = flat(value);
    if (inner.length + line.length <= LINE_MAX) return line;
  }
  const parts = isList
    ? value.map((one) => written(one, inner, style))
    : Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${written(one, inner, style)}`);
  const [open, close] = isList ? "[]" : "{}";
  if (parts.length === 0) return `${open}${close}`;
  const lines = parts.map((part) => `${style.eol}${inner}${part}`).join(",");
  return `${open}${lines}${style.eol}${indent}${close}`;
}

/** Returns a value as JSON in one line, with blanks as people write them. */
export function flat(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${flat(inner)}`);
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

function insertInto(text: string, container: Node, key: string | undefined, value: JsonValue, style: Style): Edit[] {
  const { children = [], offset, length } = container;
  const close = offset + length - 1;
  const end = text.slice(0, close).trimEnd().length;
  const [first, last] = [children[0], children.at(-1)];
  const comma = last && commaAfter(text, last, close);
  const before = key === undefined ? "" : `${JSON.stringify(key)}: `;
  const tail = comma === undefined ? "" : ",";
  const insert = (at: number, content: string): Edit => ({ offset: at, length: 0, content });
  const added = last !== undefined && comma === undefined ? [insert(last.offset + last.length, ",")] : [];
  const isFlat = last !== undefined && !text.slice(offset, close).includes("\n");
  if (isFlat) return [...added, insert(end, ` ${before}${flat(value)}${tail}`)];
  const outer = indentAt(text, offset);
  const startsLine = first !== undefined && isBlank(lineBefore(text, first.offset));
  const indent = startsLine ? indentAt(text, first.offset) : outer + style.unit;
  const closing = text.slice(end, close).includes("\n") ? "" : `${style.eol}${outer}`;
  return [...added, insert(end, `${style.eol}${indent}${before}${written(value, indent, style)}${tail}${closing}`)];
}

/** Cuts a property or an element out, with the comma that separates it and the line that it has for itself. */
function cutNode(text: string, node: Node): string {
  const { parent } = node;
  if (parent === undefined) return text;
  const siblings = parent.children ?? [];
  const close = parent.offset + parent.length - 1;
  const end = node.offset + node.length;
  const start = text.slice(0, node.offset).trimEnd().length;
  const after = commaAfter(text, node, close);
  const previous = siblings[siblings.indexOf(node) - 1];
  const between = after === undefined && previous !== undefined ? commaAfter(text, previous, node.offset) : undefined;
  let next = text;
  if (after !== undefined) next = next.slice(0, after) + next.slice(after + 1);
  next = next.slice(0, start) + next.slice(end);
  if (between !== undefined) next = next.slice(0, between) + next.slice(between + 1);
  const [open, shut] = [parent.offset + 1, close - (text.length - next.length)];
  return isBlank(next.slice(open, shut)) ? next.slice(0, open) + next.slice(shut) : next;
}

/** Returns the offset of the comma after a node, before `limit`; undefined if there is none. Comments are skipped. */
function commaAfter(text: string, node: Node, limit: number): number | undefined {
  const from = node.offset + node.length;
  const scanner = createScanner(text.slice(from, limit), true);
  scanner.scan();
  const offset = from + scanner.getTokenOffset();
  return offset < limit && text[offset] === "," ? offset : undefined;
}

function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
}

/** Returns the white space that the line of an offset begins with. */
function indentAt(text: string, offset: number): string {
  const line = lineBefore(text, offset);
  return line.slice(0, line.search(/[^\t ]|$/));
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** Turns the name of a parse error into words: `CloseBraceExpected` into `close brace expected`. */
function words(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/**
 * Changes of JSON and JSONC texts that keep everything else as it is: comments, order, indentation, line ends and trailing
 * commas. A value is only ever inserted, as the last one of its object or list, so that cutting the insertions out again
 * gives back the text that was there.
 */
import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode, visit } from "jsonc-parser";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { Insertion } from "./changes.js";

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
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (root === undefined || error !== undefined) {
    const what = error === undefined ? "it has no value" : words(printParseErrorCode(error.error));
    return `it is not JSON: ${what} in line ${lineAt(text, error?.offset ?? 0)}`;
  }
  let node: Node | undefined = root;
  for (const [depth, key] of [...keys, undefined].entries()) {
    const isList = key === undefined && isOurs !== undefined;
    if (key === undefined && !isList) return undefined;
    const name = depth === 0 ? "its value" : keys.slice(0, depth).join(".");
    if (node.type !== (isList ? "array" : "object")) {
      return `${name} is not ${isList ? "a list" : "an object"} (line ${lineAt(text, node.offset)})`;
    }
    if (key === undefined) return undefined;
    const [property, twice] = propertiesOf(node, key);
    if (twice !== undefined) return `the key ${key} is there twice (line ${lineAt(text, twice.offset)})`;
    node = property?.children?.[1];
    if (node === undefined) return undefined;
  }
  return undefined;
}

/** Returns the value at a place; undefined if there is none. The text must have no {@link jsonProblem}. */
export function findJson(text: string, place: JsonPlace): JsonValue | undefined {
  const node = locate(text, place);
  return node === undefined ? undefined : jsonOf(node);
}

/**
 * Returns what to insert so that the value is at the place, and how many objects and lists are made around it. A blank text
 * becomes `blank` with the value in it.
 */
export function addJson(
  text: string,
  place: JsonPlace,
  value: JsonValue,
  blank: JsonObject,
): { readonly insertions: readonly Insertion[]; readonly made: number } {
  const style = styleOf(text);
  const { keys, isOurs } = place;
  if (isBlank(text)) {
    const whole = structuredClone(blank);
    put(whole, keys, value, isOurs !== undefined);
    const document = `${written(whole, "", style)}${text === "" ? style.eol : ""}`;
    return { insertions: [{ offset: 0, text: document }], made: 0 };
  }
  let container = rootOf(text);
  let depth = 0;
  for (; depth < keys.length; depth += 1) {
    const next = childOf(container, keys[depth] ?? "");
    if (next === undefined) break;
    container = next;
  }
  const missing = keys.slice(depth);
  const [key] = missing;
  const steps = missing.slice(1);
  const inner = isOurs !== undefined && key !== undefined ? [value] : value;
  const content = steps.reduceRight<JsonValue>((nested, step) => ({ [step]: nested }), inner);
  const made = missing.length - (isOurs === undefined ? 1 : 0);
  return { insertions: insertInto(text, container, key, content, style), made };
}

/** Replaces the value at a place. The text must have one. */
export function replaceJson(text: string, place: JsonPlace, value: JsonValue): string {
  const node = locate(text, place);
  if (node === undefined) return text;
  const style = styleOf(text);
  const isFlat = !text.slice(node.offset, node.offset + node.length).includes("\n");
  const next = isFlat ? flat(value) : written(value, indentAt(text, node.offset), style);
  return text.slice(0, node.offset) + next + text.slice(node.offset + node.length);
}

/** Removes the value at a place, and up to `made` objects and lists around it that are empty then. */
export function removeJson(text: string, { keys, isOurs }: JsonPlace, made: number): string {
  const node = locate(text, { keys, ...(isOurs && { isOurs }) });
  if (node === undefined) return text;
  let next = cutNode(text, isOurs === undefined ? (node.parent ?? node) : node);
  const parents = isOurs === undefined ? keys.slice(0, -1) : keys;
  for (let depth = parents.length; depth > 0 && parents.length - depth < made; depth -= 1) {
    const parent = locate(next, { keys: parents.slice(0, depth) });
    if (parent === undefined || (parent.children ?? []).length > 0 || hasComment(next, parent)) break;
    next = cutNode(next, parent.parent ?? parent);
  }
  return next;
}

/** Checks whether a text has no more in it than `blank`, apart from empty objects and lists. */
export function isJsonLeftover(text: string, blank: JsonObject): boolean {
  if (isBlank(text)) return true;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  if (root === undefined || errors.length > 0 || anyComment(text)) return false;
  const value = jsonOf(root);
  return isJsonObject(value) && JSON.stringify(pruned(value)) === JSON.stringify(pruned(blank));
}

function pruned(value: JsonObject): JsonObject {
  const kept = Object.entries(value).flatMap(([key, inner]): [string, JsonValue][] => {
    if (Array.isArray(inner)) return inner.length === 0 ? [] : [[key, inner]];
    if (!isJsonObject(inner)) return [[key, inner]];
    const rest = pruned(inner);
    return Object.keys(rest).length === 0 ? [] : [[key, rest]];
  });
  return Object.fromEntries(kept);
}

function rootOf(text: string): Node {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new TypeError("the text was not checked before");
  return root;
}

function locate(text: string, { keys, isOurs }: JsonPlace): Node | undefined {
  if (isBlank(text)) return undefined;
  let node: Node | undefined = rootOf(text);
  for (const key of keys) node = node === undefined ? undefined : childOf(node, key);
  if (isOurs === undefined) return node;
  return node?.children?.find((child) => isOurs(jsonOf(child)));
}

function propertiesOf(node: Node, key: string): Node[] {
  return node.type === "object" ? (node.children ?? []).filter((one) => one.children?.[0]?.value === key) : [];
}

function childOf(node: Node, key: string): Node | undefined {
  return propertiesOf(node, key)[0]?.children?.[1];
}

function jsonOf(node: Node): JsonValue {
  if (node.type === "array") return (node.children ?? []).map(jsonOf);
  if (node.type !== "object") return node.value;
  return Object.fromEntries(
    (node.children ?? []).flatMap(({ children }): [string, JsonValue][] => {
      const [key, value] = children ?? [];
      return key === undefined || value === undefined ? [] : [[key.value, jsonOf(value)]];
    }),
  );
}

/** Puts a value into an object, with the objects and the list that lead to it. */
function put(whole: JsonObject, keys: readonly string[], value: JsonValue, isItem: boolean): void {
  let inner = whole;
  const last = keys.at(-1) ?? "";
  for (const key of keys.slice(0, -1)) {
    const found = inner[key];
    const next = isJsonObject(found) ? found : {};
    inner[key] = next;
    inner = next;
  }
  inner[last] = isItem ? [value] : value;
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
function flat(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${flat(inner)}`);
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

function insertInto(
  text: string,
  container: Node,
  key: string | undefined,
  value: JsonValue,
  style: Style,
): Insertion[] {
  const children = container.children ?? [];
  const open = container.offset + 1;
  const close = container.offset + container.length - 1;
  const inner = text.slice(open, close);
  const end = open + inner.trimEnd().length;
  const [first] = children;
  const last = children.at(-1);
  const comma = last === undefined ? undefined : commaAfter(text, last, close);
  const before = key === undefined ? "" : `${JSON.stringify(key)}: `;
  const tail = comma === undefined ? "" : ",";
  const isFlat = last !== undefined && !text.slice(container.offset, close).includes("\n");
  const added: Insertion[] = [];
  if (last !== undefined && comma === undefined) added.push({ offset: last.offset + last.length, text: "," });
  if (isFlat) return [...added, { offset: end, text: ` ${before}${flat(value)}${tail}` }];
  const outer = indentAt(text, container.offset);
  const indent =
    first === undefined || !startsLine(text, first.offset) ? outer + style.unit : indentAt(text, first.offset);
  const closing = text.slice(end, close).includes("\n") ? "" : `${style.eol}${outer}`;
  const lines = written(value, indent, style);
  added.push({ offset: end, text: `${style.eol}${indent}${before}${lines}${tail}${closing}` });
  return added;
}

/** Cuts a property or an element out, with the comma that separates it and the line that it has for itself. */
function cutNode(text: string, node: Node): string {
  const parent = node.parent;
  if (parent === undefined) return text;
  const siblings = parent.children ?? [];
  const close = parent.offset + parent.length - 1;
  const end = node.offset + node.length;
  const start = text.slice(0, node.offset).trimEnd().length;
  const after = commaAfter(text, node, close);
  const previous = siblings[siblings.indexOf(node) - 1];
  const between = after !== undefined || previous === undefined ? undefined : commaAfter(text, previous, node.offset);
  let next = text;
  if (after !== undefined) next = next.slice(0, after) + next.slice(after + 1);
  next = next.slice(0, start) + next.slice(end);
  if (between !== undefined) next = next.slice(0, between) + next.slice(between + 1);
  const cut = text.length - next.length;
  const open = parent.offset + 1;
  const inner = next.slice(open, close - cut);
  return inner.trim() === "" ? next.slice(0, open) + next.slice(close - cut) : next;
}

/** Returns the offset of the comma after a node, before `limit`; undefined if there is none. Comments are skipped. */
function commaAfter(text: string, node: Node, limit: number): number | undefined {
  const from = node.offset + node.length;
  const scanner = createScanner(text.slice(from, limit), true);
  scanner.scan();
  const offset = from + scanner.getTokenOffset();
  return offset < limit && text[offset] === "," ? offset : undefined;
}

function hasComment(text: string, node: Node): boolean {
  return text.slice(node.offset + 1, node.offset + node.length - 1).trim() !== "";
}

function anyComment(text: string): boolean {
  let found = false;
  visit(text, {
    onComment: () => {
      found = true;
    },
  });
  return found;
}

/** Returns the white space that the line of an offset begins with. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return line.slice(0, line.search(/[^\t ]|$/));
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset).trim() === "";
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

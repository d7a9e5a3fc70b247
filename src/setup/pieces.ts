/**
 * Pieces: the parts of files that `phasegate init` writes. A piece is a whole file, a value in a file of JSON, a table in a
 * file of TOML, or a block between marks. {@link FORMS} says for each how it is found, added, replaced and removed.
 * Everything here is pure: texts in, texts out. Texts come without a byte order mark.
 */
import type { Edit } from "jsonc-parser";
import { canonicalJson, digest, isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import {
  addLines,
  blockIn,
  blockLines,
  blockProblem,
  findBlock,
  findToml,
  removeLines,
  replaceLines,
  tableIn,
  tableLines,
  tomlProblem,
} from "./changes.js";
import {
  type Addition,
  addJson,
  findJson,
  isJsonLeftover,
  type JsonPlace,
  jsonProblem,
  nested,
  removeJson,
  replaceJson,
} from "./json-text.js";

/** Where a piece is. A path is relative to the project's root, or begins with `~/`. */
export type Place =
  | { readonly kind: "file" | "block"; readonly path: string }
  | { readonly kind: "table" | "property" | "item"; readonly path: string; readonly keys: readonly string[] };

/** A piece with what it consists of: a file and a block are a text. */
export type Piece = Place & { readonly value: JsonValue };

/** A place as the record has it. */
interface Spot {
  readonly kind: Place["kind"];
  readonly path: string;
  readonly keys?: readonly string[];
}

interface Form {
  readonly title: (place: Spot) => string;
  /** Says why a file's text can't be changed at a place; undefined if it can. */
  readonly problem: (text: string, place: Spot) => string | undefined;
  readonly find: (text: string, place: Spot) => unknown;
  readonly add: (text: string, place: Spot, value: JsonValue) => Addition;
  /** Undefined if the piece is written in a way that can't be replaced; so does `remove`. */
  readonly replace: (text: string, place: Spot, value: JsonValue) => Edit | undefined;
  /** Also removes up to `made` empty objects and lists around it. */
  readonly remove: (text: string, place: Spot, made: number) => string | undefined;
  /** Checks whether a file that was new has nothing in it any more but what came with the piece. */
  readonly isLeftover: (text: string, path: string) => boolean;
  readonly byHand: (place: Spot, value: JsonValue) => string;
}

const isBlank = (text: string) => text.trim() === "";
const entryTitle = ({ keys = [] }: Spot) => `an entry ${keys.join(".")}`;

const JSON_FORM: Form = {
  title: entryTitle,
  problem: (text, place) => jsonProblem(text, jsonPlace(place)),
  find: (text, place) => findJson(text, jsonPlace(place)),
  add: (text, place, value) => addJson(text, jsonPlace(place), value, blankOf(place.path)),
  replace: (text, place, value) => replaceJson(text, jsonPlace(place), value),
  remove: (text, place, made) => removeJson(text, jsonPlace(place), made),
  isLeftover: (text, path) => isJsonLeftover(text, blankOf(path)),
  byHand: ({ kind, keys = [] }, value) => JSON.stringify(nested(keys, kind === "item" ? [value] : value), null, 2),
};

const FORMS: Readonly<Record<Place["kind"], Form>> = {
  file: {
    title: () => "a file",
    problem: () => undefined,
    find: (text) => text,
    add: (_, __, value) => ({ edits: [{ offset: 0, length: 0, content: String(value) }], made: 0 }),
    replace: (text, _, value) => {
      const content = text.includes("\r\n") ? String(value).replaceAll("\n", "\r\n") : String(value);
      return { offset: 0, length: text.length, content };
    },
    remove: () => "",
    isLeftover: isBlank,
    byHand: (_, value) => String(value),
  },
  block: {
    title: () => "a block of phasegate",
    problem: (text, { path }) => blockProblem(text, path),
    find: (text, { path }) => findBlock(text, path),
    add: (text, { path }, value) => ({ edits: [addLines(text, blockLines(path, value))], made: 0 }),
    replace: (text, { path }, value) => replaceLines(text, blockIn(text, path), blockLines(path, value)),
    remove: (text, { path }) => removeLines(text, blockIn(text, path)),
    isLeftover: isBlank,
    byHand: ({ path }, value) => blockLines(path, value).join("\n"),
  },
  table: {
    title: entryTitle,
    problem: tomlProblem,
    find: (text, { keys = [] }) => findToml(text, keys),
    add: (text, place, value) => ({ edits: [addLines(text, linesOf(place, value))], made: 0 }),
    replace: (text, place, value) => replaceLines(text, tableIn(text, place.keys ?? []), linesOf(place, value)),
    remove: (text, { keys = [] }) => removeLines(text, tableIn(text, keys)),
    isLeftover: isBlank,
    byHand: (place, value) => linesOf(place, value).join("\n"),
  },
  property: JSON_FORM,
  item: { ...JSON_FORM, title: () => "a hook of phasegate" },
};

export function formOf({ kind }: Spot): Form {
  return FORMS[kind];
}

/** Returns a name for a place: two pieces with the same one are the same piece. */
export function nameOf({ path, kind, keys = [] }: Spot): string {
  return [path, kind, ...keys].join(" ");
}

export function digestAt(text: string, place: Spot): string | undefined {
  return digestOf(place, formOf(place).find(text, place));
}

/** Returns the digest of a value. Layout, line ends and the order of keys don't count: they mean nothing to any client. */
export function digestOf({ kind }: Spot, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const isText = kind === "file" || kind === "block";
  return digest(isText ? String(value).replaceAll("\r\n", "\n") : canonicalJson(value));
}

/** What a new file of JSON has besides the pieces in it, by its path. */
const BLANKS: Readonly<Record<string, JsonObject>> = {
  "opencode.json": { $schema: "https://opencode.ai/config.json" },
  ".cursor/hooks.json": { version: 1 },
  ".github/hooks/phasegate.json": { version: 1 },
};

function blankOf(path: string): JsonObject {
  return BLANKS[path] ?? {};
}

function linesOf({ keys = [] }: Spot, value: JsonValue): string[] {
  return tableLines(keys, isJsonObject(value) ? value : {});
}

function jsonPlace({ kind, keys = [] }: Spot): JsonPlace {
  return kind === "item" ? { keys, isOurs: isOurHook } : { keys };
}

/** Recognizes the hook that init installs, also with another path or other options. */
function isOurHook(value: unknown): boolean {
  const text = JSON.stringify(value);
  return text.includes("phasegate") && text.includes(" hook stop");
}

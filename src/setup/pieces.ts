/**
 * Pieces: the parts of files that `phasegate init` writes. A piece is a whole file, a value in a file of JSON, a table in a
 * file of TOML, or a block between marks. For each kind this file says how a piece is found, added, replaced and removed.
 * Everything here is pure: texts in, texts out. Texts come without a byte order mark.
 */
import { canonicalJson, digest, type JsonObject, type JsonValue } from "../workflow/json.js";
import {
  addBlock,
  addToml,
  COMMENT_MARKS,
  findBlock,
  findToml,
  type Insertion,
  MARKDOWN_MARKS,
  type Marks,
  markProblem,
  removeBlock,
  removeToml,
  replaceBlock,
  replaceToml,
  type TextTable,
  tableLines,
  tomlProblem,
  written,
} from "./changes.js";
import {
  addJson,
  findJson,
  isJsonLeftover,
  type JsonPlace,
  jsonProblem,
  removeJson,
  replaceJson,
} from "./json-text.js";

/** Where a piece is. A path is relative to the project's root, or begins with `~/`. */
export type Place =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "block"; readonly path: string }
  | { readonly kind: "table"; readonly path: string; readonly keys: readonly string[] }
  | { readonly kind: "property" | "item"; readonly path: string; readonly keys: readonly string[] };

/** A piece with what it consists of. */
export type Piece =
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  | { readonly kind: "block"; readonly path: string; readonly text: string }
  | {
      readonly kind: "property" | "item";
      readonly path: string;
      readonly keys: readonly string[];
      readonly value: JsonValue;
    }
  | { readonly kind: "table"; readonly path: string; readonly keys: readonly string[]; readonly value: TextTable };

/** Returns a name for a place: two pieces with the same one are the same piece. */
export function nameOf(place: Place): string {
  return [place.path, place.kind, ...("keys" in place ? place.keys : [])].join(" ");
}

/** Returns what messages call a piece. */
export function titleOf(place: Place): string {
  switch (place.kind) {
    case "file":
      return "a file";
    case "block":
      return "a block of phasegate";
    case "item":
      return "a hook of phasegate";
    default:
      return `an entry ${place.keys.join(".")}`;
  }
}

/** Says why a file's text can't be changed at a place; undefined if it can. */
export function problemAt(text: string, place: Place): string | undefined {
  switch (place.kind) {
    case "file":
      return undefined;
    case "block":
      return markProblem(text, marksOf(place.path));
    case "table":
      return tomlProblem(text);
    default:
      return jsonProblem(text, jsonPlace(place));
  }
}

/** Returns the digest of what is at a place; undefined if there is nothing. Layout and line ends don't count. */
export function digestAt(text: string, place: Place): string | undefined {
  switch (place.kind) {
    case "file":
      return textDigest(text);
    case "block": {
      const block = findBlock(text, marksOf(place.path));
      return block === undefined ? undefined : textDigest(block);
    }
    case "table":
      return valueDigest(findToml(text, place.keys));
    default:
      return valueDigest(findJson(text, jsonPlace(place)));
  }
}

/** Returns the digest that {@link digestAt} finds once the piece is there. */
export function digestOf(piece: Piece): string {
  return piece.kind === "file" || piece.kind === "block" ? textDigest(piece.text) : (valueDigest(piece.value) ?? "");
}

/** Returns what to insert for a piece into a text without it, and how many objects and lists are made around it. */
export function addPiece(
  text: string,
  piece: Piece,
): { readonly insertions: readonly Insertion[]; readonly made: number } {
  switch (piece.kind) {
    case "file":
      return { insertions: [{ offset: 0, text: piece.text }], made: 0 };
    case "block":
      return { insertions: addBlock(text, marksOf(piece.path), piece.text), made: 0 };
    case "table":
      return { insertions: addToml(text, piece.keys, piece.value), made: 0 };
    default:
      return addJson(text, jsonPlace(piece), piece.value, blankOf(piece.path));
  }
}

/** Replaces what is in a piece's place. Returns undefined if it is written in a way that can't be replaced. */
export function replacePiece(text: string, piece: Piece): string | undefined {
  switch (piece.kind) {
    case "file":
      return text.includes("\r\n") ? piece.text.replaceAll("\n", "\r\n") : piece.text;
    case "block":
      return replaceBlock(text, marksOf(piece.path), piece.text);
    case "table":
      return replaceToml(text, piece.keys, piece.value);
    default:
      return replaceJson(text, jsonPlace(piece), piece.value);
  }
}

/** Removes what is at a place, and up to `made` empty objects and lists around it. Returns undefined as replacePiece does. */
export function removePiece(text: string, place: Place, made: number): string | undefined {
  switch (place.kind) {
    case "file":
      return "";
    case "block":
      return removeBlock(text, marksOf(place.path));
    case "table":
      return removeToml(text, place.keys);
    default:
      return removeJson(text, jsonPlace(place), made);
  }
}

/** Checks whether a file that was new has nothing in it any more but what came with the piece. */
export function isLeftover(text: string, place: Place): boolean {
  if (place.kind !== "property" && place.kind !== "item") return text.trim() === "";
  return isJsonLeftover(text, blankOf(place.path));
}

/** Returns what a person would have to add by hand. */
export function byHand(piece: Piece): string {
  switch (piece.kind) {
    case "file":
      return piece.text;
    case "block":
      return written(marksOf(piece.path), piece.text).trimEnd();
    case "table":
      return tableLines(piece.keys, piece.value).join("\n");
    default: {
      const inner = piece.kind === "item" ? [piece.value] : piece.value;
      const whole = piece.keys.reduceRight<JsonValue>((nested, key) => ({ [key]: nested }), inner);
      return JSON.stringify(whole, null, 2);
    }
  }
}

/** What a new file of JSON has besides the pieces in it, by its path. */
const BLANKS: Readonly<Record<string, JsonObject>> = {
  "opencode.json": { $schema: "https://opencode.ai/config.json" },
  ".cursor/hooks.json": { version: 1 },
};

function blankOf(path: string): JsonObject {
  return BLANKS[path] ?? {};
}

function marksOf(path: string): Marks {
  return path.endsWith(".md") ? MARKDOWN_MARKS : COMMENT_MARKS;
}

function jsonPlace({
  kind,
  keys,
}: {
  readonly kind: "property" | "item";
  readonly keys: readonly string[];
}): JsonPlace {
  return kind === "item" ? { keys, isOurs: isOurHook } : { keys };
}

/** Recognizes the hook that init installs, also with another path or other options. */
function isOurHook(value: unknown): boolean {
  const text = JSON.stringify(value);
  return text.includes("phasegate") && text.includes(" hook stop");
}

function textDigest(text: string): string {
  return digest(text.replaceAll("\r\n", "\n"));
}

/** Objects with the same keys in another order have the same meaning to every client. */
function valueDigest(value: unknown): string | undefined {
  return value === undefined ? undefined : digest(canonicalJson(value));
}

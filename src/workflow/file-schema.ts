/**
 * The schemas of files that authors write, and `readBy`, which reads a file by its schema: each value that is wrong is
 * reported at its position and treated as missing, so that one mistake doesn't hide the next. The same schemas give the
 * JSON Schemas for editors.
 */
import * as z from "zod/mini";
import type { SourcePosition } from "../errors.js";
import type { DiagnosticCode, KeyPath, ParsedSource } from "./diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue, ownValue, storedObjectSchema } from "./json.js";
import { meantOr, nearest, RESERVED, shown } from "./names.js";
import type { Hint, Report } from "./report.js";

/** The report about a value that a schema refuses: what it must be, or a message of its own. */
type Fault = { readonly hint: Hint } & (
  | { readonly expected: string }
  | { readonly code: DiagnosticCode; readonly message: string }
);
type Words = (value: JsonValue, name: string) => Fault;

interface Reading {
  /** What is said of a value that the schema refuses; by default what is said of the value around it. */
  readonly words?: Words;
  /** The words for the members of an object or list. */
  readonly members?: Words;
  /** What is said if a key is missing, and what to write. */
  readonly missing?: { readonly severity: "error" | "warn"; readonly write: string };
  /** What is said if a key has a blank text or `null`; nothing by default. */
  readonly empty?: (value: "" | null) => Fault | undefined;
  /** Keys of an object that a gate depends on: one that is almost the same is an error. */
  readonly gated?: readonly string[];
  /** Keys that belong elsewhere, and what is said of them. */
  readonly misplaced?: { readonly keys: readonly string[]; readonly fault: (key: string) => Fault };
  /** True if other programs may add keys that begin with `x-`, and all others are errors. */
  readonly strict?: boolean;
  /** True if the value is not read here, but later, by its own schema. */
  readonly later?: boolean;
  /** Chooses the alternative for a value. */
  readonly choose?: (value: JsonValue) => z.core.$ZodType;
}

const readings = new WeakMap<z.core.$ZodType, Reading>();

/** Adds what the reader is to know. */
export function said<T extends z.ZodMiniType>(schema: T, reading: Reading): T {
  readings.set(schema, { ...readings.get(schema), ...reading });
  return schema;
}

/** Adds what editors show. */
export function described<T extends z.ZodMiniType>(schema: T, meta: z.core.GlobalMeta): T {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), ...meta });
  return schema;
}

const isSimple = (value: JsonValue): boolean => typeof value !== "object";

/** Values are written as JSON in hints, which YAML accepts too. */
const TEXT: Words = (value) => ({
  expected: "a text in double quotes",
  hint: `Write ${isSimple(value) ? shown(String(value)) : 'a text in double quotes: "like this"'}.`,
});

const TEXTS: Words = (value) => {
  const items = Array.isArray(value) ? value : [value];
  const write = items.every(isSimple) ? shown(items.map(String)) : 'a list of texts: ["one", "two"]';
  return { expected: "a list of texts", hint: `Write ${write}.` };
};

const FLAG: Words = (value) => {
  const word = String(value).trim().toLowerCase();
  const meant = ["true", "yes", "y", "on", "1"].includes(word)
    ? "true"
    : ["false", "no", "n", "off", "0"].includes(word)
      ? "false"
      : "true or false";
  return { expected: "true or false", hint: `Write ${meant}, without quotes.` };
};

const WHOLE: Words = (value) => ({
  expected: "a whole number, 0 or more",
  hint:
    typeof value === "string" && /^\d{1,9}$/.test(value.trim())
      ? `Write ${Number(value)}, without quotes.`
      : "Write a whole number, 0 or more, without quotes, such as 1.",
});

const OBJECT: Words = () => ({
  expected: "an object with keys",
  hint: 'Write keys and values in braces: {"key": "value"}.',
});

const LIST: Words = () => ({ expected: "a list of objects", hint: 'Write objects in brackets: [{"key": "value"}].' });

export const WORDS = { TEXT, TEXTS, WHOLE, OBJECT } as const;

export const text = said(z.string(), { words: TEXT });
/** A text with at least one visible character: a blank one counts as missing. */
export const filled = said(z.string().check(z.regex(/\S/)), { words: TEXT });
/** A text, or a number that is meant as text: `"version": 2`. */
export const label = said(z.union([z.string(), z.number()]), { words: TEXT });
export const texts = said(z.array(z.string()), { words: TEXTS });
export const flag = said(z.boolean(), { words: FLAG });
export const whole = said(z.int().check(z.minimum(0)), { words: WHOLE });
export const anything = z.custom<JsonValue>();
export const anyObject = z.record(z.string(), anything);

/** An object in which other keys are reported and kept. */
export function object<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape);
}

/** An object in a gate, where another key is an error; other programs may add keys that begin with `x-`. */
export function gateObject<T extends z.core.$ZodLooseShape>(shape: T) {
  const schema = said(z.strictObject(shape), { strict: true });
  return described(schema, { patternProperties: { "^x-": { description: "For other programs; ignored." } } });
}

export function listOf<T extends z.ZodMiniType>(schema: T) {
  return said(z.array(schema), { words: LIST, members: OBJECT });
}

/** A name of a field: texts that reach an object's prototype are refused. */
const FIELD_NAME = { pattern: "\\S", not: { enum: [...RESERVED] } };

export const fieldNames = said(z.array(described(z.string(), FIELD_NAME)), { words: TEXTS });

/** An object whose keys are names of evidence fields. */
export function byFieldName<T extends z.ZodMiniType>(schema: T, members: Words) {
  return described(said(z.record(z.string(), schema), { members }), { propertyNames: FIELD_NAME });
}

/** A key that must be there. `write` is what to write; without it, an object without the key is something else. */
export function required<T extends z.ZodMiniType>(schema: T, description: string, write?: string) {
  const key = described(z.nonoptional(schema), { description });
  return write === undefined ? key : said(key, { missing: { severity: "error", write } });
}

/** A key that may be missing; `null`, as in YAML's `key:` with nothing behind it, and a blank text count as missing. */
export function optional<T extends z.ZodMiniType>(schema: T, description: string, preset?: JsonValue) {
  return described(z.optional(schema), { description, default: preset });
}

/** A key that may be missing, with a warning. */
export function wanted<T extends z.ZodMiniType>(schema: T, description: string, write: string) {
  return said(optional(schema, description), { missing: { severity: "warn", write } });
}

/** A key that may be missing but not blank: what a gate asks for must not be ignored silently. */
export function asked<T extends z.ZodMiniType>(schema: T, description: string, hint: string, preset?: JsonValue) {
  const empty = (value: "" | null) => (value === null ? undefined : { expected: "something", hint });
  return said(optional(schema, description, preset), { empty });
}

/** A key that may be missing, and that `readBy` passes on as it is written: its reader calls `readBy` with `schema`. */
export function later(schema: z.ZodMiniType, description: string) {
  const key: z.ZodMiniType = said(optional(schema, description), { later: true });
  return key as z.ZodMiniOptional<z.ZodMiniType<JsonValue>>;
}

/** The key by which editors find the schema. */
export const schemaKey = {
  $schema: optional(text, "The JSON Schema of this file, for editors. phasegate ignores it."),
};

/** A place in a file, and where to report what is wrong there. */
export interface Spot {
  readonly report: Report;
  /** The position of a key below the place, or of the place itself. */
  place(...keys: KeyPath): SourcePosition;
  at(...keys: KeyPath): Spot;
  wrong(value: unknown, expected: string, hint: Hint): void;
}

export function spotIn(source: ParsedSource, report: Report, path: KeyPath = []): Spot {
  const place = (...keys: KeyPath) => source.place([...path, ...keys]);
  return {
    report,
    place,
    at: (...keys) => spotIn(source, report, [...path, ...keys]),
    wrong: (value, expected, hint) =>
      report.error("VALUE_WRONG", place(), `${nameOf(path)} must be ${expected}, not ${shown(value)}`, hint),
  };
}

const nameOf = (path: KeyPath) => shown(String(path.at(-1)));

/** A value as it was read: any key may be missing, and elements that can't be read are undefined. */
export type Read<T> = JsonValue extends T
  ? T
  : T extends readonly (infer I)[]
    ? I extends object
      ? (Read<I> | undefined)[]
      : T
    : T extends object
      ? string extends keyof T
        ? { [K in keyof T]: Read<T[K]> }
        : { [K in keyof T]?: Read<T[K]> }
      : T;

/** Reads a value by its schema, and reports what is wrong with it. Returns undefined if nothing of it can be used. */
export function readBy<S extends z.ZodMiniType>(schema: S, value: JsonValue, spot: Spot): Read<z.infer<S>> | undefined {
  // The schema has checked every part that is returned.
  return read(schema, value, spot, OBJECT) as Read<z.infer<S>> | undefined;
}

/** Returns the keys of an object that its schema doesn't know; undefined if there are none. */
export function unknownIn(schema: z.core.$ZodObject, value: Record<string, unknown>): JsonObject | undefined {
  const unknown = Object.entries(value).filter(([key]) => !Object.hasOwn(schema._zod.def.shape, key));
  return unknown.length === 0 ? undefined : storedObjectSchema.parse(Object.fromEntries(unknown));
}

function read(schema: z.core.$ZodType, value: JsonValue, spot: Spot, around: Words, name = ""): JsonValue | undefined {
  const { words = around, members = words, later, choose } = readings.get(schema) ?? {};
  if (later === true) return value;
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNonOptional)
    return read(schema._zod.def.innerType, value, spot, words, name);
  if (schema instanceof z.ZodMiniUnion) {
    const option = choose?.(value) ?? schema._zod.def.options.find((one: z.core.$ZodType) => fits(one, value));
    if (option !== undefined) return read(option, value, spot, words, name);
  } else if (schema instanceof z.ZodMiniObject && isJsonObject(value)) {
    return readObject(schema, value, spot);
  } else if (schema instanceof z.ZodMiniRecord && isJsonObject(value)) {
    const { valueType } = schema._zod.def;
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      read(valueType, item, spot.at(key), members, key),
    ]);
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  } else if (schema instanceof z.ZodMiniArray && Array.isArray(value) && isRead(schema._zod.def.element)) {
    // Places count from the first element, also of those that can't be read.
    return value.map((item, index) => read(schema._zod.def.element, item, spot.at(index), members) as JsonValue);
  }
  if (z.safeParse(schema, value).success) return value;
  report(words(value, name), value, spot);
  return undefined;
}

/** Checks whether the elements of a list are reported one by one, not as a list. */
function isRead(element: z.core.$ZodType): boolean {
  return element instanceof z.ZodMiniObject || element instanceof z.ZodMiniUnion;
}

/** Checks whether an alternative is meant by a value: its type decides, and of an object the keys that tell it apart. */
function fits(schema: z.core.$ZodType, value: JsonValue): boolean {
  if (schema instanceof z.ZodMiniUnion) return schema._zod.def.options.some((one: z.core.$ZodType) => fits(one, value));
  if (schema instanceof z.ZodMiniRecord) return isJsonObject(value);
  if (schema instanceof z.ZodMiniArray) return Array.isArray(value);
  if (!(schema instanceof z.ZodMiniObject)) return z.safeParse(schema, value).success;
  const keys = Object.entries<z.core.$ZodType>(schema._zod.def.shape);
  if (!isJsonObject(value) || keys.length === 0) return z.safeParse(schema, value).success;
  return keys.every(([key, inner]) => {
    const isTelling = inner instanceof z.ZodMiniNonOptional && readings.get(inner)?.missing === undefined;
    return !isTelling || z.safeParse(inner, value[key]).success;
  });
}

/** Checks whether a key counts as missing: so do `null` and a blank text. */
export function isMissing(value: JsonValue | undefined): value is string | null | undefined {
  return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
}

/** Checks whether a key that may be missing may be `null` too. */
export function takesNull(key: z.core.$ZodType): boolean {
  return readings.get(key)?.empty?.(null) === undefined;
}

/** Letters by which a misspelt key may differ from one that a gate depends on. */
const TYPO_MAX = 2;

function readObject(schema: z.ZodMiniObject, value: JsonObject, spot: Spot): JsonObject {
  const { gated = [], misplaced, strict = false } = readings.get(schema) ?? {};
  const { shape, catchall } = schema._zod.def;
  const found: JsonObject = {};
  for (const [key, inner] of Object.entries(shape)) {
    const given = ownValue(value, key);
    const { missing, empty } = readings.get(inner) ?? {};
    if (isMissing(given)) {
      const fault = given === undefined ? undefined : empty?.(given === null ? null : "");
      if (fault !== undefined) report(fault, given ?? null, spot.at(key));
      if (missing === undefined) continue;
      const write = `Write ${missing.write}.`;
      spot.report[missing.severity]("KEY_MISSING", spot.place(), `the key ${shown(key)} is missing`, write);
      continue;
    }
    const taken = read(inner, given, spot.at(key), OBJECT, key);
    if (taken !== undefined) found[key] = taken;
  }
  const known = [...Object.keys(shape), ...(misplaced?.keys ?? [])];
  for (const [key, given] of Object.entries(value).filter(([key]) => !Object.hasOwn(shape, key))) {
    if (misplaced?.keys.includes(key)) {
      if (given !== null && given !== "") report(misplaced.fault(key), given, spot.at(key));
    } else if (catchall instanceof z.ZodMiniNever && !(strict && key.startsWith("x-"))) {
      const isError = strict || nearest(key, gated, TYPO_MAX) !== undefined;
      const otherwise = strict
        ? "Check its spelling, or remove it; if it is for another program, begin it with x-."
        : "Check its spelling, or remove it: it is ignored.";
      const message = `the key ${shown(key)} has no meaning here`;
      spot.report[isError ? "error" : "warn"]("KEY_UNKNOWN", spot.place(key), message, () =>
        meantOr(key, known, otherwise, shown),
      );
    }
    if (!strict) found[key] = given;
  }
  return found;
}

function report(fault: Fault, value: JsonValue, spot: Spot): void {
  if ("expected" in fault) spot.wrong(value, fault.expected, fault.hint);
  else spot.report.error(fault.code, spot.place(), fault.message, fault.hint);
}

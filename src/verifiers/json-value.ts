/**
 * The verifier `json_value`: the value at a position of a JSON file. Numbers are read as doubles, so 9007199254740993
 * becomes …992; a number that was rounded is never compared.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import type { Verifier, VerifyRequest } from "../ports/verifier.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { isJsonObject, type JsonValue, storedValueSchema } from "../workflow/json.js";
import { JsonFailure, type JsonPlace, scanJson } from "../workflow/json-source.js";
import { shown } from "../workflow/names.js";
import { defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { JSON_VARIABLES, type VerifierRules } from "./rules.js";
import { checkSubject, harmless, readSubject, shownPath, subjectParams } from "./subject.js";

const NAME = "json_value";

const params = z.strictObject({
  ...subjectParams,
  /** A JSON pointer (RFC 6901): `/total/failed`; `""` is the whole. */
  pointer: z.string().max(1000),
  /** The value that must stand there. */
  equals: z.optional(storedValueSchema),
  /** A rule that must hold, over `value` (what stands there), `claimed` (the field's value) and `evidence`. */
  rule: textParam.optional(),
});

/**
 * Returns what stands at a place of a JSON file: equal to `equals`, by a rule, or else what the evidence field
 * says. Files of up to `maxBytes` are read.
 */
export function jsonValue(wall: Sandbox, maxBytes: number, rules: VerifierRules): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    verbatim: ["pointer", "rule"],
    checkParams(given) {
      checkSubject(given);
      parsePointer(NAME, given.pointer);
      if (given.equals !== undefined) checkEquals(given.equals, given.rule);
      if (given.rule !== undefined) rules.read(NAME, "rule", given.rule, JSON_VARIABLES);
    },
    async verify(given, request) {
      const { path, text, digest } = await readSubject(wall, given, request.value, maxBytes);
      const { value, place } = readJsonText(path, text);
      const keys = parsePointer(NAME, given.pointer);
      const found = valueAt(value, keys);
      const { ok, wanted } = judge(found, placeAt(place, keys), given, request, rules);
      const where = given.pointer === "" ? "it" : harmless(given.pointer);
      const got = found === undefined ? "is not there" : `is ${shown(found)}`;
      return { ok, message: `${shownPath(path)}: ${where} ${got}; wanted: ${wanted}`, ran: shownPath(path), digest };
    },
  });
}

/** Returns the keys of a JSON pointer (RFC 6901); `""` is the whole. Throws `INVALID_INPUT` for what is none. */
export function parsePointer(verifier: string, pointer: string): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw wrongParam(verifier, "pointer", "a JSON pointer begins with '/', or is empty");
  if (/~(?![01])/.test(pointer)) throw wrongParam(verifier, "pointer", "in a JSON pointer '~' is '~0' and '/' is '~1'");
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns what stands at the end of a pointer; undefined if nothing does. Only own keys, and plain indices. */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of keys) {
    if (Array.isArray(at)) at = /^(?:0|[1-9]\d{0,8})$/.test(key) ? at[Number(key)] : undefined;
    else at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Checks whether two values are the same JSON; the order of keys doesn't count. As deep as the second one goes. */
export function isEqualJson(value: JsonValue | undefined, wanted: JsonValue): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((w, i) => isEqualJson(value[i], w));
  }
  if (!isJsonObject(wanted)) return value === wanted;
  if (!isJsonObject(value) || Object.keys(value).length !== Object.keys(wanted).length) return false;
  return Object.entries(wanted).every(([key, w]) => Object.hasOwn(value, key) && isEqualJson(value[key], w));
}

/** Throws `INVALID_INPUT` for what can't be compared with, or not beside a rule. */
function checkEquals(equals: JsonValue, rule: string | undefined): void {
  if (rule !== undefined) throw wrongParam(NAME, "rule", "equals says what is wanted: one of the two");
  const rounded = roundedValue(equals);
  if (rounded === undefined) return;
  throw wrongParam(
    NAME,
    "equals",
    `${rounded} is too large to be compared exactly: write it as a text, in the file too`,
  );
}

/** Returns the first whole number in a value that may have been another one before it was read; undefined if there is none. */
function roundedValue(value: JsonValue): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const found = roundedValue(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What a JSON file says, and where. */
interface JsonText {
  readonly value: JsonValue;
  readonly place: JsonPlace;
}

/**
 * Reads a JSON file's text. Throws `INVALID_INPUT` for what isn't JSON, nests too deep, or has a key twice:
 * readers differ in which of the two they take.
 */
function readJsonText(path: string, text: string): JsonText {
  const { duplicates, root } = scanned(path, text);
  const [twice] = duplicates;
  if (twice !== undefined) throw notJson(path, `the key ${shown(twice.key)} is there twice`);
  return { value: storedValueSchema.parse(JSON.parse(text)), place: root };
}

function scanned(path: string, text: string) {
  try {
    return scanJson(text);
  } catch (error) {
    if (!(error instanceof JsonFailure)) throw error;
    const line = text.slice(0, error.offset).split("\n").length;
    throw notJson(path, `line ${line}: ${error.message}`);
  }
}

function notJson(path: string, reason: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shownPath(path)} can't be read as JSON: ${reason}`, {
    remedy: "Let the tool write the file again, as strict JSON.",
    details: { field: path, expected: "JSON" },
  });
}

type Params = z.infer<typeof params>;

interface Judgement {
  readonly ok: boolean;
  readonly wanted: string;
}

function judge(
  found: JsonValue | undefined,
  place: JsonPlace | undefined,
  given: Params,
  request: VerifyRequest,
  rules: VerifierRules,
): Judgement {
  // A field that names the file can't also say what stands in it.
  const claimed = given.path === undefined && given.rule === undefined ? null : (request.value ?? null);
  const wanted = given.equals ?? claimed;
  if (given.rule === undefined && given.equals === undefined && wanted === null) {
    return { ok: found !== undefined && found !== null, wanted: "any value but null" };
  }
  const rounded = (place === undefined ? undefined : roundedNumber(place)) ?? roundedValue(wanted);
  if (rounded !== undefined) {
    return { ok: false, wanted: `numbers that can be compared exactly, and ${rounded} has too many digits` };
  }
  if (given.rule === undefined) return { ok: found !== undefined && isEqualJson(found, wanted), wanted: shown(wanted) };
  return judgeRule(found, claimed, given.rule, request, rules);
}

/** Returns the first number at a place, or below it, that another one can't be told from; undefined if there is none. */
function roundedNumber({ number, entries }: JsonPlace): string | undefined {
  if (number !== undefined) return isExact(number) ? undefined : number;
  for (const inner of entries.values()) {
    const found = roundedNumber(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Digits that are enough for any double; more of a fraction are its own business. */
const DIGITS_MAX = 17;

/** Checks whether a number in a text is the one that is read, or, of a fraction, as near as a double says it. */
function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  const { digits, power } = decimal(text);
  const read = decimal(String(value));
  if (digits === read.digits && power === read.power) return true;
  return !Number.isInteger(value) && digits.length <= DIGITS_MAX;
}

/** Returns a number as digits without zeros around them, and the power of ten that they are multiplied with. */
function decimal(text: string): { readonly digits: string; readonly power: number } {
  const [mantissa = "", exponent = "0"] = text.replace("-", "").toLowerCase().split(/e/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = withoutZerosBehind(all);
  if (digits === "") return { digits, power: 0 };
  return { digits, power: Number(exponent) - fraction.length + (all.length - digits.length) };
}

/** Removes the zeros at the end. A pattern would take quadratic time. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}

function judgeRule(
  found: JsonValue | undefined,
  claimed: JsonValue,
  rule: string,
  { evidence }: VerifyRequest,
  rules: VerifierRules,
): Judgement {
  const wanted = harmless(rule);
  if (found === undefined) return { ok: false, wanted };
  const fault = rules.read(NAME, "rule", rule, JSON_VARIABLES).fault({ value: found, claimed, evidence });
  return {
    ok: fault === undefined,
    wanted: fault?.startsWith("doesn't") === false ? `${wanted}, which ${fault}` : wanted,
  };
}

/** Returns where it stands in the text; see {@link valueAt}. */
function placeAt(root: JsonPlace, keys: readonly string[]): JsonPlace | undefined {
  let at: JsonPlace | undefined = root;
  // The elements of a list stand there by number, the members of an object by name.
  for (const key of keys) at = at?.entries.get(key) ?? at?.entries.get(Number(key));
  return at;
}

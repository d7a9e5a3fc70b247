/**
 * The verifier `json_value`: checks the value at a position of a JSON file. Numbers are read as doubles, so
 * 9007199254740993 becomes …992; a number that was rounded is never compared.
 */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import { canonicalJson, type JsonValue, ownValue, storedValueSchema } from "../workflow/json.js";
import { JsonFailure, type JsonPlace, scanJson } from "../workflow/json-source.js";
import { shown } from "../workflow/names.js";
import { type Asked, defineVerifier } from "./define-verifier.js";
import { textParam, WrongParam } from "./params.js";
import { compileRule, JSON_VARIABLES } from "./rules.js";
import { harmless, judgeText, shownPath, subjectParams } from "./subject.js";

const params = z.strictObject({
  ...subjectParams,
  pointer: z
    .string()
    .max(1000)
    .describe('A JSON pointer (RFC 6901), such as `/total/failed`; `""` is the whole document.'),
  equals: z
    .optional(storedValueSchema)
    .describe("The expected value. Default, if there is no rule either: the value of the evidence field."),
  rule: textParam
    .optional()
    .describe("A rule in CEL that must hold, with `value` (at the pointer), `claimed` (of the field) and `evidence`."),
});

/** Checks the value at a position of a JSON file: by `equals`, by a rule, or else by the value of the evidence field. */
export const jsonValue = defineVerifier({
  about: "A value in a JSON file is the expected one.",
  params,
  verbatim: ["pointer", "rule"],
  async check({ pointer, equals, rule }) {
    parsePointer(pointer);
    if (equals !== undefined) checkEquals(equals, rule);
    if (rule !== undefined) await compileRule("rule", rule, JSON_VARIABLES);
  },
  verify: (given, asked) =>
    judgeText(given, asked, async (text, file, path) => {
      const { value, place } = readJsonText(path, text);
      const keys = parsePointer(given.pointer);
      const found = valueAt(value, keys);
      const { ok, expected } = await judge(found, placeAt(place, keys), given, asked);
      const where = given.pointer === "" ? "it" : harmless(given.pointer);
      const got = found === undefined ? "is missing" : `is ${shown(found)}`;
      return { ok, message: `${file}: ${where} ${got}; expected: ${expected}` };
    }),
});

/** Returns the keys of a JSON pointer (RFC 6901). Throws `WrongParam` if it is invalid. */
export function parsePointer(pointer: string): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new WrongParam("pointer", "a JSON pointer begins with '/', or is empty");
  if (/~(?![01])/.test(pointer)) throw new WrongParam("pointer", "in a JSON pointer '~' is '~0' and '/' is '~1'");
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Returns the value at a pointer; undefined if there is none. Follows own keys and plain indexes only. */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of keys) {
    if (Array.isArray(at)) at = /^(?:0|[1-9]\d{0,8})$/.test(key) ? at[Number(key)] : undefined;
    else at = ownValue(at, key);
  }
  return at;
}

/** Throws `WrongParam` for a value that can't be compared exactly, or that is given together with a rule. */
function checkEquals(equals: JsonValue, rule: string | undefined): void {
  if (rule !== undefined) throw new WrongParam("rule", "use equals or rule, not both");
  const rounded = roundedValue(equals);
  if (rounded === undefined) return;
  const reason = `${rounded} is too large to be compared exactly: write it as a text, also in the file`;
  throw new WrongParam("equals", reason);
}

/** Returns the first whole number in a value that may have been rounded when it was read; undefined if there is none. */
function roundedValue(value: JsonValue): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const found = roundedValue(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns the value of a JSON file, and the positions in it. Throws `INVALID_INPUT` if it isn't JSON, nests too deeply,
 * or repeats a key: parsers differ in which of the two values they return.
 */
function readJsonText(path: string, text: string) {
  const { duplicates, root } = scanned(path, text);
  const [twice] = duplicates;
  if (twice !== undefined) throw notJson(path, `the key ${shown(twice.key)} appears twice`);
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
    remedy: "Write the file again, as strict JSON.",
    details: { field: path, expected: "JSON" },
  });
}

type Params = z.infer<typeof params>;

/** The result, and the expected value in words. */
interface Judgement {
  readonly ok: boolean;
  readonly expected: string;
}

async function judge(
  found: JsonValue | undefined,
  place: JsonPlace | undefined,
  given: Params,
  asked: Asked,
): Promise<Judgement> {
  // A field that names the file can't also be the expected value.
  const claimed = given.path === undefined && given.rule === undefined ? null : (asked.value ?? null);
  const wanted = given.equals ?? claimed;
  if (given.rule === undefined && given.equals === undefined && wanted === null) {
    return { ok: found !== undefined && found !== null, expected: "any value but null" };
  }
  const rounded = (place === undefined ? undefined : roundedNumber(place)) ?? roundedValue(wanted);
  if (rounded !== undefined) {
    return { ok: false, expected: `numbers that can be compared exactly, but ${rounded} has too many digits` };
  }
  if (given.rule === undefined) {
    return { ok: found !== undefined && canonicalJson(found) === canonicalJson(wanted), expected: shown(wanted) };
  }
  return judgeRule(found, claimed, given.rule, asked);
}

/** Returns the first number at or below a place that was rounded when it was read; undefined if there is none. */
function roundedNumber({ number, entries }: JsonPlace): string | undefined {
  if (number !== undefined) return isExact(number) ? undefined : number;
  for (const inner of entries.values()) {
    const found = roundedNumber(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Number of digits that identify any double. */
const DIGITS_MAX = 17;

/** Checks whether a number is read without rounding. A fraction may be as near as a double is. */
function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  const { digits, power } = decimal(text);
  const read = decimal(String(value));
  if (digits === read.digits && power === read.power) return true;
  return !Number.isInteger(value) && digits.length <= DIGITS_MAX;
}

/** Returns a number as digits without zeros around them, and their power of ten. */
function decimal(text: string): { readonly digits: string; readonly power: number } {
  const [mantissa = "", exponent = "0"] = text.replace("-", "").toLowerCase().split(/e/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = withoutTrailingZeros(all);
  if (digits === "") return { digits, power: 0 };
  return { digits, power: Number(exponent) - fraction.length + (all.length - digits.length) };
}

/** Removes zeros at the end. A regular expression would take quadratic time. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}

async function judgeRule(
  found: JsonValue | undefined,
  claimed: JsonValue,
  rule: string,
  { evidence }: Asked,
): Promise<Judgement> {
  const text = harmless(rule);
  if (found === undefined) return { ok: false, expected: text };
  const faultOf = await compileRule("rule", rule, JSON_VARIABLES);
  const fault = faultOf({ value: found, claimed, evidence });
  return {
    ok: fault === undefined,
    expected: fault?.startsWith("doesn't") === false ? `${text}, which ${fault}` : text,
  };
}

/** Returns the place of a value in the text; see {@link valueAt}. */
function placeAt(root: JsonPlace, keys: readonly string[]): JsonPlace | undefined {
  let at: JsonPlace | undefined = root;
  // The entries of a list have numbers as keys, those of an object names.
  for (const key of keys) at = at?.entries.get(key) ?? at?.entries.get(Number(key));
  return at;
}

/**
 * Checks the options that a host gives in code. TypeScript checks them as well, but a host in plain JavaScript has no
 * compiler, and an option that is misspelt would protect nothing, without a word.
 */
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { firstFew, meantOr, shown } from "./names.js";

/** A check for each option of an interface; its error says what is expected. An option without a check does not compile. */
export type OptionChecks<T> = { readonly [K in keyof T]-?: z.ZodMiniType };

/** A text. */
export const text = z.string({ error: "a text" });
/** A boolean. */
export const flag = z.boolean({ error: "true or false" });
/** A list of texts. */
export const texts = z.array(text, { error: "a list of texts" });
/** A function. */
export const callable = z.custom((value) => typeof value === "function", { error: "a function" });
/** A number from 1, or `Infinity`. */
export const fromOne = z.custom((value) => typeof value === "number" && value >= 1, { error: "a number of 1 or more" });

/** Returns a check for an object that has these methods; `what` it is. */
export function having(what: string, ...methods: readonly string[]): z.ZodMiniType {
  const has = (value: unknown) =>
    isOpen(value) && methods.every((name) => typeof Reflect.get(value, name) === "function");
  return z.custom(has, { error: what });
}

/** Returns a check for one of these values. */
export function oneOf(...values: readonly string[]): z.ZodMiniType {
  return z.enum(values, { error: firstFew(values, values.length, " or ") });
}

/** Returns true for an object that is neither a list nor a promise. */
export function isOpen(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isPromise(value);
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * Checks options; `of` is the function that takes them, and `at` the option that they are within. Those that are optional
 * accept undefined.
 * @throws {PhasegateError} `INVALID_INPUT` for an unknown option, and for one that is missing, or of another kind.
 */
export function checkOptions<T>(of: string, options: T, checks: OptionChecks<T>, at = ""): void {
  if (!isOpen(options)) throw invalid(of, `: the options must be an object, not ${kindOf(options)}`, "");
  const all = new Map<string, z.ZodMiniType>(Object.entries(checks));
  for (const name in options) {
    if (all.has(name)) continue;
    const known = `Its options are ${firstFew([...all.keys()], 30)}.`;
    throw invalid(of, ` has no option ${shown(`${at}${name}`)}`, `${at}${name}`, meantOr(name, all.keys(), known));
  }
  for (const [name, check] of all) {
    const value: unknown = Reflect.get(options, name);
    const [issue] = check.safeParse(value).error?.issues ?? [];
    if (issue === undefined) continue;
    const { message: expected, path } = issue;
    const field = `${at}${[name, ...path].join(".")}`;
    const remedy = `Give ${expected}.`;
    if (value === undefined) throw invalid(of, `: ${field} is missing`, field, remedy, expected);
    if (isPromise(value))
      throw invalid(of, `: ${field} is a promise`, field, "Write await before what makes it.", expected);
    throw invalid(of, `: ${field} must be ${expected}`, field, remedy, expected);
  }
}

function invalid(
  of: string,
  what: string,
  field: string,
  remedy = "Give an object with options.",
  expected = "an option",
) {
  return new PhasegateError("INVALID_INPUT", `${of}${what}`, { remedy, details: { field, expected } });
}

/** Says what a value is. A text is not shown: it may be a key in the wrong place. */
function kindOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (isPromise(value)) return "a promise";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null
    ? "another object"
    : typeof value === "function"
      ? "a function"
      : String(value);
}

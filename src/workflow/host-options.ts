/**
 * Checks the options that a host gives in code. TypeScript checks them as well, but a host in plain JavaScript has no
 * compiler, and an option that is misspelt would protect nothing, without a word. Engines load this at once, so it does
 * without a library of schemas.
 */
import { PhasegateError } from "../errors.js";
import { firstFew, meantOr, shown } from "./names.js";

export interface OptionCheck {
  /** In words, for the error: `a text`. */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** Of an object with options of its own: their checks. */
  readonly inside?: Readonly<Record<string, OptionCheck>>;
}

/** A check for each option of an interface. An option without one does not compile. */
export type OptionChecks<T> = { readonly [K in keyof T]-?: OptionCheck };

export function check(expected: string, accepts: (value: unknown) => boolean): OptionCheck {
  return { expected, accepts };
}

/** Returns a check of an option that may be left out. */
export function optionally(of: OptionCheck): OptionCheck {
  return { ...of, accepts: (value) => value === undefined || of.accepts(value) };
}

/** An option that is checked elsewhere. */
export const anything = check("", () => true);
export const text = check("a text", (value) => typeof value === "string");
export const flag = check("true or false", (value) => typeof value === "boolean");
export const texts = check("a list of texts", (value) => Array.isArray(value) && value.every(text.accepts));
export const callable = check("a function", (value) => typeof value === "function");
/** A number from 1, or `Infinity`. */
export const fromOne = check("a number of 1 or more", (value) => typeof value === "number" && value >= 1);
/** A number from 0, or `Infinity`. */
export const fromZero = check("a number of 0 or more", (value) => typeof value === "number" && value >= 0);

export const key = check(
  "a key: a text, or bytes",
  (value) =>
    (typeof value === "string" && value !== "") || Object.prototype.toString.call(value) === "[object Uint8Array]",
);

/** Returns a check for an object that has these methods; `what` it is. */
export function having(what: string, ...methods: readonly string[]): OptionCheck {
  // A function or a class may have methods as well, as `Date` has `now`.
  const isHolder = (value: unknown): value is object =>
    isOpen(value) || (methods.length > 0 && typeof value === "function");
  return check(what, (value) => isHolder(value) && methods.every((name) => callable.accepts(Reflect.get(value, name))));
}

export function group<T>(what: string, checks: OptionChecks<T>): OptionCheck {
  return { ...having(what), inside: checks };
}

export function either(what: string, one: OptionCheck, other: OptionCheck): OptionCheck {
  return check(what, (value) => one.accepts(value) || other.accepts(value));
}

export function oneOf(...values: readonly string[]): OptionCheck {
  return check(firstFew(values, values.length, " or "), (value) => values.some((one) => one === value));
}

/** Returns true for an object that is neither a list nor a promise. */
export function isOpen(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isPromise(value);
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/**
 * Checks options; `of` is the function that takes them.
 * @throws {PhasegateError} `INVALID_INPUT` for an unknown option, and for one that is missing, or of another kind.
 */
export function checkOptions<T>(of: string, options: T, checks: OptionChecks<T>): void {
  if (!isOpen(options)) throw invalid(of, `: the options must be an object, not ${kindOf(options)}`, "");
  checkWithin(of, options, checks, "");
}

/** The same for options within the one that `at` names. */
function checkWithin(of: string, options: object, checks: Readonly<Record<string, OptionCheck>>, at: string): void {
  for (const name in options) {
    // An undefined value can protect nothing.
    if (Object.hasOwn(checks, name) || Reflect.get(options, name) === undefined) continue;
    const field = `${at}${name}`;
    const names = Object.keys(checks);
    const known = `Its options are ${firstFew(names, 30)}.`;
    throw invalid(of, ` has no option ${shown(field)}`, field, meantOr(name, names, known));
  }
  // Many calls check their request here: entries would be a list for each of them.
  for (const name in checks) {
    const { expected, accepts, inside } = checks[name] ?? anything;
    const value: unknown = Reflect.get(options, name);
    if (!accepts(value)) throw wrong(of, `${at}${name}`, value, expected);
    if (inside !== undefined && isOpen(value)) checkWithin(of, value, inside, `${at}${name}.`);
  }
}

function wrong(of: string, field: string, value: unknown, expected: string) {
  const give = `Give ${expected}.`;
  if (value === undefined) return invalid(of, `: ${field} is missing`, field, give, expected);
  if (!isPromise(value)) return invalid(of, `: ${field} must be ${expected}`, field, give, expected);
  return invalid(of, `: ${field} is a promise`, field, "Write await before what makes it.", expected);
}

function invalid(of: string, what: string, field: string, remedy = "Give an object.", expected = "an option") {
  return new PhasegateError("INVALID_INPUT", `${of}${what}`, { remedy, details: { field, expected } });
}

/** Says what a value is. A text is not shown: it may be a key in the wrong place. */
function kindOf(value: unknown): string {
  if (isPromise(value)) return "a promise";
  return Array.isArray(value) ? "a list" : value === null || value === undefined ? String(value) : `a ${typeof value}`;
}

/**
 * A command as one definition: its words, arguments and options, and what it does with them. Parsing, the help, and the types of
 * what is given come from it.
 */
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { Defined } from "../workflow/json.js";
import type { ExitCode, SetExitCode } from "./exit-codes.js";
import type { Terminal } from "./terminal.js";

/** An option, with the type of its value: `undefined` is in it if it may be missing. */
export type Given<T> = Option & { readonly value?: () => T };

type Options = Readonly<Record<string, Given<unknown>>>;
type Arguments = readonly (Argument & { readonly value?: () => unknown })[];

/** The values of options by name; those that may be missing are optional. */
export type Values<O> = Defined<{ -readonly [K in keyof O]: O[K] extends Given<infer T> ? T : never }>;

/** What an option makes of a text; `before` is what it has made of the ones before. */
type Parse<T> = (value: string, before?: T) => T;

export function flag(flags: string, description: string): Given<true | undefined> {
  return new Option(flags, description);
}

/** An option `--no-NAME`: `NAME` is true unless it is given. */
export function negated(flags: string, description: string): Given<boolean> {
  return new Option(flags, description);
}

export function parsed<T>(flags: string, description: string, parse: Parse<T>): Given<T | undefined> {
  return new Option(flags, description).argParser<T | undefined>(parse);
}

export function text(flags: string, description: string): Given<string | undefined> {
  return parsed(flags, description, notEmpty);
}

export function choice<const C extends string>(
  flags: string,
  description: string,
  choices: readonly C[],
): Given<C | undefined> {
  return new Option(flags, description).choices(choices);
}

/** An option that counts as the first of its words if it is not given. */
export function presetChoice<const C extends string>(
  flags: string,
  description: string,
  words: readonly [C, ...C[]],
): Given<C> {
  return preset(choice<C>(flags, description, words), words[0]);
}

/** An option with one of some words, which may be repeated. */
export function repeatedChoice<const C extends string>(flags: string, description: string, words: readonly C[]) {
  return parsed<readonly C[]>(flags, `${description} (${words.join(", ")}); may be repeated`, (value, before = []) => {
    return [...before, ...knownWords([value], words)];
  });
}

/** The flags end with dots. */
export function choices<const C extends string>(
  flags: string,
  description: string,
  words: readonly C[],
): Given<readonly C[] | undefined> {
  return new Option(flags, description).choices(words);
}

export function required<T>(option: Given<T>): Given<Exclude<T, undefined>> {
  const made: Option = option;
  return made.makeOptionMandatory();
}

/** An option with a value for when it is not given; `shown` is what the help calls it. */
export function preset<T>(
  option: Given<T>,
  value: Exclude<T, undefined>,
  shown?: string,
): Given<Exclude<T, undefined>> {
  const made: Option = option;
  return made.default(value, shown);
}

/** An option that may be given without its value: it is true then. */
export function bare<T>(option: Given<T>): Given<T | true> {
  return option;
}

/** The value of an argument, as its flags say: `[any...]`, `[maybe]`, `<several...>` or `<one>`. */
type ArgumentValue<F extends string> = F extends `${string}...]` | `${string}...>`
  ? readonly string[]
  : F extends `[${string}`
    ? string | undefined
    : string;

export function argument<const F extends string>(
  flags: F,
  description: string,
  parse?: (value: string) => string,
): Argument & { readonly value?: () => ArgumentValue<F> } {
  const made = new Argument(flags, description);
  return parse === undefined ? made : made.argParser(parse);
}

export type CreateCommand = (terminal: Terminal, setExitCode: SetExitCode) => Command;

/** Defines a command. It has `--log-level` as its last option unless that stands elsewhere. */
export function command<O extends Options, const A extends Arguments = []>({
  name,
  summary = "",
  description,
  arguments: args,
  options,
  help,
  run,
}: {
  readonly name: string;
  /** Of a command of a group: those of the program are in its table. */
  readonly summary?: string;
  readonly description: string;
  readonly arguments?: A;
  readonly options: O;
  readonly help?: string;
  run(
    options: Values<O & { logLevel: ReturnType<typeof logLevelOption> }>,
    terminal: Terminal,
    ...args: { -readonly [K in keyof A]: A[K] extends { readonly value?: () => infer T } ? T : never }
  ): ExitCode | Promise<ExitCode>;
}): CreateCommand {
  return (terminal, setExitCode) => {
    const made = new Command(name).summary(summary).description(description);
    for (const one of args ?? []) made.addArgument(one);
    const all: Options = "logLevel" in options ? options : { ...options, logLevel: logLevelOption() };
    for (const [key, option] of Object.entries(all)) {
      if (!option.negate && option.attributeName() !== key)
        throw new Error(`the option ${option.flags} stands under the name ${key}`);
      made.addOption(option);
    }
    if (help !== undefined) made.addHelpText("after", help);
    return made.action(async (...given) => {
      // After the arguments come the options and the command.
      const [values, ...ordered] = [given.at(-2), ...given.slice(0, -2)];
      setExitCode(await Reflect.apply(run, undefined, [values, terminal, ...ordered]));
    });
  };
}

export function group(
  about: { readonly name: string; readonly description: string; readonly help?: string },
  subcommands: readonly CreateCommand[],
): CreateCommand {
  return (terminal, setExitCode) => {
    const made = new Command(about.name).description(about.description);
    if (about.help !== undefined) made.addHelpText("after", about.help);
    for (const create of subcommands) made.addCommand(create(terminal, setExitCode));
    return made;
  };
}

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(level: string): level is LogLevel {
  return LOG_LEVELS.some((one) => one === level);
}

/** At `debug`, errors are printed with their stacks. */
export function logLevelOption(): Given<LogLevel> {
  const option = choice("--log-level <level>", "lowest level of what is logged on stderr", LOG_LEVELS);
  return preset(option.env("PHASEGATE_LOG_LEVEL"), "info");
}

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^[0-9]+$/.test(value) || !Number.isSafeInteger(number) || number < least)
      throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`);
    if (number > most) throw new InvalidArgumentError(`It must be at most ${most}.`);
    return number;
  };
}

/** Returns a parser for texts of one form; `expected` is the error for any other text. */
export function accepting(isRight: (value: string) => boolean, expected: string): (value: string) => string {
  return (value) => {
    if (isRight(value)) return value;
    throw new InvalidArgumentError(expected);
  };
}

/** An empty path would mean the current folder, a blank name nobody. */
export const notEmpty = accepting((value) => value.trim() !== "", "It must not be empty.");

/** Reads a list of names, joined by ','. */
export function nameList(value: string): string[] {
  return value.split(",").map((name) => name.trim());
}

/** Throws if a text is not among the words. */
export function knownWords<C extends string>(given: readonly string[], words: readonly C[]): C[] {
  const unknown = given.filter((one) => !words.some((word) => word === one));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`Unknown: ${unknown.join(", ")}. There are ${words.join(", ")}.`);
  return given.flatMap((one) => words.find((word) => word === one) ?? []);
}

export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, notEmpty(value)];
}

const AGE_UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Reads an age such as `90s`, `12h`, `7d` or `2w`. Returns milliseconds. */
export function age(value: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(value.trim()) ?? [];
  const milliseconds = Number(number) * (AGE_UNITS[unit] ?? Number.NaN);
  if (number !== "" && Number.isSafeInteger(Math.round(milliseconds))) return Math.round(milliseconds);
  throw new InvalidArgumentError("Write a number and a unit: 90s, 30m, 12h, 7d or 2w.");
}

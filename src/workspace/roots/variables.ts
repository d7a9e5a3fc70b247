/**
 * Variables in paths and texts, put in once: what a value holds is not looked through again, so that no value can lead
 * round or make another variable. Names are looked up in a map: `{constructor}` is a name like any other that isn't known.
 */
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { PhasegateError } from "../../errors.js";
import type { Location } from "./location.js";

/** What a variable stands for: a word, or a place below a root. */
export type VariableValue = string | Location;

/** Variables by name, without braces. */
export type Variables = ReadonlyMap<string, VariableValue>;

/** A path with its variables put in: below a place, if it begins with a variable that is one. */
export interface ExpandedPath {
  readonly base?: Location;
  readonly rest: string;
}

const VARIABLE = /\{([^{}]*)\}/g;

/** Puts variables into a path. Throws `PATH_REFUSED` for unknown ones, with those that there are. */
export function expandPath(path: string, variables: Variables): ExpandedPath {
  const [first, name = ""] = /^\{([^{}]*)\}/.exec(path) ?? [];
  const base = first === undefined ? undefined : requireVariable(path, name, variables);
  if (base === undefined || typeof base === "string") return { rest: expandWords(path, path, variables) };
  const rest = path.slice(first?.length);
  if (rest !== "" && !/^[\\/]/.test(rest)) throw refusal(path, `a '/' must follow {${name}}`, variables);
  return { base, rest: expandWords(path, rest.replace(/^[\\/]+/, ""), variables) };
}

/** Puts the words into a text, and leaves everything else that stands between braces as it is. */
export function expandText(text: string, variables: Variables): string {
  return text.replace(VARIABLE, (whole, name: string) => {
    const value = variables.get(name);
    return typeof value === "string" ? value : whole;
  });
}

function expandWords(path: string, text: string, variables: Variables): string {
  // A function, since `$&` in a value would mean something in a replacement.
  return text.replace(VARIABLE, (_, name: string) => {
    const value = requireVariable(path, name, variables);
    if (typeof value === "string") return value;
    throw refusal(path, `{${name}} is a folder, and can only stand at the beginning`, variables);
  });
}

function requireVariable(path: string, name: string, variables: Variables): VariableValue {
  const value = variables.get(name);
  if (value !== undefined) return value;
  const near = nearest(name, variables.keys());
  const meant = near === undefined ? "" : `; did you mean {${near}}?`;
  throw refusal(path, `there is no variable {${shown(name).slice(1, -1)}}${meant}`, variables);
}

function refusal(path: string, reason: string, variables: Variables): PhasegateError<"PATH_REFUSED"> {
  const known = [...variables.keys()].map((name) => `{${name}}`).join(", ");
  return new PhasegateError("PATH_REFUSED", `the path ${shown(path)} is refused: ${reason}`, {
    remedy: `Known variables are ${known}. Put in the values of others yourself.`,
    details: { reason },
  });
}

import { InvalidArgumentError, Option } from "commander";
import { createVerifiers } from "../adapters/verifiers/create-verifiers.js";
import type { Verifier } from "../ports/verifier.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { notEmpty } from "./option-values.js";

/** What says how far verifiers go. */
export interface VerifierOptions {
  readonly project?: string;
  readonly allowCommand?: Readonly<Record<string, string>>;
  readonly allowHost?: readonly string[];
  readonly allowEnv?: readonly string[];
}

/** The options that let gates run commands and ask servers; without them they look at files and git alone. */
export function verifierOptions(): Option[] {
  return [
    new Option(
      "--allow-command <name[=path]>",
      "an executable that gates may run in the project; may be repeated",
    ).argParser((value: string, before: Readonly<Record<string, string>> = {}) => ({ ...before, ...commandIn(value) })),
    new Option("--allow-host <host>", "a server that gates may ask, as name or name:port; may be repeated").argParser(
      (value: string, before: readonly string[] = []) => [...before, notEmpty(value)],
    ),
    new Option("--allow-env <name>", "a variable of the environment that commands get; may be repeated").argParser(
      (value: string, before: readonly string[] = []) => [...before, variableName(value)],
    ),
  ];
}

/** The built-in verifiers of a project; none without one, for there is nothing to look at then. */
export async function openVerifiers(
  { project, allowCommand = {}, allowHost = [], allowEnv = [] }: VerifierOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, Verifier>>> {
  if (project === undefined) {
    requireNone({ "--allow-command": Object.keys(allowCommand), "--allow-host": allowHost, "--allow-env": allowEnv });
    return {};
  }
  const env = Object.fromEntries(
    allowEnv.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return createVerifiers({ projectRoot: project, commands: allowCommand, hosts: allowHost, env });
}

/** What is allowed without a project would be allowed to nobody. */
function requireNone(allowed: Readonly<Record<string, readonly string[]>>): void {
  const flag = Object.keys(allowed).find((name) => allowed[name]?.length);
  if (flag === undefined) return;
  const hint =
    "Give --project DIR, the folder that gates look into; without it there are no checks to allow anything to.";
  throw new CommandFailure(`${flag} needs --project`, EXIT.usage, hint);
}

/** `npm` is looked up on the PATH, once; `npm=/usr/bin/npm` is that one. */
function commandIn(value: string): Record<string, string> {
  const at = value.indexOf("=");
  const name = at < 0 ? value : value.slice(0, at);
  const path = at < 0 ? value : value.slice(at + 1);
  if (name !== "" && path !== "") return { [name]: path };
  throw new InvalidArgumentError("Write it as NAME or NAME=/absolute/path.");
}

function variableName(value: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return value;
  throw new InvalidArgumentError("Name a variable: its value is the one that this process has.");
}

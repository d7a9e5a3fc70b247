import { readFile } from "node:fs/promises";
import { InvalidArgumentError, Option } from "commander";
import type { EngineOptions } from "../phased/options.js";
import type { Verifier } from "../ports/verifier.js";
import { createVerifiers } from "../verifiers/create-verifiers.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { notEmpty, readSecret } from "./options.js";
/** What says whose approvals count, and what the log is bound with. */
export interface TrustOptions {
  readonly approver?: Readonly<Record<string, string>>;
  readonly approvers?: string;
  readonly hashKeyFile?: string;
}

/** The options that a server and a person who approves must be given alike, so that both check the same. */
export function trustOptions(): Option[] {
  return [
    new Option(
      "--approver <name=key>",
      "an approver's public key, as `phasegate keygen` prints it; may be repeated",
    ).argParser((value: string, before: Readonly<Record<string, string>> = {}) => ({ ...before, ...approver(value) })),
    new Option("--approvers <file>", 'a JSON file of approvers: {"name": "ed25519:…"}')
      .env("PHASEGATE_APPROVERS")
      .argParser(notEmpty),
    hashKeyOption(),
  ];
}

/** The key that makes logs HMAC chains. */
export function hashKeyOption(): Option {
  return new Option("--hash-key-file <file>", "a file with the key that the sessions' logs are bound with")
    .env("PHASEGATE_HASH_KEY_FILE")
    .argParser(notEmpty);
}

/** Told where logs were read without a key and don't hold: nothing in them says that they are bound with one. */
export const KEY_HINT = "logs that are bound with a key hold with that key alone: see --hash-key-file";

/** Reads what they name. A name that stands in both is the flag's. */
export async function readTrust(options: TrustOptions): Promise<Pick<EngineOptions, "approvers" | "hashKey">> {
  const fromFile = options.approvers === undefined ? {} : await readApprovers(options.approvers);
  return { approvers: { ...fromFile, ...options.approver }, ...(await readHashKey(options)) };
}

/** The key as bytes of text, without the line end that editors put behind it. */
export async function readHashKey({ hashKeyFile }: TrustOptions): Promise<Pick<EngineOptions, "hashKey">> {
  if (hashKeyFile === undefined) return {};
  let hashKey = await readSecret(hashKeyFile, "the hash key");
  while (/[\r\n]$/.test(hashKey)) hashKey = hashKey.slice(0, -1);
  if (hashKey.length >= KEY_LENGTH_MIN) return { hashKey };
  const hint = "Make one with `openssl rand -hex 32`.";
  throw new CommandFailure(`the hash key has less than ${KEY_LENGTH_MIN} characters`, EXIT.usage, hint);
}

const KEY_LENGTH_MIN = 32;

function approver(value: string): Record<string, string> {
  const at = value.lastIndexOf("=");
  if (at > 0) return { [value.slice(0, at)]: value.slice(at + 1) };
  throw new InvalidArgumentError("Write it as NAME=ed25519:…");
}

async function readApprovers(file: string): Promise<Record<string, string>> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new CommandFailure(`the file of approvers can't be read: ${file}`, EXIT.environment, "Check the path.", {
      cause,
    });
  });
  const parsed = parse(text);
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) {
    const entries = Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    if (entries.length === Object.keys(parsed).length) return Object.fromEntries(entries);
  }
  throw new CommandFailure(`${file} is no file of approvers`, EXIT.usage, 'Write {"name": "ed25519:…"}.');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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

/**
 * The options that say what a command trusts: whose approvals count, the key that binds the logs, and what verifiers may
 * run and ask. A server and a person who approves must be given the same approvers and key, so that both check alike.
 */
import { InvalidArgumentError } from "commander";
import { type Approvers, checkApprovers } from "../approval/approvers.js";
import type { EngineOptions } from "../phased/options.js";
import type { Verifier } from "../ports/verifier.js";
import { accepting, type Given, parsed, repeated, text, type Values } from "./command.js";
import { usage } from "./exit-codes.js";
import { approversOption, readSecret } from "./options.js";

export function trustOptions() {
  return {
    approver: parsed(
      "--approver <name=key>",
      "an approver's public key, as `phasegate keygen` prints it; may be repeated",
      (value: string, before: Texts = {}): Texts => ({ ...before, ...approver(value) }),
    ),
    approvers: approversOption(),
    hashKeyFile: hashKeyOption(),
  };
}
export type TrustOptions = Values<ReturnType<typeof trustOptions>>;

type Texts = Readonly<Record<string, string>>;

export function hashKeyOption(): Given<string | undefined> {
  const what = "a file with the key for the hash chains of the sessions' logs";
  return text("--hash-key-file <file>", what).env("PHASEGATE_HASH_KEY_FILE");
}

/** Printed when logs fail their check without a key: a log does not say that it is bound with one. */
export const KEY_HINT = "If these logs are bound with a key, give it with --hash-key-file.";

export interface Trust extends Pick<EngineOptions, "hashKey"> {
  readonly approvers: Approvers;
}

/** If a name is in both places, the key from `--approver` wins. */
export async function readTrust(options: TrustOptions): Promise<Trust> {
  const { approvers, ...key } = await readCurrentTrust(options, (error) => {
    throw error;
  });
  return { approvers: approvers(), ...key };
}

export interface CurrentTrust extends Pick<EngineOptions, "hashKey"> {
  /** Returns the approvers as they are now: the same object until they change. */
  readonly approvers: () => Approvers;
}

/** A file that becomes unreadable is reported, and its last approvers are kept. */
export async function readCurrentTrust(options: TrustOptions, report: (error: unknown) => void): Promise<CurrentTrust> {
  const { approver } = options;
  checkApprovers({ ...approver });
  // Loaded here: a command without such a file starts 5 ms sooner.
  const file =
    options.approvers === undefined ? undefined : new (await import("./approvers.js")).ApproversFile(options.approvers);
  let seen = file?.current(report);
  let merged: Approvers = { ...seen, ...approver };
  const approvers = () => {
    const now = file?.current(report);
    if (now !== seen) [seen, merged] = [now, { ...now, ...approver }];
    return merged;
  };
  return { approvers, ...(await readHashKey(options)) };
}

const KEY_LENGTH_MIN = 32;

/** Reads the key as text, without the line ends that editors add. */
export async function readHashKey({
  hashKeyFile,
}: Pick<TrustOptions, "hashKeyFile">): Promise<{ readonly hashKey?: string }> {
  if (hashKeyFile === undefined) return {};
  let hashKey = await readSecret(hashKeyFile, "the hash key");
  while (/[\r\n]$/.test(hashKey)) hashKey = hashKey.slice(0, -1);
  if (hashKey.length >= KEY_LENGTH_MIN) return { hashKey };
  throw usage(`the hash key has fewer than ${KEY_LENGTH_MIN} characters`, "Make one with `openssl rand -hex 32`.");
}

function approver(value: string): Record<string, string> {
  const at = value.lastIndexOf("=");
  if (at > 0) return { [value.slice(0, at)]: value.slice(at + 1) };
  throw new InvalidArgumentError("Write it as NAME=ed25519:…");
}

export function projectOption(what = "folder of the targets, which gates check"): Given<string | undefined> {
  return text("--project <dir>", what).env("PHASEGATE_PROJECT");
}

/** Without these options, gates read files and git only. */
export function verifierOptions() {
  return {
    allowCommand: parsed(
      "--allow-command <command>",
      'a command that gates may run in the project: NAME or NAME=PATH with any arguments, or "npm test" with these only; may be repeated',
      (value: string, before: Texts = {}): Texts => ({ ...before, ...commandIn(value) }),
    ),
    allowHost: parsed(
      "--allow-host <host>",
      "a server that gates may send requests to, as name or name:port; may be repeated",
      repeated,
    ),
    allowEnv: parsed(
      "--allow-env <name>",
      "an environment variable that is passed to commands; may be repeated",
      (value: string, before: readonly string[] = []): readonly string[] => [...before, variableName(value)],
    ),
  };
}

export type VerifierOptions = Values<ReturnType<typeof verifierOptions>> & { readonly project?: string };

/** Returns the built-in verifiers of a project; nothing without a project. */
export async function openVerifiers(
  { project, allowCommand = {}, allowHost = [], allowEnv = [] }: VerifierOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, Verifier>>> {
  if (project === undefined) {
    const allowed = {
      "--allow-command": Object.keys(allowCommand),
      "--allow-host": allowHost,
      "--allow-env": allowEnv,
    };
    const flag = Object.entries(allowed).find(([, values]) => values.length > 0)?.[0];
    if (flag === undefined) return {};
    throw usage(
      `${flag} needs --project`,
      "Give --project DIR, the folder that gates check. Without it, no verifier runs.",
    );
  }
  const env: Record<string, string> = {};
  for (const name of allowEnv) if (environment[name] !== undefined) env[name] = environment[name];
  // Loaded here: a server without a project starts 40 ms sooner, and needs 5 MiB less.
  const { createVerifiers } = await import("../verifiers/create-verifiers.js");
  return createVerifiers({ projectRoot: project, commands: allowCommand, hosts: allowHost, env });
}

/** Reads `npm`, which is looked up on the PATH once, `npm=/usr/bin/npm`, or a whole command such as `npm test`. */
function commandIn(value: string): Record<string, string> {
  // A "=" after a blank is part of a whole command.
  const at = /^[^\s=]*=/.test(value) ? value.indexOf("=") : -1;
  const name = at < 0 ? value : value.slice(0, at);
  const path = at < 0 ? value : value.slice(at + 1);
  if (name !== "" && path !== "") return { [name]: path };
  throw new InvalidArgumentError('Write it as NAME, NAME=/absolute/path or "NAME ARGUMENTS".');
}

const variableName = accepting(
  (value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
  "Give only the variable's name: its value is read from this process's environment.",
);

import { readFile } from "node:fs/promises";
import { InvalidArgumentError, Option } from "commander";
import type { EngineOptions } from "../engine/options.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { notEmpty } from "./option-values.js";
import { readSecret } from "./read-secret.js";

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

/**
 * The key with which the person at the terminal answers. It is looked for in `~/.keys`, and counts if it is one of an approver's
 * keys. If there is none, the commands are known that make one and add it to the approvers.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Approvers, personWith } from "../approval/approvers.js";
import { readPrivateKey } from "../approval/keys.js";
import { isPhasegateError } from "../errors.js";
import { CommandFailure } from "./exit-codes.js";
import { readSecret } from "./options.js";
import { inShell, userName } from "./terminal.js";

/** A file with a private key, as it is typed, and its public key; without one if the file can't be used. */
interface KeyFile {
  readonly typed: string;
  readonly publicKey?: string | undefined;
}

/** Who signs, and with what. */
export interface Signer {
  readonly name: string;
  /** The file with the private key, as it is typed. */
  readonly key: string;
  /** The commands that come first, once. */
  readonly first: readonly string[];
}

export interface KeysAndApprovers {
  readonly approvers: Approvers;
  /** The option that names the approvers' file in `phasegate approvers add`; empty if a variable does. */
  readonly approversOption: readonly string[];
  readonly keys: readonly KeyFile[];
}

const FOLDER = ".keys";

/** Returns the path of a file in `~/.keys`, where no agent writes that keeps to its project. */
export function inKeys(name: string): string {
  return join(homedir(), FOLDER, name);
}

/** Returns the files in `~/.keys`, or the one that is given. */
export async function keyFiles(given: string | undefined): Promise<readonly KeyFile[]> {
  if (given !== undefined) return [await keyFile(given, inShell(given))];
  const folder = join(homedir(), FOLDER);
  const names = await readdir(folder).catch(() => []); // one that can't be read has no key of this person
  const files = names.filter((name) => name.endsWith(".pem")).sort();
  return Promise.all(files.map((name) => keyFile(join(folder, name), typedOf(name))));
}

async function keyFile(file: string, typed: string): Promise<KeyFile> {
  try {
    return { typed, publicKey: (await readPrivateKey(await readSecret(file, "the private key"))).publicKey };
  } catch (error) {
    // It is somebody else's, or no key: the command that is given it says so.
    if (error instanceof CommandFailure || isPhasegateError(error)) return { typed };
    throw error;
  }
}

/** Returns a file in `~/.keys` as it is typed. A shell replaces `~` where no quotes are around it; Windows' own does not. */
export function typedOf(name: string): string {
  if (process.platform === "win32") return inShell(inKeys(name));
  return `~/${FOLDER}/${inShell(name)}`;
}

/** Returns who answers a question that names those who may, or nobody; `given` is the file of `--key`. */
export function signerFor(
  asked: readonly string[] | undefined,
  { approvers, approversOption, keys }: KeysAndApprovers,
  given?: string,
): Signer {
  const known = Object.keys(approvers);
  for (const { typed, publicKey } of keys) {
    const name = publicKey === undefined ? undefined : personWith(publicKey, approvers, asked);
    if (name !== undefined) return { name, key: typed, first: [] };
  }
  const user = userName();
  const name =
    asked === undefined || asked.includes(user)
      ? user
      : (asked.find((one) => !known.includes(one)) ?? asked[0] ?? user);
  const file = given ?? inKeys(fileOf(name));
  const key = given === undefined ? typedOf(fileOf(name)) : inShell(given);
  return {
    name,
    key,
    first: [
      ...(existsSync(file) ? [] : [`phasegate keygen --out ${key}`]),
      ["phasegate approvers add", inShell(name), "--key", key, ...approversOption].join(" "),
    ],
  };
}

/** A gate's author chooses the names of approvers: none leads out of the folder. */
function fileOf(name: string): string {
  return `${name.replace(/[^\p{L}\p{N}@._-]+/gu, "_").replace(/^-/, "_")}.pem`;
}

/**
 * Opens the packs that a command is given with `--pack`: only as the user has confirmed them. A pack that is not so ends the
 * command as a whole. A server without it would lack a workflow, or have another one of the same name in its place, and work would
 * go on behind weaker gates.
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Verifier } from "../ports/verifier.js";
import { readOwnRecord } from "../setup/own-record.js";
import type { PinnedPack } from "../setup/packs.js";
import type { Roots } from "../setup/places.js";
import { findOwnProject, readRecord } from "../setup/project.js";
import { findPack, type Pack, readPack } from "../setup/read-pack.js";
import { RECORD_PATH } from "../setup/record.js";
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import { isJsonObject } from "../workflow/json.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { importModule } from "./module-file.js";

export interface OpenedPacks {
  /** A folder of workflows for each pack that has some, in the order of the names. */
  readonly workflows: readonly { readonly pack: string; readonly folder: string }[];
  /** The verifiers of all packs, by name. */
  readonly verifiers: Readonly<Record<string, Verifier>>;
  /** Removes the folders. */
  close(): Promise<void>;
}

/** Opens packs of the project that a folder is in. Throws `CommandFailure` if one can't be served as the user has confirmed it. */
export async function openPacksOf(folder: string, names: readonly string[]): Promise<OpenedPacks> {
  const packs = await confirmedPacks(folder, names);
  const verifiers = await verifiersOf(packs);
  return { verifiers, ...(await copyWorkflows(packs)) };
}

/** Copies the workflows of packs as they were hashed: files that are read later would be the package's as it is by then. */
export async function copyWorkflows(packs: readonly Pack[]): Promise<Omit<OpenedPacks, "verifiers">> {
  const home = await mkdtemp(join(await realpath(tmpdir()), "phasegate-packs-"));
  const close = () => rm(home, { recursive: true, force: true });
  try {
    const copied: { pack: string; folder: string }[] = [];
    for (const [index, { name, field, workflows }] of packs.entries()) {
      if (field.workflows === undefined) continue;
      // Messages name a folder of workflows by its last part.
      const folder = join(home, `${index}`, basename(name));
      copied.push({ pack: name, folder });
      await mkdir(folder, { recursive: true });
      for (const [path, bytes] of workflows) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), bytes);
      }
    }
    return { workflows: copied, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the names of the packs of a project, as its record has them. */
export async function packsOf(folder: string): Promise<string[]> {
  const roots = await findOwnProject(folder);
  const { packs = [] } = (roots && (await readRecord(roots)).record) ?? {};
  return packs.map(({ name }) => name);
}

async function confirmedPacks(folder: string, names: readonly string[]): Promise<Pack[]> {
  const roots = await findOwnProject(folder);
  if (roots === undefined) {
    const hint = "Run `phasegate init` in the project, then `phasegate add NAME`.";
    throw new CommandFailure(`packs belong to a project, and there is no ${RECORD_PATH}`, EXIT.problems, hint);
  }
  const own = (await readOwnRecord(roots))?.packs ?? [];
  const packs: Pack[] = [];
  for (const name of new Set(names)) {
    const pin = own.find((one) => one.name === name);
    if (pin === undefined) {
      const hint = `Add it with \`phasegate add ${name}\`. If it came with the project, and the project is yours: \`phasegate init\` shows what its record says, and --trust believes it.`;
      throw refused(name, "you have not added it to this project", hint);
    }
    packs.push(await confirmed(roots, pin));
  }
  return packs;
}

async function confirmed(roots: Roots, { name, version, hash }: PinnedPack): Promise<Pack> {
  const pack = await installedPack(roots, name);
  if (pack.name === name && pack.hash === hash) return pack;
  const now = pack.version === version ? `its files have changed since` : `${pack.version} is installed`;
  throw refused(
    name,
    `you have confirmed ${version}, and ${now}`,
    `\`phasegate update ${name}\` shows what has changed, and asks. Or install ${name}@${version} again.`,
  );
}

/** Returns a pack as it is installed in a project. Throws `CommandFailure` if it is not installed, or not a pack. */
export async function installedPack({ root }: Roots, name: string): Promise<Pack> {
  const folder = await findPack(root, name);
  if (folder === undefined) throw refused(name, `it is not installed in ${root}`, "Install the project's packages.");
  return packIn(folder, name);
}

/** Reads the pack in a folder. Throws `CommandFailure` if the folder holds no pack. */
export async function packIn(folder: string, name: string): Promise<Pack> {
  const read = await readPack(folder);
  if ("pack" in read) return read.pack;
  throw refused(name, read.problem, "Tell the author of the pack: docs/packs.md says what a pack is.");
}

function refused(name: string, why: string, hint: string): CommandFailure {
  return new CommandFailure(`the pack ${name} is refused: ${why}`, EXIT.problems, hint);
}

/** Loads the verifiers of packs. A name that two of them have, or that is built in, is an error. */
async function verifiersOf(packs: readonly Pack[]): Promise<Readonly<Record<string, Verifier>>> {
  const found = new Map<string, { readonly verifier: Verifier; readonly pack: string }>();
  for (const { name: pack, folder, field } of packs) {
    if (field.verifiers === undefined) continue;
    for (const [name, verifier] of verifiersIn(await importModule(join(folder, field.verifiers)), pack)) {
      const other = aboutVerifier(name) === undefined ? found.get(name)?.pack : "phasegate";
      if (other !== undefined) {
        throw refused(pack, `its verifier ${name} has the name of one of ${other}`, "Serve one of them only.");
      }
      found.set(name, { verifier, pack });
    }
  }
  return Object.fromEntries([...found].map(([name, { verifier }]) => [name, verifier]));
}

function verifiersIn(exports: ReadonlyMap<string, unknown>, pack: string): [string, Verifier][] {
  const given = exports.get("verifiers") ?? exports.get("default");
  const hint = "It must export `verifiers`, or by default, an object of verifiers by their names.";
  if (!isJsonObject(given)) throw refused(pack, "its module exports no verifiers", hint);
  return Object.entries<unknown>(given).map(([name, verifier]) => {
    if (isVerifier(verifier)) return [name, verifier];
    throw refused(pack, `${JSON.stringify(name)} in its module is no verifier: it has no function verify`, hint);
  });
}

function isVerifier(value: unknown): value is Verifier {
  return typeof value === "object" && value !== null && "verify" in value && typeof value.verify === "function";
}

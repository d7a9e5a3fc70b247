/** Finds an installed pack, and reads the files of it that count, once: what is hashed is what is served. */
import { createHash } from "node:crypto";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { linkIn } from "../sandbox/change.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { type PackField, packManifestSchema } from "./packs.js";
import { exists } from "./project.js";
import { parseObject } from "./wanted.js";

/** A pack as it is installed. */
export interface Pack {
  readonly name: string;
  readonly version: string;
  /** The real path of the package. */
  readonly folder: string;
  readonly field: PackField;
  /** The files below its folder of workflows, by their paths in that folder. */
  readonly workflows: ReadonlyMap<string, Buffer>;
  /** The digest of all files that count. */
  readonly hash: string;
  /** The digest of its code; missing if it has none. */
  readonly code?: string;
}

const FILES_MAX = 5000;
const BYTES_MAX = 32 * 1024 * 1024;

/** Returns the folder of a package as a project gets it: in `node_modules` there or in a folder above it, or from Yarn Plug'n'Play. */
export async function findPack(root: string, name: string): Promise<string | undefined> {
  for (let at = root; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (await exists(join(folder, "package.json"))) return folder;
    if (dirname(at) === at) break;
  }
  // Only where yarn has started this process: .pnp.cjs is code of the project.
  if (process.versions.pnp === undefined) return undefined;
  const pnp: PlugAndPlay = createRequire(join(root, "package.json"))("pnpapi");
  try {
    return pnp.resolveToUnqualified(name, `${root}/`) ?? undefined;
  } catch {
    return undefined;
  }
}

interface PlugAndPlay {
  resolveToUnqualified(name: string, issuer: string): string | null;
}

/** Thrown where a package is no pack, or can't be read as one. */
class NoPack extends Error {}

/** Reads a package; or says why it is no pack. */
export async function readPack(installed: string): Promise<{ readonly pack: Pack } | { readonly problem: string }> {
  try {
    return { pack: await read(await realpath(installed)) };
  } catch (error) {
    if (error instanceof NoPack) return { problem: error.message };
    throw error;
  }
}

async function read(folder: string): Promise<Pack> {
  const manifest = parseObject(await readFile(join(folder, "package.json"), "utf8"));
  if (manifest === undefined) throw new NoPack("its package.json is not an object of JSON");
  if (manifest.phasegate === undefined) {
    throw new NoPack('its package.json has no field "phasegate", so it is no pack of workflows or verifiers');
  }
  const parsed = packManifestSchema.safeParse(manifest);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new NoPack(`package.json, ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { name, version, phasegate: field } = parsed.data;
  if (field.workflows !== undefined) await requireInside(folder, field.workflows, "folder");
  if (field.verifiers !== undefined) await requireInside(folder, field.verifiers, "file");
  const taken = { files: 0, bytes: 0 };
  const none: ReadonlyMap<string, Buffer> = new Map();
  const workflows = field.workflows === undefined ? none : await filesIn(folder, field.workflows, "", taken);
  // A verifier may import any file of its package. Other packages are not part of the pack.
  const files = field.verifiers === undefined ? none : await filesIn(folder, "", field.workflows, taken);
  const code = field.verifiers === undefined ? undefined : hashOf(files);
  const hash = digest(canonicalJson({ field, workflows: hashOf(workflows), code: code ?? "" }));
  return { name, version, folder, field, workflows, code, hash };
}

function hashOf(files: ReadonlyMap<string, Buffer>): string {
  const digests = [...files].map(([path, bytes]) => [path, createHash("sha256").update(bytes).digest("hex")]);
  return digest(canonicalJson(Object.fromEntries(digests)));
}

/** Throws unless there is such a thing at a path, in the package itself. */
async function requireInside(folder: string, path: string, kind: "file" | "folder"): Promise<void> {
  const link = linkIn(folder, path);
  if (link !== undefined) throw new NoPack(`${link} is a link, and a pack has none`);
  const found = await stat(join(folder, path)).catch(() => undefined);
  if (found?.isFile() !== (kind === "file") || found?.isDirectory() !== (kind === "folder")) {
    throw new NoPack(`its package.json names the ${kind} ${path}, and there is none`);
  }
}

/** Folders that are not of the package itself. */
const OTHERS: readonly string[] = ["node_modules", ".git"];

/** Reads all files below a folder of the package, by their paths in it, but for those of another folder. */
async function filesIn(
  root: string,
  folder: string,
  but: string | undefined,
  taken: { files: number; bytes: number },
): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const visit = async (path: string) => {
    for (const name of (await readdir(join(root, folder, path))).toSorted()) {
      const below = path === "" ? name : `${path}/${name}`;
      if (OTHERS.includes(name) || below === but) continue;
      const place = join(root, folder, below);
      const found = await lstat(place);
      if (found.isDirectory()) {
        await visit(below);
        continue;
      }
      const shown = folder === "" ? below : `${folder}/${below}`;
      if (!found.isFile()) throw new NoPack(`${shown} is a link or no file, and a pack has only files`);
      taken.files += 1;
      taken.bytes += found.size;
      if (taken.files > FILES_MAX || taken.bytes > BYTES_MAX) {
        throw new NoPack(`it has more than ${FILES_MAX} files or ${BYTES_MAX / 2 ** 20} MiB`);
      }
      files.set(below, await readFile(place));
    }
  };
  await visit("");
  return files;
}

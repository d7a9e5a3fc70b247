import { join, posix } from "node:path";
import { type FileSignature, signatureOf } from "./file-signature.js";
import { checkRegular } from "./open-checked.js";
import type { Resolve, resolveInside } from "./resolve-inside.js";

/**
 * A file's signature without reading it; undefined if there is none. A plain file needs only its folder followed, which
 * `resolveFolder` may do once for several. Throws `PATH_REFUSED`.
 */
export async function signFile(
  root: string,
  path: string,
  resolve: Resolve,
  resolveFolder: typeof resolveInside,
): Promise<FileSignature | undefined> {
  // Whatever is no plain file is followed by its whole path below, which says what is wrong.
  const plain = await signPlain(root, path, resolve, resolveFolder).catch(() => undefined);
  if (plain !== undefined) return plain;
  const { real, exists } = await resolve(root, path);
  const stats = exists ? await checkRegular(real, path) : undefined;
  return stats === undefined ? undefined : signatureOf(stats);
}

async function signPlain(
  root: string,
  path: string,
  resolve: Resolve,
  resolveFolder: typeof resolveInside,
): Promise<FileSignature | undefined> {
  const folder = await resolveFolder(root, posix.dirname(path));
  const real = join(folder.real, posix.basename(path));
  if (!folder.exists || resolve.refusal?.(root, path, real) !== undefined) return undefined;
  const stats = await checkRegular(real, path);
  return stats?.isFile() === true ? signatureOf(stats) : undefined;
}

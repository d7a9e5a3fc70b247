import * as z from "zod";
import type { Verifier, VerifyResult } from "../../ports/verifier.js";
import type { FileSignature } from "../../walls/file-signature.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { countParam } from "./parse-params.js";
import { shownPath } from "./shown-text.js";
import {
  checkSubject,
  refuseFolderPath,
  refuseLink,
  refuseTwice,
  sha256,
  subjectParams,
  subjectsOf,
} from "./subject.js";

const params = z.strictObject({
  ...subjectParams,
  /** How large the file must be at least; 1 without it, since an empty file shows nothing. */
  min_bytes: countParam.optional(),
});

/** Whether regular files are there and not empty. Files of up to `maxBytes` are hashed. */
export function fileExists(wall: Wall, maxBytes: number): Verifier {
  return defineVerifier({
    name: "file_exists",
    params,
    checkParams: checkSubject,
    async verify(given, { value }, signal) {
      const paths = subjectsOf(given, value);
      const least = given.min_bytes ?? 1;
      const found: Found[] = [];
      for (const path of paths) {
        refuseFolderPath(path);
        await refuseLink(wall, path, given);
        found.push(await look(wall, path, least, maxBytes, signal));
      }
      refuseTwice("file", found);
      return resultOf(found, least);
    },
  });
}

interface Found {
  readonly path: string;
  /** Missing if there is no such file. */
  readonly signature?: FileSignature;
  readonly size?: number;
  /** How many bytes it has that hold something, up to so many as are wanted. */
  readonly held: number;
  readonly digest?: string;
}

/** How much is read at once of a file that is only counted. */
const PART = 2 ** 20;
/** A stretch of so many NUL bytes can't be told from a hole, for which there is no byte on the disk. */
const PAGE = 4096;
/** So much of a file may be holes before nobody looks any further. */
const HOLES_MAX = 64 * 2 ** 20;

async function look(wall: Wall, path: string, least: number, maxBytes: number, signal: AbortSignal): Promise<Found> {
  const signature = await wall.signature(path);
  if (signature === undefined) return { path, held: 0 };
  if (signature.size <= maxBytes) {
    const { bytes } = await wall.readBytes(path, { maxBytes });
    return { path, signature, size: bytes.length, held: heldIn(bytes), digest: sha256(bytes) };
  }
  const { size } = signature;
  let held = 0;
  for (let offset = 0; size >= least && held < least && offset - held <= HOLES_MAX; offset += PART) {
    signal.throwIfAborted();
    const { bytes } = await wall.readPart(path, { offset, length: PART });
    if (bytes.length === 0) break;
    held += heldIn(bytes);
  }
  return { path, signature, size, held };
}

/** How many bytes lie in pages that aren't NUL bytes alone. */
function heldIn(bytes: Uint8Array): number {
  let held = 0;
  for (let start = 0; start < bytes.length; start += PAGE) {
    const page = bytes.subarray(start, start + PAGE);
    if (page.some((byte) => byte !== 0)) held += page.length;
  }
  return held;
}

function resultOf(found: readonly Found[], least: number): VerifyResult {
  const wrong = found.flatMap(({ path, size, held }) => {
    if (size === undefined) return [`there is no file ${shownPath(path)}: make it, or mend the path`];
    if (held >= least) return [];
    const why = size < least ? "an empty file shows nothing" : "holes, and stretches of NUL bytes, hold nothing";
    return [`${shownPath(path)} has ${size} bytes, and at least ${least} are wanted: ${why}`];
  });
  const ran = found.map(({ path }) => shownPath(path)).join(", ");
  const [only, ...others] = found;
  const digest = others.length === 0 ? only?.digest : undefined;
  const message =
    wrong.length > 0 ? wrong.join("; ") : `${ran}: there, ${found.map(({ size }) => size).join(", ")} bytes`;
  return { ok: wrong.length === 0, message, ran, ...(digest === undefined ? {} : { digest }) };
}

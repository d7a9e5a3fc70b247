import * as z from "zod";
import type { Verifier, VerifyResult } from "../../ports/verifier.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { countParam } from "./parse-params.js";
import { shownPath } from "./shown-text.js";
import { checkSubject, refuseFolderPath, refuseLink, sha256, subjectParams, subjectsOf } from "./subject.js";

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
    async verify(given, { value }) {
      const paths = subjectsOf(given, value);
      const found: Found[] = [];
      for (const path of paths) {
        refuseFolderPath(path);
        await refuseLink(wall, path, given);
        found.push(await look(wall, path, maxBytes));
      }
      return resultOf(found, given.min_bytes ?? 1);
    },
  });
}

interface Found {
  readonly path: string;
  /** Undefined if there is no such file. */
  readonly size: number | undefined;
  readonly digest?: string;
}

async function look(wall: Wall, path: string, maxBytes: number): Promise<Found> {
  const signature = await wall.signature(path);
  if (signature === undefined || signature.size > maxBytes) return { path, size: signature?.size };
  const { bytes } = await wall.readBytes(path, { maxBytes });
  return { path, size: bytes.length, digest: sha256(bytes) };
}

function resultOf(found: readonly Found[], least: number): VerifyResult {
  const wrong = found.flatMap(({ path, size }) => {
    if (size === undefined) return [`there is no file ${shownPath(path)}: make it, or mend the path`];
    if (size >= least) return [];
    return [`${shownPath(path)} has ${size} bytes, and at least ${least} are wanted: an empty file shows nothing`];
  });
  const ran = found.map(({ path }) => shownPath(path)).join(", ");
  const [only, ...others] = found;
  const digest = others.length === 0 ? only?.digest : undefined;
  const message =
    wrong.length > 0 ? wrong.join("; ") : `${ran}: there, ${found.map(({ size }) => size).join(", ")} bytes`;
  return { ok: wrong.length === 0, message, ran, ...(digest === undefined ? {} : { digest }) };
}

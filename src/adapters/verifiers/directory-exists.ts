import * as z from "zod";
import { parseRelativePath } from "../../definition/relative-path.js";
import { isPhasegateError } from "../../errors.js";
import type { Verifier } from "../../ports/verifier.js";
import type { FileSignature } from "../../walls/file-signature.js";
import type { Wall } from "../../walls/wall.js";
import { defineVerifier } from "./define-verifier.js";
import { countParam } from "./parse-params.js";
import { shownPath } from "./shown-text.js";
import { checkSubject, refuseLink, refuseTwice, subjectParams, subjectsOf } from "./subject.js";

const params = z.strictObject({
  ...subjectParams,
  /** How many files and folders must be in it at least; 0 without it. */
  min_entries: countParam.optional(),
});

/** Whether folders are there. */
export function directoryExists(wall: Wall): Verifier {
  return defineVerifier({
    name: "directory_exists",
    params,
    checkParams: checkSubject,
    async verify(given, { value }) {
      const least = given.min_entries ?? 0;
      const paths = subjectsOf(given, value);
      const wrong: string[] = [];
      for (const path of paths) {
        await refuseLink(wall, path, given);
        const count = await entries(wall, path);
        if (count === undefined) wrong.push(`there is no folder ${shownPath(path)}: make it, or mend the path`);
        else if (count < least) wrong.push(`${shownPath(path)} holds ${count} names, and at least ${least} are wanted`);
      }
      refuseTwice(
        "folder",
        await Promise.all(paths.map(async (path) => ({ path, signature: await signatureOf(wall, path) }))),
      );
      const ran = paths.map(shownPath).join(", ");
      return { ok: wrong.length === 0, message: wrong.length > 0 ? wrong.join("; ") : `${ran}: there`, ran };
    },
  });
}

/** A folder's signature, from the folder that it lies in; undefined if there is none, and for the root. */
async function signatureOf(wall: Wall, path: string): Promise<FileSignature | undefined> {
  const plain = parseRelativePath(path);
  if (plain === "." || (await entries(wall, plain)) === undefined) return undefined;
  const above = plain.includes("/") ? plain.slice(0, plain.lastIndexOf("/")) : ".";
  return (await wall.list(above)).find((entry) => entry.path === plain)?.signature;
}

/** How many names a folder holds that can be looked at; undefined if there is no such folder. */
async function entries(wall: Wall, path: string): Promise<number | undefined> {
  try {
    return (await wall.list(path)).filter(({ kind }) => kind !== "refused").length;
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

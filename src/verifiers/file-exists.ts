/** The verifiers of files, of their contents, and of folders. Holes and pages of NUL bytes do not count as content. */
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import type { FileSignature } from "../sandbox/read.js";
import { isFolder, type Sandbox } from "../sandbox/sandbox.js";
import { parseRelativePath } from "../workflow/names.js";
import { defineVerifier, type Outcome } from "./define-verifier.js";
import { checkPattern, countMatches, isOftenEnough, linesOf, patternParams } from "./lines.js";
import { countParam, textParam } from "./params.js";
import {
  judgeText,
  refuseFolderPath,
  refuseLink,
  refuseTwice,
  sha256,
  shownPath,
  shownPaths,
  subjectParams,
  subjectsOf,
} from "./subject.js";

/** Maximum number of texts in a check, and of missing ones that are named. */
const TEXTS_MAX = 200;
const MISSING_MAX = 10;

interface Found {
  readonly path: string;
  /** Missing if there is no such file. */
  readonly signature?: FileSignature;
  readonly size?: number;
  /** Number of bytes with content, counted up to the minimum. */
  readonly held: number;
  readonly digest?: string;
  /** Number of its lines, if they are counted. */
  readonly lines?: number;
}

export const fileExists = defineVerifier({
  about: "Regular files exist and are not empty.",
  params: z.strictObject({
    ...subjectParams,
    min_bytes: countParam
      .optional()
      .describe("Minimum size of the file, in bytes. Default: 1, since an empty file proves nothing."),
    min_lines: z.int().min(1).optional().describe("Minimum number of lines in the file. Default: any number."),
    allow_folder: z.boolean().optional().describe("True if it may also be a folder. Default: false."),
  }),
  async verify(given, { value, project: { sandbox, limits }, signal }) {
    const maxBytes = limits.maxFileBytes;
    const paths = subjectsOf(given, value);
    const least = given.min_bytes ?? 1;
    const found: Found[] = [];
    const folders: string[] = [];
    for (const path of paths) {
      if (given.allow_folder !== true) refuseFolderPath(path);
      await refuseLink(sandbox, path, given);
      if (given.allow_folder === true && (await isFolder(sandbox, path))) folders.push(path);
      else
        found.push(await inspect(sandbox, path, { least, hasLines: given.min_lines !== undefined, maxBytes }, signal));
    }
    refuseTwice("file", found);
    return resultOf(found, folders, least, given.min_lines);
  },
});

export const directoryExists = defineVerifier({
  about: "Folders exist.",
  params: z.strictObject({
    ...subjectParams,
    min_entries: countParam.optional().describe("Minimum number of files and folders in it. Default: 0."),
  }),
  async verify(given, { value, project: { sandbox } }) {
    const least = given.min_entries ?? 0;
    const paths = subjectsOf(given, value);
    const wrong: string[] = [];
    for (const path of paths) {
      await refuseLink(sandbox, path, given);
      const count = await entries(sandbox, path);
      if (count === undefined) wrong.push(`there is no folder ${shownPath(path)}: create it, or correct the path`);
      else if (count < least) wrong.push(`${shownPath(path)} has ${count} entries and needs at least ${least}`);
    }
    refuseTwice(
      "folder",
      await Promise.all(paths.map(async (path) => ({ path, signature: await signatureOf(sandbox, path) }))),
    );
    const ran = paths.map(shownPath).join(", ");
    return { ok: wrong.length === 0, message: wrong.length > 0 ? wrong.join("; ") : `${ran}: there`, ran };
  },
});

/** The pattern is matched in linear time. */
export const fileMatches = defineVerifier({
  about: "So many lines of a file match a pattern.",
  params: z.strictObject({ ...subjectParams, ...patternParams }),
  verbatim: ["pattern", "flags"],
  check: checkPattern,
  verify: (given, asked) =>
    judgeText(given, asked, async (text, file) => {
      const found = await countMatches(given, text, asked.signal);
      const { ok, expected } = isOftenEnough(found, given);
      const what = given.scope === "file" ? "matches of the whole file" : "matching lines";
      return { ok, message: `${file} has ${found} ${what} for ${shownPath(given.pattern)}; expected: ${expected}` };
    }),
});

export const fileContains = defineVerifier({
  about: "A file contains certain texts.",
  params: z.strictObject({
    ...subjectParams,
    texts: z
      .union([z.array(textParam).min(1).max(TEXTS_MAX), textParam])
      .describe("The texts that the file must contain, as whole words. A placeholder may stand for the list."),
  }),
  verify: (given, asked) =>
    judgeText(given, asked, (text, file) => {
      const texts = [given.texts].flat();
      const missing = texts.filter((one) => !containsWord(text, one));
      const message =
        missing.length === 0
          ? `${file} contains ${texts.length === 1 ? "the text" : `all ${texts.length} texts`}`
          : `${file} does not contain ${shownPaths(missing, MISSING_MAX)}`;
      return { ok: missing.length === 0, message };
    }),
});

/** Checks whether a text has a part that is not the part of a longer word or number. */
function containsWord(text: string, part: string): boolean {
  const isWord = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const isOpen = !isWord(part[0]) || !isWord(text[at - 1]);
    const isClosed = !isWord(part.at(-1)) || !isWord(text[at + part.length]);
    if (isOpen && isClosed) return true;
  }
  return false;
}

/** Maximum size of holes that are read before a file counts as too small. */
const HOLES_MAX = 64 * 2 ** 20;

/** Number of bytes that are read at once of a file that is not hashed. */
const PART = 2 ** 20;

/** A file whose lines are counted is read whole. */
interface Looking {
  /** The number of bytes with content that is enough. */
  readonly least: number;
  readonly hasLines: boolean;
  readonly maxBytes: number;
}

async function inspect(
  sandbox: Sandbox,
  path: string,
  { least, hasLines, maxBytes }: Looking,
  signal: AbortSignal,
): Promise<Found> {
  const signature = await sandbox.signature(path);
  if (signature === undefined) return { path, held: 0 };
  if (signature.size <= maxBytes || hasLines) {
    const { bytes } = await sandbox.readBytes(path, { maxBytes });
    const lines = hasLines ? { lines: linesOf(new TextDecoder().decode(bytes)).length } : {};
    return { path, signature, size: bytes.length, held: heldIn(bytes), digest: sha256(bytes), ...lines };
  }
  const { size } = signature;
  let held = 0;
  for (let offset = 0; size >= least && held < least && offset - held <= HOLES_MAX; offset += PART) {
    signal.throwIfAborted();
    const { bytes } = await sandbox.readPart(path, { offset, length: PART });
    if (bytes.length === 0) break;
    held += heldIn(bytes);
  }
  return { path, signature, size, held };
}

/** A page of NUL bytes can't be distinguished from a hole, which takes no space on the disk. */
const PAGE = 4096;

/** Returns the number of bytes in pages that have other bytes than NUL. */
function heldIn(bytes: Uint8Array): number {
  let held = 0;
  for (let start = 0; start < bytes.length; start += PAGE) {
    const page = bytes.subarray(start, start + PAGE);
    if (page.some((byte) => byte !== 0)) held += page.length;
  }
  return held;
}

function resultOf(found: readonly Found[], folders: readonly string[], least: number, leastLines = 0): Outcome {
  const missing = found.flatMap(({ path, size, held }) => {
    if (size === undefined) return [`there is no file ${shownPath(path)}: create it, or correct the path`];
    if (held >= least) return [];
    const why = size < least ? "the file is too small" : "holes and pages of NUL bytes don't count";
    return [`${shownPath(path)} has ${size} bytes and needs at least ${least}: ${why}`];
  });
  const short = found.flatMap(({ path, lines = leastLines }) =>
    lines >= leastLines ? [] : [`${shownPath(path)} has no line ${leastLines}: it ends with line ${lines}`],
  );
  const wrong = [...missing, ...short];
  const ran = [...found.map(({ path }) => path), ...folders].map(shownPath).join(", ");
  const [only, ...others] = found;
  const digest = others.length + folders.length === 0 ? only?.digest : undefined;
  const sizes = found.length === 0 ? "" : `, ${found.map(({ size }) => size).join(", ")} bytes`;
  const message = wrong.length > 0 ? wrong.join("; ") : `${ran}: there${sizes}`;
  return { ok: wrong.length === 0, message, ran, digest };
}

/** Returns the number of entries of a folder that can be opened; undefined if there is no such folder. */
async function entries(sandbox: Sandbox, path: string): Promise<number | undefined> {
  try {
    return (await sandbox.list(path)).filter(({ kind }) => kind !== "refused").length;
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Returns a folder's signature, from its parent folder; undefined if there is none, and for the root. */
async function signatureOf(sandbox: Sandbox, path: string): Promise<FileSignature | undefined> {
  const plain = parseRelativePath(path);
  if (plain === "." || (await entries(sandbox, plain)) === undefined) return undefined;
  const above = plain.includes("/") ? plain.slice(0, plain.lastIndexOf("/")) : ".";
  return (await sandbox.list(above)).find((entry) => entry.path === plain)?.signature;
}

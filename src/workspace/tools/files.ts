/** The tools that read: `read_file` and `list_files`, and pages of a text that split no character. */
import { posix } from "node:path";
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { type Location, sessionPath } from "../roots/paths.js";
import { decodeText } from "../roots/roots.js";
import { isSessionFolder } from "../session/folders.js";
import type { Connection } from "../session/keeper.js";
import { defineTool, type ToolSuccess } from "./tool.js";

/** The answer of `read_file`. */
export interface FileRead extends ToolSuccess {
  /** The text of the file, or of this part. */
  readonly content: string;
  /** The path with its root: `{bundle-root}/workflows/x/workflow.yaml`. */
  readonly path: string;
  /** The size of the whole file, in bytes. */
  readonly size: number;
  /** The byte at which the content begins; missing at the beginning of the file. */
  readonly offset?: number;
  /** The byte at which the next part begins; missing at the end. */
  readonly next_offset?: number;
}

/** Reads a text file, or a part of it. */
export const readFileTool = defineTool({
  name: "read_file",
  title: "Read a file",
  description:
    "Reads a text file: {bundle-root}/…, {core-root}/…, or a session's output. Long ones come in parts: call again with offset = next_offset.",
  readOnly: true,
  input: z.strictObject({
    path: z.string().describe("Such as {bundle-root}/workflows/name/workflow.yaml"),
    offset: z.int().nonnegative().optional().describe("The byte to begin at"),
    limit: z.int().positive().optional().describe("The most bytes to read"),
  }),
  async run({ path, offset = 0, limit }, connection): Promise<FileRead> {
    const location = connection.roots.resolve(sessionPath(path, connection.sessionId, isSessionFolder));
    const length = Math.max(CHARACTER_MAX, Math.min(limit ?? Infinity, connection.limits.readBytes));
    const part = await readPart(connection, location, offset, length);
    const shown = connection.roots.show(location);
    const content = decodeText(part.bytes, shown);
    const end = part.offset + part.bytes.length;
    const begins = part.offset === 0 ? {} : { offset: part.offset };
    await connection.record({ type: "read", path: shown, ...begins, bytes: part.bytes.length });
    return {
      success: true,
      content,
      path: shown,
      size: part.size,
      ...begins,
      ...(end < part.size ? { next_offset: end } : {}),
    };
  },
});

async function readPart({ roots }: Connection, location: Location, offset: number, length: number) {
  const before = Math.min(offset, CHARACTER_MAX - 1);
  try {
    const sandbox = await roots.reach(location);
    const wanted = { offset: offset - before, length: length + before };
    const { bytes, signature } = await sandbox.readPart(location.path, wanted);
    if (offset > signature.size) throw behindEnd(offset, signature.size);
    const start = characterStart(bytes, Math.min(before, bytes.length));
    const cut = bytes.subarray(start, start + length);
    const { size } = signature;
    const isEnd = offset - before + start + cut.length >= size;
    return { bytes: isEnd ? cut : cut.subarray(0, wholeCharacters(cut)), offset: offset - before + start, size };
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) throw await notThere(roots, location);
    throw error;
  }
}

function behindEnd(offset: number, size: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError(
    "INVALID_INPUT",
    `offset ${offset} is behind the end of the file, which has ${size} bytes`,
    {
      remedy: "Use the next_offset of the part before; without one, the file has been read to its end.",
      details: { field: "offset", expected: `0 to ${size}` },
    },
  );
}

async function notThere(roots: Connection["roots"], location: Location): Promise<PhasegateError> {
  const near = (await roots.nearest(location)).map((place) => roots.show(place));
  const file = roots.show(location);
  return new PhasegateError("FILE_NOT_FOUND", `there is no ${file}`, {
    remedy: near.length === 0 ? "Call list_files to see what there is." : `There are ${near.join(", ")}.`,
    details: { file },
  });
}

/** The answer of `list_files`. */
export interface FilesListed extends ToolSuccess {
  /** The path of the folder with its root. */
  readonly path: string;
  /** The names of the entries; those of folders end with `/`. */
  readonly entries: readonly string[];
  /** The number of further entries, after `after`; missing on the last page. */
  readonly more?: number;
  /** The last name of this page, for the call that lists the next one. */
  readonly after?: string;
}

/** Lists a folder. */
export const listFilesTool = defineTool({
  name: "list_files",
  title: "List files",
  description: "Lists the files and folders in a folder of the workspace; folders end with '/'.",
  readOnly: true,
  input: z.strictObject({
    path: z.string().default("{bundle-root}").describe("The folder, such as {bundle-root}/workflows or a session's id"),
    after: z.string().optional().describe("The last name of the page before"),
  }),
  async run({ path, after }, connection): Promise<FilesListed> {
    const { roots, limits } = connection;
    const folder = roots.resolve(sessionPath(path, connection.sessionId, isSessionFolder));
    const names = (await roots.list(folder))
      .map(({ path: entry, kind }) => `${posix.basename(entry)}${kind === "folder" ? "/" : ""}`)
      .sort();
    const rest = after === undefined ? names : names.filter((name) => name > after);
    const entries = rest.slice(0, limits.listEntries);
    const more = rest.length - entries.length;
    const last = entries.at(-1);
    await connection.record({ type: "listed", path: roots.show(folder), entries: entries.length });
    return {
      success: true,
      path: roots.show(folder),
      entries,
      ...(more === 0 || last === undefined ? {} : { more, after: last }),
    };
  },
});

/** The longest character of UTF-8, in bytes. */
const CHARACTER_MAX = 4;

/** Returns where a page begins: its offset may be inside a character. `bytes` begin up to three bytes before it. */
function characterStart(bytes: Uint8Array, index: number): number {
  let start = index;
  while (start > 0 && index - start < CHARACTER_MAX - 1 && isInside(bytes[start])) start -= 1;
  return isInside(bytes[start]) ? index : start;
}

/** Returns the length in bytes without a character that is cut at the end. Bytes that aren't UTF-8 are kept. */
function wholeCharacters(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(CHARACTER_MAX, end); back += 1) {
    const byte = bytes[end - back] ?? 0;
    if (isInside(byte)) continue;
    return lengthOf(byte) > back ? end - back : end;
  }
  return end;
}

/** Checks whether a byte continues a character. */
function isInside(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Returns the length in bytes of the character that a byte begins. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}

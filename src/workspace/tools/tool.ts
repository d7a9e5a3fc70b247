/**
 * The tools of a workspace: their type, their answers, and the check of their arguments; and those that read, `read_file`
 * and `list_files`. A page of a text splits no character. The entry file of this folder:
 * - sessions.ts: which session a path is saved to, and the table of all tools
 */

import { posix } from "node:path";
import * as z from "zod";
import { type ErrorCode, isPhasegateError, PhasegateError } from "../../errors.js";
import { action, type Failure, type Outcome } from "../../tools/dispatch.js";
import { fieldNames, isOptional } from "../../tools/schemas.js";
import { unknownField } from "../../tools/wire.js";
import { type Location, showLocation } from "../roots/paths.js";
import { decodeText } from "../roots/roots.js";
import type { Connection } from "../session/connection.js";

/** The answer of a tool that has done what was asked; each tool adds what it found or made. */
export interface ToolSuccess {
  /** True: the tool has done what was asked. */
  readonly success: true;
}

/** The answer of a tool that has failed. It contains no absolute path. */
export interface ToolFailure {
  /** False: nothing was done. */
  readonly success: false;
  /** What is wrong. */
  readonly error: string;
  /** Which kind of failure it is. */
  readonly code: ErrorCode;
  /** What to do next. */
  readonly remedy: string;
}

/** An answer of a tool. */
export type ToolResult = ToolSuccess | ToolFailure;

/** A tool as it is listed. */
export interface ToolListing {
  /** The name that agents call. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For agents; short, since it is in every context all the time. */
  readonly description: string;
  /** True if it changes nothing. */
  readonly readOnly: boolean;
  /** The schema of its arguments. */
  readonly input: z.ZodObject;
}

/** A tool of the table. MCP tools, tools of the AI SDK and plain functions are made of it. */
export interface WorkspaceTool<Input extends z.ZodObject = z.ZodObject, Done extends ToolSuccess = ToolSuccess>
  extends ToolListing {
  readonly input: Input;
  /** Checks a call and runs it. Never rejects. */
  run(connection: Connection, given: unknown): Promise<Outcome<Done>>;
}

/** Creates a tool whose arguments are checked before it runs. */
export function defineTool<Input extends z.ZodObject, Done extends ToolSuccess>({
  run,
  ...listing
}: ToolListing & {
  readonly input: Input;
  run(args: z.output<Input>, connection: Connection): Promise<Done>;
}): WorkspaceTool<Input, Done> {
  return { ...listing, ...action({ takes: listing.input }, (connection: Connection, args) => run(args, connection)) };
}

const FAULTS_MAX = 5;

/** Returns why a tool was not run, as an error; a foreign error unchanged. */
export function errorOf({ name, input }: ToolListing, failure: Failure): unknown {
  if ("error" in failure) return failure.error;
  const fields = fieldNames(input);
  const faults = failure.faults.map(({ kind, field, message }) =>
    kind === "unknown" ? unknownField(field, fields) : `${field || "the arguments"}: ${message}`,
  );
  return new PhasegateError("INVALID_INPUT", `${name} was called wrongly: ${faults.slice(0, FAULTS_MAX).join("; ")}`, {
    remedy: `It takes ${fields.map((field) => (isOptional(input, field) ? `${field}?` : field)).join(", ")}.`,
    details: { expected: fields.join(", ") },
  });
}

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
    const location = connection.resolve(path);
    const length = Math.max(CHARACTER_MAX, Math.min(limit ?? Infinity, connection.limits.readBytes));
    const part = await readPart(connection, location, offset, length);
    const shown = showLocation(location);
    const content = decodeText(part.bytes, shown);
    const end = part.offset + part.bytes.length;
    const begins = part.offset === 0 ? undefined : part.offset;
    await connection.record({ type: "read", path: shown, offset: begins, bytes: part.bytes.length });
    const next = end < part.size ? end : undefined;
    return { success: true, content, path: shown, size: part.size, offset: begins, next_offset: next };
  },
});

async function readPart({ roots }: Connection, location: Location, offset: number, length: number) {
  const before = Math.min(offset, CHARACTER_MAX - 1);
  try {
    const sandbox = await roots.reach(location);
    const wanted = { offset: offset - before, length: length + before };
    const { bytes, signature } = await sandbox.readPart(location.path, wanted);
    const { size } = signature;
    if (offset > size) {
      const message = `offset ${offset} is behind the end of the file, which has ${size} bytes`;
      throw new PhasegateError("INVALID_INPUT", message, {
        remedy: "Use the next_offset of the part before; without one, the file has been read to its end.",
        details: { field: "offset", expected: `0 to ${size}` },
      });
    }
    const start = characterStart(bytes, Math.min(before, bytes.length));
    const cut = bytes.subarray(start, start + length);
    const isEnd = offset - before + start + cut.length >= size;
    return { bytes: isEnd ? cut : cut.subarray(0, wholeCharacters(cut)), offset: offset - before + start, size };
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) throw await notThere(roots, location);
    throw error;
  }
}

async function notThere(roots: Connection["roots"], location: Location): Promise<PhasegateError> {
  const near = (await roots.nearest(location)).map(showLocation);
  const file = showLocation(location);
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
    const folder = connection.resolve(path);
    const names = (await roots.list(folder))
      .map(({ path: entry, kind }) => `${posix.basename(entry)}${kind === "folder" ? "/" : ""}`)
      .sort();
    const rest = after === undefined ? names : names.filter((name) => name > after);
    const entries = rest.slice(0, limits.listEntries);
    const more = rest.length - entries.length;
    await connection.record({ type: "listed", path: showLocation(folder), entries: entries.length });
    const further = more === 0 ? {} : { more, after: entries.at(-1) };
    return { success: true, path: showLocation(folder), entries, ...further };
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

function isInside(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

function lengthOf(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}

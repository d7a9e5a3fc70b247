import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Connection } from "../connection.js";
import { decodeText } from "../roots/decode-text.js";
import type { Location } from "../roots/location.js";
import { defineTool } from "./define-tool.js";
import { CHARACTER_MAX, characterStart, wholeCharacters } from "./text-page.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** What `read_file` has found. */
export interface FileRead extends ToolSuccess {
  readonly content: string;
  /** With its root: `{bundle-root}/workflows/x/workflow.yaml`. */
  readonly path: string;
  /** Of the whole file, in bytes. */
  readonly size: number;
  /** Where the content begins, if not at the beginning. */
  readonly offset?: number;
  /** Where the next part begins; missing at the end. */
  readonly next_offset?: number;
}

/** `read_file`: a text file, or a part of it. */
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
    const location = connection.roots.resolve(path);
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
    const wall = roots.wall(location);
    const wanted = { offset: offset - before, length: length + before };
    const { bytes, signature } = await wall.readPart(location.path, wanted);
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
    `offset ${offset} lies behind the end of the file, which has ${size} bytes`,
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

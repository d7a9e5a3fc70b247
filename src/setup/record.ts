/**
 * The record of what `phasegate init` wrote: a file in the project, committed with it, so that another checkout can update
 * or remove the same pieces. It holds digests and positions, and no text of anybody.
 */
import * as z from "zod";
import { pinnedPackSchema } from "./packs.js";
import { mayMake, mayWrite } from "./places.js";

export const RECORD_PATH = ".phasegate-init.json";

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);
const numberSchema = z.number().int().min(0);

/** A record may come from somebody else: it must never lead to other files, such as hooks of git. */
const pathSchema = z.string().refine(mayWrite, "a path that init never writes");

export const recordSchema = z.object({
  about: z.string().optional(),
  format: z.literal(1),
  /** True while init writes: if it is still there, init was interrupted, and some of what is recorded may be missing. */
  pending: z.literal(true).optional(),
  /** What was chosen: a later `init` without options keeps it. */
  choices: z.object({
    clients: z.array(z.string()),
    starters: z.array(z.string()),
    hooks: z.boolean(),
    testCommand: z.string().min(1).optional(),
  }),
  /** The packs that were added, as they were confirmed. */
  packs: z.array(pinnedPackSchema).optional(),
  /** Folders that init made, each after its parent. */
  folders: z.array(z.string().refine(mayMake, "a folder that init never makes")),
  /** Files that have pieces and may have other text. */
  files: z.record(
    pathSchema,
    z.object({
      /** True if there was no such file. */
      created: z.boolean(),
      /** The digest of the whole file as it was left, line ends and byte order mark included. */
      digest: digestSchema,
      /** The inserted ranges, as offset and length in characters. Without them the file is as it was before. */
      cuts: z.array(z.tuple([numberSchema, numberSchema])).optional(),
    }),
  ),
  pieces: z.array(
    z.object({
      path: pathSchema,
      kind: z.enum(["file", "block", "property", "item", "table"]),
      keys: z.array(z.string()).optional(),
      digest: digestSchema,
      /** How many objects and lists were made around a value. */
      made: numberSchema.optional(),
    }),
  ),
});

export type SetupRecord = z.output<typeof recordSchema>;
export type RecordedPiece = SetupRecord["pieces"][number];
export type Choices = SetupRecord["choices"];

const ABOUT =
  "Written by `phasegate init`: what it added to this project, so that `init --update` and `--remove` touch nothing else. Commit it.";

/** Writes a line for each pack, each file and each piece. */
export function recordText({ format, pending, choices, packs = [], folders, files, pieces }: SetupRecord): string {
  const lines = [
    `"about": ${JSON.stringify(ABOUT)}`,
    `"format": ${format}`,
    ...(pending ? ['"pending": true'] : []),
    `"choices": ${JSON.stringify(choices)}`,
    ...(packs.length > 0 ? [`"packs": [${indented(packs.map((pack) => JSON.stringify(pack)))}]`] : []),
    `"folders": ${JSON.stringify(folders)}`,
    `"files": {${indented(Object.entries(files).map(([path, file]) => `${JSON.stringify(path)}: ${JSON.stringify(file)}`))}}`,
    `"pieces": [${indented(pieces.map((piece) => JSON.stringify(piece)))}]`,
  ];
  return `{\n  ${lines.join(",\n  ")}\n}\n`;
}

function indented(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `\n    ${lines.join(",\n    ")}\n  `;
}

export const RECORD_REMEDY =
  "Restore it from git. If that can't be done, delete it and what init wrote, and run init again.";

export function parseRecord(text: string): { readonly record?: SetupRecord; readonly problem?: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "it is not JSON" };
  }
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return { record: parsed.data };
  const [issue] = parsed.error.issues;
  return { problem: `${issue?.path.join(".") || "its value"}: ${issue?.message ?? "it is of another form"}` };
}

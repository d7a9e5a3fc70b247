import type { RawData } from "@orama/orama";
import * as z from "zod";

/**
 * The format of a kept index: another one is built anew. It changes with whatever is stored or how it is
 * made: chunks, words, fields, the version of Orama.
 */
export const INDEX_FORMAT = 1;

const placeSchema = z.object({
  workflow: z.string().exactOptional(),
  phase: z.int().exactOptional(),
  task: z.int().exactOptional(),
  tags: z.array(z.string()),
  about: z.string().exactOptional(),
});

const chunkSchema = placeSchema.omit({ about: true }).extend({
  headings: z.array(z.string()),
  lines: z.tuple([z.int(), z.int()]),
});

const fileSchema = z.object({
  path: z.string(),
  /** The signature of the file when it was read; empty if it may be blind to a change. */
  signature: z.string(),
  /** The digest of its text. */
  hash: z.string(),
  place: placeSchema,
  /** Its chunks but for their texts, which Orama holds. */
  chunks: z.array(chunkSchema),
});

/** With the vectors of its chunks, one after the other: 32-bit floats in base64. */
const keptFileSchema = fileSchema.extend({ vectors: z.string().exactOptional() });

/** Everything that is kept of an index. What Orama has saved is its own affair. */
export const keptIndexSchema = z.object({
  files: z.array(z.tuple([z.string(), keptFileSchema])),
  orama: z.custom<RawData>((value) => typeof value === "object" && value !== null, "expected what Orama has saved"),
});

/** A chunk but for its text. */
export type ChunkRecord = z.infer<typeof chunkSchema>;
/** A file of which the chunks are in the index, as one phase's or task's text. */
export type FileRecord = z.infer<typeof fileSchema>;
/** Everything that is kept of an index. */
export type KeptIndex = z.infer<typeof keptIndexSchema>;

import * as z from "zod";

const path = z.string();
const bytes = z.int().nonnegative();

/**
 * What an agent can do in a workspace, as it is recorded. The schemas are the format of the log: a change that old logs
 * don't fit needs a new `RECORDED_SCHEMA`. Paths are those of answers: `{bundle-root}/…`.
 */
export const workspaceActSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("read"), path, offset: z.int().nonnegative().optional(), bytes }),
  z.object({
    type: z.literal("saved"),
    path,
    bytes,
    /** SHA-256 of its content, in hexadecimal digits. */
    hash: z.string(),
    replaced: z.boolean(),
  }),
  z.object({ type: z.literal("listed"), path, entries: z.int().nonnegative() }),
  z.object({
    type: z.literal("preloaded"),
    workflow: z.string(),
    files: z.array(path),
    missing: z.array(path),
  }),
  z.object({
    type: z.literal("step"),
    workflow: z.string(),
    /** The step that was given. */
    step: z.string(),
    /** Its number from 1 on, and how many there are, where that is known. */
    number: z.int().positive().optional(),
    of: z.int().positive().optional(),
  }),
]);

/** Something that an agent did in a workspace. */
export type WorkspaceAct = z.infer<typeof workspaceActSchema>;

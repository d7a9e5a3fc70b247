/** What was looked up to verify evidence, as it stands in the log. */
import * as z from "zod";
import { valueRefSchema } from "./refs.js";

/** Checks the result of a verifier that comes out of a store. */
export const verificationSchema = z.object({
  verifier: z.string(),
  /** The field whose value was looked at; missing where the gate itself asks for the check. */
  field: z.string().optional(),
  ok: z.boolean(),
  /** True where it could not be found out: the verifier crashed, took too long, or isn't registered. */
  failed: z.literal(true).optional(),
  /** What was found, and what there is to mend. */
  message: z.string(),
  /** What was run or looked at. */
  ran: z.string().optional(),
  /** The exit code of a command, the status of a response. */
  exit: z.number().optional(),
  /** SHA-256 of the output or the content that was looked at. */
  digest: z.string().optional(),
  /** The first lines of the output; `…` stands for what was left out. */
  output: z.array(z.string()).optional(),
  /** ISO 8601, UTC. */
  at: z.string(),
});

/** Checks what a verifier looked at when a phase began. */
export const snapshotSchema = z.object({
  verifier: z.string(),
  /** Which of the gate's checks it is for: the SHA-256 of its verifier, field and params. */
  check: z.string(),
  /** Missing where it could not be had. */
  value: valueRefSchema.optional(),
  /** Why it could not be had: the check says so at the gate. */
  failed: z.string().optional(),
});

/** What one verifier has found. */
export type Verification = z.infer<typeof verificationSchema>;
/** What one verifier looked at when a phase began. */
export type Snapshot = z.infer<typeof snapshotSchema>;

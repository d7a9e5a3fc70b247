import * as z from "zod";
import { storedObjectSchema, storedValueSchema } from "../definition/json.js";

const payload = z.object({ payload: z.string(), characters: z.number(), names: z.array(z.string()) });

/** Checks evidence in the log: there as it is, or by the digest of a payload. */
export const evidenceRefSchema = z.union([z.object({ inline: storedObjectSchema }), payload]);

/** Checks any other value in the log, likewise. */
export const valueRefSchema = z.union([z.object({ inline: storedValueSchema }), payload]);

/** Evidence in the log. */
export type EvidenceRef = z.infer<typeof evidenceRefSchema>;
/** A value in the log: what a schema made of evidence, what a check begins with. */
export type ValueRef = z.infer<typeof valueRefSchema>;

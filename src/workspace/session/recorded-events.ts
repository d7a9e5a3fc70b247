/**
 * What can happen to a recorded session. The schemas are the format of the log: a change here that old logs don't fit
 * needs a new `RECORDED_SCHEMA`.
 */
import * as z from "zod";
import { workspaceActSchema } from "./acts.js";

/** The version of the format of events and heads. */
export const RECORDED_SCHEMA = 1;

/** What an agent says of a session as it begins one: plain values by name. */
export const sessionInputsSchema = z.record(
  z.string().max(100),
  z.union([z.string().max(10_000), z.number(), z.boolean(), z.null(), z.array(z.string().max(1000)).max(100)]),
);

/** What a session was begun with. */
export type SessionInputs = z.infer<typeof sessionInputsSchema>;

/** Checks an event that comes out of a store. */
export const recordedEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("opened"),
    workflow: z.string().optional(),
    agent: z.string().optional(),
    inputs: sessionInputsSchema.optional(),
  }),
  /** Another connection goes on with it. */
  z.object({ type: z.literal("reopened") }),
  ...workspaceActSchema.options,
  z.object({ type: z.literal("completed"), status: z.enum(["completed", "failed"]), summary: z.string().optional() }),
]);

/** One thing that happened to a recorded session. */
export type RecordedEvent = z.infer<typeof recordedEventSchema>;

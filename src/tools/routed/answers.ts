/** The schemas of the answers about routed workflows. */
import * as z from "zod";
import { STATUS_WORDS } from "../../routed/decision/request.js";
import { WIRE_ERRORS } from "../dispatch.js";

const object = z.record(z.string(), z.unknown());
const time = z.iso.datetime();
const status = z.enum(STATUS_WORDS);
const replayed = z.literal(true).optional().describe("An earlier call with the same key did it: nothing was done now");

const stepSchema = z.object({
  step_name: z.string().describe("FINISH once the work is done"),
  instructions: z.string(),
  report_details: z
    .object({ required: z.array(z.string()), schema: object, example: object.optional() })
    .optional()
    .describe("What the report's details must show: the step has a gate"),
});

const problemSchema = z.object({
  field: z.string(),
  problem: z.string(),
  message: z.string(),
  got: z.string().optional(),
  expected: z.string().optional(),
  example: z.unknown().optional(),
});

const verificationSchema = z.looseObject({ verifier: z.string(), ok: z.boolean(), found: z.string() });

const waitingShape = {
  awaiting_approval: z.literal(true).optional().describe("A person must approve what was reported"),
  approval: z
    .object({ step_name: z.string(), prompt: z.string(), approvers: z.array(z.string()).optional(), asked_at: time })
    .optional(),
  approval_not_believed: z
    .object({ step_name: z.string(), by: z.string().optional(), reason: z.string(), remedy: z.string() })
    .optional()
    .describe(
      "The log has this step as approved, but the server does not accept the approval: this is the state before it",
    ),
  pending: z.enum(["start", "advance", "resume"]).optional().describe("A report that is not decided yet"),
  allowed: z.array(z.string()).describe("What may be called now"),
};

export const resultSchema = z.object({
  instance_id: z.string(),
  next_step: stepSchema,
  current_context: object,
  workflow_name: z.string(),
  status,
  reason: z.string().optional().describe("Why it waits or has failed"),
  reasoning: z.string().optional().describe("Why this step, in the decider's words"),
  completed_at: time.optional(),
  gate: z
    .object({
      passed: z.literal(false),
      attempt: z.int(),
      max_attempts: z.int(),
      problems: z.array(problemSchema),
      verification: z.array(verificationSchema).optional(),
    })
    .optional()
    .describe("What is missing before anybody is asked for the next step"),
  approval_denied: z.object({ by: z.string(), note: z.string() }).optional(),
  replayed,
  earlier_answer: z
    .object({ next_step_name: z.string(), status })
    .optional()
    .describe("The result of that call, if the instance has continued since: next_step is what is to be done now"),
  ...waitingShape,
});

export const statusSchema = z.object({
  instance_id: z.string(),
  workflow_name: z.string(),
  status,
  current_step_name: z.string().nullable(),
  next_step: stepSchema.optional().describe("Missing where the workflow's files can't be read"),
  current_context: object,
  created_at: time,
  updated_at: time,
  completed_at: time.nullable(),
  reason: z.string().optional().describe("Why it waits or has failed"),
  replayed,
  ...waitingShape,
});

export const listSchema = z.object({
  workflows: z.array(z.string()),
  goals: z.record(z.string(), z.string()).optional().describe("What they are for, by their names"),
  broken: z
    .array(z.object({ workflow_name: z.string(), errors: z.array(z.string()) }))
    .optional()
    .describe("Those that can't be started"),
});

const entrySchema = z.object({
  history_entry_id: z.int(),
  timestamp: time,
  step_name: z.string(),
  assumed_step_name: z.string().optional(),
  user_report: object.nullable(),
  outcome_status: z.string(),
  determined_next_step: z.string().nullable(),
  decision: z
    .object({
      status,
      context_updates: object,
      reasoning: z.string().optional(),
      notes: z.array(z.string()).optional(),
      model: z.string().optional(),
      input_tokens: z.int().optional(),
      output_tokens: z.int().optional(),
      requests: z.int().optional(),
      milliseconds: z.number(),
      decided_at: time,
    })
    .optional(),
  problems: z.array(problemSchema).optional(),
  verification: z.array(verificationSchema).optional(),
  reason: z.string().optional(),
});

/** The history, oldest first. */
export const historySchema = z.object({
  instance_id: z.string(),
  history: z.array(entrySchema),
  left: z.int().optional().describe("How many entries come after this page"),
  cursor: z.string().optional().describe("For the next page; missing on the last one"),
});

/** Codes of invalid requests. */
const REQUEST_ERRORS = ["INVALID_FORMAT", "MISSING_FIELD", "INVALID_TYPE", "INVALID_FIELD"] as const;

/** Codes of refusals that only HTTP has. */
export const HTTP_ERRORS = [
  "UNAUTHORIZED",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "PAYLOAD_TOO_LARGE",
  "URI_TOO_LONG",
  "HEADERS_TOO_LARGE",
  "REQUEST_TIMEOUT",
  "UNSUPPORTED_MEDIA_TYPE",
] as const;

const codes = [...new Set([...REQUEST_ERRORS, ...HTTP_ERRORS, ...Object.values(WIRE_ERRORS).map(({ code }) => code)])];

export const errorSchema = z.object({
  error_code: z.enum(codes),
  message: z.string(),
  details: z
    .looseObject({
      code: z.string().optional().describe("The finer code"),
      message: z.string().optional(),
      remedy: z.string().describe("What to do next"),
      field: z.string().optional(),
    })
    .optional(),
});

export const ANSWERS = {
  list: listSchema,
  start: resultSchema,
  advance: resultSchema,
  resume: resultSchema,
  status: statusSchema,
  suspend: statusSchema,
  cancel: statusSchema,
  retry: resultSchema,
  history: historySchema,
};

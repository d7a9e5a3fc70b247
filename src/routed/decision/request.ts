/**
 * The question to a decider and its answer, as types and on the wire. On the wire the keys are in
 * snake_case, and context updates are a list of keys and values, since the structured output of most
 * providers has no free-form objects.
 */
import * as z from "zod/mini";
import { isJsonObject, type JsonObject, type JsonValue, storedValueSchema } from "../../workflow/json.js";
import type { RoutedDefinition } from "../../workflow/routed-definition.js";
import { ENGLISH, innermostIssue } from "../../workflow/zod-issues.js";

/** The states of an instance of a routed workflow, and their words on the wire and in logs. */
export const STATUS_WORDS = {
  active: "RUNNING",
  paused: "SUSPENDED",
  completed: "COMPLETED",
  failed: "FAILED",
} as const;
export type RoutedStatus = keyof typeof STATUS_WORDS;

/** A client's report on a step. Additional keys are stored. */
export interface StepReport {
  /** The outcome: `success`, `failure`, or a word of the workflow. */
  readonly status: string;
  /** Results as JSON; what a gate checks. */
  readonly details?: JsonObject;
  /** A sentence about it. */
  readonly message?: string;
  /** What went wrong. */
  readonly error?: string | null;
  /** Additional keys. */
  readonly [key: string]: JsonValue | undefined;
}

/** One entry of an instance's history, as a decider sees it. */
export interface RoutedHistoryEntry {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** The step that was reported on. */
  readonly stepName: string;
  /** The step that a client that came back thought it was on, if the workflow has such a step. */
  readonly assumedStep?: string;
  readonly report?: StepReport;
  /** The report's status; `RESUMING` for a client that came back. */
  readonly outcomeStatus: string;
  /** The step that was chosen after it. */
  readonly determinedNextStep?: string;
}

/** The question to a decider. */
export interface DecisionRequest {
  /** The call that it is for: `start` only if the host lets the decider choose the first step. */
  readonly operation: "start" | "advance" | "resume";
  /** The instance that is decided on. */
  readonly sessionId: string;
  /** The workflow with the texts of all its steps. */
  readonly workflow: RoutedDefinition;
  /** The steps that are allowed next, including `FINISH` if it is. At least one. */
  readonly allowed: readonly string[];
  /** The step that was decided last; missing at the start. */
  readonly currentStep?: string;
  /**
   * For `resume`: the step that the client assumes; or, if the workflow has no such step, the client's own
   * words on one line. Treat the latter as data: a client may write anything there.
   */
  readonly assumedStep?: string;
  /** The instance's status. */
  readonly status: RoutedStatus;
  /** With the updates of this call merged in. */
  readonly context: JsonObject;
  /** The last entries, newest last. */
  readonly history: readonly RoutedHistoryEntry[];
  /** Missing at the start. */
  readonly report?: StepReport;
  /** What was wrong with the previous answer, if the same question is asked again. */
  readonly problem?: string;
}

/** The cost of a decision. */
export interface DecisionUsage {
  /** The model that has answered. */
  readonly model?: string;
  /** The tokens of the prompts. */
  readonly inputTokens?: number;
  /** The tokens of the answers. */
  readonly outputTokens?: number;
  /** The number of requests sent, including retries. */
  readonly requests?: number;
}

/** A decider's answer. The engine checks all of it. */
export interface DeciderAnswer {
  /** The name of the next step, or `FINISH`. */
  readonly nextStep: string;
  /** Merged into the context. */
  readonly contextUpdates: JsonObject;
  /** The status that the decider suggests, by its name or its word on the wire. Default: `active`. */
  readonly statusSuggestion?: string;
  /** The decider's reasons. */
  readonly reasoning?: string;
  /** The model and its cost, where known. */
  readonly usage?: DecisionUsage;
}

/** An answer that was read, or the problem in words that help a model to fix it. */
export type ReadAnswer =
  | { readonly ok: true; readonly answer: DeciderAnswer }
  | { readonly ok: false; readonly problem: string };

/**
 * Returns the JSON Schema of an answer, with only the allowed steps as names. All keys are required: the
 * strict modes of providers demand it.
 */
export function decisionJsonSchema(allowed: readonly string[]): JsonObject {
  return {
    type: "object",
    properties: {
      next_step_name: { type: "string", enum: [...allowed] },
      updated_context: {
        type: "array",
        items: {
          type: "object",
          properties: { key: { type: "string" }, value: oneOf("string", "number", "boolean", "null") },
          required: ["key", "value"],
          additionalProperties: false,
        },
      },
      status_suggestion: { anyOf: [{ type: "string", enum: Object.values(STATUS_WORDS) }, { type: "null" }] },
      reasoning: oneOf("string", "null"),
    },
    required: ["next_step_name", "updated_context", "status_suggestion", "reasoning"],
    additionalProperties: false,
  };
}

/** Reads a model's text: one JSON object, which may be in a code fence. */
export function readDecisionText(text: string): ReadAnswer {
  const fenced = /^```(?:json)?[ \t]*\n(.*?)\n?```$/is.exec(text.trim());
  const json = fenced?.[1] ?? text;
  if (json.trim() === "") return { ok: false, problem: "the answer was empty" };
  try {
    return readDecision(JSON.parse(json));
  } catch {
    // The text must not get into a log or an error: it may repeat the whole context.
    return { ok: false, problem: "the answer was no JSON object, or was cut off" };
  }
}

/** One context update on the wire. */
const updateSchema = z.object({ key: z.string(), value: storedValueSchema });

/** Models are told to give a list; some give an object instead. */
const updatesSchema = z.union([z.array(updateSchema), z.custom<JsonObject>(isJsonObject)]);

const answerSchema = z.object({
  next_step_name: z.string().check(z.minLength(1)),
  updated_context: z.nullish(updatesSchema),
  status_suggestion: z.nullish(z.string()),
  reasoning: z.nullish(z.string()),
});

/** Reads an answer that a provider has already parsed. The caller checks steps, statuses and keys. */
export function readDecision(value: unknown): ReadAnswer {
  const parsed = answerSchema.safeParse(value, ENGLISH);
  if (!parsed.success) return { ok: false, problem: problemOf(parsed.error) };
  const { next_step_name: nextStep, updated_context, status_suggestion, reasoning } = parsed.data;
  return {
    ok: true,
    answer: {
      nextStep,
      contextUpdates: asObject(updated_context ?? []),
      statusSuggestion: status_suggestion || undefined,
      reasoning: reasoning || undefined,
    },
  };
}

/** Not a list of types, nor null in an enum: some providers refuse both, and none refuses this. */
function oneOf(...types: readonly string[]): JsonObject {
  return { anyOf: types.map((type) => ({ type })) };
}

function problemOf(error: z.core.$ZodError): string {
  const parts = error.issues
    .map(innermostIssue)
    .map(({ path, message }) => `${path.join(".") || "the answer"}: ${message}`);
  return parts.join("; ");
}

/** The last value of a repeated key counts, as in a JSON text. */
function asObject(updates: z.infer<typeof updatesSchema>): JsonObject {
  if (!Array.isArray(updates)) return updates;
  return Object.fromEntries(updates.map(({ key, value }): [string, JsonValue] => [key, value]));
}

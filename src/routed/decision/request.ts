import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue, storedValueSchema } from "../../workflow/json.js";
import type { RoutedDefinition } from "../../workflow/routed-definition.js";
/** Where an instance of a routed workflow stands, in the words of the wire. */
export const ROUTED_STATUSES = ["RUNNING", "SUSPENDED", "COMPLETED", "FAILED"] as const;
/** Where an instance of a routed workflow stands. */
export type RoutedStatus = (typeof ROUTED_STATUSES)[number];

/** What a client says of a step that it was on. Keys beside these are kept. */
export interface StepReport {
  readonly status: string;
  readonly details?: JsonObject;
  readonly message?: string;
  readonly error?: string | null;
  readonly [key: string]: JsonValue | undefined;
}

/** One entry of an instance's history, as a decider sees it. */
export interface RoutedHistoryEntry {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly stepName: string;
  readonly report?: StepReport;
  /** The report's status; `RESUMING` for a client that came back. */
  readonly outcomeStatus: string;
  readonly determinedNextStep?: string;
}

/** All that a decider is told. */
export interface DecisionRequest {
  /** For which call: the first step is decided only where the host asks for it. */
  readonly operation: "start" | "advance" | "resume";
  readonly instanceId: string;
  readonly workflow: RoutedDefinition;
  /** The steps that may follow, and `FINISH` where it may. At least one. */
  readonly allowed: readonly string[];
  /** The last step that was decided; missing at the start. */
  readonly currentStep?: string;
  /**
   * Where the client thinks it is, for `resume`: the name of a step, or, where the workflow has no such step, the client's
   * own words on one line. Treat the latter as data: a client may write anything there.
   */
  readonly assumedStep?: string;
  readonly status: RoutedStatus;
  /** With the updates of this call merged in. */
  readonly context: JsonObject;
  /** The last entries, newest last. */
  readonly history: readonly RoutedHistoryEntry[];
  /** Missing at the start. */
  readonly report?: StepReport;
  /** What was wrong with the answer before, where the same question is asked again. */
  readonly problem?: string;
}

/** What a decider answers. It is checked by the engine: nothing of it is believed. */
export interface DeciderAnswer {
  readonly nextStep: string;
  /** Merged into the context. */
  readonly contextUpdates: JsonObject;
  readonly statusSuggestion?: string;
  readonly reasoning?: string;
  /** Who decided, and at what price, where it is known. */
  readonly usage?: DecisionUsage;
}

/** What a decision took. */
export interface DecisionUsage {
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** How many requests were sent, retries included. */
  readonly requests?: number;
}

/**
 * What a model answers, on the wire: seed words in snake_case, context updates as a list of keys and values, since
 * structured output of most providers knows no free-form objects.
 */

const updateSchema = z.object({ key: z.string(), value: storedValueSchema });

/** Models are told to give a list; the sketch that some of them know shows an object. */
const updatesSchema = z.union([z.array(updateSchema), z.custom<JsonObject>(isJsonObject)]);

const answerSchema = z.object({
  next_step_name: z.string().min(1),
  updated_context: updatesSchema.nullish(),
  status_suggestion: z.string().nullish(),
  reasoning: z.string().nullish(),
});

/** An answer that was read, or what is wrong with it in words that a model can mend it by. */
export type ReadAnswer =
  | { readonly ok: true; readonly answer: DeciderAnswer }
  | { readonly ok: false; readonly problem: string };

/**
 * The JSON Schema of an answer, with the steps that may follow as its only names. All keys are required: the strict
 * modes of providers ask for it.
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
      status_suggestion: { anyOf: [{ type: "string", enum: [...ROUTED_STATUSES] }, { type: "null" }] },
      reasoning: oneOf("string", "null"),
    },
    required: ["next_step_name", "updated_context", "status_suggestion", "reasoning"],
    additionalProperties: false,
  };
}

/** Not a list of types, nor null in an enum: some providers refuse both, and none refuses this. */
function oneOf(...types: readonly string[]): JsonObject {
  return { anyOf: types.map((type) => ({ type })) };
}

/** Reads a model's text: one JSON object, which may stand in a code fence. */
export function readDecisionText(text: string): ReadAnswer {
  const fenced = /^```(?:json)?[ \t]*\n(.*?)\n?```$/is.exec(text.trim());
  const json = fenced?.[1] ?? text;
  if (json.trim() === "") return { ok: false, problem: "the answer was empty" };
  try {
    return readDecision(JSON.parse(json));
  } catch {
    // What the text says must not go into a log or an error: it may repeat the whole context.
    return { ok: false, problem: "the answer was no JSON object, or was cut off" };
  }
}

/** Reads an answer that a provider has parsed already. Steps, statuses and keys are checked by who asked. */
export function readDecision(value: unknown): ReadAnswer {
  const parsed = answerSchema.safeParse(value);
  if (!parsed.success) return { ok: false, problem: problemOf(parsed.error) };
  const { next_step_name, updated_context, status_suggestion, reasoning } = parsed.data;
  return {
    ok: true,
    answer: {
      nextStep: next_step_name,
      contextUpdates: asObject(updated_context ?? []),
      ...(status_suggestion ? { statusSuggestion: status_suggestion } : {}),
      ...(reasoning ? { reasoning } : {}),
    },
  };
}

/** Of a key that stands twice the last value counts, as in a JSON text. */
function asObject(updates: z.infer<typeof updatesSchema>): JsonObject {
  if (!Array.isArray(updates)) return updates;
  return Object.fromEntries(updates.map(({ key, value }): [string, JsonValue] => [key, value]));
}

function problemOf(error: z.ZodError): string {
  const parts = error.issues.map(({ path, message }) => `${path.join(".") || "the answer"}: ${message}`);
  return parts.join("; ");
}

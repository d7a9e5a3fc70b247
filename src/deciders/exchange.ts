import type { DecisionRequest } from "../routed/decision/request.js";
import type { FailureReason } from "./failures.js";
/**
 * One request to a model and what came of it, for a log of AI interactions. Known keys, and whatever looks like one, are
 * taken out of all texts. What agents have reported stands in them: such a log is as confidential as the store.
 */
export interface DeciderExchange {
  /** `gemini`, `ai-sdk` or `sampling`. */
  readonly decider: string;
  /** As the provider names it, where it is known. */
  readonly model?: string;
  readonly instanceId: string;
  readonly workflow: string;
  readonly operation: DecisionRequest["operation"];
  /** 1, or 2 for the retry. */
  readonly attempt: number;
  readonly request: { readonly system: string; readonly user: string };
  /** The model's text; where the request failed, what the provider says of it. */
  readonly response?: string;
  readonly failure?: { readonly reason: FailureReason; readonly status?: number };
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly milliseconds: number;
}

/** Hears of every request. What it throws or rejects with is a warning of the process, and stops no decision. */
export type OnExchange = (exchange: DeciderExchange) => unknown;

const MARK = "[redacted]";
/** Shorter secrets are words: to take them out would spoil texts, and hide nothing. */
const SHORTEST = 6;

/** How keys of well-known providers look, and where keys stand in what clients and servers write. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/\bAIza[\w-]{10,}/g, MARK],
  [/\bAQ\.[\w-]{16,}/g, MARK],
  [/\b(?:sk|rk|pk|gsk|xai|key)[-_][\w-]{12,}/g, MARK],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${MARK}`],
  [
    /((?:api[-_]?key|x-goog-api-key|authorization|access[-_]?token)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;&}]{6,}/gi,
    `$1${MARK}`,
  ],
];

/** Takes secrets out of a text. */
type Redact = (text: string) => string;

/** Takes these secrets out of texts, also where they are encoded for a URL, in base64 or in JSON. */
export function redactor(secrets: readonly string[]): Redact {
  const forms = new Set(secrets.filter((secret) => secret.length >= SHORTEST).flatMap(formsOf));
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((rest, form) => rest.replaceAll(form, MARK), text);
}

/** Takes out, besides, whatever looks like a key: for logs, where too much may be taken. */
export function redactShapes(text: string): string {
  return SHAPES.reduce((rest, [shape, mark]) => rest.replace(shape, mark), text);
}

function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(String.fromCharCode(...bytes)).replaceAll("=", "");
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64];
}

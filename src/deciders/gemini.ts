/** `GeminiDecider` asks a Gemini model with Google's client, whose package is loaded on first use. */
import type { GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { PhasegateError } from "../errors.js";
import { requireExports } from "../ports/optional-package.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { DecisionPrompt } from "../routed/decision/prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";
import { failureOf, httpFailure, RequestFailure, readRetryAfter, readRetryInfo, unusableClient } from "./exchange.js";
import {
  decideByModel,
  invalidOption,
  type ModelDeciderOptions,
  type ModelReply,
  type ModelSettings,
  modelSettings,
} from "./model.js";

/** Options of a Gemini model. */
export interface GeminiDeciderOptions extends ModelDeciderOptions {
  /** The key of the Gemini API. */
  readonly apiKey: string;
  /** The name of the model. Default `gemini-flash-latest`. */
  readonly model?: string;
  /** The URL of another server with Gemini's protocol. Default: Google's. */
  readonly baseUrl?: string;
  /** The temperature of the model. Default: the model's. */
  readonly temperature?: number;
  /** Maximum number of output tokens, thoughts included: a low limit cuts answers off. Default: the model's. */
  readonly maxOutputTokens?: number;
}

/** Variables by name, such as `process.env`. */
export type GeminiEnvironment = Readonly<Record<string, string | undefined>>;

const DEFAULT_MODEL = "gemini-flash-latest";

/** Asks one of Google's Gemini models. Needs the optional peer `@google/genai`. */
export class GeminiDecider implements StepDecider {
  readonly #options: GeminiDeciderOptions;
  readonly #settings: ModelSettings;
  #sdk: Promise<GoogleGenAI> | undefined;

  /**
   * Creates a decider. The package `@google/genai` is loaded when it is first needed.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when `apiKey` is not a key, or an option is out of range.
   */
  constructor(options: GeminiDeciderOptions) {
    // Other characters are invalid in a header, and the error about that would contain the key.
    if (typeof options.apiKey !== "string" || !/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw invalidOption("apiKey", "a key of visible ASCII characters");
    }
    const { model = DEFAULT_MODEL, baseUrl } = options;
    if (typeof model !== "string" || model.trim() === "") throw invalidOption("model", "the name of a model");
    if (baseUrl !== undefined && !isHttpUrl(baseUrl)) throw invalidOption("baseUrl", "an http or https URL");
    this.#options = options;
    this.#settings = modelSettings(options, [options.apiKey]);
  }

  /**
   * Creates a decider from `GEMINI_API_KEY`, and optionally `GEMINI_MODEL_NAME` and `GEMINI_REQUEST_TIMEOUT_SECONDS`, in an
   * environment such as `process.env`. Options win over variables.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when a variable is missing or invalid, with its name in `details.field`.
   */
  static fromEnv(env: GeminiEnvironment, options: Partial<GeminiDeciderOptions> = {}): GeminiDecider {
    // An option that is undefined hides no variable.
    return new GeminiDecider({ ...options, ...readGeminiEnvironment(env, options) });
  }

  /**
   * Asks the model for the next step.
   *
   * @throws {PhasegateError} `DECIDER_FAILED` when the model gives no usable answer.
   * @throws {PhasegateError} `TOO_LARGE` when the prompt exceeds `maxPromptTokens`.
   */
  decide(request: DecisionRequest, { signal }: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    const { model = DEFAULT_MODEL } = this.#options;
    const ask = (prompt: DecisionPrompt, own: AbortSignal) => this.#ask(model, prompt, own);
    return decideByModel({ client: { name: "gemini", label: model, ask }, request, signal, settings: this.#settings });
  }

  async #ask(model: string, prompt: DecisionPrompt, signal: AbortSignal): Promise<ModelReply> {
    const sdk = await this.#load();
    const { temperature, maxOutputTokens } = this.#options;
    let answered: Response | undefined;
    const watched = async (...[url, init]: Parameters<typeof fetch>) => {
      // A redirect is not followed: the header with the key would be sent to its target.
      answered = await fetch(url, { ...init, redirect: "manual" });
      return answered;
    };
    try {
      const response = await sdk.models.generateContent({
        model,
        contents: prompt.user,
        config: {
          systemInstruction: prompt.system,
          responseMimeType: "application/json",
          responseJsonSchema: prompt.schema,
          abortSignal: signal,
          httpOptions: { fetch: watched },
          temperature,
          maxOutputTokens,
        },
      });
      return readGeminiResponse(response);
    } catch (error) {
      throw answered === undefined || answered.ok ? failureOf(error) : refused(answered, error);
    }
  }

  #load(): Promise<GoogleGenAI> {
    this.#sdk ??= loadSdk().then(({ GoogleGenAI: Sdk }) => {
      const { apiKey, baseUrl } = this.#options;
      // Not Vertex AI, even if the environment selects it: the key is for the Gemini API.
      return new Sdk({ apiKey, vertexai: false, ...(baseUrl === undefined ? {} : { httpOptions: { baseUrl } }) });
    });
    return this.#sdk;
  }
}

/** Throws `DECIDER_FAILED` if the package can't be used. */
async function loadSdk(): Promise<typeof import("@google/genai")> {
  try {
    const sdk = await import("@google/genai");
    requireExports(sdk, ["GoogleGenAI"]);
    return sdk;
  } catch (error) {
    throw unusableClient({ name: "@google/genai", versions: "1 or later", users: "deciders of Gemini" }, error);
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Reads the variables that the options do not replace. Throws `INVALID_INPUT`. */
function readGeminiEnvironment(env: GeminiEnvironment, known: Partial<GeminiDeciderOptions>) {
  const value = (name: string) => env[name]?.trim() || undefined;
  const apiKey = known.apiKey ?? value("GEMINI_API_KEY");
  if (apiKey === undefined) throw badVariable("GEMINI_API_KEY", "is not set", "a key of the Gemini API");
  const model = known.model === undefined ? value("GEMINI_MODEL_NAME") : undefined;
  const seconds = known.timeoutMs === undefined ? value("GEMINI_REQUEST_TIMEOUT_SECONDS") : undefined;
  return {
    apiKey,
    ...(model === undefined ? {} : { model }),
    ...(seconds === undefined ? {} : { timeoutMs: milliseconds(seconds) }),
  };
}

/** Returns the error for an environment variable. Its value isn't shown: it may be a key in the wrong place. */
function badVariable(field: string, what: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the environment variable ${field} ${what}`, {
    remedy: `Set ${field} to ${expected}, or use a decider that needs no key: LinearDecider, SamplingDecider.`,
    details: { field, expected },
  });
}

function milliseconds(seconds: string): number {
  const number = /^\d+(?:\.\d+)?$/.test(seconds) ? Number(seconds) : Number.NaN;
  if (number >= 0.001 && number <= 3600) return Math.round(number * 1000);
  throw badVariable("GEMINI_REQUEST_TIMEOUT_SECONDS", "can't be read", "a number of seconds from 0.001 to 3600");
}

/** Reads the text and the tokens of an answer. Throws a `RequestFailure` if the answer was blocked. */
function readGeminiResponse(response: GenerateContentResponse): ModelReply {
  const { promptFeedback, candidates, usageMetadata, modelVersion } = response;
  const [candidate] = candidates ?? [];
  const blocked = promptFeedback?.blockReason ?? blockedBy(candidate?.finishReason);
  // Not response.text: it writes warnings to the console, and stdout may carry the protocol.
  const parts = candidate?.content?.parts ?? [];
  const text = parts.map(({ text: part, thought }) => (thought ? "" : (part ?? ""))).join("");
  if (blocked !== undefined)
    throw new RequestFailure("safety", { code: blocked, ...(text === "" ? {} : { says: text }) });
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usageMetadata ?? {};
  return {
    text,
    model: modelVersion,
    inputTokens: promptTokenCount,
    // Thoughts are billed as output.
    outputTokens: added(candidatesTokenCount, thoughtsTokenCount),
  };
}

/** The finish reasons of answers that Gemini blocks. */
const BLOCKED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "MODEL_ARMOR",
]);

function blockedBy(finishReason: string | undefined): string | undefined {
  return finishReason !== undefined && BLOCKED.has(finishReason) ? finishReason : undefined;
}

function added(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** Returns the failure for an error of the client. The answer's body is in the client's error. */
function refused({ status, headers }: Response, error: unknown) {
  const says = error instanceof Error ? error.message : "";
  const retryAfterMs = readRetryAfter(headers.get("retry-after")) ?? readRetryInfo(says);
  return httpFailure(status, { retryAfterMs, says });
}

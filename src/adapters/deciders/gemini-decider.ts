import type { GoogleGenAI } from "@google/genai";
import type { DecisionPrompt } from "../../decision/build-decision-prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../../decision/decision-request.js";
import type { StepDecider } from "../../ports/step-decider.js";
import { decideByModel } from "./decide-by-model.js";
import { type GeminiEnvironment, readGeminiEnvironment } from "./gemini-environment.js";
import { readGeminiResponse } from "./gemini-reply.js";
import { loadPackage } from "./load-package.js";
import type { ModelReply } from "./model-client.js";
import { invalidOption, type ModelDeciderOptions, type ModelSettings, modelSettings } from "./model-settings.js";
import { failureOf, httpFailure } from "./request-failure.js";
import { readRetryAfter, readRetryInfo } from "./retry-delay.js";

/** How Gemini is asked. */
export interface GeminiDeciderOptions extends ModelDeciderOptions {
  readonly apiKey: string;
  /** Default `gemini-flash-latest`. */
  readonly model?: string;
  /** Another server that speaks Gemini's protocol. Google's if not given. */
  readonly baseUrl?: string;
  readonly temperature?: number;
  /** Thoughts count, too: a limit that is too low cuts answers off. The model's own if not given. */
  readonly maxOutputTokens?: number;
}

const DEFAULT_MODEL = "gemini-flash-latest";

/** Asks one of Google's Gemini models. Needs the optional peer `@google/genai`. */
export class GeminiDecider implements StepDecider {
  readonly #options: GeminiDeciderOptions;
  readonly #settings: ModelSettings;
  #sdk: Promise<GoogleGenAI> | undefined;

  /** Throws `INVALID_INPUT`. */
  constructor(options: GeminiDeciderOptions) {
    // Anything else would not go into a header, and the error of who tries says what it was.
    if (typeof options.apiKey !== "string" || !/^[\x21-\x7e]+$/.test(options.apiKey)) {
      throw invalidOption("apiKey", "a key of visible ASCII characters");
    }
    this.#options = options;
    this.#settings = modelSettings(options, [options.apiKey]);
  }

  /**
   * Takes `GEMINI_API_KEY`, and if they are there `GEMINI_MODEL_NAME` and `GEMINI_REQUEST_TIMEOUT_SECONDS`, from an
   * environment such as `process.env`; what is in `options` goes before. Throws `INVALID_INPUT` with the variable's name.
   */
  static fromEnv(env: GeminiEnvironment, options: Partial<GeminiDeciderOptions> = {}): GeminiDecider {
    return new GeminiDecider({ ...readGeminiEnvironment(env, options), ...options });
  }

  /** Throws `DECIDER_FAILED`, and `TOO_LARGE` for a prompt over `maxPromptTokens`. */
  decide(request: DecisionRequest, { signal }: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    const { model = DEFAULT_MODEL } = this.#options;
    const ask = (prompt: DecisionPrompt, own: AbortSignal) => this.#ask(model, prompt, own);
    return decideByModel({
      client: { name: "gemini", label: model, ask },
      request,
      signal,
      settings: this.#settings,
    });
  }

  async #ask(model: string, prompt: DecisionPrompt, signal: AbortSignal): Promise<ModelReply> {
    const sdk = await this.#load();
    const { temperature, maxOutputTokens } = this.#options;
    let answered: Response | undefined;
    const watched = async (...[url, init]: Parameters<typeof fetch>) => {
      // Followed, a redirect would carry the key's header to wherever it leads.
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
          ...(temperature === undefined ? {} : { temperature }),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        },
      });
      return readGeminiResponse(response);
    } catch (error) {
      throw answered === undefined || answered.ok ? failureOf(error) : refused(answered, error);
    }
  }

  #load(): Promise<GoogleGenAI> {
    this.#sdk ??= loadPackage("@google/genai", "3.1.0", () => import("@google/genai")).then(({ GoogleGenAI: Sdk }) => {
      const { apiKey, baseUrl } = this.#options;
      // Not Vertex AI, whatever the environment says: the key is one of the Gemini API.
      return new Sdk({ apiKey, vertexai: false, ...(baseUrl === undefined ? {} : { httpOptions: { baseUrl } }) });
    });
    return this.#sdk;
  }
}

/** What the client throws holds the body of the answer. */
function refused({ status, headers }: Response, error: unknown) {
  const says = error instanceof Error ? error.message : "";
  const retryAfterMs = readRetryAfter(headers.get("retry-after")) ?? readRetryInfo(says);
  return httpFailure(status, { retryAfterMs, says });
}

/** `AiSdkDecider` asks a language model through the Vercel AI SDK, which is loaded on first use. */
import type { JSONSchema7, LanguageModel } from "ai";
import * as z from "zod";
import type { StepDecider } from "../ports/step-decider.js";
import type { DecisionPrompt } from "../routed/decision/prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";
import type { JsonObject } from "../workflow/json.js";
import { failureOf, httpFailure, loadPackage, RequestFailure, readRetryAfter, readRetryInfo } from "./exchange.js";
import {
  decideByModel,
  invalidOption,
  type ModelDeciderOptions,
  type ModelReply,
  type ModelSettings,
  modelSettings,
} from "./model.js";

/** A language model of the Vercel AI SDK, as `openai("…")`, `anthropic("…")` or `google("…")` returns it. */
export interface AiSdkModel {
  /** The version of the SDK's model interface. */
  readonly specificationVersion: string;
  /** The name of the provider. */
  readonly provider: string;
  /** The provider's name of the model. */
  readonly modelId: string;
}

/** The options of {@link AiSdkDecider}. */
export interface AiSdkDeciderOptions extends ModelDeciderOptions {
  /** A model, or a name for the SDK's gateway, such as `openai/gpt-5`. */
  readonly model: AiSdkModel | string;
  /**
   * The keys that the model was created with, which the SDK does not reveal. They are removed from exchanges and
   * answers. Without them an exchange does not contain the provider's text about a refused request, since it may repeat
   * a key. Default: none.
   */
  readonly secrets?: readonly string[];
  /** The sampling temperature. Default: the model's. */
  readonly temperature?: number;
  /** Maximum number of output tokens. Default: the model's. */
  readonly maxOutputTokens?: number;
  /** Options of providers, by the provider's name, as the SDK accepts them. Default: none. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

/** Asks any language model of the Vercel AI SDK. Needs the optional peer `ai`, and the provider's package. */
export class AiSdkDecider implements StepDecider {
  readonly #options: AiSdkDeciderOptions;
  readonly #model: LanguageModel;
  readonly #settings: ModelSettings;

  /**
   * Checks the options. Nothing is loaded or sent yet.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid.
   */
  constructor(options: AiSdkDeciderOptions) {
    const { model, secrets = [] } = options;
    if (!isLanguageModel(model)) throw invalidOption("model", "a language model of the AI SDK, or its name");
    this.#options = options;
    this.#model = model;
    this.#settings = modelSettings(options, secrets);
  }

  /**
   * Asks the model for the next step.
   *
   * @throws {PhasegateError} `DECIDER_FAILED` when the model gives no usable answer, or the package `ai` cannot be
   * loaded.
   * @throws {PhasegateError} `TOO_LARGE` when the prompt exceeds `maxPromptTokens`.
   */
  decide(request: DecisionRequest, { signal }: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    const label = typeof this.#model === "string" ? this.#model : this.#model.modelId;
    const ask = (prompt: DecisionPrompt, own: AbortSignal) => this.#ask(prompt, own);
    return decideByModel({ client: { name: "ai-sdk", label, ask }, request, signal, settings: this.#settings });
  }

  async #ask(prompt: DecisionPrompt, signal: AbortSignal): Promise<ModelReply> {
    const sdk = await loadPackage("ai", "7", () => import("ai"));
    const { temperature, maxOutputTokens, providerOptions, secrets = [] } = this.#options;
    // Through its text, since the two ways to write the same type down don't fit.
    const schema: JSONSchema7 = JSON.parse(JSON.stringify(prompt.schema));
    try {
      const { text, usage, response, finishReason } = await sdk.generateText({
        model: this.#model,
        instructions: prompt.system,
        prompt: prompt.user,
        output: sdk.Output.object({ schema: sdk.jsonSchema(schema), name: "decision" }),
        maxRetries: 0,
        abortSignal: signal,
        ...(temperature === undefined ? {} : { temperature }),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(providerOptions === undefined ? {} : { providerOptions: { ...providerOptions } }),
      });
      if (finishReason === "content-filter") throw new RequestFailure("safety", { code: finishReason, says: text });
      return { text, model: response.modelId, inputTokens: usage.inputTokens, outputTokens: usage.outputTokens };
    } catch (error) {
      if (!sdk.NoObjectGeneratedError.isInstance(error)) throw aiSdkFailure(error, secrets.length > 0);
      const { text = "", usage, response, finishReason } = error;
      if (finishReason === "content-filter") throw new RequestFailure("safety", { code: finishReason, says: text });
      return { text, model: response?.modelId, inputTokens: usage?.inputTokens, outputTokens: usage?.outputTokens };
    }
  }
}

function isLanguageModel(model: unknown): model is LanguageModel {
  if (typeof model === "string") return model.trim() !== "";
  if (typeof model !== "object" || model === null) return false;
  return "modelId" in model && "doGenerate" in model && typeof model.doGenerate === "function";
}

/** The fields that all API errors of the AI SDK have. */
const answeredSchema = z.object({
  statusCode: z.number(),
  responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  cause: z.unknown(),
});

/** Converts an error of the AI SDK. The provider's text is included only if keys in it can be removed. */
function aiSdkFailure(error: unknown, mayShow: boolean): RequestFailure {
  if (error instanceof RequestFailure) return error;
  const { data } = answeredSchema.safeParse(error);
  if (data === undefined) return failureOf(error);
  const { statusCode, responseHeaders = {}, responseBody, cause } = data;
  const says = mayShow ? responseBody : undefined;
  if (statusCode < 200 || statusCode > 299) {
    const retryAfterMs = readRetryAfter(responseHeaders["retry-after"]) ?? readRetryInfo(responseBody ?? "");
    return httpFailure(statusCode, { says, retryAfterMs });
  }
  // There was an answer, but it was truncated or not in the provider's format.
  const { reason, facts } = failureOf(cause);
  if (reason === "network") return new RequestFailure("network", facts);
  return new RequestFailure("invalid_response", { problem: "it was no answer of this provider", says });
}

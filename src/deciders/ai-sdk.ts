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
/** A language model of the Vercel AI SDK: what `openai("…")`, `anthropic("…")`, `google("…")` and their like give. */
export interface AiSdkModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** How a model of the AI SDK is asked. */
export interface AiSdkDeciderOptions extends ModelDeciderOptions {
  /** A model, or a name for the SDK's gateway, such as `openai/gpt-5`. */
  readonly model: AiSdkModel | string;
  /**
   * Keys that the model was made with: the SDK doesn't tell. They are taken out of exchanges and answers; without them an
   * exchange doesn't show what the provider says of a request that it refuses, since that may repeat a key.
   */
  readonly secrets?: readonly string[];
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  /** What only one provider knows, by its name, as the SDK takes it. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

/** Asks any language model of the Vercel AI SDK. Needs the optional peer `ai`, and the provider's package. */
export class AiSdkDecider implements StepDecider {
  readonly #options: AiSdkDeciderOptions;
  readonly #model: LanguageModel;
  readonly #settings: ModelSettings;

  /** Throws `INVALID_INPUT`. */
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
   * @throws {PhasegateError} `DECIDER_FAILED` when the model gives no usable answer.
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

/** What errors of the AI SDK have in common, whichever package they are of. */
const answeredSchema = z.object({
  statusCode: z.number(),
  responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  cause: z.unknown(),
});

/** Returns what went wrong, by an error of the AI SDK. What the provider says is taken along where keys in it can be found. */
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
  // It was answered, but what came was cut off, or not what this provider's answers are.
  const { reason, facts } = failureOf(cause);
  if (reason === "network") return new RequestFailure("network", facts);
  return new RequestFailure("invalid_response", { problem: "it was no answer of this provider", says });
}

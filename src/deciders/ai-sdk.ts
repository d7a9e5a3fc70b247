/** `AiSdkDecider` asks a language model through the Vercel AI SDK, which is loaded on first use. */
import type { JSONSchema7, LanguageModel } from "ai";
import * as z from "zod";
import { requireExports } from "../ports/optional-package.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { DecisionPrompt } from "../routed/decision/prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";
import type { JsonObject } from "../workflow/json.js";
import {
  failureOf,
  httpFailure,
  isRedacted,
  RequestFailure,
  readRetryAfter,
  readRetryInfo,
  SHORTEST,
  unusableClient,
} from "./exchange.js";
import {
  decideByModel,
  invalidOption,
  type ModelDeciderOptions,
  type ModelReply,
  type ModelSettings,
  modelSettings,
} from "./model.js";

/** A language model of the Vercel AI SDK, as `openai("…")`, `anthropic("…")` and `google("…")` return it. */
export interface AiSdkModel {
  /** The version of the SDK's model interface. */
  readonly specificationVersion: string;
  readonly provider: string;
  /** The provider's name of the model. */
  readonly modelId: string;
}

/** Options of a model of the AI SDK. */
export interface AiSdkDeciderOptions extends ModelDeciderOptions {
  /** A model, or a name for the SDK's gateway, such as `openai/gpt-5`. */
  readonly model: AiSdkModel | string;
  /**
   * Keys that the model was created with, which the SDK does not reveal. They are removed from exchanges and answers. Default:
   * none, and exchanges then leave out the provider's message about a refused request, since it may contain a key.
   */
  readonly secrets?: readonly string[];
  /** The temperature of the model. Default: the provider's. */
  readonly temperature?: number;
  /** Maximum number of output tokens: a low limit cuts answers off. Default: the provider's. */
  readonly maxOutputTokens?: number;
  /** Options for one provider each, by its name, as the SDK takes them. Default: none. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

/** Asks any language model of the Vercel AI SDK. Needs the optional peer `ai`, and the provider's package. */
export class AiSdkDecider implements StepDecider {
  readonly #options: AiSdkDeciderOptions;
  readonly #model: LanguageModel;
  readonly #settings: ModelSettings;

  /**
   * Creates a decider. The SDK is loaded when it is first needed.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when `model` is not a language model of the AI SDK, or an option is out of range.
   */
  constructor(options: AiSdkDeciderOptions) {
    const { model, secrets = [] } = options;
    if (!isLanguageModel(model)) throw invalidOption("model", "a language model of the AI SDK, or its name");
    if (!secrets.every(isRedacted)) throw invalidOption("secrets", `a list of keys of ${SHORTEST} characters or more`);
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
    const sdk = await loadSdk();
    const { temperature, maxOutputTokens, providerOptions, secrets = [] } = this.#options;
    // Converted through JSON: the two types describe the same values, but are not assignable.
    const schema: JSONSchema7 = JSON.parse(JSON.stringify(prompt.schema));
    try {
      const { text, usage, response, finishReason } = await sdk.generateText({
        model: this.#model,
        system: prompt.system,
        prompt: prompt.user,
        ...askedFor(sdk.Output.object({ schema: sdk.jsonSchema(schema), name: "decision" })),
        maxRetries: 0,
        abortSignal: signal,
        temperature,
        maxOutputTokens,
        providerOptions: providerOptions && { ...providerOptions },
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

/** Returns the option for the answer's schema: version 5 of the SDK knows it by another name. */
function askedFor<Output>(output: Output): { output: Output } {
  return Object.assign({ output }, { experimental_output: output });
}

/** Throws `DECIDER_FAILED` if the package can't be used. */
async function loadSdk(): Promise<typeof import("ai")> {
  try {
    const sdk = await import("ai");
    requireExports(sdk, ["generateText", "Output", "jsonSchema", "NoObjectGeneratedError"]);
    return sdk;
  } catch (error) {
    throw unusableClient({ name: "ai", versions: "5 or later", users: "deciders of the AI SDK" }, error);
  }
}

function isLanguageModel(model: unknown): model is LanguageModel {
  if (typeof model === "string") return model.trim() !== "";
  if (typeof model !== "object" || model === null) return false;
  return "modelId" in model && "doGenerate" in model && typeof model.doGenerate === "function";
}

/** The common part of errors in all packages of the AI SDK. */
const answeredSchema = z.object({
  statusCode: z.number(),
  responseHeaders: z.record(z.string(), z.string()).optional().catch(undefined),
  responseBody: z.string().optional().catch(undefined),
  cause: z.unknown(),
});

/** Returns the failure for an error of the SDK. The provider's message is kept only if keys in it can be found. */
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
  // The answer was cut off, or is not in the format of this provider.
  const { reason, facts } = failureOf(cause);
  if (reason === "network") return new RequestFailure("network", facts);
  return new RequestFailure("invalid_response", { problem: "it was not in the format of this provider", says });
}

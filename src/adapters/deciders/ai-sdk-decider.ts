import type { JSONSchema7, LanguageModel } from "ai";
import type { DecisionPrompt } from "../../decision/build-decision-prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../../decision/decision-request.js";
import type { JsonObject } from "../../definition/json.js";
import type { StepDecider } from "../../ports/step-decider.js";
import { aiSdkFailure } from "./ai-sdk-failure.js";
import { decideByModel } from "./decide-by-model.js";
import { loadPackage } from "./load-package.js";
import type { ModelReply } from "./model-client.js";
import { invalidOption, type ModelDeciderOptions, type ModelSettings, modelSettings } from "./model-settings.js";
import { RequestFailure } from "./request-failure.js";

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

  /** Throws `DECIDER_FAILED`, and `TOO_LARGE` for a prompt over `maxPromptTokens`. */
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

/** `SamplingDecider` asks the model of the connected MCP client by a sampling request. */
import * as z from "zod";
import { PhasegateError } from "../errors.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { DecisionPrompt } from "../routed/decision/prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../routed/decision/request.js";
import { failureOf, RequestFailure } from "./exchange.js";
import {
  decideByModel,
  type ModelDeciderOptions,
  type ModelReply,
  type ModelSettings,
  modelSettings,
} from "./model.js";

/** The parameters of a `sampling/createMessage` request. */
export interface SamplingParams {
  /** The prompt: one message of the user. */
  messages: { role: "user"; content: { type: "text"; text: string } }[];
  /** The system prompt. */
  systemPrompt: string;
  /** Maximum number of output tokens. */
  maxTokens: number;
}

/** The part of an MCP server that asks its client: `server.server` of an `McpServer` has it. */
export interface SamplingServer {
  /** Undefined while no client is connected. A server without this property counts as connected. */
  readonly transport?: object | undefined;
  /** Returns the client's capabilities. */
  getClientCapabilities(): { readonly sampling?: object | undefined } | undefined;
  /** Sends the client a request; the `timeout` is in milliseconds. */
  createMessage(params: SamplingParams, options: { signal: AbortSignal; timeout: number }): Promise<unknown>;
}

/** The options of {@link SamplingDecider}. */
export interface SamplingDeciderOptions extends ModelDeciderOptions {
  /** The server; or, if one engine serves several clients, a function that returns the server of the current call. */
  readonly server: SamplingServer | (() => SamplingServer | undefined);
  /** Maximum number of output tokens. Default 2,000. */
  readonly maxTokens?: number;
}

/**
 * Asks the model of the connected MCP client by a sampling request. It needs no key, and the client's user pays. Most
 * clients ask their user first, so allow enough time (`timeoutMs`, and the engine's `limits.deciderDeadlineMs`).
 * Sampling exists up to protocol version 2025-11-25; from 2026-07-28 servers send no requests to clients.
 */
export class SamplingDecider implements StepDecider {
  readonly #options: SamplingDeciderOptions;
  readonly #settings: ModelSettings;

  /**
   * Checks the options. Nothing is sent yet.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid.
   */
  constructor(options: SamplingDeciderOptions) {
    this.#options = options;
    this.#settings = modelSettings(options, []);
  }

  /**
   * Asks the client's model for the next step.
   *
   * @throws {PhasegateError} `DECIDER_FAILED` when the client has no sampling, or gives no usable answer.
   * @throws {PhasegateError} `TOO_LARGE` when the prompt exceeds `maxPromptTokens`.
   */
  decide(request: DecisionRequest, { signal }: { readonly signal: AbortSignal }): Promise<DeciderAnswer> {
    const ask = (prompt: DecisionPrompt, own: AbortSignal) => this.#ask(prompt, own);
    const client = { name: "sampling", label: "the client's model", ask };
    return decideByModel({ client, request, signal, settings: this.#settings });
  }

  async #ask({ system, user }: DecisionPrompt, signal: AbortSignal): Promise<ModelReply> {
    const { server: given, maxTokens = 2000 } = this.#options;
    const server = typeof given === "function" ? given() : given;
    const alone = server !== undefined && "transport" in server && server.transport === undefined;
    if (server === undefined || alone) throw cannotAsk("no MCP client is connected");
    // Missing on connections of later protocols: to ask tells.
    const capabilities = server.getClientCapabilities();
    if (capabilities !== undefined && capabilities.sampling === undefined) {
      throw cannotAsk("the MCP client has no sampling");
    }
    const params: SamplingParams = {
      messages: [{ role: "user", content: { type: "text", text: user } }],
      systemPrompt: system,
      maxTokens,
    };
    try {
      // The deadline is ours; the SDK's own must not come before it.
      const options = { signal, timeout: this.#settings.timeoutMs + 1000 };
      return readSamplingResult(await server.createMessage(params, options));
    } catch (error) {
      throw samplingFailure(error) ?? cannotAsk("the MCP client's protocol has no sampling requests");
    }
  }
}

function cannotAsk(what: string): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", `${what}: its model can't be asked`, {
    remedy:
      "Connect a client with the capability sampling, or give the engine another decider: LinearDecider, GeminiDecider, AiSdkDecider. The report is kept: retry goes on with it.",
    details: { reason: "unavailable", retryable: false, requests: 0 },
  });
}

const blockSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const resultSchema = z.object({
  model: z.string().optional().catch(undefined),
  content: z.union([blockSchema, z.array(blockSchema)]),
});

/** Takes the text out of what a client's model has answered. */
function readSamplingResult(result: unknown): ModelReply {
  const { data } = resultSchema.safeParse(result);
  if (data === undefined) throw new RequestFailure("invalid_response", { problem: "it had no text" });
  const blocks = Array.isArray(data.content) ? data.content : [data.content];
  return { text: blocks.map(({ type, text }) => (type === "text" ? (text ?? "") : "")).join(""), model: data.model };
}

/** What the SDK's errors have as `code`: its own words, or the numbers of JSON-RPC. */
const errorSchema = z.object({ code: z.union([z.string(), z.number()]) });

/** The client can't be asked at all, by its capabilities or by the protocol's version. */
const CANNOT: ReadonlySet<string | number> = new Set([
  "CAPABILITY_NOT_SUPPORTED",
  "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
  -32601,
]);
const BROKEN: ReadonlySet<string | number> = new Set(["NOT_CONNECTED", "CONNECTION_CLOSED", "SEND_FAILED"]);

/** Returns what went wrong; undefined where the client can't be asked at all. */
function samplingFailure(error: unknown): RequestFailure | undefined {
  if (error instanceof RequestFailure) return error;
  const code = errorSchema.safeParse(error).data?.code;
  if (code === undefined) return failureOf(error);
  if (CANNOT.has(code)) return undefined;
  if (BROKEN.has(code)) return new RequestFailure("network", { code: String(code) });
  if (code === "REQUEST_TIMEOUT") return new RequestFailure("timeout");
  if (code === "INVALID_RESULT")
    return new RequestFailure("invalid_response", { problem: "it was no sampling result" });
  // A client whose user says no answers with an error, too: it may be another time.
  return new RequestFailure("unavailable", { code: String(code), retryable: true });
}

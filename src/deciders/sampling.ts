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
  requireWhole,
} from "./model.js";

/** The parameters of `sampling/createMessage`. No interface: the oldest SDK wants what any key may be added to. */
export type SamplingParams = {
  /** One message with the prompt. */
  messages: { role: "user"; content: { type: "text"; text: string } }[];
  systemPrompt: string;
  /** Maximum number of tokens of the answer. */
  maxTokens: number;
};

/** The part of an MCP server that sends requests to its client; `server.server` of an `McpServer` has it. */
export interface SamplingServer {
  /** The connection: undefined while no client is connected. An object without this property counts as connected. */
  readonly transport?: object | undefined;
  /** Returns the capabilities that the client has declared; undefined if it has declared none. */
  getClientCapabilities(): { readonly sampling?: object | undefined } | undefined;
  /** Sends a sampling request to the client; `timeout` is in milliseconds. */
  createMessage(params: SamplingParams, options: { signal: AbortSignal; timeout: number }): Promise<unknown>;
}

/** Options of a decider that asks the client's model. */
export interface SamplingDeciderOptions extends ModelDeciderOptions {
  /** The server, or a function that returns the one whose client is calling, if an engine serves several clients. */
  readonly server: SamplingServer | (() => SamplingServer | undefined);
  /** Maximum size of an answer, in tokens. Default 2,000. */
  readonly maxTokens?: number;
}

/** The default size of an answer, in tokens. */
const MAX_TOKENS = 2000;

/**
 * Asks the model of the connected MCP client by a sampling request. It needs no key, and the client's user pays. Most
 * clients ask their user first, so allow enough time (`timeoutMs`, and the engine's `limits.deciderDeadlineMs`). Sampling
 * exists up to protocol version 2025-11-25; from 2026-07-28 on, servers send no requests to clients.
 */
export class SamplingDecider implements StepDecider {
  readonly #server: SamplingDeciderOptions["server"];
  readonly #maxTokens: number;
  readonly #settings: ModelSettings;

  /**
   * Creates a decider.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when an option is out of range.
   */
  constructor(options: SamplingDeciderOptions) {
    const { maxTokens = MAX_TOKENS } = options;
    requireWhole("maxTokens", maxTokens);
    this.#maxTokens = maxTokens;
    this.#server = options.server;
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
    const given = this.#server;
    const server = typeof given === "function" ? given() : given;
    const alone = server !== undefined && "transport" in server && server.transport === undefined;
    if (server === undefined || alone) throw cannotAsk("no MCP client is connected");
    // Later protocols declare no capabilities here: the request itself shows whether the client supports sampling.
    const capabilities = server.getClientCapabilities();
    if (capabilities !== undefined && capabilities.sampling === undefined) {
      throw cannotAsk("the MCP client has no sampling");
    }
    const params: SamplingParams = {
      messages: [{ role: "user", content: { type: "text", text: user } }],
      systemPrompt: system,
      maxTokens: this.#maxTokens,
    };
    try {
      // The deadline of the decider counts; the timeout of the SDK must not come first.
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
      "Connect a client with the capability sampling, or give the engine another decider: LinearDecider, GeminiDecider, AiSdkDecider. The report is kept: call retry to decide on it again.",
    details: { reason: "unavailable", retryable: false, requests: 0 },
  });
}

const blockSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const resultSchema = z.object({
  model: z.string().optional().catch(undefined),
  content: z.union([blockSchema, z.array(blockSchema)]),
});

function readSamplingResult(result: unknown): ModelReply {
  const { data } = resultSchema.safeParse(result);
  if (data === undefined) throw new RequestFailure("invalid_response", { problem: "it contains no text" });
  const blocks = Array.isArray(data.content) ? data.content : [data.content];
  return { text: blocks.map(({ type, text }) => (type === "text" ? (text ?? "") : "")).join(""), model: data.model };
}

/** The `code` of the SDK's errors: a name, or a number of JSON-RPC. */
const errorSchema = z.object({ code: z.union([z.string(), z.number()]) });

/** The codes of clients and protocol versions that do not support sampling. */
const UNSUPPORTED: ReadonlySet<string | number> = new Set([
  "CAPABILITY_NOT_SUPPORTED",
  "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION",
  -32601,
]);
const BROKEN: ReadonlySet<string | number> = new Set(["NOT_CONNECTED", "CONNECTION_CLOSED", "SEND_FAILED"]);

/** Returns the failure; undefined if the client does not support sampling. */
function samplingFailure(error: unknown): RequestFailure | undefined {
  if (error instanceof RequestFailure) return error;
  const code = errorSchema.safeParse(error).data?.code;
  if (code === undefined) return failureOf(error);
  if (UNSUPPORTED.has(code)) return undefined;
  if (BROKEN.has(code)) return new RequestFailure("network", { code: String(code) });
  if (code === "REQUEST_TIMEOUT") return new RequestFailure("timeout");
  if (code === "INVALID_RESULT")
    return new RequestFailure("invalid_response", { problem: "it was not a sampling result" });
  // A client whose user declines also answers with an error; the user may agree later.
  return new RequestFailure("unavailable", { code: String(code), retryable: true });
}

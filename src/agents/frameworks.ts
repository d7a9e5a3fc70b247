/** Tools as frameworks take them. No framework is imported: each takes a plain value, or its own factory does. */
import { type PassedSchema, passThroughSchema } from "../tools/wire.js";
import { isJsonObject, type JsonObject } from "../workflow/json.js";
import type { AgentAnswer, AgentTool } from "./tools.js";

/** A tool of the AI SDK. */
export interface AiSdkTool {
  /** The description for the model. */
  readonly description: string;
  /** The schema of the input. It accepts everything: the tool itself answers what is wrong. */
  readonly inputSchema: PassedSchema;
  /** Executes a call; never rejects. */
  readonly execute: (
    input: unknown,
    options?: { readonly abortSignal?: AbortSignal | undefined },
  ) => Promise<AgentAnswer["body"]>;
}

/** Returns tools for the AI SDK: `tools` of `generateText`, `streamText` and `ToolLoopAgent`. */
export function aiSdkTools<Name extends string>(tools: readonly AgentTool<Name>[]): Record<Name, AiSdkTool>;
export function aiSdkTools(tools: readonly AgentTool[]): Record<string, AiSdkTool> {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema, call }) => {
      const execute: AiSdkTool["execute"] = async (input, { abortSignal: signal } = {}) =>
        (await call(input, { signal })).body;
      return [name, { description, inputSchema: passThroughSchema(inputSchema), execute }];
    }),
  );
}

/** What `createTool()` of Mastra takes, and `tools` of its `Agent`. */
export interface MastraTool extends AiSdkTool {
  /** The name that the model calls. */
  readonly id: string;
}

/** Returns tools for Mastra: `tools` of an `Agent`. */
export function mastraTools<Name extends string>(tools: readonly AgentTool<Name>[]): Record<Name, MastraTool>;
export function mastraTools(tools: readonly AgentTool[]): Record<string, MastraTool> {
  return Object.fromEntries(Object.entries(aiSdkTools(tools)).map(([id, one]) => [id, { id, ...one }]));
}

/** The parameters of a tool of the OpenAI Agents SDK: a JSON Schema whose objects may have more properties. */
interface OpenAiParameters {
  type: "object";
  properties: JsonObject;
  required: string[];
  additionalProperties: true;
}

/** What `tool()` of the OpenAI Agents SDK takes. */
export interface OpenAiTool {
  /** The name that the model calls. */
  name: string;
  /** The description for the model. */
  description: string;
  /** The JSON Schema of the input. */
  parameters: OpenAiParameters;
  /** False: the model may leave out what is optional. */
  strict: false;
  /** Executes a call; the answer is a text of JSON. Never rejects. */
  execute: (
    input: unknown,
    context?: unknown,
    details?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<string>;
}

/** Returns what `tool()` of `@openai/agents` takes: `tools.map((one) => tool(openAiTool(one)))`. */
export function openAiTool({ name, description, inputSchema, call }: AgentTool): OpenAiTool {
  const { properties, required } = inputSchema;
  return {
    name,
    description,
    parameters: {
      type: "object",
      properties: isJsonObject(properties) ? properties : {},
      required: Array.isArray(required) ? required.map(String) : [],
      additionalProperties: true,
    },
    strict: false,
    execute: async (input, _, { signal } = {}) => JSON.stringify((await call(input, { signal })).body),
  };
}

/** What `tool()` of LangChain takes. */
export type LangChainTool = readonly [
  /** Executes a call. The answer is a text of JSON for the model, and the same as the artifact of the message. */
  run: (
    input: unknown,
    config?: { readonly signal?: AbortSignal | undefined },
  ) => Promise<[string, AgentAnswer["body"]]>,
  fields: {
    readonly name: string;
    readonly description: string;
    /** The schema of the input, which publishes a JSON Schema. It accepts everything: the tool itself answers what is wrong. */
    readonly schema: PassedSchema & { readonly description: string };
    /** The answer is a text and an artifact. */
    readonly responseFormat: "content_and_artifact";
  },
];

/** Returns what `tool()` of `langchain` or `@langchain/core/tools` takes: `tools.map((one) => tool(...langChainTool(one)))`. */
export function langChainTool({ name, description, inputSchema, call }: AgentTool): LangChainTool {
  return [
    async (input, { signal } = {}) => {
      const { body } = await call(input, { signal });
      return [JSON.stringify(body), body];
    },
    {
      name,
      description,
      schema: { ...passThroughSchema(inputSchema), description },
      responseFormat: "content_and_artifact",
    },
  ];
}

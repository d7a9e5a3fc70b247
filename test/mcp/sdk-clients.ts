/** The clients of both SDKs over HTTP, the newest and the oldest, in protocol 2025. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client120 } from "mcp-sdk-1.20/client/index.js";
import { StreamableHTTPClientTransport as Transport120 } from "mcp-sdk-1.20/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import type { Answer } from "./connect-in-memory.js";

const ABOUT = { name: "agent", version: "1.0.0" };

/** Sends what the client's transport sends. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface SdkClientOptions {
  readonly fetch?: Fetch;
  readonly token?: string | undefined;
}

interface SdkClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Answer }): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  subscribeResource(params: { uri: string }): Promise<unknown>;
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

type Connect = (url: URL, options: object) => Promise<SdkClient>;

const CONNECT = {
  "@modelcontextprotocol/client": async (url, options) => {
    const client = new Client(ABOUT);
    await client.connect(new StreamableHTTPClientTransport(url, options));
    return client;
  },
  "@modelcontextprotocol/sdk": async (url, options) => {
    const client = new Client1(ABOUT);
    await client.connect(new Transport1(url, options));
    return client;
  },
  "@modelcontextprotocol/sdk@1.20": async (url, options) => {
    const client = new Client120(ABOUT);
    await client.connect(new Transport120(url, options));
    return client;
  },
} satisfies Record<string, Connect>;

export type Sdk = keyof typeof CONNECT;
export const SDKS = [
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/sdk",
  "@modelcontextprotocol/sdk@1.20",
] as const;

/** Connects a client of an SDK. `ask` returns the answer of the workflow tool. */
export async function connectSdk(sdk: Sdk, url: string, { fetch, token }: SdkClientOptions = {}) {
  const requestInit = token === undefined ? undefined : { headers: { authorization: `Bearer ${token}` } };
  const client = await CONNECT[sdk](new URL(url), { fetch, requestInit });
  onTestFinished(() => client.close());
  const ask = async (input: Answer): Promise<Answer> => {
    return textAnswer(await client.callTool({ name: "pos_workflow", arguments: input }));
  };
  return { client, ask };
}

/** Returns what the text of any SDK's result says. */
export function textAnswer(result: unknown): Answer {
  const [{ text }] = Object(result).content;
  return JSON.parse(text.slice(text.indexOf("{")));
}

import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";
import { createMcpHttpHandler, type HttpCall, type McpHttpOptions } from "phasegate/mcp-http";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { type HttpTimes, listen } from "../../src/cli/http-server.js";
import { type Answer, answerOf } from "./connect-in-memory.js";

/** The generations of the protocol, as the official client chooses them. */
export const GENERATIONS = ["2025", "2026"] as const;
export type Generation = (typeof GENERATIONS)[number];

/** Serves a handler with the server of `serve --listen`, on a free port. */
export async function serveMcp(options: McpHttpOptions, times: Partial<HttpTimes> = {}) {
  const calls: HttpCall[] = [];
  const errors: unknown[] = [];
  const handler = createMcpHttpHandler({
    onCall: (call) => calls.push(call),
    onError: (error) => errors.push(error),
    ...options,
  });
  const log = pino({ level: "silent" });
  const allTimes = { headers: 1000, request: 5000, drain: 1000, ...times };
  const serving = await listen(handler.fetch, "--listen", 0, log, allTimes);
  onTestFinished(async () => {
    await handler.close();
    serving.close();
    await serving.ended;
  });
  return { handler, url: `${serving.url}/mcp`, calls, errors };
}

/** Connects an official client. */
export async function connectTo(
  url: string,
  generation: Generation,
  { token, prepare, ...options }: ClientOptions & { token?: string; prepare?: (client: Client) => void } = {},
) {
  const negotiation = generation === "2026" ? { versionNegotiation: { mode: "auto" } as const } : {};
  const client = new Client({ name: "agent", version: "1.0.0" }, { ...negotiation, ...options });
  prepare?.(client);
  const auth: StreamableHTTPClientTransportOptions =
    token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  const transport = new StreamableHTTPClientTransport(new URL(url), auth);
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = (input: Answer, more: Parameters<Client["callTool"]>[1] = {}) =>
    client.callTool({ name: "pos_workflow", arguments: input }, more);
  return { client, transport, call, ask: async (input: Answer) => answerOf(await call(input)) };
}

/** Waits until something is so. */
export async function until(isSo: () => boolean, withinMs = 4000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!isSo()) {
    if (Date.now() > end) throw new Error("it did not become so in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

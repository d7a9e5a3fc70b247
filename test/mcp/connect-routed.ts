import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import type { WatchedTools } from "../../src/mcp/calls.js";
import { registerRoutedTools } from "../../src/mcp/routed-tools.js";
import type { RoutedEngine } from "../../src/routed/engine.js";
import type { RoutedToolsOptions } from "../../src/tools/routed/routed-tools.js";
import { type Answer, answerOf } from "./connect-in-memory.js";
import { createHostServer, type TestServer } from "./host-servers.js";

/** Creates a host's server with the tools of routed workflows, and connects a client to it. */
export async function connectRouted(
  engine: RoutedEngine,
  options: RoutedToolsOptions & WatchedTools = {},
  prepare: (client: Client, server: TestServer) => void = () => {},
  client = new Client({ name: "agent", version: "1.0.0" }, {} satisfies ClientOptions),
) {
  const server = await createHostServer();
  const tools = registerRoutedTools(server, engine, options);
  prepare(client, server);
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  // From now on the client checks each answer against the schema that its tool publishes.
  await client.listTools();
  onTestFinished(() => client.close());
  const call = (name: string, input: Answer = {}) => client.callTool({ name, arguments: input });
  const ask = async (name: string, input: Answer = {}) => answerOf(await call(name, input));
  const start = async (workflow_name = "GARDEN") =>
    String((await ask("start_workflow", { workflow_name })).instance_id);
  return { server, client, tools, call, ask, start };
}

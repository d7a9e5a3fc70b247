import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import type { Engine } from "phasegate";
import { type RegisterWorkflowToolOptions, registerWorkflowTool } from "phasegate/mcp";
import { onTestFinished } from "vitest";
import { createHostServer } from "./host-servers.js";

/** An answer of the tool, as a client gets it. */
export type Answer = Record<string, unknown>;

/** Creates a host's server with the workflow tool, and connects a client to it. */
export async function connectInMemory(
  engine: Engine,
  options: RegisterWorkflowToolOptions = {},
  prepare: (client: Client) => void = () => {},
) {
  const server = await createHostServer();
  const registration = registerWorkflowTool(server, engine, options);
  const client = new Client({ name: "agent", version: "1.0.0" });
  prepare(client);
  const changes: string[] = [];
  client.setNotificationHandler("notifications/resources/list_changed", ({ method }) => void changes.push(method));
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  // From now on the client checks each answer against the schema that its tool publishes.
  await client.listTools();
  onTestFinished(async () => {
    registration.dispose();
    await client.close();
  });
  const name = registration.tool.name;
  const call = async (input: Answer) => client.callTool({ name, arguments: input });
  return { server, client, registration, changes, call, ask: async (input: Answer) => answerOf(await call(input)) };
}

/** Returns what a result's text says. An error must have no other part, any other answer the same structure. */
export function answerOf(result: Awaited<ReturnType<Client["callTool"]>>): Answer {
  const { content, structuredContent, isError } = result;
  const [first, ...others] = content;
  if (first?.type !== "text" || others.length > 0) throw new Error("a result is one text");
  if (first.text.startsWith("Error: ") !== (isError === true)) throw new Error("only an error begins with that word");
  const parsed: Answer = JSON.parse(first.text.replace(/^Error: /, ""));
  const structure = isError === true ? undefined : JSON.stringify(parsed);
  if (structure !== JSON.stringify(structuredContent)) throw new Error("the structure is another one");
  return parsed;
}

/** Returns the JSON of a resource. */
export async function readResource(client: Client, uri: string): Promise<Answer> {
  const { contents } = await client.readResource({ uri });
  const [first] = contents;
  if (first === undefined || !("text" in first)) throw new Error("a resource without text");
  return JSON.parse(first.text);
}

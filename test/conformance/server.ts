/**
 * A server on `createMcpHttpHandler` with the tools, resources and prompts that the scenarios of MCP's conformance suite call.
 * Prints its URL. scripts/test-conformance.mjs starts it.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  completable,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { createHostCheck } from "phasegate/login";
import { createMcpHttpHandler } from "phasegate/mcp-http";
import * as z from "zod";

/** A red pixel, and a second of nothing. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
const IMAGE = { type: "image" as const, data: PNG, mimeType: "image/png" };
const declared = z.object({ elicitation: z.looseObject({}).optional(), sampling: z.looseObject({}).optional() });
/** Between two messages of a tool, so that they do not arrive as one. */
const STEP_MS = 50;

type Result = CallToolResult | InputRequiredResult;
type Run = (ctx: ServerContext) => Result | Promise<Result>;

const state = createRequestStateCodec<{ step: number }>({ key: randomBytes(32) });

function said(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

function embedded(uri: string, mimeType: string, text: string) {
  return { type: "resource" as const, resource: { uri, mimeType, text } };
}

const named = z.object({ name: z.string() });
const askName = (message: string) => inputRequired.elicit({ message, requestedSchema: named });
const askModel = (text: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens });

async function log(ctx: ServerContext, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await ctx.mcpReq.log("info", text);
    await delay(STEP_MS);
  }
}

/** Tools without arguments. */
const TOOLS: Readonly<Record<string, Run>> = {
  test_simple_text: () => said("This is a simple text response for testing."),
  test_image_content: () => ({ content: [IMAGE] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      IMAGE,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }),
  test_tool_with_logging: async (ctx) => {
    await log(ctx, "Tool execution started", "Tool processing data", "Tool execution completed");
    return said("logged");
  },
  test_logging_tool: async (ctx) => {
    await log(ctx, "for those who have asked for it");
    return said("logged");
  },
  test_error_handling: () => {
    throw new Error("This tool intentionally returns an error for testing");
  },
  test_tool_with_progress: async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progress, total: 100 };
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...params } });
      }
      await delay(STEP_MS);
    }
    return said("done");
  },
  test_reconnection: async (ctx) => {
    ctx.http?.closeSSE?.();
    await delay(STEP_MS);
    return said("The client has come back for this.");
  },
  test_elicitation_sep1034_defaults: async ({ mcpReq }) => {
    const { action, content } = await mcpReq.elicitInput({
      message: "Please look at the defaults",
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
      },
    });
    return said(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
  },
  test_elicitation_sep1330_enums: async ({ mcpReq }) => {
    const titled = (title: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ const: `value${index + 1}`, title: `${title} ${index + 1}` }));
    const options = ["option1", "option2", "option3"];
    const { action, content } = await mcpReq.elicitInput({
      message: "Please choose",
      requestedSchema: {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: options },
          titledSingle: { type: "string", oneOf: titled("Option", 3) },
          legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
          untitledMulti: { type: "array", items: { type: "string", enum: options } },
          titledMulti: { type: "array", items: { anyOf: titled("Choice", 3) } },
        },
      },
    });
    return said(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
  },
  test_missing_capability: () => inputRequired({ inputRequests: { reply: askModel("Hello", 10) } }),
  test_streaming_elicitation: ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_name", named);
    return given ? said(given.name) : inputRequired({ inputRequests: { user_name: askName("Who are you?") } });
  },
  test_input_required_result_elicitation: ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_name", named);
    if (given !== undefined) return said(`Hello, ${given.name}!`);
    return inputRequired({ inputRequests: { user_name: askName("What is your name?") } });
  },
  test_input_required_result_sampling: ({ mcpReq }) => {
    const reply = inputResponse(mcpReq.inputResponses, "capital_question");
    if (reply.kind !== "missing") return said(JSON.stringify(reply));
    return inputRequired({ inputRequests: { capital_question: askModel("What is the capital of France?", 100) } });
  },
  test_input_required_result_list_roots: ({ mcpReq }) => {
    const reply = inputResponse(mcpReq.inputResponses, "client_roots");
    if (reply.kind !== "missing") return said(JSON.stringify(reply));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  },
  test_input_required_result_request_state: confirmed,
  test_input_required_result_tampered_state: confirmed,
  test_input_required_result_multiple_inputs: async ({ mcpReq }) => {
    const keys = ["user_name", "greeting", "client_roots"];
    if (keys.every((key) => inputResponse(mcpReq.inputResponses, key).kind !== "missing")) return said("all there");
    return inputRequired({
      inputRequests: {
        user_name: askName("What is your name?"),
        greeting: askModel("Generate a greeting", 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await state.mint({ step: 1 }),
    });
  },
  test_input_required_result_multi_round: async ({ mcpReq }) => {
    const step = mcpReq.requestState<{ step: number }>()?.step;
    if (step === 2) return said("both steps are done");
    const asked: InputRequests =
      step === 1
        ? {
            step2: inputRequired.elicit({ message: "Step 2: What is your favorite color?", requestedSchema: coloured }),
          }
        : { step1: askName("Step 1: What is your name?") };
    return inputRequired({ inputRequests: asked, requestState: await state.mint({ step: (step ?? 0) + 1 }) });
  },
  test_input_required_result_capabilities: ({ mcpReq }) => {
    const { elicitation, sampling } = declared.parse(Reflect.get(mcpReq.envelope ?? {}, CLIENT_CAPABILITIES_META_KEY));
    const asked = {
      ...(elicitation && { user_name: askName("What is your name?") }),
      ...(sampling && { reply: askModel("Hello", 10) }),
    };
    return Object.keys(asked).length === 0 ? said("There is nobody to ask.") : inputRequired({ inputRequests: asked });
  },
};

const coloured = z.object({ color: z.string() });
const agreed = z.object({ ok: z.boolean() });

async function confirmed({ mcpReq }: ServerContext): Promise<Result> {
  if (mcpReq.requestState() !== undefined && acceptedContent(mcpReq.inputResponses, "confirm", agreed)) {
    return said("state-ok");
  }
  return inputRequired({
    inputRequests: { confirm: inputRequired.elicit({ message: "Please confirm", requestedSchema: agreed }) },
    requestState: await state.mint({ step: 1 }),
  });
}

function registerTools(server: McpServer): void {
  for (const [name, run] of Object.entries(TOOLS)) {
    server.registerTool(name, { description: `Is called by the suite: ${name}`, inputSchema: z.object({}) }, (_, ctx) =>
      run(ctx),
    );
  }
  const prompted = { description: "Asks the client's model", inputSchema: z.object({ prompt: z.string() }) };
  server.registerTool("test_sampling", prompted, async ({ prompt }, { mcpReq }) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
    const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
    return said(`LLM response: ${"text" in content ? content.text : ""}`);
  });
  const asking = { description: "Asks the client's user", inputSchema: z.object({ message: z.string() }) };
  server.registerTool("test_elicitation", asking, async ({ message }, { mcpReq }) => {
    const property = (description: string) => ({ type: "string" as const, description });
    const properties = { username: property("User's response"), email: property("User's email address") };
    const requestedSchema = { type: "object" as const, properties, required: ["username", "email"] };
    const { action, content } = await mcpReq.elicitInput({ message, requestedSchema });
    return said(`User response: action: ${action}, content: ${JSON.stringify(content)}`);
  });
  const schemaTool = { description: "Tool with JSON Schema 2020-12 features", inputSchema: fromJsonSchema(KEYWORDS) };
  server.registerTool("json_schema_2020_12_tool", schemaTool, () => said("valid"));
  const mirrored = {
    type: "object" as const,
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
    required: ["region"],
  };
  const headerTool = { description: "Its argument is in a header, too", inputSchema: fromJsonSchema(mirrored) };
  server.registerTool("test_mirrored_argument", headerTool, () => said("equal"));
}

const KEYWORDS = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  // biome-ignore-start lint/suspicious/noThenProperty: a keyword of JSON Schema.
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  // biome-ignore-end lint/suspicious/noThenProperty: as above.
  additionalProperties: false,
};

function registerResources(server: McpServer): void {
  const read = (uri: string, mimeType: string, content: { text: string } | { blob: string }) => () => ({
    contents: [{ uri, mimeType, ...content }],
  });
  const text = { text: "This is the content of the static text resource." };
  const watched = "test://watched-resource";
  server.registerResource("text", "test://static-text", {}, read("test://static-text", "text/plain", text));
  server.registerResource(
    "binary",
    "test://static-binary",
    {},
    read("test://static-binary", "image/png", { blob: PNG }),
  );
  server.registerResource("watched", watched, {}, read(watched, "text/plain", { text: "watched" }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, {}, (uri, { id }) => {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return read(uri.href, "application/json", { text: JSON.stringify(data) })();
  });
  server.server.registerCapabilities({ resources: { subscribe: true }, logging: {} });
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) {
    server.server.setRequestHandler(method, () => ({}));
  }
}

function registerPrompts(server: McpServer): void {
  const description = "Is asked for by the suite";
  const message = (content: { type: "text"; text: string } | typeof IMAGE | ReturnType<typeof embedded>) => ({
    ...{ role: "user" as const, content },
  });
  const text = (given: string) => message({ type: "text", text: given });
  server.registerPrompt("test_simple_prompt", { description }, () => ({
    messages: [text("This is a simple prompt for testing.")],
  }));
  const cities = (start: string) => ["paris", "park", "party"].filter((city) => city.startsWith(start));
  const two = z.object({ arg1: completable(z.string(), cities), arg2: z.string() });
  server.registerPrompt("test_prompt_with_arguments", { description, argsSchema: two }, ({ arg1, arg2 }) => ({
    messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  }));
  const about = z.object({ resourceUri: z.string() });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description, argsSchema: about },
    ({ resourceUri }) => ({
      messages: [
        message(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        text("Please process the embedded resource above."),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description }, () => ({
    messages: [message(IMAGE), text("Please analyze the image above.")],
  }));
  const context = z.object({ context: z.string() });
  server.registerPrompt("test_input_required_result_prompt", { description }, ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_context", context);
    if (given !== undefined) return { messages: [text(given.context)] };
    const asked = inputRequired.elicit({ message: "What context should the prompt use?", requestedSchema: context });
    return inputRequired({ inputRequests: { user_context: asked } });
  });
}

const mcp = createMcpHttpHandler({
  serverOptions: { requestState: { verify: state.verify } },
  register(server) {
    registerTools(server);
    registerResources(server);
    registerPrompts(server);
    const trigger = (name: string, change: () => void) =>
      server.registerTool(name, { description: "Changes a list", inputSchema: z.object({}) }, () => {
        change();
        return said("changed");
      });
    trigger("test_trigger_tool_change", () => mcp.notify.toolsChanged());
    trigger("test_trigger_prompt_change", () => mcp.notify.promptsChanged());
    return undefined;
  },
});
const checkHost = createHostCheck();

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const body = method === "POST" ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {};
  const request = new Request(new URL(url, "http://localhost"), { method, headers, signal: gone.signal, ...body });
  const response = checkHost(request) ?? (await mcp.fetch(request));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) outgoing.end();
  else await pipeline(response.body, outgoing);
}

const http = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch(() => outgoing.destroy());
});
http.listen(0, "127.0.0.1", () => {
  const address = http.address();
  if (typeof address === "object" && address !== null) console.log(`http://127.0.0.1:${address.port}/mcp`);
});

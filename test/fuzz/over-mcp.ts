/** Lines of a client over MCP, read by a whole server. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/server";
import type { Engine } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { serveOverStdio } from "../../src/mcp/stdio.js";

const BEGIN = [
  '{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}',
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
];

/** The codes of JSON-RPC and MCP for what a client has done wrong. That of an internal error is not among them. */
const CODES: ReadonlySet<unknown> = new Set([-32700, -32600, -32601, -32602, -32002]);

/** Sends text to a server with the workflow tool. Returns `answered`, or the code of the first refusal. Throws for any other answer. */
export async function sendOverMcp(engine: Engine, sent: string, answered: (answer: object) => string): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const factory = () => {
    const server = new McpServer({ name: "host", version: "1" });
    registerWorkflowTool(server, engine);
    return server;
  };
  const all = text(output);
  const serving = { input, output, drainMs: 10_000, maxMessageBytes: 1_000_000, onError: () => {} };
  const connection = serveOverStdio(factory, serving);
  input.end(`${BEGIN.join("\n")}\n${sent}\n`);
  const end = await connection.ended;
  output.end();
  if (end !== "input ended") throw new Error(`the connection has ${end}`);
  const answers = (await all).split("\n").filter((line) => line !== "");
  const found = answers.map((line) => judged(JSON.parse(line), answered));
  if (found.length === 0) throw new Error("the beginning was not answered");
  return found.find((code) => code !== "answered") ?? "answered";
}

interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
  readonly result?: { readonly content?: readonly { readonly text: string }[] };
}

function judged({ jsonrpc, id, method, error, result }: Message, answered: (answer: object) => string): string {
  if (jsonrpc !== "2.0") throw new Error("no message of JSON-RPC");
  if (method !== undefined) return "answered";
  if (error === undefined) {
    const [first] = result?.content ?? [];
    const code = first === undefined ? "read" : answered(JSON.parse(first.text.slice(first.text.indexOf("{"))));
    return code === "read" ? "answered" : code;
  }
  if (id === undefined || !CODES.has(error.code) || typeof error.message !== "string" || error.message === "") {
    throw new Error(`a refusal without a known code: ${JSON.stringify(error)}`);
  }
  return String(error.code);
}

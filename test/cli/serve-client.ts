import { tmpdir } from "node:os";
import { PassThrough } from "node:stream";
import { Client, type ClientOptions, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { BIN } from "./bin.js";

const MEBIBYTES_64 = 64 * 1024 * 1024;

/**
 * Connects the official client to `phasegate serve` in this process, in a tenth of the time of a child process. Tests
 * of process start and end use `connectToBin`.
 */
export async function connectToServe(
  args: readonly string[],
  env: Record<string, string> = {},
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => {},
) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const log: Answer[] = [];
  onLines(terminal.stderr, (line) => log.push(JSON.parse(line)));
  const ended = runCli(["serve", ...args], terminal);
  return { log, ...(await connect(new StreamTransport(terminal, ended), options, prepare)) };
}

/** Calls back with each line that is written to a stream. */
function onLines(stream: PassThrough, call: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") call(line);
  });
}

/** The client's end of the streams of a server in this process. */
class StreamTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #stdin: PassThrough;
  readonly #stdout: PassThrough;
  readonly #ended: Promise<unknown>;

  constructor({ stdin, stdout }: Record<"stdin" | "stdout", PassThrough>, ended: Promise<unknown>) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#ended = ended.finally(() => this.onclose?.());
  }

  async start(): Promise<void> {
    onLines(this.#stdout, (line) => this.onmessage?.(JSON.parse(line)));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#stdin.end();
    await this.#ended;
  }
}

async function connect(transport: Transport, options: ClientOptions, prepare: (client: Client) => void) {
  const client = new Client({ name: "agent", version: "1.0.0" }, options);
  prepare(client);
  await client.connect(transport);
  onTestFinished(() => client.close());
  const ask = async (input: Answer) =>
    answerOf(await client.callTool({ name: "pos_workflow", arguments: input }, { timeout: 30_000 }));
  return { client, ask };
}

/** Connects the official client to a served bin with the given flags and variables. */
export async function connectToBin(
  args: readonly string[],
  env: Record<string, string> = {},
  { bin = BIN, ...options }: ClientOptions & { readonly bin?: string } = {},
  prepare: (client: Client) => void = () => {},
) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, "serve", ...args],
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "", TMPDIR: tmpdir(), ...env },
    stderr: "pipe",
    maxBufferSize: MEBIBYTES_64,
  });
  const log: Answer[] = [];
  transport.stderr?.on("data", (chunk) => {
    for (const line of String(chunk).split("\n")) if (line !== "") log.push(JSON.parse(line));
  });
  const signal = (name: NodeJS.Signals) => {
    if (transport.pid !== null) process.kill(transport.pid, name);
  };
  return { transport, log, signal, ...(await connect(transport, options, prepare)) };
}

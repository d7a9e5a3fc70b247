import { tmpdir } from "node:os";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { BIN } from "./bin.js";

const MEBIBYTES_64 = 64 * 1024 * 1024;

/** The official client on a served bin. Flags and variables are the test's. */
export async function connectToBin(
  args: readonly string[],
  env: Record<string, string> = {},
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => {},
) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "serve", ...args],
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "", TMPDIR: tmpdir(), ...env },
    stderr: "pipe",
    maxBufferSize: MEBIBYTES_64,
  });
  const log: Answer[] = [];
  transport.stderr?.on("data", (chunk) => {
    for (const line of String(chunk).split("\n")) if (line !== "") log.push(JSON.parse(line));
  });
  const client = new Client({ name: "agent", version: "1.0.0" }, options);
  prepare(client);
  await client.connect(transport);
  onTestFinished(() => client.close());
  const ask = async (input: Answer) =>
    answerOf(await client.callTool({ name: "pos_workflow", arguments: input }, { timeout: 30_000 }));
  const signal = (name: NodeJS.Signals) => {
    if (transport.pid !== null) process.kill(transport.pid, name);
  };
  return { client, transport, log, ask, signal };
}

/** Starts a command as an MCP client would, and asks for its tools over stdin and stdout. The SDK's client is not needed for that. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { parseObject } from "../setup/wanted.js";
import { CHARACTERS_PER_TOKEN } from "../tools/schemas.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { messageOf } from "./exit-codes.js";
import { findProgram } from "./programs.js";
import { counted } from "./terminal.js";

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to those of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly string[];
  /** The tokens that the listing of its tools has. */
  readonly tokens: number;
  readonly seconds: number;
}

export type Probe = ({ readonly ok: true } & ServerFacts) | { readonly ok: false; readonly reason: string };

/** A version of the protocol that every client and server of today speaks. */
const PROTOCOL = "2025-06-18";
/** The most that is read from a server, in bytes. */
const OUTPUT_MAX = 4 * 1024 * 1024;
/** Time for a server to end after its input was closed, in milliseconds. */
const END_MS = 2000;
/** Maximum number of pages of tools that are read. */
const PAGES_MAX = 50;

/** What a client keeps to itself: no model reads it. */
const withoutMeta = (key: string, value: unknown) => (key === "_meta" ? undefined : value);

/** Starts a server, lists its tools and ends it. Never rejects. */
export async function probeServer(server: ServerCommand, timeoutMs: number): Promise<Probe> {
  const started = performance.now();
  const { command, args, cwd } = server;
  if (!existsSync(cwd)) return { ok: false, reason: `its folder ${cwd} does not exist` };
  const executable = basename(command) === command ? await findProgram(command, cwd) : command;
  if (executable === undefined) return { ok: false, reason: `there is no command ${command} on the PATH` };
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(executable, args, { cwd, env: { ...process.env, ...server.env } });
  } catch (error) {
    // Words that no command can have.
    return { ok: false, reason: `it can't be started: ${messageOf(error)}` };
  }
  const { send, request, fail } = connectionTo(child, command);
  const timer = setTimeout(() => fail(`it did not answer within ${counted(timeoutMs / 1000, "second")}`), timeoutMs);
  try {
    const { serverInfo } = await request("initialize", {
      protocolVersion: PROTOCOL,
      capabilities: {},
      clientInfo: { name: "phasegate-doctor", version: "1" },
    });
    send({ method: "notifications/initialized" });
    const tools = await allTools(request);
    const { name, version } = isJsonObject(serverInfo) ? serverInfo : {};
    return {
      ok: true,
      name: String(name),
      version: String(version),
      tools: tools.flatMap((tool) => (isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : [])),
      tokens: Math.ceil(JSON.stringify(tools, withoutMeta).length / CHARACTERS_PER_TOKEN),
      seconds: (performance.now() - started) / 1000,
    };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  } finally {
    clearTimeout(timer);
    await end(child);
  }
}

type RequestTo = (method: string, params: JsonObject) => Promise<JsonObject>;

async function allTools(request: RequestTo): Promise<JsonValue[]> {
  const tools: JsonValue[] = [];
  let cursor: JsonValue | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const result = await request("tools/list", cursor === undefined ? {} : { cursor });
    if (!Array.isArray(result.tools)) throw new Error("its list of tools is not a list");
    tools.push(...result.tools);
    cursor = result.nextCursor ?? undefined;
    if (cursor === undefined) break;
  }
  return tools;
}

/** Returns what talks to a server, one request at a time. After `fail`, or its end, each request rejects with the first reason. */
function connectionTo(child: ChildProcessWithoutNullStreams, command: string) {
  let said = "";
  let read = 0;
  let id = 0;
  let fail: (reason: string) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = (reason) => reject(new Error(reason));
  });
  failed.catch(() => {});
  child.stdout.on("data", ({ length }: Buffer) => {
    read += length;
    if (read > OUTPUT_MAX) fail("it writes without end");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID_MAX);
  });
  child.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    fail(code === "ENOENT" ? `there is no command ${command} on the PATH` : `it can't be started: ${message}`);
  });
  // The end of a process whose streams are read to their ends: it may have said why.
  child.on("close", (code, signal) => fail(`it ended with ${signal ?? `exit code ${code}`}${lastWords(said)}`));
  // A server that ends does not read what was written to it; that it ended is reported by "close".
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message: JsonObject) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request: RequestTo = async (method, params) => {
    id += 1;
    send({ id, method, params });
    for (;;) {
      const { value: line, done } = await Promise.race([failed, lines.next()]);
      if (done === true) return failed;
      if (line.trim() === "") continue;
      const message = parseObject(line);
      if (message === undefined) throw new Error(`it writes something else than MCP to stdout: ${line.slice(0, 100)}`);
      // Notifications and requests of the server are not for us.
      if (message.id !== id || "method" in message) continue;
      if (isJsonObject(message.result)) return message.result;
      throw new Error(`it answers with an error: ${JSON.stringify(message.error)}`);
    }
  };
  return { send, request, fail };
}

/** How much of a server's log is kept, in characters. */
const SAID_MAX = 20_000;

/** Returns the error that a server has printed, else its last line; with a colon before it. */
function lastWords(said: string): string {
  const lines = said.split("\n").flatMap((line) => line.trim() || []);
  const found = lines.find((line) => line.startsWith("phasegate: error:")) ?? lines.find((line) => /error/i.test(line));
  const last = (found ?? lines.at(-1))?.replace(/^phasegate: error: /, "");
  return last === undefined ? "" : `: ${last.slice(0, 300)}`;
}

/** Ends a process: by closing its input, then by a signal that it may handle, then by one that it can't. */
async function end(child: ChildProcessWithoutNullStreams): Promise<void> {
  const ended = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  if (!ended) {
    const closed = new Promise<true>((resolve) => child.once("exit", () => resolve(true)));
    child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await Promise.race([closed, pause(END_MS, false, { ref: false })])) break;
      child.kill(signal);
    }
  }
  // A process that it has started may still hold its streams.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
}

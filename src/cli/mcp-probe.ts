/** Starts a command as an MCP client would, and asks for its tools over stdin and stdout. The SDK's client is not needed for that. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { CHARACTERS_PER_TOKEN } from "../tools/schemas.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
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

/** What a server has answered, or why it has not. */
export type Probe = ({ readonly ok: true } & ServerFacts) | { readonly ok: false; readonly reason: string };

/** A version of the protocol that every client and server of today speaks. */
const PROTOCOL = "2025-06-18";
/** The most that is read from a server, in bytes. */
const OUTPUT_MAX = 4 * 1024 * 1024;
/** Time for a server to end after its input was closed, in milliseconds. */
const END_MS = 2000;
/** Maximum number of pages of tools that are read. */
const PAGES_MAX = 50;

/** Starts a server, lists its tools and ends it. Never rejects. */
export async function probeServer(server: ServerCommand, timeoutMs: number): Promise<Probe> {
  const started = performance.now();
  if (!existsSync(server.cwd)) return { ok: false, reason: `its folder ${server.cwd} does not exist` };
  const { command, cwd } = server;
  const isName = basename(command) === command;
  const executable = isName ? await findProgram(command, cwd) : command;
  if (executable === undefined) return { ok: false, reason: `there is no command ${command} on the PATH` };
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(executable, server.args, { cwd: server.cwd, env: { ...process.env, ...server.env } });
  } catch (error) {
    // Words that no command can have.
    return { ok: false, reason: `it can't be started: ${error instanceof Error ? error.message : String(error)}` };
  }
  const connection = new Connection(child, server.command);
  const late = `it did not answer within ${counted(timeoutMs / 1000, "second")}`;
  const timer = setTimeout(() => connection.fail(late), timeoutMs);
  try {
    const { serverInfo } = await connection.request("initialize", {
      protocolVersion: PROTOCOL,
      capabilities: {},
      clientInfo: { name: "phasegate-doctor", version: "1" },
    });
    connection.notify("notifications/initialized");
    const tools = await allTools(connection);
    const names = tools.flatMap((tool) => (isJsonObject(tool) && typeof tool.name === "string" ? [tool.name] : []));
    const tokens = Math.ceil(JSON.stringify(tools).length / CHARACTERS_PER_TOKEN);
    const { name, version } = isJsonObject(serverInfo) ? serverInfo : {};
    return {
      ok: true,
      name: String(name),
      version: String(version),
      tools: names,
      tokens,
      seconds: (performance.now() - started) / 1000,
    };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
    await end(child);
  }
}

async function allTools(connection: Connection): Promise<JsonValue[]> {
  const tools: JsonValue[] = [];
  let cursor: JsonValue | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const result = await connection.request("tools/list", cursor === undefined ? {} : { cursor });
    if (!Array.isArray(result.tools)) throw new Error("its list of tools is not a list");
    tools.push(...result.tools);
    cursor = result.nextCursor;
    if (cursor === undefined || cursor === null) break;
  }
  return tools;
}

class Connection {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #command: string;
  #id = 0;
  #rest = "";
  #read = 0;
  #said = "";
  #failure: Error | undefined;
  #waiting: { readonly id: number; resolve(result: JsonObject): void; reject(error: Error): void } | undefined;

  constructor(child: ChildProcessWithoutNullStreams, command: string) {
    this.#child = child;
    this.#command = command;
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-SAID_MAX);
    });
    child.on("error", (error: NodeJS.ErrnoException) => this.fail(startFailure(this.#command, error)));
    // The end of a process whose streams are read to their ends: it may have said why.
    child.on("close", (code, signal) =>
      this.fail(`it ended with ${signal ?? `exit code ${code}`}${lastWords(this.#said)}`),
    );
    // A server that ends does not read what was written to it; that it ended is reported by "close".
    child.stdin.on("error", () => {});
  }

  /** Ends what waits for an answer, and all requests from now on. The first reason counts. */
  fail(reason: string): void {
    this.#failure ??= new Error(reason);
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }

  notify(method: string): void {
    this.#write({ method });
  }

  request(method: string, params: JsonObject): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#id += 1;
      this.#waiting = { id: this.#id, resolve, reject };
      this.#write({ id: this.#id, method, params });
    });
  }

  #write(message: JsonObject): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #take(text: string): void {
    this.#read += text.length;
    if (this.#read > OUTPUT_MAX) return this.fail("it writes without end");
    this.#rest += text;
    if (!text.includes("\n")) return;
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") this.#answer(line);
  }

  #answer(line: string): void {
    const message = parsed(line);
    if (message === undefined) return this.fail(`it writes something else than MCP to stdout: ${line.slice(0, 100)}`);
    const waiting = this.#waiting;
    // Notifications and requests of the server are not for us.
    if (waiting === undefined || message.id !== waiting.id || "method" in message) return;
    this.#waiting = undefined;
    if (isJsonObject(message.result)) waiting.resolve(message.result);
    else waiting.reject(new Error(`it answers with an error: ${JSON.stringify(message.error)}`));
  }
}

/** How much of a server's log is kept, in characters. */
const SAID_MAX = 20_000;

function parsed(line: string): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return isJsonObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function startFailure(command: string, error: NodeJS.ErrnoException): string {
  return error.code === "ENOENT"
    ? `there is no command ${command} on the PATH`
    : `it can't be started: ${error.message}`;
}

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
      if (await Promise.race([closed, after(END_MS)])) break;
      child.kill(signal);
    }
  }
  // A process that it has started may still hold its streams.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms).unref());
}

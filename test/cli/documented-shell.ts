/**
 * Runs the shell lines of a page as its reader would: in order, in one folder, at a terminal. It knows what the pages use:
 * comments, quotes, `\` at the end of a line, `&&`, `|`, `$(…)`, `~` and `export`.
 */
import process from "node:process";
import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import type { Answer } from "../mcp/connect-in-memory.js";
import { piped } from "./piped.js";
import { type CliRun, run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";

/** A shell, and what the lines before have left. */
export interface Shell {
  /** Runs a line, and returns what it has printed. Throws if a command fails. */
  line(text: string): Promise<string>;
  /** Calls the tool of the server that was started last, as an agent's client does. */
  call(input: Answer): Promise<Answer>;
  /** What the lines so far have printed, on both streams. */
  printed(): string;
  /** Ends the servers that it has started. */
  end(): Promise<void>;
}

/** Creates a shell. `npm` checks a command of npm, which is not run. */
export function createShell(npm: (words: readonly string[]) => void): Shell {
  let printed = "";
  let server: Awaited<ReturnType<typeof connectToServe>> | undefined;

  const end = async () => {
    await server?.client.close();
    server = undefined;
  };
  const serve = async (args: readonly string[]) => {
    await end();
    server = await connectToServe(args);
    await server.client.listTools();
  };

  const command = async (words: readonly string[], input?: string): Promise<CliRun> => {
    const [program = "", ...args] = words[0] === "npx" ? words.slice(1) : words;
    if (program === "export") {
      const [name = "", value = ""] = (args[0] ?? "").split("=");
      vi.stubEnv(name, value);
      return { code: 0, stdout: "", stderr: "" };
    }
    if (program === "npm") {
      npm(args);
      return { code: 0, stdout: "", stderr: "" };
    }
    if (program !== "phasegate") throw new Error(`no page may use ${program}`);
    if (input !== undefined) return piped(input, ...args);
    if (args[0] === "inspect" || args.includes("--http") || args.includes("--listen")) return untilItServes(args);
    if (args[0] !== "serve") return atTerminal(args);
    await serve(args.slice(1));
    return { code: 0, stdout: "", stderr: "" };
  };

  const pipeline = async (text: string): Promise<string> => {
    let input: string | undefined;
    for (const part of text.split(" | ")) {
      const { code, stdout, stderr } = await command(wordsOf(part), input);
      printed += `${stdout}${stderr}`;
      if (code !== 0) throw new Error(`${part.trim()} ended with ${code}: ${stdout}${stderr}`);
      input = stdout;
    }
    return input ?? "";
  };

  return {
    line: async (text) => {
      let rest = text.replace(/(?:^|\s)#\s.*$/, "");
      for (let inner = INNER.exec(rest); inner !== null; inner = INNER.exec(rest)) {
        const { code, stdout, stderr } = await run(...wordsOf(inner[1] ?? "").slice(1));
        if (code !== 0) throw new Error(`${inner[1]} ended with ${code}: ${stderr}`);
        rest = rest.replace(inner[0], stdout.trim().replaceAll("\n", " "));
      }
      let last = "";
      for (const part of rest.split(" && ")) last = await pipeline(part);
      return last;
    },
    call: async (input) => {
      if (server === undefined) throw new Error("no line before has started a server");
      return server.ask(input);
    },
    printed: () => printed,
    end,
  };
}

const INNER = /\$\(([^()]*)\)/;

function wordsOf(text: string): string[] {
  const words = text.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  return words.map((word) => word.replaceAll('"', "").replace(/^~(?=\/)/, process.env.HOME ?? ""));
}

/** Runs a command at a terminal. The person takes what each question proposes, and confirms what is to be confirmed. */
async function atTerminal(args: readonly string[]): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  Object.assign(stdin, { isTTY: true });
  Object.assign(stdout, { isTTY: true });
  const written = { stdout: "", stderr: "" };
  stdout.on("data", (chunk) => {
    written.stdout += String(chunk);
    if (/\[y\/N\] $/.test(String(chunk))) stdin.write("y\n");
    else if (/\]: $|\[Y\/n\] $|enter goes on\)/.test(String(chunk))) stdin.write("\n");
  });
  stderr.on("data", (chunk) => {
    written.stderr += String(chunk);
  });
  const code = await runCli(args, { stdin, stdout, stderr });
  stdin.destroy();
  await new Promise(setImmediate);
  return { code, stdout: stripVTControlCharacters(written.stdout), stderr: stripVTControlCharacters(written.stderr) };
}

/** Runs a server for people until its address answers, and ends it with a signal. */
async function untilItServes(args: readonly string[]): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let written = "";
  for (const stream of [stdout, stderr]) {
    stream.on("data", (chunk) => {
      written += String(chunk);
    });
  }
  const ended = runCli(args, { stdin, stdout, stderr });
  const address = () => /http:\/\/[\w.]+:\d+/.exec(written)?.[0];
  const url = await Promise.race([vi.waitUntil(address, { timeout: 10_000 }), ended]);
  if (typeof url === "number") return { code: url, stdout: written, stderr: "" };
  await fetch(url);
  process.emit("SIGTERM", "SIGTERM");
  return { code: await ended, stdout: written, stderr: "" };
}

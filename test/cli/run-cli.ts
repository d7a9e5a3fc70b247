import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { runCli } from "../../src/cli/cli.js";

/** The output of a command, and its exit code. */
export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the bin in this process, on streams that are not a terminal. */
export async function run(...args: string[]): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const code = await runCli(args, { stdin, stdout, stderr });
  return { code, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

/** Runs a command on a terminal that is so wide, which nobody answers; the output is without its colours. */
export async function atTerminal(columns: number, ...args: string[]): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  Object.assign(stdout, { isTTY: true, columns });
  Object.assign(stderr, { isTTY: true, columns });
  const code = await runCli(args, { stdin, stdout, stderr });
  const textOf = (stream: PassThrough) => stripVTControlCharacters(String(stream.read() ?? ""));
  return { code, stdout: textOf(stdout), stderr: textOf(stderr) };
}

/** Runs a command on a terminal on which a person answers each question; the answer to checkboxes are keys. */
export async function answering(args: readonly string[], answers: readonly string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  Object.assign(stdin, { isTTY: true });
  Object.assign(stdout, { isTTY: true });
  const left = [...answers];
  let text = "";
  stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (/(?:\]|, or none):? $|enter goes on\)/.test(chunk)) stdin.write(`${left.shift() ?? ""}\n`);
  });
  const code = await runCli(args, { stdin, stdout, stderr });
  return { code, text, left, stderr: String(stderr.read() ?? "") };
}

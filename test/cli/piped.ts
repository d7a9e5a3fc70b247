import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { runCli } from "../../src/cli/cli.js";
import type { CliRun } from "./run-cli.js";

/** Runs a command of the bin in this process, with the given input and a reader of its output. */
export async function piped(input: string, ...args: string[]): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const [printed, told] = [text(stdout), text(stderr)];
  const code = await runCli(args, { stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  return { code, stdout: await printed, stderr: await told };
}

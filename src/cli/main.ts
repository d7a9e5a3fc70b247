#!/usr/bin/env node
/** The executable: checks the version of Node, and runs the command line in this process. */
import module from "node:module";
import process from "node:process";

/** The oldest version that runs the package, as in `engines` of package.json. */
const NODE_MIN = "22.13";

// First, and with nothing else loaded: an older Node fails somewhere in the middle of a command.
if (isTooOld(process.versions.node)) {
  process.stderr.write(
    `phasegate: error: phasegate needs Node ${NODE_MIN} or later, and this is ${process.versions.node}\n` +
      `  hint: Install a newer Node, or start phasegate with one that is installed. This one is ${process.execPath}.\n`,
  );
  // The exit code of a failed environment, EXIT.environment, whose file is not loaded.
  process.exitCode = 3;
} else {
  await main();
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = NODE_MIN.split(".").map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

async function main(): Promise<void> {
  // Node keeps the compiled code for the next start, which takes a quarter less time then. Other runtimes may not have it.
  module.enableCompileCache?.();
  const { runCli } = await import("./cli.js");

  // The reader of our output may stop early: `phasegate sessions | head` is not a failure, nor is a client of `serve`
  // that reads no log.
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") return;
    console.error(`phasegate: error: the output can't be written (${code})`);
    // Half of it is there: no code but that of a failed environment is true. A client takes any but 0 of a hook for a ban.
    process.exit(process.argv[2] === "hook" ? 0 : 3);
  });
  // Nobody is left who could be told. A server goes on.
  process.stderr.on("error", () => {});

  // No process.exit(): output to a pipe must be written first.
  process.exitCode = await runCli(process.argv.slice(2), process);
}

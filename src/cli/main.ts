#!/usr/bin/env node
/** The executable: runs the command line in this process. */
import module from "node:module";
import process from "node:process";

// Node keeps the compiled code for the next start, which takes a quarter less time then. Other runtimes may not have it.
module.enableCompileCache?.();
const { runCli } = await import("./cli.js");

// The reader of our output may stop early: `phasegate sessions | head` is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// No process.exit(): output to a pipe must be written first.
process.exitCode = await runCli(process.argv.slice(2), process);

#!/usr/bin/env node
/** The executable: runs the command line in this process. */
import process from "node:process";
import { runCli } from "./cli.js";

// The reader of our output may stop early: `phasegate sessions | head` is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// No process.exit(): output to a pipe must be written first.
process.exitCode = await runCli(process.argv.slice(2), process);

#!/usr/bin/env node
/** The bin. */
import process from "node:process";
import { runCli } from "./run.js";

// Whoever reads our output may stop reading: `phasegate sessions | head` is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// No process.exit(): what is written to a pipe must get there first.
process.exitCode = await runCli(process.argv.slice(2), process);

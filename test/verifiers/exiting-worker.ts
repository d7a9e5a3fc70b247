/** Runs a command that does not end, writes its id to the file `pid` of a folder, and exits without waiting for it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "../../src/verifiers/run-process.js";

const [folder = "."] = process.argv.slice(2);
runProcess({
  ...{ executable: "/bin/sh", args: ["-c", "echo $$ > part; mv part pid; sleep 1000"], cwd: folder, env: {} },
  ...{ timeoutMs: 60_000, maxOutputBytes: 1000, signal: new AbortController().signal },
}).catch(() => {});
setInterval(() => {
  if (existsSync(join(folder, "pid"))) process.exit(0);
}, 10);

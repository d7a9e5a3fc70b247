/** `phasegate serve --listen` in a project with one slow workflow. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";

export const START = { action: "start", workflow_type: "slow", target_file: "src/a.ts" };
const SLOW = `checkpoint: {strict: true}
evidence_schema:
  summary: {type: string, required: true, description: "what was done"}
verify: {verifier: command, argv: [node, wait.mjs]}
`;
/** Says that it runs, then waits for the file \`go\`. */
const WAIT = `import { existsSync, writeFileSync } from "node:fs";
writeFileSync("pid", String(process.pid));
setInterval(() => { if (existsSync("go")) process.exit(0); }, 10);
`;

/** A project with a workflow whose gate runs a command that waits. */
export async function project() {
  const root = await temporaryFolder();
  await writeFiles(root, {
    "wait.mjs": WAIT,
    "workflows/slow/metadata.json": JSON.stringify({
      ...{ workflow_type: "slow", name: "Slow", description: "Waits", version: "1.0.0" },
      phases: [{ phase_number: 1, phase_name: "One" }],
    }),
    "workflows/slow/phases/1/phase.md": "# Phase 1\n\nDo it.\n",
    "workflows/slow/phases/1/gate-definition.yaml": SLOW,
  });
  return root;
}

/** Starts the bin, listening on a free port of this machine. */
export async function listening(root: string, ...flags: string[]) {
  const args = ["serve", "--listen", "127.0.0.1:0", "--state", join(root, "state"), "--project", root];
  const more = ["--workflows", join(root, "workflows"), "--allow-command", "node wait.mjs", ...flags];
  const child = spawn(process.execPath, [BIN, ...args, ...more], { stdio: ["ignore", "ignore", "pipe"] });
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      const found = /"url":"([^"]+)"/.exec(said)?.[1];
      if (found !== undefined) resolve(`${found}/mcp`);
    });
    child.on("close", () => reject(new Error(said)));
  });
  const lines = (): Record<string, unknown>[] =>
    said
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  return { child, url, closed, lines };
}

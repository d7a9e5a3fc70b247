/** `phasegate serve --listen` in a project with one slow workflow. */
import { join } from "node:path";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { startListening } from "./serve-http.js";

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
  const { child, url, closed, said } = await startListening([...args, ...more]);
  const lines = (): Record<string, unknown>[] =>
    said()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  return { child, url: `${url}/mcp`, closed, lines };
}

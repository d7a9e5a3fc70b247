/** A gate whose checks outlast the answers of `phasegate serve`, in real processes that are killed and ended. */

import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { gatedFiles } from "../support/verified.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToBin } from "./serve-client.js";

const GATE = `evidence_schema: {report: {type: string}}
verify: {verifier: command, argv: [node, check.mjs]}
`;
/** Ends once the file `go` is there, and says with its exit code what is in it. */
const CHECK = `import { existsSync, appendFileSync, readFileSync } from "node:fs";
appendFileSync("begun", "x");
process.on("SIGTERM", () => process.exit(3));
const timer = setInterval(() => {
  if (!existsSync("go")) return;
  clearInterval(timer);
  process.exit(Number(readFileSync("go", "utf8")));
}, 20);
`;

async function project() {
  const root = await temporaryFolder();
  const [workflows, state] = [join(root, "workflows"), join(root, "state")];
  const files = gatedFiles("verified", [GATE, "gate: none\n"]);
  await writeFiles(
    workflows,
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`verified/${path}`, text])),
  );
  await writeFile(join(root, "check.mjs"), CHECK);
  const flags = ["--workflows", workflows, "--state", state, "--project", root, "--allow-command", "node"];
  const go = (exit: number) => writeFile(join(root, "go"), String(exit));
  return { root, state, serve: () => connectToBin([...flags, "--answer-within", "1"]), go };
}

it("survives kill -9 while a gate is verified: the same evidence is verified anew, and counts once", {
  timeout: 60_000,
}, async () => {
  const { serve, go, state } = await project();
  const first = await serve();
  const { session_id } = await first.ask({ action: "start", workflow_type: "verified", target_file: "a.ts" });
  const submit = { action: "complete_phase", session_id, phase: 1, evidence: { report: "all well" } };
  const { status, next } = await first.ask(submit);
  expect(status).toBe("verifying");
  first.signal("SIGKILL");
  const [second, third] = [await serve(), await serve()];
  expect(await second.ask(Object(next))).toMatchObject({
    code: "INVALID_INPUT",
    next: { ...Object(next), evidence: {} },
  });
  const again = { ...submit, idempotency_key: Object(next).idempotency_key };
  // Two servers on one state, each with checks of its own.
  for (const { ask } of [second, third]) expect(await ask(again)).toMatchObject({ status: "verifying", next });
  expect(await second.ask({ ...again, evidence: { report: "other" } })).toMatchObject({
    code: "INVALID_TRANSITION",
    next,
  });
  await go(0);
  for (const { ask } of [second, third]) expect(await ask(Object(next))).toMatchObject({ checkpoint_passed: true });
  // One of them was recorded: the start, and one submission.
  expect((await run("audit", String(session_id), "--state", state, "--json")).stdout).toMatch(/"versions": ?2\b/);
  expect(await third.ask({ action: "get_state", session_id, brief: true })).toMatchObject({ current_phase: 2 });
});

it("ends with the server: its checks are stopped, and nothing is recorded", { timeout: 60_000 }, async () => {
  const { serve, root } = await project();
  const first = await serve();
  const { session_id } = await first.ask({ action: "start", workflow_type: "verified", target_file: "a.ts" });
  const submit = { action: "complete_phase", session_id, phase: 1, evidence: { report: "all well" } };
  expect(await first.ask(submit)).toMatchObject({ status: "verifying" });
  await access(join(root, "begun"));
  const ended = first.transport.pid;
  await first.client.close();
  expect(() => process.kill(ended ?? 0, 0)).toThrow("ESRCH");
  const second = await serve();
  expect(await second.ask({ action: "get_state", session_id })).toMatchObject({ current_phase: 1, attempts: 0 });
});

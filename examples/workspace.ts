/**
 * A workflow that a model leads: it reads the workflow's files, follows them, and saves its output. A script stands in
 * for the model; it calls the tools as a model does, by name and with JSON.
 */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { FileStorage } from "phasegate/fs";
import { createWorkspace, type ToolResult } from "phasegate/workspace";

// #region open
await mkdir("outputs", { recursive: true });
const workspace = await createWorkspace({
  bundleRoot: fileURLToPath(new URL("intake", import.meta.url)),
  outputRoot: "outputs",
  storage: await FileStorage.open("state"), // optional: records what is done in each session
});
workspace.on("security", ({ operation, message }) => console.error(`${operation}: ${message}`));
// #endregion open

/** What a model would say next, given the answers so far. */
type Turn = (answers: readonly Answer[]) => readonly [tool: string, input: object];
type Answer = ToolResult & { readonly content?: string; readonly session_id?: string };

const last = (answers: readonly Answer[], key: "content" | "session_id") =>
  answers.findLast((answer) => answer[key] !== undefined)?.[key] ?? "";
const briefOf = (template: string) => template.replace("{{client}}", "Ann").replace("{{wish}}", "A garden with peas.");

// #region turns
const turns: readonly Turn[] = [
  () => ["read_file", { path: "{bundle-root}/workflows/intake/workflow.yaml" }],
  () => ["read_file", { path: "{bundle-root}/workflows/intake/instructions.md" }],
  () => ["save_output", { path: "brief.md", content: "Ann wants peas." }], // too early: the answer says what to do
  () => ["create_session", { workflow: "intake", agent: "alex", inputs: { client: "Ann" } }],
  () => ["read_file", { path: "{bundle-root}/workflows/intake/template.md" }],
  (answers) => [
    "save_output",
    { path: `${last(answers, "session_id")}/brief.md`, content: briefOf(last(answers, "content")) },
  ],
  () => ["complete_session", { summary: "A brief for Ann." }],
];

const connection = workspace.connect(); // one for each client: it writes the sessions that it has begun
const answers: Answer[] = [];
for (const turn of turns) answers.push(await connection.call(...turn(answers)));
// #endregion turns

const refused = answers[2];
assert.ok(refused !== undefined && !refused.success);
console.log(`${refused.error}. ${refused.remedy}`);
const id = connection.sessionId ?? "";
assert.equal(
  await readFile(`outputs/${id}/brief.md`, "utf8"),
  "# Brief for Ann\n\n## What is wanted\n\nA garden with peas.\n",
);

// #region after
const session = workspace.session(id);
const { status, outputs } = await session.manifest();
console.log(status, outputs.map(({ path, sha256 }) => `${path} ${sha256.slice(0, 8)}`).join(", "));
for (const { version, type } of await session.history()) console.log(`${version} ${type}`);
const { intact } = await session.audit();
const { tools, sessions } = workspace.metrics();
// #endregion after
assert.equal(status, "completed");
assert.equal(intact, true);
assert.equal(tools.save_output?.errors, 1);
assert.equal(sessions.completionRate, 1);

// #region refused
const answer = await connection.readFile({ path: "../../etc/passwd" });
// #endregion refused
assert.equal(answer.success, false);
await workspace.close();

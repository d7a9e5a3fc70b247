/**
 * A workflow that a model leads, through any provider of the Vercel AI SDK. The provider here is a local server, so the
 * example needs no key and no network. Your tests can do the same.
 */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import { aiSdkTools, workspaceTools } from "phasegate/agents";
import { startModelServer } from "phasegate/testing";
import { createWorkspace } from "phasegate/workspace";

const SESSION = "2026-01-02-030405";
const calls = (name: string, input: object) => ({ toolCalls: [{ name, arguments: input }] });

// #region server
const provider = await startModelServer([
  calls("read_file", { path: "{bundle-root}/workflows/intake/workflow.yaml" }),
  calls("read_file", { path: "{bundle-root}/workflows/intake/instructions.md" }),
  calls("create_session", { session_id: SESSION, workflow: "intake" }),
  calls("save_output", { path: `${SESSION}/brief.md`, content: "# Brief for Ann\n" }),
  calls("complete_session", {}),
  { text: "The brief is saved." },
]);
// #endregion server

// #region host
const openai = createOpenAI({ apiKey: "not-a-key", baseURL: `${provider.url}/v1` }); // without baseURL it is OpenAI itself
await mkdir("outputs", { recursive: true });
const workspace = await createWorkspace({
  bundleRoot: fileURLToPath(new URL("intake", import.meta.url)),
  outputRoot: "outputs",
});
const { text, steps } = await generateText({
  model: openai("gpt-5-mini"),
  prompt: "Run the workflow intake: Ann wants a garden with peas.",
  tools: aiSdkTools(workspaceTools(workspace.connect())), // a connection of its own for each conversation
  stopWhen: stepCountIs(20),
});
// #endregion host

for (const { toolCalls } of steps) for (const { toolName, input } of toolCalls) console.log(toolName, input);
assert.equal(text, "The brief is saved.");
assert.equal(await readFile(`outputs/${SESSION}/brief.md`, "utf8"), "# Brief for Ann\n");
assert.equal((await workspace.session(SESSION).manifest()).status, "completed");
await workspace.close();
await provider.close();

/** The link to a request that waits, from the command line to a client that shows MCP Apps. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { connectToServe } from "./serve-client.js";

const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

it("serve --inspector-url gives a request that waits its link", async () => {
  const folder = await temporaryFolder();
  for (const [path, text] of Object.entries(askingFiles)) {
    const file = join(folder, "workflows/asking", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const args = ["--workflows", join(folder, "workflows"), "--state", join(folder, "state")];
  const page = ["--inspector-url", "https://gates.example.com/inspector/"];
  const { client } = await connectToServe([...args, ...page], {}, { capabilities: { extensions: UI } });
  const call = (input: Record<string, unknown>) => client.callTool({ name: "pos_workflow", arguments: input });
  const started = await call({ action: "start", workflow_type: "asking", target_file: "a.ts" });
  const session_id: unknown = Object(started.structuredContent).session_id;
  const waits = await call({ action: "complete_phase", session_id, phase: 1, evidence: { tests_pass: true } });
  expect(waits._meta?.["phasegate/session"]).toMatchObject({
    asked: { link: expect.stringMatching(`^https://gates.example.com/inspector/sessions/${session_id}[?]answer=`) },
  });
});

import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { MemoryContent, type WorkflowListing } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { expect, it } from "vitest";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { writeFiles } from "../support/write-files.js";
import { connectTo, GENERATIONS, serveMcp, until } from "./http-server.js";

const small = (name: string) => ({
  [`${name}/metadata.json`]: JSON.stringify({
    ...{ workflow_type: name, name, description: "One phase", version: "1.0.0" },
    phases: [{ phase_number: 1, phase_name: "Only" }],
  }),
  [`${name}/phases/1/phase.md`]: "# Only\n",
});

const names = async (client: Client) => (await client.listPrompts()).prompts.map(({ name }) => name);

it.each(GENERATIONS)("a client over HTTP (%s) has the prompts, with and without a connection", async (generation) => {
  const { engine } = makeEngine();
  await startTwoPhases(engine);
  for (const stateful of [true, false]) {
    const { url } = await serveMcp({ register: (server) => registerWorkflowTool(server, engine), stateful });
    const { client } = await connectTo(url, generation);
    expect(await names(client)).toEqual(["continue", "status", "start_two_phases"]);
    const { messages } = await client.getPrompt({ name: "start_two_phases", arguments: { target: "src/b.ts" } });
    expect(JSON.stringify(messages)).toContain("src/b.ts");
    const ref = { type: "ref/prompt" as const, name: "start_two_phases" };
    const { completion } = await client.complete({ ref, argument: { name: "target", value: "" } });
    expect(completion).toMatchObject({ values: ["src/a.ts"], total: 1, hasMore: false });
    await expect(client.getPrompt({ name: "start_two_phases", arguments: { goal: "x" } })).rejects.toMatchObject({
      code: -32602,
    });
  }
});

it.each(GENERATIONS)("a client over HTTP (%s) is told of a changed list", async (generation) => {
  const listings: WorkflowListing[] = [];
  const content = Object.assign(new MemoryContent({}), { list: async () => [...listings] });
  const { engine } = makeEngine({ content });
  const { url } = await serveMcp({
    register: (server) => registerWorkflowTool(server, engine, { poll: { content, everyMs: 5 } }),
  });
  const changes: string[] = [];
  const count = ({ method }: { method: string }) => void changes.push(method);
  const { client } = await connectTo(url, generation, {
    prepare: (made) => made.setNotificationHandler("notifications/prompts/list_changed", count),
  });
  if (generation === "2026") await client.listen({ promptsListChanged: true });
  // Polling begins a little later: until then it sees no change.
  await until(() => {
    listings.push({ status: "broken", type: `more_${listings.length}`, diagnostics: [] });
    return changes.length > 0;
  });
});

it.each(["legacy", "auto"] as const)(
  "serve on stdio has the prompts (%s), and tells of a changed list",
  async (mode) => {
    const root = await temporaryFolder();
    await writeFiles(join(root, "workflows"), small("one"));
    const flags = ["--workflows", join(root, "workflows"), "--state", join(root, "state"), "--poll", "1"];
    const changes: string[] = [];
    const count = ({ method }: { method: string }) => void changes.push(method);
    const options = mode === "auto" ? { versionNegotiation: { mode: "auto" } as const } : {};
    const { client, ask } = await connectToServe(flags, {}, options, (made) =>
      made.setNotificationHandler("notifications/prompts/list_changed", count),
    );
    if (mode === "auto") await client.listen({ promptsListChanged: true });
    expect(await names(client)).toEqual(["continue", "status", "start_one"]);
    let added = 0;
    for (; changes.length === 0; added += 1) {
      await writeFiles(join(root, "workflows"), small(`two_${added}`));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await names(client)).toContain("start_two_0");
    expect(await ask({ action: "list_sessions" })).toMatchObject({ status: "success" });
  },
);

/** The acceptance criteria of LLM-led workflow execution, over MCP and stdio with the official client. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { connectToServe } from "../cli/serve-client.js";
import { answerOf } from "../mcp/connect-in-memory.js";
import { makeOffice, type Office } from "./preload/office.js";
import { type CallTool, type Loading, runWorkflow } from "./scripted-model.js";

const GOLDEN = fileURLToPath(new URL("golden/", import.meta.url));
const OUTPUTS = {
  "meeting-notes": ["notes.md"],
  "feature-brief": ["brief.md", "facts.md"],
  "release-check": ["report.md"],
};
const RUNS = Object.entries(OUTPUTS).flatMap(([workflow, files]) =>
  (["preload", "one by one"] satisfies Loading[]).map((loading): [string, Loading, string[]] => [
    workflow,
    loading,
    files,
  ]),
);

async function serve({ bundle, core, output, project }: Office) {
  const args = ["--bundle", bundle, "--core", core, "--output", output, "--project", project];
  const { client } = await connectToServe(args);
  const names: string[] = [];
  const call: CallTool = async (name, input) => {
    names.push(name);
    return answerOf(await client.callTool({ name, arguments: { ...input } }));
  };
  return { client, call, names };
}

async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => name !== "manifest.json");
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name): Promise<[string, string]> => [name, await readFile(join(folder, name), "utf8")]),
    ),
  );
}

async function golden(files: readonly string[]): Promise<Record<string, string>> {
  return Object.fromEntries(
    await Promise.all(
      files.map(async (name): Promise<[string, string]> => [name, await readFile(join(GOLDEN, name), "utf8")]),
    ),
  );
}

describe("a workflow led by a model", () => {
  it.each(RUNS)(
    "%s (%s) creates the same files with the same content as the golden run",
    async (workflow, loading, files) => {
      const office = await makeOffice();
      const { call, names } = await serve(office);
      const session = await runWorkflow(workflow, call, loading);
      expect(await filesOf(join(office.output, session))).toEqual(await golden(files));
      if (loading === "preload") expect(names.filter((name) => name === "read_file")).toEqual([]);
      else expect(names.filter((name) => name === "read_file").length).toBeGreaterThan(2);
    },
  );

  it("has a session folder, and a manifest of its outputs", async () => {
    const office = await makeOffice();
    const { call } = await serve(office);
    const session = await runWorkflow("meeting-notes", call, "preload");
    expect(await readdir(office.output)).toEqual([session]);
    const manifest: unknown = JSON.parse(await readFile(join(office.output, session, "manifest.json"), "utf8"));
    expect(manifest).toMatchObject({
      session_id: session,
      status: "completed",
      workflow: "meeting-notes",
      outputs: [{ path: "notes.md" }],
    });
  });

  it("can run with others: sessions of several connections stay separate", async () => {
    const office = await makeOffice();
    const served = await Promise.all([serve(office), serve(office)]);
    const ran = await Promise.all(
      served.map(async ({ call }) => {
        const first = await runWorkflow("release-check", call, "preload");
        return [first, await runWorkflow("meeting-notes", call, "preload")];
      }),
    );
    const sessions = ran.flat();
    expect(new Set(sessions).size).toBe(4);
    expect((await readdir(office.output)).sort()).toEqual([...sessions].sort());
    for (const [release = "", notes = ""] of ran) {
      expect(await filesOf(join(office.output, release))).toEqual(await golden(["report.md"]));
      expect(await filesOf(join(office.output, notes))).toEqual(await golden(["notes.md"]));
    }
    const [mine, theirs] = [served[0], ran[1]?.[0]];
    const refused = await mine?.call("save_output", { path: `${theirs}/report.md`, content: "mine now" });
    expect(refused).toMatchObject({ success: false });
  });

  it("is reported with its line if it is malformed, and with the existing ones if it is missing", async () => {
    const office = await makeOffice();
    await writeFile(
      join(office.bundle, "workflows/meeting-notes/workflow.yaml"),
      "name: meeting-notes\ninstructions: [\n",
    );
    const { call } = await serve(office);
    const malformed = await call("preload_workflow", { workflow: "meeting-notes" });
    expect(malformed).toMatchObject({
      success: false,
      error: expect.stringContaining("workflow.yaml:3:1: error: not YAML"),
    });
    const missing = await call("preload_workflow", { workflow: "feature-breif" });
    expect(missing).toMatchObject({ error: expect.stringContaining('did you mean "feature-brief"?') });
    expect(missing.remedy).toContain("feature-brief, meeting-notes");
    for (const answer of [malformed, missing]) expect(JSON.stringify(answer)).not.toContain(office.project);
  });

  it("can be started with a prompt of less than 900 tokens", async () => {
    const { client } = await serve(await makeOffice());
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(["run_workflow"]);
    const { messages } = await client.getPrompt({ name: "run_workflow", arguments: { workflow: "meeting-notes" } });
    const [first] = messages;
    const text = first?.content.type === "text" ? first.content.text : "";
    expect(text).toContain("- meeting-notes: Writes the notes of a meeting");
    expect(text).toMatch(/Run the workflow meeting-notes now\.$/);
    expect(text.length / 4).toBeLessThan(900 + 10);
    const any = await client.getPrompt({ name: "run_workflow", arguments: {} });
    expect(JSON.stringify(any)).toContain("Ask me which workflow to run.");
  });
});

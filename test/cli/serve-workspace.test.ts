import { mkdir, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";

async function served(...more: string[]) {
  const { base, bundle } = await makeWorkspace();
  const output = join(base, "made/outputs");
  const core = join(base, "project/core");
  const flags = ["--bundle", bundle, "--core", core, "--output", output, "--project", join(base, "project"), ...more];
  const { client, log } = await connectToServe(flags);
  const ask = async (name: string, input: Answer = {}) => answerOf(await client.callTool({ name, arguments: input }));
  return { base, output, client, log, ask };
}

describe("phasegate serve --bundle", () => {
  it("serves a workspace alone, without a state", async () => {
    const { output, client, log, ask } = await served();
    expect(await ask("read_file", { path: "{project-root}/core/tasks/workflow.md" })).toMatchObject({ success: true });
    expect(await ask("read_file", { path: "../x" })).toMatchObject({ success: false });
    const { session_id } = await ask("create_session", { workflow: "intake" });
    await ask("save_output", { path: `${session_id}/a.md`, content: "a" });
    expect(await readFile(join(output, String(session_id), "a.md"), "utf8")).toBe("a");
    await client.close();
    const said = log.map(({ msg }) => msg);
    expect(said).toEqual(expect.arrayContaining(["workspace", "sessionCreated", "saved", "security"]));
    const calls = log.flatMap(({ msg, tool, error }) => (msg === "call" ? [[tool, error]] : []));
    expect(calls).toEqual([
      ["read_file", undefined],
      ["read_file", "PATH_REFUSED"],
      ["create_session", undefined],
      ["save_output", undefined],
    ]);
    expect(JSON.stringify(log)).not.toContain("Follow the steps");
  });

  it("records sessions with --state, which the other commands show, check and export", async () => {
    const state = join(await temporaryFolder(), "state");
    const { client, ask } = await served("--state", state);
    const { session_id } = await ask("create_session", { workflow: "intake", agent: "alex" });
    const id = String(session_id);
    await ask("read_file", { path: "workflows/intake/instructions.md" });
    await ask("list_files");
    await ask("save_output", { path: `${id}/a.md`, content: "a" });
    await ask("save_output", { path: `${id}/a.md`, content: "b" });
    await ask("create_session", { session_id: id, reopen: true });
    await ask("complete_session", { summary: "One report." });
    await client.close();
    expect((await run("sessions", "--state", state)).stdout).toContain(id);
    const shown = await run("show", id, "--state", state);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain(`saved {output-root}/${id}/a.md (1 bytes, replaced)`);
    expect(shown.stdout).toContain("completed One report.");
    const { owner, entries } = JSON.parse((await run("show", id, "--state", state, "--json")).stdout);
    // Over stdio it belongs to the user of the machine.
    expect(owner).toBe(userInfo().username);
    expect(shown.stdout).toMatch(new RegExp(`owner +${owner}`));
    expect(entries.map(({ type }: Answer) => type)).toEqual([
      "opened",
      "read",
      "listed",
      "saved",
      "saved",
      "reopened",
      "completed",
    ]);
    const audited = await run("audit", id, "--state", state);
    expect([audited.code, audited.stdout]).toEqual([0, expect.stringContaining("intact: 7 commits")]);
    const file = join(await temporaryFolder(), "sessions.jsonl");
    expect((await run("export", "--state", state, "--out", file)).code).toBe(0);
    const copy = join(await temporaryFolder(), "copy");
    expect((await run("import", file, "--state", copy)).code).toBe(0);
    expect((await run("show", id, "--state", copy)).stdout).toBe(shown.stdout);
  });

  it("saves to the open session wherever workflows say that it is", async () => {
    const { output, ask } = await served();
    const { session_id } = await ask("create_session");
    for (const folder of ["{session-folder}", "{session-id}", `/data/agent-outputs/${session_id}`]) {
      const path = `${folder}/output.md`;
      expect(await ask("save_output", { path, content: folder })).toMatchObject({ success: true });
      expect(await readFile(join(output, String(session_id), "output.md"), "utf8")).toBe(folder);
    }
    expect(await ask("save_output", { path: "/tmp/output.md", content: "x" })).toMatchObject({
      success: false,
      remedy: `Save it as "${session_id}/output.md".`,
    });
  });

  it("preloads a workflow that was written for another place, and reads more folders by --read-root", async () => {
    const { base, bundle } = await makeWorkspace();
    await writeFiles(base, {
      "project/bundle/moved/brief/workflow.yaml": [
        "name: team-brief",
        "config_source: '{project-root}/settings/config.yaml'",
        "installed_path: '{project-root}/_old/brief'",
        "instructions: '{installed_path}/steps.md'",
        "notes: '{config_source}:notes'",
        "earlier: '{notes}/earlier.md'",
      ].join("\n"),
      "project/bundle/moved/brief/steps.md": "# Steps",
      "project/settings/config.yaml": "notes: '{project-root}/settings'",
    });
    const settings = join(base, "project/settings");
    const flags = ["--bundle", bundle, "--output", join(base, "out"), "--project", join(base, "project")];
    const { client } = await connectToServe([...flags, "--read-root", `settings=${settings}`]);
    const ask = async (input: Answer) =>
      answerOf(await client.callTool({ name: "preload_workflow", arguments: input }));
    const folder = "{bundle-root}/moved/brief";
    for (const workflow of ["brief", "team-brief", "moved/brief"]) {
      expect(await ask({ workflow, reload: true })).toMatchObject({
        success: true,
        filesLoaded: [`${folder}/workflow.yaml`, "{settings}/config.yaml", `${folder}/steps.md`],
        missing: [],
        warnings: [
          "installed_path is {project-root}/_old/brief, which can't be read: {bundle-root}/moved/brief is used instead",
          "not there yet: {project-root}/settings/earlier.md (needed later, or written)",
        ],
      });
    }
  });

  it("reads the folders that PHASEGATE_READ_ROOTS names", async () => {
    const { base, bundle } = await makeWorkspace();
    const roots = ["one", "two"].map((name) => `${name}=${join(base, name)}`);
    await writeFiles(base, { "one/a.md": "one", "two/a.md": "two" });
    const flags = ["--bundle", bundle, "--output", join(base, "out")];
    const { client } = await connectToServe(flags, { PHASEGATE_READ_ROOTS: roots.join(delimiter) });
    for (const name of ["one", "two"]) {
      const read = await client.callTool({ name: "read_file", arguments: { path: `{${name}}/a.md` } });
      expect(answerOf(read)).toMatchObject({ content: name });
    }
  });

  it.each([
    [["--read-root", "settings"], '--read-root "settings" is not NAME=DIR'],
    [["--read-root", "=settings"], "is not NAME=DIR"],
    [["--read-root", "a b=settings"], "is not NAME=DIR"],
    [["--read-root", "a=one", "b=two", "a=three"], "--read-root has the name a twice"],
    [["--read-root", "a=nowhere-at-all"], "the folder of {a} can't be read"],
    [["--read-root", `core-root=${process.cwd()}`], '"core-root" is not valid'],
    [["--read-root", "old=<output>"], "{old} is inside {output-root}"],
    [["--read-root", "old=<output>/11111111-2222-4333-8444-555555555555"], "can be read as <session_id>/name"],
  ])("refuses %j", async (given, said) => {
    const { base, bundle } = await makeWorkspace();
    const output = join(base, "out");
    await mkdir(join(output, "11111111-2222-4333-8444-555555555555"), { recursive: true });
    const flags = given.map((flag) => flag.replace("<output>", output));
    const { code, stderr } = await run("serve", "--bundle", bundle, "--output", output, ...flags);
    expect(code).not.toBe(0);
    expect(stderr).toContain(said);
  });

  it("is refused if a folder is missing, and creates nothing", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "bundle"));
    const bundle = join(folder, "bundle");
    for (const [flags, said] of [
      [["--bundle", bundle], "--output is missing"],
      [["--output", join(folder, "out")], "--bundle is missing"],
      [["--read-root", `a=${bundle}`], "--bundle is missing"],
      [["--bundle", join(folder, "nowhere"), "--output", join(folder, "out")], "the bundle can't be read"],
      [
        ["--bundle", bundle, "--output", join(folder, "out"), "--http", "0"],
        "--http serves phased workflows or routed ones",
      ],
    ] as const) {
      const { code, stderr } = await run("serve", ...flags);
      expect(code).not.toBe(0);
      expect(stderr).toContain(said);
    }
    await expect(readFile(join(folder, "out"))).rejects.toThrow("ENOENT");
  });
});

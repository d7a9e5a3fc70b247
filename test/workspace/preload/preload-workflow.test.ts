import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { done, makeOffice } from "./office.js";

const NOTES = "{bundle-root}/workflows/meeting-notes";

/** Preloads a workflow.yaml in its own bundle. */
async function preloadOf(workflowYaml: string, files: Record<string, string> = {}) {
  const office = await makeOffice({ "bundle/workflows/made/workflow.yaml": workflowYaml, ...files });
  return (await office.open()).preloadWorkflow({ workflow: "made" });
}

describe("a classic workflow", () => {
  it("is loaded completely in one call, with its values resolved at any depth", async () => {
    const loaded = done(await (await (await makeOffice()).open()).preloadWorkflow({ workflow: "meeting-notes" }));
    expect(loaded.files.map(({ path, role }) => [role, path])).toEqual([
      ["workflow", `${NOTES}/workflow.yaml`],
      ["config", "{bundle-root}/config.yaml"],
      ["instructions", `${NOTES}/instructions.md`],
      ["template", `${NOTES}/template.md`],
      ["validation", `${NOTES}/checklist.md`],
      ["data", `${NOTES}/people.csv`],
      ["engine", "{core-root}/tasks/workflow.md"],
    ]);
    expect(loaded.filesLoaded).toEqual(loaded.files.map(({ path }) => path));
    expect(loaded.missing).toEqual([]);
    expect(loaded.warnings).toEqual([]);
    expect(loaded.message).toBe("All 7 files of meeting-notes are here, complete: don't read them again.");
    const yaml = loaded.files[0]?.content;
    expect(yaml).toContain('title: "Notes for Ada, Harbour"');
    expect(yaml).toContain('default_output_file: "{output-root}/notes/{{topic}}-{date}.md"');
    expect(yaml).toContain("# Notes of a meeting");
    expect(loaded.files[3]?.content).toContain("Taken for {user_name} on {date}.");
  });

  it("is also found by the path of its folder or of its file", async () => {
    const office = await makeOffice();
    const workspace = await office.open();
    for (const workflow of [NOTES, `${NOTES}/workflow.yaml`, "workflows/meeting-notes"]) {
      const { filesLoaded } = done(await workspace.preloadWorkflow({ workflow, reload: true }));
      expect(filesLoaded).toHaveLength(7);
    }
  });

  it("is loaded with the elicitation and the workflows that its instructions invoke", async () => {
    const office = await makeOffice();
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "feature-brief" }));
    expect(loaded.files.map(({ path, workflow }) => [path.replace(/^.*\/(?=[^/]+\/[^/]+$)/, ""), workflow])).toEqual([
      ["feature-brief/workflow.yaml", undefined],
      ["{bundle-root}/config.yaml", undefined],
      ["feature-brief/instructions.md", undefined],
      ["tasks/adv-elicit.md", undefined],
      ["tasks/adv-elicit-methods.csv", undefined],
      ["check-facts/workflow.yaml", "check-facts"],
      ["check-facts/instructions.md", "check-facts"],
      ["check-facts/facts.md", "check-facts"],
      ["tasks/workflow.md", undefined],
    ]);
  });

  it("is reported as already loaded, and only changed files are returned", async () => {
    const own = await makeOffice();
    const workspace = await own.open();
    await workspace.preloadWorkflow({ workflow: "meeting-notes" });
    const again = done(await workspace.preloadWorkflow({ workflow: "meeting-notes" }));
    expect(again.files).toEqual([]);
    expect(again.filesLoaded).toHaveLength(7);
    expect(again.message).toContain("already loaded in this conversation");
    await writeFile(join(own.bundle, "workflows/meeting-notes/template.md"), "# Another\n");
    const changed = done(await workspace.preloadWorkflow({ workflow: "meeting-notes" }));
    expect(changed.files.map(({ content }) => content)).toEqual(["# Another\n"]);
    expect(changed.message).toContain("1 of 7 files of meeting-notes are here, complete");
    const whole = done(await workspace.preloadWorkflow({ workflow: "meeting-notes", reload: true }));
    expect(whole.files).toHaveLength(7);
    const other = done(await workspace.connect().preloadWorkflow({ workflow: "meeting-notes" }));
    expect(other.files).toHaveLength(7);
  });

  it("is returned in pages of whole files if it exceeds the budget", async () => {
    const office = await makeOffice();
    const workspace = await office.open({ limits: { preloadTokens: 180 } });
    const first = done(await workspace.preloadWorkflow({ workflow: "meeting-notes" }));
    expect(first.files.map(({ role }) => role)).toEqual(["workflow"]);
    expect(first.filesLoaded).toHaveLength(7);
    expect(first.message).toContain("1 of 7 files");
    expect(first.message).toContain("call preload_workflow with the cursor before you begin");
    const roles: string[] = ["workflow"];
    let cursor = first.cursor;
    while (cursor !== undefined) {
      const page = done(await workspace.preloadWorkflow({ workflow: "meeting-notes", cursor }));
      roles.push(...page.files.map(({ role }) => role));
      cursor = page.cursor;
    }
    expect(roles).toEqual(["workflow", "config", "instructions", "template", "validation", "data", "engine"]);
  });

  it("is returned again on all pages with `reload: true`", async () => {
    const workspace = await (await makeOffice()).open({ limits: { preloadTokens: 150 } });
    const pages = async (first: { readonly reload?: boolean }) => {
      const paths: string[] = [];
      let page = done(await workspace.preloadWorkflow({ workflow: "meeting-notes", ...first }));
      for (;;) {
        paths.push(...page.files.map(({ path }) => path));
        if (page.cursor === undefined) return paths;
        page = done(await workspace.preloadWorkflow({ workflow: "meeting-notes", cursor: page.cursor }));
      }
    };
    const before = await pages({});
    expect(before).toHaveLength(7);
    expect(await pages({ reload: true })).toEqual(before);
    expect(await pages({})).toEqual([]);
  });

  it("refuses an invalid cursor, and a cursor of another workflow", async () => {
    const office = await makeOffice();
    const workspace = await office.open({ limits: { preloadTokens: 100 } });
    const { cursor = "" } = done(await workspace.preloadWorkflow({ workflow: "meeting-notes" }));
    expect(await workspace.preloadWorkflow({ workflow: "feature-brief", cursor })).toMatchObject({
      success: false,
      error: expect.stringContaining("have changed"),
    });
    for (const wrong of ["?", btoa("[1]"), btoa("x")]) {
      expect(await workspace.preloadWorkflow({ workflow: "meeting-notes", cursor: wrong })).toMatchObject({
        error: expect.stringContaining("this tool did not issue it"),
      });
    }
  });

  it("is loaded without a missing file, for which similar names are reported", async () => {
    const own = await makeOffice();
    await rm(join(own.bundle, "workflows/meeting-notes/template.md"));
    await writeFile(join(own.bundle, "workflows/meeting-notes/templates.md"), "x");
    const loaded = done(await (await own.open()).preloadWorkflow({ workflow: "meeting-notes" }));
    expect(loaded.files).toHaveLength(6);
    expect(loaded.missing).toEqual([
      {
        path: `${NOTES}/template.md`,
        role: "template",
        reason: expect.stringContaining("there is no"),
        nearest: expect.arrayContaining([`${NOTES}/templates.md`]),
      },
    ]);
    expect(loaded.message).toContain("1 file could not be loaded: see missing.");
  });

  it("is suggested for a misspelled name", async () => {
    const office = await makeOffice();
    expect(await (await office.open()).preloadWorkflow({ workflow: "meting-notes" })).toEqual({
      success: false,
      error: 'there is no workflow "meting-notes"; did you mean "meeting-notes"?',
      code: "WORKFLOW_NOT_FOUND",
      remedy:
        "The workflows are check-facts, feature-brief, meeting-notes, release, release-check. " +
        "Give one of these names, or the path of a workflow's folder.",
    });
  });

  it("must be chosen by path if several have its name, and the bundle takes precedence over the core", async () => {
    const own = await makeOffice({
      "bundle/more/meeting-notes/workflow.yaml": "name: other",
      "core/workflows/check-facts/workflow.yaml": "name: core's",
    });
    const workspace = await own.open();
    expect(await workspace.preloadWorkflow({ workflow: "meeting-notes" })).toMatchObject({
      error: expect.stringContaining("{bundle-root}/more/meeting-notes, {bundle-root}/workflows/meeting-notes"),
    });
    const { filesLoaded } = done(await workspace.preloadWorkflow({ workflow: "check-facts" }));
    expect(filesLoaded[0]).toBe("{bundle-root}/workflows/check-facts/workflow.yaml");
  });
});

describe("a workflow.yaml", () => {
  it.each([
    ["with a syntax error", "name: x\ninstructions: [a\n", "workflow.yaml:3:1: error: not YAML"],
    ["that is empty", "", "workflow.yaml:1:1: error: the file is empty"],
    ["that is a comment", "# x\n", "the file is empty"],
    ["that is a list", "# x\n- a\n- b\n", "workflow.yaml:2:1: error: the file is a list"],
    ["that is one value", "hello\n", "workflow.yaml:1:1: error: the file is a single value"],
    ["of several documents", "name: x\n---\nname: y\n", "workflow.yaml:2:1: error: a second document"],
    ["with a tag", "name: x\nrun: !!js/function 'function () {}'\n", "workflow.yaml:2:6: error: tags are not read"],
    ["with a merge key", "a: &a {x: 1}\nb:\n  <<: *a\n", "workflow.yaml:3:3: error: merge keys"],
    ["with a merge of __proto__", "a: 1\n<<: {__proto__: {polluted: true}}\n", "workflow.yaml:2:1: error: merge keys"],
    ["with __proto__", "a: 1\n__proto__: {polluted: true}\n", "workflow.yaml:2:1: error: no key may be"],
    [
      "that is an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(9)}*a]\nc: &c [${"*b,".repeat(9)}*b]\nd: [${"*c,".repeat(9)}*c]\n`,
      "workflow.yaml:2:8: error: aliases expand to more than 100 values",
    ],
  ])("%s is refused with its line", async (_, text, problem) => {
    expect(await preloadOf(text)).toEqual({
      success: false,
      error: expect.stringContaining(problem),
      code: "DEFINITION_INVALID",
      remedy: expect.stringContaining("correct the file"),
    });
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it.each([
    ["false", []],
    ["true", []],
    ["''", []],
    ["'{bundle-root}/workflows/made/t.md'", ["t.md"]],
    ["./t.md", ["t.md"]],
    ["t.md", ["t.md"]],
  ])("accepts the template %s", async (template, names) => {
    const loaded = done(await preloadOf(`template: ${template}\n`, { "bundle/workflows/made/t.md": "# T" }));
    const found = loaded.files.filter(({ role }) => role === "template").map(({ path }) => path.replace(/^.*\//, ""));
    expect(found).toEqual(names);
    expect(loaded.missing).toEqual([]);
  });

  it("lists variants without loading them, and excludes outputs and web bundles", async () => {
    const loaded = done(
      await preloadOf(
        [
          "installed_path: '{bundle-root}/workflows/made'",
          "instructions: '{installed_path}/router.md'",
          "instructions_market: '{installed_path}/market.md'",
          "default_output_file: '{installed_path}/out.md'",
          "patterns: ['{installed_path}/*.md', '{output-root}/x.md', '{installed_path}/{{name}}.md', 'just words']",
          "other: '{bundle-root}/workflows/meeting-notes/workflow.yaml'",
          "web_bundle: {files: ['{installed_path}/packed.md']}",
        ].join("\n"),
        { "bundle/workflows/made/router.md": "# Router" },
      ),
    );
    expect(loaded.filesLoaded.slice(0, 2).map((path) => path.replace(/^.*\//, ""))).toEqual([
      "workflow.yaml",
      "router.md",
    ]);
    expect(loaded.filesLoaded).toHaveLength(3);
    expect(loaded.missing).toEqual([]);
    expect(loaded.warnings).toEqual([
      "not loaded: {bundle-root}/workflows/made/market.md (read it if the instructions choose it)",
    ]);
  });

  it("reports an unknown variable in a path with the known ones, and keeps it in a text", async () => {
    const loaded = done(await preloadOf("config_source: '{bmad_folder}/config.yaml'\nwho: '{user_name}'\n"));
    expect(loaded.missing).toEqual([
      expect.objectContaining({ path: "{bmad_folder}/config.yaml", reason: expect.stringContaining("{bmad_folder}") }),
    ]);
    expect(loaded.files[0]?.content).toContain("who: '{user_name}'");
  });

  it("reports values that form a cycle", async () => {
    const loaded = done(await preloadOf("a: '{b}'\nb: '{a}'\n"));
    expect(loaded.warnings).toEqual(["values refer to each other in a cycle: {b} → {a} → {b}"]);
  });

  it("is loaded without an invalid configuration, whose lines are reported", async () => {
    const loaded = done(
      await preloadOf("config_source: ./c.yaml\na: '{config_source}:b'\n", {
        "bundle/workflows/made/c.yaml": "b: 1\nb: 2\n",
      }),
    );
    expect(loaded.warnings).toEqual([expect.stringContaining("c.yaml:2:1: error: the key")]);
    expect(loaded.files[0]?.content).toContain("a: '{config_source}:b'");
  });

  it("cannot load withheld files", async () => {
    const loaded = done(
      await preloadOf("instructions: '{bundle-root}/.env'\ntemplate: ../../../secret.md\nvalidation: /etc/passwd\n", {
        "bundle/.env": "KEY=1",
        "secret.md": "secret",
      }),
    );
    expect(loaded.files.filter(({ role }) => role !== "engine")).toHaveLength(1);
    expect(loaded.missing.map(({ role }) => role)).toEqual(["instructions", "template", "validation"]);
    expect(JSON.stringify(loaded)).not.toContain("KEY=1");
  });
});

describe("workflows that invoke others", () => {
  const invoking = (name: string, ...paths: string[]) => ({
    [`bundle/workflows/${name}/workflow.yaml`]: "instructions: ./i.md\n",
    [`bundle/workflows/${name}/i.md`]: paths.map((path) => `<invoke-workflow path="${path}"/>`).join("\n"),
  });

  it("may form a cycle, which is reported", async () => {
    const office = await makeOffice({ ...invoking("a", "{bundle-root}/workflows/b"), ...invoking("b", "a") });
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "a" }));
    const [a, b] = ["a", "b"].map((name) => `{bundle-root}/workflows/${name}/workflow.yaml`);
    expect(loaded.warnings).toEqual([`workflows refer to each other in a cycle: ${a} → ${b} → ${a}`]);
    expect(loaded.filesLoaded).toContain("{bundle-root}/workflows/b/i.md");
  });

  it("are loaded up to a depth", async () => {
    const chain = Array.from({ length: 9 }, (_, index) =>
      invoking(`w${index}`, `{bundle-root}/workflows/w${index + 1}`),
    );
    const office = await makeOffice(Object.assign({}, ...chain));
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "w0" }));
    expect(loaded.warnings).toEqual([expect.stringContaining("not loaded: it is 6 workflows deep")]);
    expect(loaded.filesLoaded).toContain("{bundle-root}/workflows/w5/i.md");
    expect(loaded.filesLoaded).not.toContain("{bundle-root}/workflows/w6/i.md");
  });

  it("may all invoke each other, up to the limit of a call", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    const paths = names.map((name) => `{bundle-root}/workflows/${name}`);
    const office = await makeOffice(Object.assign({}, ...names.map((name) => invoking(name, ...paths))));
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "w0" }));
    expect(loaded.warnings).toContain("more than 100 workflows are invoked: the others are not loaded");
    expect(loaded.filesLoaded).toContain("{bundle-root}/workflows/w9/i.md");
  });

  it("may name any number of files, up to the limit of a workflow", async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `f${index}: ./none-${index}.md`);
    const office = await makeOffice({ "bundle/workflows/many/workflow.yaml": lines.join("\n") });
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "many" }));
    expect(loaded.warnings).toContain("4800 more named files are not loaded: the limit is 200");
    expect(loaded.missing.length).toBeLessThan(201);
  });

  it("may name many files each, up to the limit of a call", async () => {
    const texts = (group: number) =>
      Array.from({ length: 100 }, (_, index) => [`bundle/workflows/g${group}/d${index}.md`, "text"] as const);
    const groups = Array.from({ length: 6 }, (_, group) => ({
      ...Object.fromEntries(texts(group)),
      [`bundle/workflows/g${group}/workflow.yaml`]: texts(group)
        .map((_, index) => `f${index}: ./d${index}.md`)
        .join("\n"),
    }));
    const all = groups.map((_, group) => `{bundle-root}/workflows/g${group}`);
    const office = await makeOffice(Object.assign(invoking("top", ...all), ...groups));
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "top" }));
    expect(loaded.missing.map(({ reason }) => reason)).toContain("not loaded: the workflow has more than 500 files");
  });

  it("may invoke missing and broken workflows, and skills with steps", async () => {
    const office = await makeOffice({
      ...invoking(
        "a",
        "{bundle-root}/workflows/none",
        "{bundle-root}/workflows/b/workflow.yaml",
        "release-check",
        "nobody",
      ),
      "bundle/workflows/b/workflow.yaml": "a: [\n",
    });
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "a" }));
    expect(loaded.missing.map(({ path }) => path)).toEqual([
      "{bundle-root}/workflows/none",
      "{bundle-root}/workflows/b/workflow.yaml",
      "nobody",
    ]);
    expect(loaded.missing[1]?.reason).toContain("workflow.yaml:2:1");
    expect(loaded.warnings).toContain("release-check has steps: call preload_workflow for it when you get to it");
    expect(loaded.filesLoaded).toContain("{bundle-root}/skills/release-check/SKILL.md");
    expect(loaded.filesLoaded.some((path) => path.includes("/steps/"))).toBe(false);
  });
});

describe("a workflow of an installed project", () => {
  it("names its files relative to the project, and they are loaded if they are in a root", async () => {
    const made = "{project-root}/bundle/workflows/made";
    const loaded = done(
      await preloadOf(
        [
          "config_source: '{project-root}/bundle/settings.yaml'",
          "output_folder: '{config_source}:output_folder'",
          "date: system-generated",
          `installed_path: '${made}'`,
          "shared_path: '{project-root}/core/resources'",
          "instructions: '{installed_path}/instructions.md'",
          "validation: '{installed_path}/checklist.md'",
          "template: false",
          "plan_template: '{installed_path}/plan.md'",
          "kinds: '{installed_path}/kinds.csv'",
          "helpers: '{shared_path}/helpers.md'",
          "status_file: '{output_folder}/status.yaml'",
          "default_output_file: '{output_folder}/plan-{story_id}.md'",
          "drawing: '{shared_path}/drawing-{timestamp}.md'",
          "standalone: true",
          "web_bundle: {instructions: 'bundle/workflows/made/instructions.md'}",
        ].join("\n"),
        {
          "bundle/settings.yaml": "output_folder: '{project-root}/docs'\n",
          "bundle/workflows/made/instructions.md": "# Plan\n",
          "bundle/workflows/made/checklist.md": "- [ ] whole\n",
          "bundle/workflows/made/plan.md": "# {{name}}\n",
          "bundle/workflows/made/kinds.csv": "a,b\n",
          "core/resources/helpers.md": "# Helpers\n",
          "docs/status.yaml": "done: none\n",
        },
      ),
    );
    expect(loaded.files.map(({ role, path }) => `${role} ${path}`)).toEqual([
      "workflow {bundle-root}/workflows/made/workflow.yaml",
      "config {bundle-root}/settings.yaml",
      "instructions {bundle-root}/workflows/made/instructions.md",
      "validation {bundle-root}/workflows/made/checklist.md",
      "data {bundle-root}/workflows/made/plan.md",
      "data {bundle-root}/workflows/made/kinds.csv",
      "data {core-root}/resources/helpers.md",
      "engine {core-root}/tasks/workflow.md",
    ]);
    expect(loaded.missing).toEqual([]);
    expect(loaded.warnings).toEqual([]);
  });
});

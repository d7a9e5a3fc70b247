import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { done, makeOffice } from "./office.js";

const MADE = "{bundle-root}/workflows/made";

/** Preloads a workflow.yaml in a folder of its own, next to these files below the project. */
async function preloadOf(lines: readonly string[], files: Record<string, string> = {}) {
  const office = await makeOffice({ "bundle/workflows/made/workflow.yaml": lines.join("\n"), ...files });
  const workspace = await office.open({ readRoots: { docs: office.project } });
  return done(await workspace.preloadWorkflow({ workflow: "made" }));
}

describe("installed_path", () => {
  it.each(["{project-root}/_gone/made", "{bundle-root}/gone", "{nowhere}/made", "/opt/made", "../../../../made"])(
    "%s, which can't be read, is replaced by the folder of the workflow.yaml",
    async (installed) => {
      const loaded = await preloadOf(
        [
          `installed_path: '${installed}'`,
          "instructions: '{installed_path}/i.md'",
          "people: '{installed_path}/data/people.csv'",
          "later: {template_long: '{installed_path}/long.md'}",
        ],
        {
          "bundle/workflows/made/i.md": "# I",
          "bundle/workflows/made/data/people.csv": "name",
          "bundle/workflows/made/long.md": "# Long",
        },
      );
      expect(loaded.missing).toEqual([]);
      expect(loaded.filesLoaded).toEqual(
        expect.arrayContaining([`${MADE}/i.md`, `${MADE}/data/people.csv`, `${MADE}/long.md`]),
      );
      expect(loaded.warnings).toEqual([`installed_path is ${installed}, which can't be read: ${MADE} is used instead`]);
      expect(loaded.files[0]?.content).toContain(`installed_path: '${MADE}'`);
    },
  );

  it("that lacks a file is replaced for this file", async () => {
    const loaded = await preloadOf(
      [
        "installed_path: '{project-root}/bundle/shared'",
        "instructions: '{installed_path}/i.md'",
        "template: '{installed_path}/t.md'",
      ],
      { "bundle/shared/i.md": "# Shared", "bundle/workflows/made/i.md": "# Own", "bundle/workflows/made/t.md": "# T" },
    );
    expect(loaded.missing).toEqual([]);
    expect(loaded.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["{bundle-root}/shared/i.md", `${MADE}/t.md`]),
    );
    expect(loaded.warnings).toEqual([`{project-root}/bundle/shared/t.md can't be read: ${MADE}/t.md is read instead`]);
  });

  it("reports a file that neither folder has as the workflow names it", async () => {
    const loaded = await preloadOf(["installed_path: '{bundle-root}/skills'", "instructions: '{installed_path}/i.md'"]);
    expect(loaded.missing.map(({ path }) => path)).toEqual(["{bundle-root}/skills/i.md"]);
    expect(loaded.warnings).toEqual([]);
  });

  it("cannot lead out of the roots", async () => {
    const loaded = await preloadOf(["installed_path: /etc", "instructions: '{installed_path}/../../../../secret.md'"], {
      "secret.md": "secret",
    });
    expect(loaded.missing).toHaveLength(1);
    expect(JSON.stringify(loaded)).not.toContain('"secret"');
  });
});

describe("missing files", () => {
  it("are those that the workflow needs to begin", async () => {
    const loaded = await preloadOf([
      "config_source: ./c.yaml",
      "instructions: ./i.md",
      "people: ./people.csv",
      "core_table: '{project-root}/core/table.csv'",
      "required_inputs: [{brief: '{project-root}/docs/brief.md'}]",
    ]);
    expect(loaded.missing.map(({ path, role }) => [role, path])).toEqual([
      ["config", `${MADE}/c.yaml`],
      ["instructions", `${MADE}/i.md`],
      ["data", `${MADE}/people.csv`],
      ["data", "{core-root}/table.csv"],
      ["data", "{docs}/docs/brief.md"],
    ]);
  });

  it("are not those that it finds or writes later, which one warning names", async () => {
    const loaded = await preloadOf(
      [
        "config_source: ./c.yaml",
        "output_folder: '{config_source}:output_folder'",
        "stories: '{output_folder}/stories'",
        "status: '{stories}/status.yaml'",
        "plan: '{config_source}:plans/plan.md'",
        "backlog: '{project-root}/docs/backlog.md'",
        "recommended_inputs: [{prd: ./prd.md}]",
        "report_output: ./report.md",
        "either: '{output_folder}/a.md || {output_folder}/b.md'",
        "or: '{output_folder}/a.md or b.md'",
      ],
      {
        "bundle/workflows/made/c.yaml": "output_folder: '{project-root}/out'\nplans: '{project-root}/plans'",
        "plans/plan.md": "# Plan",
      },
    );
    expect(loaded.missing).toEqual([]);
    expect(loaded.filesLoaded).toContain("{docs}/plans/plan.md");
    expect(loaded.warnings).toEqual([
      "not there yet: ./prd.md, ./report.md, {project-root}/docs/backlog.md, {project-root}/out/stories/status.yaml " +
        "(needed later, or written)",
    ]);
  });
});

describe("a workflow's name", () => {
  const files = {
    "bundle/workflows/brief/workflow.yaml": "name: team brief\ninstructions: ./i.md",
    "bundle/workflows/brief/i.md": "# I",
    "bundle/workflows/brief/parts/workflow.yaml": "name: brief-parts",
    "bundle/other/brief/workflow.yaml": "name: other-brief",
    "bundle/other/Größe/workflow.yaml": "name: size",
  };

  it.each([
    ["team brief", "workflows/brief"],
    ["other-brief", "other/brief"],
    ["other/brief", "other/brief"],
    ["parts", "workflows/brief/parts"],
    ["brief/parts", "workflows/brief/parts"],
    ["brief-parts", "workflows/brief/parts"],
    ["Größe", "other/Größe"],
  ])("%s finds %s, again and again", async (workflow, folder) => {
    const workspace = await (await makeOffice(files)).open();
    for (let time = 1; time <= 3; time += 1) {
      const { filesLoaded } = done(await workspace.preloadWorkflow({ workflow }));
      expect(filesLoaded[0]).toBe(`{bundle-root}/${folder}/workflow.yaml`);
    }
  });

  it("in its file no longer finds it once the file has another name", async () => {
    const office = await makeOffice(files);
    const workspace = await office.open();
    done(await workspace.preloadWorkflow({ workflow: "other-brief" }));
    await rename(join(office.bundle, "other"), join(office.bundle, "others"));
    const { filesLoaded } = done(await workspace.preloadWorkflow({ workflow: "other-brief" }));
    expect(filesLoaded[0]).toBe("{bundle-root}/others/brief/workflow.yaml");
  });

  it("may be the end of several paths, or the name in several files: then all are named", async () => {
    const workspace = await (
      await makeOffice({
        ...files,
        "bundle/a/x/y/workflow.yaml": "name: twin",
        "bundle/b/x/y/workflow.yaml": "name: twin",
      })
    ).open();
    for (const workflow of ["x/y", "twin", "y"]) {
      expect(await workspace.preloadWorkflow({ workflow })).toMatchObject({
        error: expect.stringContaining("{bundle-root}/a/x/y, {bundle-root}/b/x/y"),
        remedy: expect.stringContaining("Give the path of one of them"),
      });
    }
  });

  it("that nothing has is refused, as the end of a path too", async () => {
    const workspace = await (await makeOffice(files)).open();
    expect(await workspace.preloadWorkflow({ workflow: "nobody" })).toMatchObject({
      error: 'there is no workflow "nobody"',
      remedy: expect.not.stringContaining("searched"),
    });
    expect(await workspace.preloadWorkflow({ workflow: "nobody/here" })).toMatchObject({ success: false });
    expect(await workspace.preloadWorkflow({ workflow: "../brief" })).toMatchObject({ success: false });
  });

  it("that was not found says which limit ended the search", async () => {
    const deep = await (await makeOffice({ "bundle/1/2/3/4/5/6/7/workflow.yaml": "name: deep" })).open();
    expect(await deep.preloadWorkflow({ workflow: "deep" })).toMatchObject({
      remedy: expect.stringContaining("In {bundle-root}, folders below level 6 were not searched."),
    });
    const many = Array.from({ length: 501 }, (_, index) => [`bundle/many/${index}/x.md`, ""] as const);
    const wide = await (await makeOffice(Object.fromEntries(many))).open();
    expect(await wide.preloadWorkflow({ workflow: "zebra" })).toMatchObject({
      remedy: expect.stringContaining("In {bundle-root}, only 500 folders were searched."),
    });
  });
});

import { symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { FAULTY, SMALL } from "./workflow-folders.js";

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return folder;
}

describe("phasegate validate", () => {
  it("reports no problem of a valid workflow", async () => {
    const { code, stdout, stderr } = await run("validate", await folderOf(SMALL));
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "ok      small\n1 workflow: 0 errors, 0 warnings\n",
      stderr: "",
    });
  });

  it("shows an error with its position, the lines around it and a hint", async () => {
    const folder = await folderOf(FAULTY);
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout).toContain(`${join(folder, "small/phases/1/gate-definition.yaml")}:5:`);
    expect(stdout).toMatch(/: error: .*boolaen/);
    expect(stdout).toMatch(/> 5 \| {5}type: boolaen\n +\| +\^/);
    expect(stdout).toMatch(/hint: .*boolean/);
    expect(stdout).toMatch(/broken {2}small\n1 workflow: 1 error, 0 warnings\n$/);
  });

  it("accepts the folder of a single workflow, by a relative path too", async () => {
    const folder = join(await folderOf(FAULTY), "small");
    expect(await run("validate", folder)).toMatchObject({ code: 1, stdout: expect.stringContaining("broken  small") });
    const { stdout } = await run("validate", relative(process.cwd(), folder));
    expect(stdout).toContain(`${join(relative(process.cwd(), folder), "phases/1/gate-definition.yaml")}:5:`);
  });

  it("prints JSON with --json", async () => {
    const { code, stdout } = await run("validate", await folderOf(FAULTY), "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      workflows: [
        {
          type: "small",
          status: "broken",
          diagnostics: [{ severity: "error", file: "phases/1/gate-definition.yaml", line: 5 }],
        },
      ],
      errors: 1,
      warnings: 0,
    });
  });

  it("exits with 0 for warnings", async () => {
    const metadata = SMALL["small/metadata.json"]?.replace(/ {2}"category".*\n/, "") ?? "";
    const { code, stdout } = await run("validate", await folderOf({ ...SMALL, "small/metadata.json": metadata }));
    expect(code).toBe(0);
    expect(stdout).toMatch(/: warning: .*category/);
    expect(stdout).toContain("ok      small\n1 workflow: 0 errors, 1 warning\n");
  });

  it("warns of a phase whose workflow is in none of the folders", async () => {
    const parent = {
      "release/metadata.json":
        '{"workflow_type": "release", "name": "Release", "description": "Two parts", "version": "1.0.0", "category": "x", "estimated_duration": "1 hour", "phases": [{"phase_number": 1, "phase_name": "Part"}]}',
      "release/phases/1/phase.md": "# Part\n",
      "release/phases/1/gate-definition.yaml": "workflow: small\n",
    };
    const [folder, other] = [await folderOf(parent), await folderOf(SMALL)];
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `phases/1/gate-definition.yaml:1:11: warning: phase 1 is the workflow "small", which is not in ${folder}\n`,
    );
    expect((await run("validate", folder, other)).stdout).toBe(
      "ok      release\nok      small\n2 workflows: 0 errors, 0 warnings\n",
    );
    const typo = { "release/phases/1/gate-definition.yaml": "workflow: small\noptions: {dpth: 1}\n" };
    const options = "options_schema";
    const wanting = SMALL["small/metadata.json"]?.replace(
      "{",
      `{"${options}": {"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"], "additionalProperties": false},`,
    );
    const wrong = await folderOf({ ...parent, ...typo, ...SMALL, "small/metadata.json": wanting ?? "" });
    const said = await run("validate", wrong);
    expect(said.code).toBe(1);
    expect(said.stdout).toContain(
      'error: phase 1 is the workflow "small", which can\'t be started so: there is no option "dpth"; did you mean "depth"?\n',
    );
    expect(said.stdout).toContain('the option "depth" is missing');
    const later = {
      "release/metadata.json": parent["release/metadata.json"].replace(
        "}]}",
        '}, {"phase_number": 2, "phase_name": "Ship"}]}',
      ),
      "release/phases/2/phase.md": "# Ship\n",
      "release/phases/2/gate-definition.yaml":
        'evidence_schema: {ok: {type: boolean}}\nvalidators: {}\ncross_field_validation: ["artifacts.part.nothing.x == 1"]\n',
    };
    expect((await run("validate", await folderOf({ ...parent, ...later, ...SMALL }))).stdout).toContain(
      'the evidence of phase 1 has no field "nothing"',
    );
    // Alone, it still finds those beside it.
    await writeFiles(folder, SMALL);
    expect((await run("validate", join(folder, "release"))).stdout).toContain("1 workflow: 0 errors, 0 warnings\n");
  });

  it("refuses with --strict what it only warns of, such as a phase that requires nothing", async () => {
    const { "small/phases/1/gate-definition.yaml": _, ...open } = SMALL;
    const folder = await folderOf(open);
    expect(await run("validate", folder)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("requires nothing"),
    });
    expect(await run("validate", folder, "--strict")).toMatchObject({ code: 1 });
    const meant = await folderOf({ ...open, "small/phases/1/gate-definition.yaml": "gate: none\n" });
    expect(await run("validate", meant, "--strict")).toMatchObject({ code: 0 });
  });

  it("reports a folder that looks like a workflow without metadata.json, and no other", async () => {
    const folder = await folderOf({ "meant/phases/1/phase.md": "# One", "docs/a.md": "", ".git/metadata.json": "{}" });
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout).toMatch(/meant\/metadata\.json: error: there is no metadata\.json/);
    expect(stdout).toContain("1 workflow: 1 error");
  });

  it("reports a workflow whose folder or metadata.json is a link that leads outside", async () => {
    const outside = join(await folderOf(SMALL), "small");
    const folder = await folderOf({ ...SMALL, "half/phases/1/phase.md": "# One" });
    await symlink(outside, join(folder, "elsewhere"));
    await symlink(join(outside, "metadata.json"), join(folder, "half/metadata.json"));
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout).toContain(`${join(folder, "elsewhere/metadata.json")}: error: the workflow's folder can't be read`);
    expect(stdout).toMatch(/hint: Put the folder itself there/);
    expect(stdout).toMatch(/broken {2}elsewhere\nbroken {2}half\nok {6}small\n3 workflows: 2 errors/);
    const alone = await run("validate", join(folder, "half"));
    expect(alone).toMatchObject({ code: 1, stdout: expect.stringContaining("half/metadata.json: error: the path") });
  });

  it("reports a folder without workflows, and a missing folder", async () => {
    const folder = await temporaryFolder();
    expect(await run("validate", folder)).toMatchObject({ code: 1, stderr: expect.stringContaining("no workflow in") });
    const missing = await run("validate", join(folder, "nowhere"));
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringMatching(/can't be read.*nowhere\n {2}hint: /) });
    await writeFiles(folder, { file: "" });
    expect(await run("validate", join(folder, "file"))).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("is not a folder"),
    });
  });

  it("escapes control characters of files", async () => {
    const gate = `${FAULTY["small/phases/1/gate-definition.yaml"]}# \u001b]0;title\u0007\n`;
    const { stdout } = await run(
      "validate",
      await folderOf({ ...FAULTY, "small/phases/1/gate-definition.yaml": gate }),
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });

  it("shows the first problems with their lines, errors before warnings, and counts the others", async () => {
    const keys = Array.from({ length: 8000 }, (_, at) => `"zz${at}": 1`).join(",\n");
    const whole = (SMALL["small/metadata.json"] ?? "").trimEnd().replace(/\}$/, `,\n${keys}\n}`);
    const gate = FAULTY["small/phases/1/gate-definition.yaml"] ?? "";
    const folder = await folderOf({
      ...SMALL,
      "small/metadata.json": whole,
      "small/phases/1/gate-definition.yaml": gate,
    });
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout.match(/^ {2}>/gm)).toHaveLength(100);
    expect(stdout).toContain("and 901 problems more, which --json lists; 7000 more are not listed; fix these first");
    expect(stdout).toMatch(/: error: .*boolaen/);
    const { stdout: json } = await run("validate", folder, "--json");
    expect(JSON.parse(json).workflows[0].diagnostics).toHaveLength(1002);
  });

  it("shows no code for a line that is very long", async () => {
    const long = JSON.stringify({
      ...JSON.parse(SMALL["small/metadata.json"] ?? ""),
      total_phases: 1,
      x: "y".repeat(500),
    });
    const { stdout } = await run("validate", await folderOf({ ...SMALL, "small/metadata.json": long }));
    expect(stdout).toMatch(/metadata\.json:1:\d+: warning/);
    expect(stdout).not.toContain("yyy");
  });
});

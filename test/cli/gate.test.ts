import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { FAULTY, SMALL } from "./workflow-folders.js";

const TEXT =
  "# Phase 1: Build\n\n## Checkpoint\n\n- [ ] All tests pass ✅/❌\n- You must provide `test_count`, a number of at least 3\n";
const DOCUMENTED = Object.fromEntries(
  Object.entries({ ...SMALL, "small/phases/1/phase.md": TEXT }).filter(
    ([path]) => path !== "small/phases/1/gate-definition.yaml",
  ),
);

async function workflow(files: Readonly<Record<string, string>> = DOCUMENTED): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return join(folder, "small");
}

describe("phasegate validate", () => {
  it("shows the requirements that were read from texts, with their lines and certainty", async () => {
    const folder = await workflow();
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(0);
    const file = join(folder, "phases/1/phase.md");
    expect(stdout).toContain(`${file}:5:3: read: phase 1 asks for all_tests_pass (boolean), in a checkbox\n`);
    expect(stdout).toContain(
      `${file}:6:3: read: phase 1 asks for test_count (integer, value >= 3), in a sentence, guessed from its words\n`,
    );
    const json = await run("validate", folder, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      workflows: [{ inferred: [{ name: "all_tests_pass", line: 5, certainty: "sure" }, { name: "test_count" }] }],
    });
  });

  it("shows what is optional", async () => {
    const folder = await workflow({ ...DOCUMENTED, "small/phases/1/phase.md": `${TEXT}- [ ] Optional extras\n` });
    expect((await run("validate", folder)).stdout).toContain("asks for optional_extras (boolean, optional)");
  });
});

describe("phasegate gate freeze", () => {
  it("writes gate files, after which texts are no longer read for gates", async () => {
    const folder = await workflow();
    const first = await run("gate", "freeze", folder);
    const file = join(folder, "phases/1/gate-definition.yaml");
    expect(first).toMatchObject({ code: 0, stdout: `wrote ${file}: 2 fields\n`, stderr: "" });
    expect(await readFile(file, "utf8")).toContain("all_tests_pass:\n    type: boolean\n    required: true\n");
    const { code, stdout } = await run("validate", folder);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "ok      small\n1 workflow: 0 errors, 0 warnings\n" });
  });

  it("writes the requirements of documents in other forms, and warns of unreadable ones", async () => {
    const text = [
      "# Phase 1: Build",
      "",
      "## Exit criteria",
      "",
      "Evidence | Type | Rules",
      "--- | --- | ---",
      "`test_count` | int | > 0; under_100",
      "",
      "- **Coverage**: percentage, at least 80%",
      "  1. [ ] Reviewed",
      "- told by nobody",
    ].join("\r\n");
    const folder = await workflow({ ...DOCUMENTED, "small/phases/1/phase.md": text });
    const before = await run("validate", folder);
    expect(before.stdout).toContain(
      "phase.md:11:3: warning: this item is in a list of requirements, but has none that can be read",
    );
    expect(before.stdout).toContain(
      "phase.md:7:1: read: phase 1 asks for test_count (integer, value > 0, value < 100)",
    );
    expect(await run("gate", "freeze", folder)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(": 3 fields"),
    });
    const frozen = await readFile(join(folder, "phases/1/gate-definition.yaml"), "utf8");
    expect(frozen).toContain(
      "test_count:\n    type: integer\n    required: true\n    validator:\n      - value > 0\n      - value < 100\n",
    );
    const after = await run("validate", folder);
    expect(after.stdout).not.toContain("read: phase");
    expect(after.stdout).not.toContain("gate file");
  });

  it("writes nothing for a document with an unknown validator, and suggests the nearest one", async () => {
    const text =
      "# Phase 1: Build\n\n| Evidence | Type | Validator |\n|---|---|---|\n| depth | int | greater_then_0 |\n| width | integr | |\n";
    const folder = await workflow({ ...DOCUMENTED, "small/phases/1/phase.md": text });
    const { code, stdout } = await run("validate", folder);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /phase\.md:5:1: error: there is no validator "greater_then_0"[\s\S]*Did you mean greater_than_0\?/,
    );
    expect(stdout).toMatch(/phase\.md:6:1: error: width has the unknown type "integr"[\s\S]*did you mean integer\?/);
    expect(await run("gate", "freeze", folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is broken"),
    });
  });

  it("writes the gate of a single phase, and never changes an existing gate file", async () => {
    const folder = await workflow({
      ...DOCUMENTED,
      "small/phases/2/phase.md": TEXT,
      "small/phases/2/gate-definition.yaml": "evidence_schema: {a: {type: bool}}\n",
    });
    const none = await run("gate", "freeze", folder, "--phase", "2");
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the gate of phase 2 is not read from its text"),
    });
    expect(await run("gate", "freeze", folder, "--phase", "1")).toMatchObject({ code: 0 });
    const again = await run("gate", "freeze", folder);
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no gate is read from the text of its phase"),
    });
    expect(await readFile(join(folder, "phases/2/gate-definition.yaml"), "utf8")).toContain("a: {type: bool}");
  });

  it("requires exactly one valid workflow", async () => {
    const folder = await workflow();
    expect(await run("gate", "freeze", join(folder, ".."))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no workflow in"),
    });
    expect(await run("gate", "freeze", await workflow(FAULTY))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is broken"),
    });
    expect(await run("gate", "freeze")).toMatchObject({ code: 2 });
    expect(await run("gate", "freeze", folder, "--phase", "x")).toMatchObject({ code: 2 });
    const help = await run("gate", "--help");
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("freeze") });
  });

  it("writes nothing outside the workflow", async () => {
    const folder = await workflow({ ...DOCUMENTED, "small/texts/one.md": TEXT });
    const metadata = JSON.parse(await readFile(join(folder, "metadata.json"), "utf8"));
    metadata.phases[0].phase_file = "texts/one.md";
    metadata.phases.push({ phase_number: 3, phase_name: "Three", phase_file: "texts/one.md" });
    await writeFile(join(folder, "metadata.json"), JSON.stringify(metadata));
    await symlink(await temporaryFolder(), join(folder, "phases/3"));
    const { code, stderr } = await run("gate", "freeze", folder, "--phase", "3");
    expect(code).not.toBe(0);
    expect(stderr).not.toBe("");
  });
});

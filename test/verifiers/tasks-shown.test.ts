import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "phasegate";
import { describe, expect, it } from "vitest";
import { initialise } from "../support/a-repository.js";
import { aProject, refused } from "./a-project.js";

const NAME = "tasks_shown";

describe("tasks_shown", () => {
  it("takes files that have changed, committed or not, and lines that are there", async () => {
    const evidence = JSON.parse(await readFile(new URL("documented/tasks.json", import.meta.url), "utf8"));
    const files = { "src/a.ts": "a\n", "docs/a.md": `${"\n".repeat(11)}It adds.\n`, "docs/b.md": "b\n" };
    const { root, write, verify, snapshot } = await aProject(files);
    const git = await initialise(root);
    await write("mine.txt", "mine");
    const taken = { snapshot: (await snapshot(NAME, {})) ?? null };
    const shown = (where: JsonValue) => verify(NAME, {}, { ...taken, evidence: { ...evidence, where } });
    await write("src/a.ts", "b\n");
    git("commit", "--quiet", "-am", "b");
    await write("test/a.test.ts", "test\n");
    expect(await shown(evidence.where)).toEqual({
      ok: true,
      message: '1.1: src/a.ts has changed; 1.2: docs/a.md:12 "It adds."; 1.2: test/a.test.ts has changed',
      output: ["1.1: src/a.ts has changed", '1.2: docs/a.md:12 "It adds."', "1.2: test/a.test.ts has changed"],
    });
    expect(await shown({ "1.1": "src", "1.2": ["test"] })).toMatchObject({ ok: true });
    expect(refused(await shown({ "1.1": "docs/b.md", "1.2": "mine.txt" }))).toContain(
      "task 1.1: docs/b.md has not changed since this phase was entered; task 1.2: mine.txt has not changed",
    );
    expect(refused(await shown({ "1.1": "docs/a.md:1", "1.2": "test" }))).toContain("docs/a.md:1: the line is blank");
    expect(refused(await shown({ "1.1": "src" }))).toContain("task 1.2 is not in where");
    expect(refused(await shown({ "1.1": "src", "1.2": "/etc/passwd:1" }))).toContain("/etc/passwd");
    expect(refused(await shown(["src"]))).toContain('Say for each task where it can be seen, as in {"where":{"1.1":');
  });

  it("takes another field, and only lines where there is no repository", async () => {
    const { root, verify, snapshot } = await aProject({ "a.md": "a\n" });
    await mkdir(join(root, "empty"));
    const taken = { snapshot: (await snapshot(NAME, {})) ?? null };
    const shown = (proofs: JsonValue) =>
      verify(NAME, { field: "proofs" }, { ...taken, evidence: { tasks_completed: ["1"], proofs } });
    expect(await shown({ "1": "a.md:1" })).toMatchObject({ ok: true });
    expect(refused(await shown({ "1": "a.md" }))).toContain("the project is not in a git repository");
    expect(await verify(NAME, {}, { ...taken, evidence: {} })).toMatchObject({
      ok: true,
      message: "no task is claimed",
    });
  });
});

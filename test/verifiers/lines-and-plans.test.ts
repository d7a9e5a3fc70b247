import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { aProject, refused } from "./a-project.js";

const FILES = { "src/a.ts": "const a = 1;\n\n  return a + 1;\n}\n", "test/a.test.ts": "test('a', () => {});\n" };

describe("line_exists", () => {
  it("accepts file:line, an object with a quotation, and a list of these", async () => {
    const { verify } = await aProject(FILES);
    const line = (value: Parameters<typeof verify>[2] = {}) => verify("line_exists", {}, value);
    expect(await line({ value: "src/a.ts:1" })).toMatchObject({ ok: true, message: "the line is there" });
    expect(await line({ value: { file: "./src/a.ts", line: 3, quote: "return a", more: 1 } })).toMatchObject({
      ok: true,
    });
    const both = ["src/a.ts:3", { file: "test/a.test.ts", line: 1 }];
    expect(await line({ value: both })).toMatchObject({ ok: true, message: "2 lines are there" });
  });

  it("accepts the documented place", async () => {
    const place = JSON.parse(await readFile(new URL("documented/place.json", import.meta.url), "utf8"));
    const { verify } = await aProject({ "src/a.ts": `${"\n".repeat(11)}  return a - b;\n` });
    expect(await verify("line_exists", { quote: true }, { value: place })).toMatchObject({ ok: true });
    expect(refused(await verify("line_exists", {}, { value: { ...place, quote: "return a + b;" } }))).toContain(
      "quoted",
    );
  });

  it.each([
    ["src/a.ts:5", "the file has 4 lines"],
    ["src/a.ts:2", "the line is blank"],
    ["src/a.ts", "it needs a file and a line"],
    ["src/a.ts:0", "it needs a file and a line"],
    ["src/b.ts:1", "src/b.ts"],
    ["../a.ts:1", "../a.ts"],
    [{ file: "src/a.ts", line: 1.5 }, "line"],
    [{ file: "src/a.ts", line: 1, quote: "const b" }, 'does not contain the quoted text "const b"'],
    [{ file: "src/a.ts", line: 1, quote: "a" }, "quote more of this line"],
    [{ file: "src/a.ts", line: 4, quote: "}" }, ""],
    [{ file: "src/a.ts", line: 1, quote: "   " }, "has no visible character"],
    [{ file: "src/a.ts", line: 1, quote: "\t\t\t\t\t\t\t\t\t" }, "has no visible character"],
    [{ file: "src/a.ts", line: 1, quote: "\u200b".repeat(9) }, "has no visible character"],
    [{ file: "src/a.ts", line: 1, quote: "\u2800\u3164 \u00a0".repeat(4) }, "has no visible character"],
    [[], "0 of at least 1 places"],
    [7, "is not a place"],
  ])("judges %j", async (value, reason) => {
    const { verify } = await aProject(FILES);
    const result = await verify("line_exists", {}, { value });
    // A short line is quoted as a whole.
    if (reason === "") expect(result).toMatchObject({ ok: true });
    else expect(refused(result)).toContain(reason);
  });

  it("takes no line without a visible character, and no quotation that has only blanks between two", async () => {
    const unseen = "\u200b\u2800\u3164".repeat(5);
    const { verify } = await aProject({ "src/a.ts": `${unseen}\nconst ${unseen}\nx               = 1;\n` });
    const line = (value: Parameters<typeof verify>[2]) => verify("line_exists", { quote: true }, value);
    const place = { file: "src/a.ts", line: 1, quote: unseen };
    expect(refused(await line({ value: place }))).toContain("the line is blank");
    expect(refused(await line({ value: { ...place, line: 2 } }))).toContain("has no visible character");
    const blanks = { ...place, line: 3, quote: "x               =" };
    expect(refused(await line({ value: blanks }))).toContain("quote more of this line");
    expect(await line({ value: { ...blanks, quote: "x               = 1;" } })).toMatchObject({ ok: true });
  });

  it("wants quotations, and lines in some files, if its gate says so", async () => {
    const { verify, check, write } = await aProject(FILES);
    const value = "src/a.ts:1";
    expect(refused(await verify("line_exists", { quote: true }, { value }))).toContain("quote the text of this line");
    expect(refused(await verify("line_exists", { paths: ["**/*.test.*"] }, { value }))).toContain("must be in one of");
    expect(refused(await verify("line_exists", { except: ["src"] }, { value }))).toContain("must not be in src");
    expect(await verify("line_exists", { min: 0 }, { value: [] })).toMatchObject({ ok: true });
    const many = Array.from({ length: 201 }, () => value);
    expect(refused(await verify("line_exists", {}, { value: many }))).toContain("more than 200 places");
    expect(refused(await verify("line_exists", {}, { value: Array(7).fill("src/a.ts:9") }))).toContain("and 2 more");
    await expect(check("line_exists", { paths: ["{evidence.path}"] })).rejects.toThrow(
      "no evidence when the phase begins",
    );
    // What a tool writes is not compared later.
    await write("coverage/lcov.info", "x");
    await write("coverage/deep/b.test.mjs", "test\n");
    const hidden = { value: "coverage/deep/b.test.mjs:1" };
    expect(refused(await verify("line_exists", { paths: ["**/*.test.*"] }, hidden))).toContain(
      "must not be in coverage,",
    );
    expect(await verify("line_exists", {}, hidden)).toMatchObject({ ok: true });
  });
});

describe("file_contains", () => {
  it("looks for whole words", async () => {
    const { verify } = await aProject({ "a.md": "R1, R20 and src/a.ts:12.\n" });
    const contains = (texts: string | string[]) => verify("file_contains", { path: "a.md", texts });
    expect(await contains(["R1", "R20", "src/a.ts:12"])).toMatchObject({
      ok: true,
      message: "a.md contains all 3 texts",
    });
    expect(await contains("and")).toMatchObject({ ok: true });
    expect(refused(await contains(["R1", "R2", "src/a.ts:1"]))).toBe("a.md does not contain R2, src/a.ts:1");
    expect(refused(await contains(Array.from({ length: 12 }, (_, at) => `X${at}`)))).toContain("and 2 more");
  });
});

describe("plan_parses", () => {
  const PLAN = "## Phase 1: Read\n\n- [ ] **Task 1.1**: Split the text\n";

  it("accepts a plan of Markdown or of task-master", async () => {
    const json = { tasks: [{ id: 1, title: "Split", status: "pending", dependencies: [] }] };
    const { verify } = await aProject({ "tasks.md": PLAN, "tasks.json": JSON.stringify(json) });
    expect(await verify("plan_parses", { path: "tasks.md" })).toMatchObject({
      ok: true,
      message: "tasks.md has 1 phases and 1 tasks",
    });
    expect(await verify("plan_parses", {}, { value: "tasks.json" })).toMatchObject({ ok: true });
  });

  it("refuses what is no plan, or too small a one", async () => {
    const { verify, write } = await aProject({ "tasks.md": PLAN, "tasks.json": "{", "text.md": "Nothing to do.\n" });
    expect(refused(await verify("plan_parses", { path: "tasks.md", min_tasks: 2 }))).toContain(
      "at least 1 phases and 2",
    );
    expect(refused(await verify("plan_parses", { path: "text.md" }))).not.toBe("");
    expect(refused(await verify("plan_parses", { path: "tasks.json" }))).toContain("JSON");
    expect(refused(await verify("plan_parses", { path: "none.md" }))).toContain("none.md");
    await write("tasks.md", `${PLAN}- [ ] **Task 1.1**: Again\n`);
    expect(await verify("plan_parses", { path: "tasks.md" })).toMatchObject({ ok: true });
    expect(refused(await verify("plan_parses", { path: "tasks.md", no_warnings: true }))).toContain("1.1");
  });
});

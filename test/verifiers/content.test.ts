import { describe, expect, it } from "vitest";
import { aProject, refused } from "./a-project.js";

describe("file_matches", () => {
  it("counts the matching lines", async () => {
    const { verify } = await aProject({ log: "ok 1\r\nok 2\nnot ok 3\nOK 4\n" });
    const ask = (params: object) => verify("file_matches", { path: "log", ...params });
    expect(await ask({ pattern: "^ok" })).toMatchObject({
      ok: true,
      message: "log has 2 matching lines for ^ok; expected: at least 1",
      ran: "log",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await ask({ pattern: "^ok \\d$", count: 2 })).toMatchObject({ ok: true });
    expect(refused(await ask({ pattern: "^ok", count: 3 }))).toContain("expected: exactly 3");
    expect(await ask({ pattern: "^ok", flags: "i", min: 3, max: 3 })).toMatchObject({ ok: true });
    expect(refused(await ask({ pattern: "^not ok", max: 0 }))).toContain("expected: at most 0");
    expect(await ask({ pattern: "^fail", max: 0 })).toMatchObject({ ok: true });
    expect(refused(await ask({ pattern: "ok", min: 5, max: 9 }))).toContain("expected: 5 to 9");
    // A trailing line end does not start an empty line.
    expect(await ask({ pattern: "^$", max: 0 })).toMatchObject({ ok: true });
  });

  it("searches the whole text with `scope: file`", async () => {
    const { verify } = await aProject({ log: "\ufeffbegin\nend" });
    const ask = (params: object) => verify("file_matches", { path: "log", ...params });
    expect(await ask({ pattern: "^begin.end$", scope: "file", flags: "s" })).toMatchObject({ ok: true });
    expect(await ask({ pattern: "^end$", scope: "file", flags: "m" })).toMatchObject({ ok: true });
    expect(refused(await ask({ pattern: "^end$", scope: "file" }))).toContain("0 matches of the whole file");
  });

  it("does not accept look-alikes and invisible characters", async () => {
    const { verify } = await aProject({ report: "Status: РАSS\nStatus: PA\u200bSS\n" });
    expect(refused(await verify("file_matches", { path: "report", pattern: "PASS" }))).toContain("0 matching lines");
  });

  it("needs limited time for any pattern and text", async () => {
    const { verify } = await aProject({ evil: `${"a".repeat(100_000)}!\n${"ab".repeat(8_000)}\n` });
    expect(await verify("file_matches", { path: "evil", pattern: "^(a+)+$", max: 0 })).toMatchObject({ ok: true });
    const wide = { path: "evil", pattern: "(?:a[ab]{500}|b[ab]{400})[cd]", max: 0 };
    expect(refused(await verify("file_matches", wide))).toContain("too many for this pattern");
  });

  it("stops between lines when it is aborted", async () => {
    let state = 1;
    const letter = () => {
      state = (state * 48271) % 2147483647;
      return state % 2 === 0 ? "a" : "b";
    };
    const line = () => Array.from({ length: 4000 }, letter).join("");
    const { verify } = await aProject({ long: Array.from({ length: 250 }, line).join("\n") });
    // Half a minute of work: a timer can end it only if it yields.
    const signal = AbortSignal.timeout(100);
    const running = verify("file_matches", { path: "long", pattern: "(?:a[ab]{500}|b[ab]{400})[cd]" }, { signal });
    await expect(running).rejects.toThrow("aborted due to timeout");
  });

  it.each([
    [{ pattern: "(" }, "missing closing )"],
    [{ pattern: "(a)\\1" }, "no lookaround and no backreferences"],
    [{ pattern: "a(?=b)" }, "no lookaround and no backreferences"],
    [{ pattern: "(a{99}){11}" }, "invalid repeat count"],
    [{ pattern: "((a{99}){99}){99}" }, "more than 10000 steps"],
    [{ pattern: `(?:${"a".repeat(900)}){1000}` }, "more than 10000 steps"],
    [{ pattern: "a".repeat(1001) }, "longer than 1000 characters"],
    [{ pattern: "" }, "pattern"],
    [{}, "pattern"],
    [{ pattern: "a", flags: "g" }, "flags are i"],
    [{ pattern: "a", flags: "m" }, "m and s need scope: file"],
    [{ pattern: "a", count: 1, min: 1 }, "it is the exact number: leave out min and max"],
    [{ pattern: "a", min: 2, max: 1 }, "less than min"],
    [{ pattern: "a", minimum: 2 }, "no such parameter"],
    [{ pattern: "a", path: "/x" }, "absolute"],
  ])("refuses %j when the definition is loaded", async (params, message) => {
    const { check } = await aProject();
    await expect(check("file_matches", params)).rejects.toThrow(message);
  });

  it("reads braces in a pattern as part of it", async () => {
    const { check, verifiers } = await aProject();
    await check("file_matches", { pattern: "a{2,3}{name}?" });
    expect(verifiers.file_matches.verbatim).toContain("pattern");
  });

  it("refuses a file that is not text", async () => {
    const { root, verify } = await aProject();
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${root}/raw`, Uint8Array.of(0x61, 0xe9));
    expect(refused(await verify("file_matches", { path: "raw", pattern: "a" }))).toContain("not UTF-8");
  });
});

const SPEC = `# Spec

## Findings
### First **finding**
#### detail
### Second
## Empty
Setext
------
\`\`\`
### in a fence
\`\`\`
<!--
### in a comment
-->
> ### in a quotation

- ### in a list

###
### ---
`;

describe("markdown_headings", () => {
  it("counts headings below another one, one level deeper", async () => {
    const { verify } = await aProject({ "spec.md": SPEC });
    const ask = (params: object) => verify("markdown_headings", { path: "spec.md", ...params });
    expect(await ask({ under: "findings", count: 2 })).toMatchObject({
      ok: true,
      message: "spec.md: 2 headings under findings; expected: exactly 2",
    });
    expect(await ask({ under: "Findings", level: 4, count: 1 })).toMatchObject({ ok: true });
    expect(await ask({ level: 2, count: 3 })).toMatchObject({ ok: true });
    expect(await ask({ count: 7 })).toMatchObject({ ok: true });
    expect(await ask({ under: "Findings", names: ["first finding", "**Second**:"] })).toMatchObject({ ok: true });
  });

  it("does not count text that only resembles a heading", async () => {
    const { verify } = await aProject({ "spec.md": SPEC });
    const ask = (params: object) => verify("markdown_headings", { path: "spec.md", ...params });
    expect(refused(await ask({ under: "Setext" }))).toContain("0 headings under Setext");
    expect(refused(await ask({ under: "Empty" }))).toContain("0 headings");
    expect(refused(await ask({ names: ["in a fence", "in a comment", "in a quotation", "in a list"] }))).toContain(
      "missing: in a fence, in a comment, in a quotation, in a list",
    );
    expect(refused(await ask({ under: "Results" }))).toContain("there is no heading Results");
    expect(refused(await ask({ under: "Results", max: 3 }))).toContain("expected: at most 3");
  });

  it.each([
    "\u3164",
    "\u115f\u1160",
    "`\u3164`",
    "<!-- Findings -->",
    "<!-- a > b --><b></b>",
    '<a id="findings"></a>',
  ])("does not count a heading without visible text: %j", async (heading) => {
    const { verify } = await aProject({ "a.md": `# A\n\n## ${heading}\n`, "b.md": "# B\n\n## `<T>` <b>bold</b>\n" });
    const ask = (path: string) => verify("markdown_headings", { path, level: 2 });
    expect(refused(await ask("a.md"))).toContain("0 headings of level 2");
    expect(await ask("b.md")).toMatchObject({ ok: true });
  });

  it("counts a heading once if sections of the same name are nested", async () => {
    const { verify } = await aProject({ "a.md": "# A\n## A\n### B\n" });
    expect(await verify("markdown_headings", { path: "a.md", under: "A", level: 3, count: 1 })).toMatchObject({
      ok: true,
    });
  });

  it("reads a text of the maximum size in limited time, and refuses one that is nested too deep", async () => {
    const { verify } = await aProject({
      "deep.md": `${"> ".repeat(5000)}# x`,
      "long.md": "# *a_[`< and some more of these words\n".repeat(6000),
    });
    expect(refused(await verify("markdown_headings", { path: "deep.md" }))).toContain("nested too deeply");
    expect(await verify("markdown_headings", { path: "long.md", count: 6000 })).toMatchObject({ ok: true });
  });
});

import { describe, expect, it } from "vitest";
import { metadata, phase, read } from "./workflow-texts.js";

const OPEN = { properties: { docs: { type: "array" } } };
const CLOSED = { ...OPEN, additionalProperties: false };

const withPhase = (changes: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  read({ "metadata.json": metadata({ phases: [phase(1, changes), phase(2)], ...more }) });

describe("skip_when", () => {
  it("is a rule over the options", async () => {
    const { structure, lines } = await withPhase({ skip_when: "!has(options.docs)" }, { options_schema: OPEN });
    expect(lines).toEqual([]);
    expect(structure).toMatchObject({ optionsSchema: OPEN });
    expect(structure?.phases[0]).toMatchObject({
      skipWhen: { cel: "!has(options.docs)", reason: "skip_when holds: !has(options.docs)" },
    });
    expect(structure?.phases[1]).not.toHaveProperty("skipWhen");
  });

  it("takes its reason from skip_condition, in any words", async () => {
    const { structure, lines } = await withPhase({ skip_when: "true", skip_condition: "It is always skipped" });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]).toMatchObject({ skipWhen: { cel: "true", reason: "It is always skipped" } });
  });

  it.each([
    ["options.docs", "gives a value of any type"],
    ["!has(options.doc)", 'Did you mean "docs"?'],
    ["evidence.done", "A rule can use options"],
    ["has(options.docs", "can't be run"],
  ])("is an error if it can't run: <%s>", async (skip_when, message) => {
    const { diagnostics, codes } = await withPhase({ skip_when }, { options_schema: CLOSED });
    expect(codes).toEqual(["error RULE_INVALID"]);
    const [found] = diagnostics;
    expect(`${found?.message} ${found?.hint}`).toContain(message);
    expect(found).toMatchObject({ file: "metadata.json", line: expect.any(Number) });
  });

  it("must be a text", async () => {
    expect((await withPhase({ skip_when: true })).codes).toEqual(["error VALUE_WRONG"]);
  });

  it("is suggested for a key that is nearly it", async () => {
    const { diagnostics } = await withPhase({ skip_wen: "true" });
    expect(diagnostics).toMatchObject([{ severity: "warning", hint: 'Did you mean "skip_when"?' }]);
  });
});

describe("skip_condition", () => {
  it("is read where it names a missing option", async () => {
    const { structure, lines } = await withPhase({ skip_condition: "No docs in options" }, { options_schema: CLOSED });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]?.skipWhen).toMatchObject({ reason: "No docs in options" });
  });

  it("is a warning that names skip_when where it can't be read", async () => {
    const { structure, diagnostics, codes } = await withPhase({ skip_condition: "The team is small" });
    expect(codes).toEqual(["warning RULE_INVALID"]);
    expect(diagnostics[0]).toMatchObject({
      message: 'the phase is never skipped: the condition "The team is small" can\'t be read',
      hint: expect.stringContaining('"skip_when"'),
    });
    expect(structure?.phases[0]).not.toHaveProperty("skipWhen");
  });

  it("is an error where a closed schema does not have the option", async () => {
    const { codes } = await withPhase({ skip_condition: "No dosc in options" }, { options_schema: CLOSED });
    expect(codes).toEqual(["error RULE_INVALID"]);
  });
});

describe("options_schema", () => {
  it("is checked with the place of each mistake", async () => {
    const options_schema = { properties: { a: { type: "int" }, b: { type: "integer", default: "x" } }, requird: ["a"] };
    const { lines, codes } = await withPhase({}, { options_schema });
    expect(codes).toEqual(["error VALUE_WRONG", "error VALUE_WRONG", "error VALUE_WRONG"]);
    expect(lines.join("\n")).toMatch(/Unsupported type: int[\s\S]*the default of "b"[\s\S]*"required"/);
    expect(new Set(lines.map((line) => /^metadata\.json:(\d+)/.exec(line)?.[1])).size).toBe(3);
  });

  it("must be an object", async () => {
    expect((await withPhase({}, { options_schema: ["docs"] })).codes).toEqual(["error VALUE_WRONG"]);
  });

  it.each([
    [
      "by default",
      {},
      ["phases/1/task-1-dig.md", "phases/dynamic/phase-template.md", "phases/dynamic/task-template.md"],
    ],
    ["unless it says that there are others", { additionalProperties: true }, []],
  ])("gives a warning for a task or template with an option that it does not have, %s", async (_, others, files) => {
    const options_schema = { properties: { depth: {} }, ...others };
    const text = "# T\n\n{options.wide} {options.depth} {options.plan_path}\n";
    const { diagnostics } = await read({
      "metadata.json": metadata({
        options_schema,
        dynamic_phases: true,
        dynamic_config: { source_path_key: "plan_path" },
      }),
      "phases/1/task-1-dig.md": text,
      "phases/dynamic/phase-template.md": text,
      "phases/dynamic/task-template.md": text,
    });
    const wide = { severity: "warning", code: "TEMPLATE_PLACEHOLDER_UNKNOWN", line: 3, column: 1 };
    expect(diagnostics).toMatchObject(files.map((file) => ({ ...wide, file })));
  });

  it("gives a warning for a text with an option that there can't be", async () => {
    const options_schema = { properties: { depth: {} }, additionalProperties: false };
    const { diagnostics } = await read({
      "metadata.json": metadata({ options_schema }),
      "phases/1/phase.md": "# Phase 1\n\n{options.dpth} {options.depth} {{options.x}} {options.other}\n",
    });
    expect(diagnostics).toMatchObject([
      { file: "phases/1/phase.md", line: 3, column: 1, severity: "warning", hint: "Did you mean {options.depth}?" },
      {
        line: 3,
        message: expect.stringContaining('no option "other"'),
        hint: expect.stringContaining("options_schema"),
      },
    ]);
    expect((await read({ "phases/1/phase.md": "# Phase 1\n\n{options.other}\n" })).lines).toEqual([]);
  });
});

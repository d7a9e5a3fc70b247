import { remarkPlan } from "phasegate/remark";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { VFile } from "vfile";
import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

/** Runs a file through a remark pipeline. */
async function run(value: string, options: Parameters<typeof remarkPlan>[0] = {}, path?: string) {
  const processor = unified().use(remarkParse).use(remarkPlan, options);
  const file = new VFile({ value, ...(path === undefined ? {} : { path }) });
  const tree = processor.parse(file);
  const before = JSON.stringify(tree);
  const after = await processor.run(tree, file);
  expect(JSON.stringify(after)).toBe(before);
  return file;
}

const TEXT =
  "\uFEFF# Plan\r\n\r\n## Phase 1: A\r\n\r\n- [-] **Task 1.1**: b\r\n  - Dependencies: 1.1, 1.2\r\n\r\n## Risks\r\n- [ ] late\r\n";

describe("remarkPlan", () => {
  it("sets the plan as data of the file, and diagnostics as messages with positions", async () => {
    const file = await run(TEXT, {}, "specs/tasks.md");
    expect(file.data.plan).toEqual(parsePlan(TEXT).plan);
    expect(file.messages.map((message) => [String(message), message.source, message.ruleId, message.fatal])).toEqual([
      [expect.stringMatching(/^specs\/tasks\.md:5:3: .*1\.2.* \(.+\)$/), "phasegate", "dependency-unknown", false],
      [expect.stringMatching(/^specs\/tasks\.md:5:3: .*itself/), "phasegate", "dependency-self", false],
      [expect.stringMatching(/^specs\/tasks\.md:9:4: a checkbox/), "phasegate", "checkbox-unplaced", false],
    ]);
  });

  it("reads the same plan if another plugin has turned checkboxes into properties", async () => {
    const text = "## Phase 1: A\n- [x] **Task 1.1**: b\n";
    const gfm = () => (tree: unknown) => {
      JSON.stringify(tree, (key, value) =>
        key === "children" && Array.isArray(value)
          ? value.map((node) => Object.assign(node, { checked: true }))
          : value,
      );
    };
    const file = await unified()
      .use(remarkParse)
      .use(gfm)
      .use(remarkPlan)
      .use(function toText() {
        this.compiler = () => "";
      })
      .process(text);
    expect(file.data.plan).toEqual(parsePlan(text).plan);
  });

  it("reports an error as a fatal message", async () => {
    const file = await run("## Phase 1: A\n- [ ] **Task 1.1**: a (after 1.2)\n- [ ] **Task 1.2**: b (after 1.1)\n");
    expect(file.messages).toMatchObject([{ fatal: true, ruleId: "dependency-cycle", line: 2 }]);
    expect(file.data.plan?.phases).toHaveLength(1);
  });

  it("reports one fatal message for a file that is not a plan, and sets no plan", async () => {
    const file = await run("Some words.\n");
    expect(file.messages).toMatchObject([{ fatal: true, ruleId: "plan-parse", line: 1 }]);
    expect(file.messages[0]?.reason).toContain("tasks.md can't be read as a plan");
    expect(file.data.plan).toBeUndefined();
  });

  it("reads the given dialect, and refuses an unknown one", async () => {
    const file = await run("# P\n- [~] 1. a\n", { dialect: "spec-workflow" });
    expect(file.data.plan?.phases[0]?.tasks[0]?.state).toBe("blocked");
    await expect(run("# P\n", { dialect: "none" })).rejects.toThrowError(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });
});

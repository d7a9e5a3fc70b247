import { readdirSync, readFileSync } from "node:fs";
import type { Heading, Nodes, Root } from "mdast";
import { remarkPlan } from "phasegate/remark";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { removePosition } from "unist-util-remove-position";
import { VFile } from "vfile";
import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { lines } from "./outline.js";

/** Runs a file through a remark pipeline. */
async function run(value: string, options: Parameters<typeof remarkPlan>[0] = {}, path?: string) {
  const processor = unified().use(remarkParse).use(remarkPlan, options);
  const file = new VFile({ value, ...(path === undefined ? {} : { path }) });
  await processor.run(processor.parse(file), file);
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

/** Returns what the pipeline reads of a file whose tree a transform changes. */
async function transformed(value: string, change: (tree: Root) => void, gfm = true) {
  const processor = unified()
    .use(remarkParse)
    .use(gfm ? [remarkGfm] : [])
    .use(() => change)
    .use(remarkPlan);
  const file = new VFile(value);
  const tree = processor.parse(file);
  await processor.run(tree, file);
  return { tree, file, outline: file.data.plan === undefined ? [] : lines({ plan: file.data.plan, diagnostics: [] }) };
}

function visit(node: Nodes, see: (node: Nodes) => void): void {
  see(node);
  if ("children" in node) for (const child of node.children) visit(child, see);
}

const PLAN = `# Plan

## Phase 1: Build

- [ ] **Task 1.1**: Write *it*
  - Acceptance Criteria:
    - [x] it runs
- [x] **Task 1.2**: Test it

Some words.

## Phase 2: Ship

- [ ] **Task 2.1**: Pack it
  It is heavy.

### Validation Gate

- [ ] signed

## Notes

- [ ] ask
`;

describe("remarkPlan after transforms", () => {
  it.each([true, false])("reads an unchanged tree as parsePlan reads the text (remark-gfm: %s)", async (gfm) => {
    const { file } = await transformed(PLAN, () => {}, gfm);
    expect(file.data.plan).toEqual(parsePlan(PLAN).plan);
    expect(file.messages.map(({ ruleId, line }) => [ruleId, line])).toEqual([["checkbox-unplaced", 23]]);
  });

  it.each([true, false])("does not read a section that is removed (remark-gfm: %s)", async (gfm) => {
    const without = (tree: Root) => {
      const at = (text: string) =>
        tree.children.findIndex(
          ({ position }) => position?.start.line === PLAN.slice(0, PLAN.indexOf(text)).split("\n").length,
        );
      tree.children.splice(at("## Notes"));
      tree.children.splice(at("Some words"), 1);
      tree.children.splice(at("### Validation Gate"), 2);
    };
    const { file, outline } = await transformed(PLAN, without, gfm);
    expect(outline).toEqual([
      ...["1 Build @3", "[ ] 1.1 Write *it* @5 1/1", "[x] 1.2 Test it @8", "2 Ship @12", "[ ] 2.1 Pack it @14"],
    ]);
    expect(file.data.plan?.phases[0]?.tasks[1]).not.toHaveProperty("description");
    expect(file.messages).toEqual([]);
  });

  it("keeps what is removed inside a task out of its description", async () => {
    const text = "## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n  One.\n\n  Two.\n\n  Three.\n";
    const { file } = await transformed(text, (tree) => {
      visit(tree, (node) => node.type === "listItem" && node.children.splice(2, 1));
    });
    expect(file.data.plan?.phases[0]?.tasks[0]?.description).toBe("One.\n\nThree.");
  });

  it("reads nodes where they are moved to, with their positions in the file", async () => {
    const { file, outline } = await transformed(PLAN, ({ children }) => {
      const list = children.find(({ type }) => type === "list");
      const ship = children.findIndex(({ position }) => position?.start.line === 12);
      const build = children.splice(1, ship - 1);
      children.splice(5, 0, ...build);
      if (list?.type === "list") list.children.reverse();
    });
    expect(outline).toEqual([
      ...[
        "2 Ship @12",
        "[ ] 2.1 Pack it @14",
        "gate signed",
        "3 Build @3",
        "[x] 1.2 Test it @8",
        "[ ] 1.1 Write *it* @5 1/1",
      ],
    ]);
    const [, build] = file.data.plan?.phases ?? [];
    expect(build?.tasks[1]?.position).toEqual({ line: 5, column: 3, offset: PLAN.indexOf("[ ] **Task 1.1") });
    expect(build?.tasks[0]?.checkbox?.position.offset).toBe(PLAN.indexOf("x] **Task 1.2"));
  });

  it("says the line of the file for subtasks without a line of their own", async () => {
    const text = "# P\n\nRemoved.\n\n## Phase 1: A\n\n- [ ] **Task 1.1**: b\n  - Subtasks: T007\n";
    const { file } = await transformed(text, (tree) => void tree.children.splice(1, 1));
    expect(file.messages).toMatchObject([{ ruleId: "task-unread", line: 8, column: 5 }]);
  });

  it("reads changed checkboxes and texts, with marks and without positions", async () => {
    const { outline } = await transformed(PLAN, (tree) => {
      visit(tree, (node) => {
        if (node.type === "listItem" && typeof node.checked === "boolean") node.checked = !node.checked;
        if (node.type === "text") node.value = node.value.replace("Write", "Rewrite").replace("Ship", "Send");
        if (node.type === "text" && node.value.includes("Test it")) node.value = ": Try";
        if (node.type === "paragraph" && node.position?.start.line === 14) {
          node.children = [
            { type: "strong", children: [{ type: "text", value: "Task 2.7" }] },
            { type: "text", value: ": New" },
          ];
        }
      });
    });
    expect(outline).toEqual([
      ...[
        "1 Build @3",
        "[x] 1.1 Rewrite *it* @5 0/1",
        "[ ] 1.2 Try @8",
        "2 Send @12",
        "[x] 2.7 New @14",
        "gate signed",
      ],
    ]);
  });

  it("says how many nodes it can't read, since plugins made them", async () => {
    const added: Heading = { type: "heading", depth: 2, children: [{ type: "text", value: "Phase 3: New" }] };
    const { file, outline } = await transformed(PLAN, ({ children }) => {
      children.push(added, { type: "paragraph", children: [{ type: "text", value: "Words" }] });
    });
    expect(outline).toHaveLength(6);
    expect(file.messages[0]).toMatchObject({ ruleId: "nodes-unread", fatal: false });
    expect(String(file.messages[0])).toMatch(/^1:1: 2 nodes have no position in the file and are not read \(.+\)$/);
  });

  it("throws on a tree without positions", async () => {
    await expect(transformed(PLAN, (tree) => removePosition(tree, { force: true }))).rejects.toThrowError(
      expect.objectContaining({
        code: "INVALID_INPUT",
        remedy: expect.stringContaining("before plugins that remove positions"),
      }),
    );
  });

  it("reads a tree from elsewhere, in a pipeline without a parser", async () => {
    const tree = unified().use(remarkParse).use(remarkGfm).parse(PLAN);
    const file = new VFile(PLAN);
    await unified().use(remarkPlan).run(tree, file);
    expect(file.data.plan).toEqual(parsePlan(PLAN).plan);
  });

  it("reports what strict Markdown hides: HTML, comments, and code that is never closed", async () => {
    const text =
      "## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n<details>\n- [ ] b\n</details>\n\n<!--\n- [ ] c\n-->\n\n```\n- [ ] code\n```\n\n~~~\n- [ ] d\n";
    const { file } = await transformed(text, () => {});
    expect(file.messages.map(({ ruleId, line }) => [ruleId, line])).toEqual([
      ...[
        ["checkbox-unplaced", 6],
        ["checkbox-unplaced", 10],
        ["fence-unclosed", 17],
        ["checkbox-unplaced", 18],
      ],
    ]);
  });

  /** Writes `new` in place of `old` into all texts. */
  const renew = (tree: Root) =>
    visit(tree, (node) => {
      if (node.type === "text") node.value = node.value.replace("old", "new");
    });

  it.each([
    ["## Phase 1: old\n\n- [ ] **Task 1.1**: a\n", ["1 new @1", "[ ] 1.1 a @3"]],
    ["Phase 1: old\n---\n\n- [ ] **Task 1.1**: a\n", ["1 new @1", "[ ] 1.1 a @4"]],
    ["## Phase 1: P\n\n- [ ] **Task 1.1**: the old\n", ["1 P @1", "[ ] 1.1 the new @3"]],
    ["## Phase 1: P\n\n- [x] [Write](a.md) the old\n", ["1 P @1", "[x] 1.1 [Write](a.md) the new @3"]],
    ["## Phase 1: P\n\n> 1. [x] **Task 1.1**: the old\n", ["1 P @1", "[x] 1.1 the new @3"]],
    ["## Phase 1: P\n\n- [ ] **Task 1.1**: a\n\n  [x] the old\n", ["1 P @1", "[ ] 1.1 a @3 1/1"]],
    ["## Phase 1: P\n\n- [ ] **Task 1.1**: the old\n  thing\n  [x] and one\n", ["1 P @1", "[ ] 1.1 the new @3 1/1"]],
    ["## Phase 1: P\n\n- [ ] **Task 1.1**: the old  \n  [x] thing\n", ["1 P @1", "[ ] 1.1 the new @3 1/1"]],
    ["## Phase 1: P\n\n| Task | Done |\n|---|---|\n| the old | [x] |\n", ["1 P @1", "[x] 1.1 the new @5"]],
  ])("reads a changed text in its place: %j", async (text, expected) => {
    const { outline } = await transformed(text, renew);
    expect(outline).toEqual(expected);
  });

  it.each([true, false])("reads the marks around a changed text (remark-gfm: %s)", async (gfm) => {
    const name = "Use **a** *b* `c` [d](e.md) ~~f~~ **the old one**";
    const { file } = await transformed(`## Phase 1: A\n\n- [x] Task 1.1: ${name}\n`, renew, gfm);
    expect(file.data.plan?.phases[0]?.tasks).toMatchObject([
      { name: "Use **a** *b* `c` [d](e.md) ~~f~~ **the new one**", state: "done", checkbox: { mark: "x" } },
    ]);
  });

  it("keeps the lines and the indentation of a changed text", async () => {
    const text = "## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n  One old.\n    Two.\n";
    const { file } = await transformed(text, renew);
    expect(file.data.plan?.phases[0]?.tasks[0]?.description).toBe("One new.\n  Two.");
    const criteria = await transformed("## Phase 1: A\n\n- [ ] **Task 1.1**: old\n  b\n  [ ] c\n", renew);
    expect(criteria.file.data.plan?.phases[0]?.tasks[0]?.acceptanceCriteria[0]?.position.line).toBe(5);
    const second = await transformed("## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n  [x] the old\n", renew);
    expect(second.file.data.plan?.phases[0]?.tasks[0]?.acceptanceCriteria).toMatchObject([{ text: "the new" }]);
  });

  it("separates blocks that are moved up", async () => {
    const text = "## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n  One.\n\n  Two.\n";
    const { file } = await transformed(text, (tree) => {
      visit(tree, (node) => node.type === "listItem" && node.children.push(...node.children.splice(1, 1)));
    });
    expect(file.data.plan?.phases[0]?.tasks[0]?.description).toBe("Two.\n\nOne.");
  });

  const NEVER = "fence-unclosed";
  const HIDDEN = "in a comment";
  const OPEN = "in code that is never closed";
  const BELOW = "below 'N'";

  it.each([
    ["```\n- [ ] a\n```", []],
    ["```\n- [ ] a\n```  ", []],
    ["~~~\n- [ ] a\n~~~", []],
    ["```\n- [ ] a", [NEVER, OPEN]],
    ["```\n- [ ] a\n\n", [NEVER, OPEN]],
    ["```\n- [ ] a\n``", [NEVER, OPEN]],
    ["~~~\n- [ ] a\n~", [NEVER, OPEN]],
    ["```\n- [ ] a\nsee ``` there", [NEVER, OPEN]],
    ["```", [NEVER]],
    ["- a\n  ```\n  - [ ] b\n \n", [NEVER, OPEN]],
    ["- a\n  ```\n  - [ ] b\n- [ ] c", [BELOW]],
    ["- a\n  ```\n  - [ ] b\n\n- [ ] c", [BELOW]],
    ["words\n\n    - [ ] a", []],
    ["<!--\n- [ ] a\n-->", [HIDDEN]],
    ["<!--\n- [ ] a", [NEVER, HIDDEN]],
    ["<!-- x -->\n\n<!--\n- [ ] a", [NEVER, HIDDEN]],
    ["<pre>\n- [ ] a\n</pre>", []],
    ["<div>\n- [ ] a\n</div>", [BELOW]],
  ])("says where a checkbox is that is not read: %j", async (text, expected) => {
    const { file } = await transformed(`## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n## N\n\n${text}\n`, () => {});
    expect(
      file.messages.map(({ ruleId, reason }) => (ruleId === NEVER ? NEVER : /gate, (.+) \(/.exec(reason)?.[1])),
    ).toEqual(expected);
  });

  const folder = new URL("./recorded/", import.meta.url);

  it.each(readdirSync(folder))("reads %s as parsePlan does", async (name) => {
    const text = readFileSync(new URL(name, folder), "utf8");
    const { file } = await transformed(text, () => {});
    expect(file.data.plan).toEqual(parsePlan(text).plan);
  });

  it("reads a sample in a sample as strict Markdown does", async () => {
    const text = "## Phase 1: A\n\n- [ ] **Task 1.1**: a\n\n```markdown\n```js\n```\n\n- [ ] **Task 1.2**: b\n\n```\n";
    expect(lines(parsePlan(text))).toEqual(["1 A @1", "[ ] 1.1 a @3", "! FENCE_NESTED 5", "! CHECKBOX_UNPLACED 9"]);
    const { outline } = await transformed(text, () => {});
    expect(outline).toEqual(["1 A @1", "[ ] 1.1 a @3", "[ ] 1.2 b @9"]);
  });
});

describe("the data of nodes", () => {
  it("says what each node is in the plan", async () => {
    const { tree } = await transformed(PLAN, () => {});
    const found: unknown[] = [];
    visit(tree, ({ type, data, position }) => {
      if (data?.plan !== undefined) found.push([position?.start.line, type, ...Object.values(data.plan)]);
    });
    expect(found).toEqual([
      [1, "heading", "section"],
      [3, "heading", 1, "phase"],
      [5, "listItem", 1, "1.1", "task"],
      [5, "paragraph", 1, "1.1", "task"],
      [6, "listItem", 1, "1.1", "description"],
      [6, "paragraph", 1, "1.1", "description"],
      [7, "listItem", 1, "1.1", "criterion"],
      [7, "paragraph", 1, "1.1", "criterion"],
      [8, "listItem", 1, "1.2", "task"],
      [8, "paragraph", 1, "1.2", "task"],
      [10, "paragraph", 1, "description"],
      [12, "heading", 2, "phase"],
      [14, "listItem", 2, "2.1", "task"],
      [14, "paragraph", 2, "2.1", "task"],
      [17, "heading", 2, "section"],
      [19, "listItem", 2, "gate"],
      [19, "paragraph", 2, "gate"],
      [21, "heading", "section"],
    ]);
  });

  it("has the task of a heading in all that follows it, up to the next heading", async () => {
    const text =
      "## Phase 1: A\n\nWords.\n\n### Task 1.1: a\n\n1. One\n\n#### Notes\n\nTwo\n\n### More\n\nThree\n\n| a |\n|---|\n| b |\n";
    const { tree } = await transformed(text, () => {});
    const found: unknown[] = [];
    visit(tree, ({ type, data, position }) => {
      if (data?.plan !== undefined && type !== "listItem")
        found.push([position?.start.line, ...Object.values(data.plan)]);
    });
    expect(found).toEqual([
      ...[
        [1, 1, "phase"],
        [3, 1, "description"],
        [5, 1, "1.1", "task"],
        [7, 1, "1.1", "description"],
      ],
      ...[
        [9, 1, "1.1", "section"],
        [11, 1, "1.1", "description"],
        [13, 1, "section"],
        [15, 1, "description"],
      ],
      ...[
        [17, 1, "description"],
        [19, 1, "description"],
      ],
    ]);
  });

  it("keeps the other data of a node", async () => {
    const { tree } = await transformed(PLAN, ({ children }) => {
      const [first] = children;
      if (first !== undefined) Reflect.set(first, "data", { id: "top" });
    });
    expect(tree.children[0]?.data).toEqual({ id: "top", plan: { role: "section" } });
  });
});

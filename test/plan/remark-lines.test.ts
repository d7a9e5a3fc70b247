import type { ListItem, Root } from "mdast";
import { remarkPlan } from "phasegate/remark";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { VFile } from "vfile";
import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

/** Reads a text in a remark pipeline whose items a transform may change. */
async function read(value: string, change: (item: ListItem) => void = () => {}) {
  const transform = () => (tree: Root) => {
    for (const node of tree.children) if (node.type === "list") node.children.forEach(change);
  };
  const processor = unified().use(remarkParse).use(remarkGfm).use(transform).use(remarkPlan);
  const file = new VFile({ value });
  await processor.run(processor.parse(file), file);
  return file.data.plan;
}

describe("a remark pipeline", () => {
  it.each([
    ["a title above equals signs", "Title\n===\n\n## Phase 1: A\n- [ ] a\n"],
    [
      "words above a line of hyphens",
      "## Phase 1: A\n- [ ] a\n\n**Validation Gate:**\n- [ ] b\n\nWords.\n---\n- [ ] c\n",
    ],
    [
      "lines above a line of hyphens",
      "## Phase 1: A\n- [ ] a\n\n**Validation Gate:**\n- [ ] b\n\nWords\nand more.\n---\n- [ ] c\n",
    ],
    ["phases above lines of hyphens", "Phase 1: A\n---\n- [ ] a\n\nPhase 2: B\n---\n- [ ] b\n"],
    ["a line of hyphens alone", "## Phase 1: A\n- [ ] a\n\n**Validation Gate:**\n- [ ] b\n\n---\n\n- [ ] c\n"],
  ])("reads %s as without it", async (_, text) => {
    expect(await read(text)).toEqual(parsePlan(text).plan);
  });

  it("may tick items, and take ticks back", async () => {
    const toggle = (item: ListItem) => {
      item.checked = item.checked === null ? true : !item.checked;
    };
    const plan = await read("## Phase 1: A\n- [ ] 1.1 a\n- [x] 1.2 b\n- [X] 1.3 c\n- words\n", toggle);
    expect(plan?.phases[0]?.tasks.map(({ id, state }) => [id, state])).toEqual([
      ["1.1", "done"],
      ["1.2", "pending"],
      ["1.3", "pending"],
    ]);
  });
});

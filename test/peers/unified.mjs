/** A pipeline of remark reads a plan. */
import assert from "node:assert/strict";
import { remarkPlan } from "phasegate/remark";
import remarkParse from "remark-parse";
import { unified } from "unified";

const text = "## Phase 1: Read\n\n- [x] 1.1 Read it\n- [ ] 1.2 Write it\n";
const processor = unified().use(remarkParse).use(remarkPlan);
const tree = processor.parse(text);
const file = { value: text, data: {}, message: () => {} };
await processor.run(tree, file);
const found = [];
const walk = (node) => {
  if (node.data?.plan?.task !== undefined) found.push(node.data.plan.task);
  for (const child of node.children ?? []) walk(child);
};
walk(tree);
assert.ok(found.includes("1.1") && found.includes("1.2"), JSON.stringify(found));

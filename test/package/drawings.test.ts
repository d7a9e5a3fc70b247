/** The drawings in the pages: each can be drawn by the site, as what it says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { flowchartHtml, readFlowchart } from "../../site/drawings.js";
import { pageFiles, ROOT } from "../../site/pages.js";
import { toMermaid } from "../../src/graph/graph.js";

const drawings = pageFiles().flatMap((page) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => [
    page,
    text,
  ]),
);

describe("drawings", () => {
  it("are on the pages about workflows that are put together", () => {
    const pages = drawings.map(([page]) => page);
    expect(pages).toEqual(
      expect.arrayContaining(["docs/compose.md", "docs/changing.md", "docs/packs.md", "docs/workflows.md"]),
    );
  });

  it.each(drawings)("of %s can be drawn, and none of its words is cut", (_, text = "") => {
    const html = flowchartHtml(text);
    const { nodes, edges } = readFlowchart(text);
    for (const { label } of [...nodes, ...edges])
      if (label !== undefined) expect(html).toContain(`>${label.replaceAll("'", "&#39;")}<`);
    expect(html).not.toContain("…");
  });

  it("are read as they are written", () => {
    const graph = {
      nodes: [
        { id: "n0", label: "1. Test", gate: "2 fields" },
        { id: "n1", label: "2. Ship" },
      ],
      edges: [
        { from: "n0", to: "n1" },
        { from: "n1", to: "n0", label: "fails" },
      ],
    };
    expect(readFlowchart(toMermaid(graph))).toEqual(graph);
    expect(flowchartHtml(toMermaid(graph))).toContain(
      'aria-label="1. Test, 2 fields → 2. Ship; 2. Ship (fails) → 1. Test, 2 fields"',
    );
  });

  it.each([
    ["graph LR\n", 'begins with "graph LR"'],
    ["flowchart TD\n  a((A))\n", "can't be drawn: a((A))"],
    ['flowchart TD\n  a["A"]\n  a --> b\n', "b, which is no node"],
  ])("fail if the site can't draw them: %j", (text, message) => {
    expect(() => flowchartHtml(text)).toThrow(message);
  });
});

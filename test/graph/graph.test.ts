import { describe, expect, it } from "vitest";
import { draw, type Graph, phasedGraph, routedGraph, toMermaid, toSvg } from "../../src/graph/graph.js";
import { twoPhases } from "../support/workflows.js";

const { structure } = twoPhases.definition;

describe("the graph of a phased workflow", () => {
  it("has its phases in order, with what their gates look at", () => {
    expect(phasedGraph(structure)).toEqual({
      nodes: [
        { id: "1", label: "1. Build", gate: "schema" },
        { id: "2", label: "2. Ship" },
      ],
      edges: [{ from: "1", to: "2" }],
    });
  });

  it("goes past phases that a rule may skip", () => {
    const [build, ship] = structure.phases;
    if (build === undefined || ship === undefined) throw new Error("two phases");
    const review = { ...build, number: 2, name: "Review", skipWhen: { cel: "options.small", reason: "it is small" } };
    expect(phasedGraph({ phases: [build, review, { ...ship, number: 3 }] }).edges).toEqual([
      { from: "1", to: "2" },
      { from: "1", to: "3", label: "it is small" },
      { from: "2", to: "3" },
    ]);
  });
});

const step = (name: string, next?: readonly string[]) => ({
  ...{ name, guidance: "", instructions: "", content: "" },
  ...(next === undefined ? {} : { next }),
});

describe("the graph of a routed workflow", () => {
  it("has what may follow each step, and the path that was taken", () => {
    const definition = { steps: [step("Dig", ["Sow", "Dig"]), step("Sow", ["FINISH"]), step("Wait")] as const };
    const graph = routedGraph(definition, { steps: ["Dig", "Dig", "Dig", "Sow"] });
    expect(graph.nodes.map(({ id, state }) => [id, state])).toEqual([
      ["Dig", "done"],
      ["Sow", "current"],
      ["Wait", "ahead"],
      ["FINISH", "ahead"],
      ["*", undefined],
    ]);
    expect(graph.edges).toEqual([
      { from: "Dig", to: "Sow", taken: 1 },
      { from: "Dig", to: "Dig", taken: 2 },
      { from: "Sow", to: "FINISH" },
      { from: "Wait", to: "*" },
    ]);
  });

  it("is the path alone if the definition is gone", () => {
    expect(routedGraph(undefined, { steps: ["Dig", "Sow"], failed: true })).toEqual({
      nodes: [
        { id: "Dig", label: "Dig", state: "done" },
        { id: "Sow", label: "Sow", state: "failed" },
      ],
      edges: [{ from: "Dig", to: "Sow", taken: 1 }],
    });
  });
});

describe("a drawing", () => {
  it("has a place for each node, none over another, and points for each arrow", () => {
    const steps = Array.from({ length: 30 }, (_, index) => step(`Step ${index}`, [`Step ${(index * 7 + 3) % 30}`]));
    const [first = step("a"), ...others] = steps;
    const { nodes, edges, width, height } = draw(routedGraph({ steps: [first, ...others] }));
    for (const [index, one] of nodes.entries()) {
      expect(one.x >= 0 && one.y >= 0 && one.x + one.width <= width && one.y + one.height <= height).toBe(true);
      for (const other of nodes.slice(index + 1)) {
        const apart = one.x + one.width <= other.x || other.x + other.width <= one.x;
        expect(apart || one.y + one.height <= other.y || other.y + other.height <= one.y).toBe(true);
      }
    }
    expect(edges.every(({ points }) => points.length >= 2)).toBe(true);
  });

  it("has an arrow from a step to itself beside the step, and nothing outside of it", () => {
    const { width, nodes, edges } = draw(
      routedGraph({ steps: [step("Dig", ["Dig", "Sow"]), step("Sow", ["FINISH"])] }),
    );
    const [dig] = nodes;
    const right = (dig?.x ?? 0) + (dig?.width ?? 0);
    const points = edges.find(({ from, to }) => from === to)?.points ?? [];
    expect(points.map(({ x }) => x - right)).toEqual([0, expect.any(Number), expect.any(Number), 0]);
    expect(points[1]?.x).toBeGreaterThan(right);
    for (const { x } of edges.flatMap((edge) => edge.points)) expect(x).toBeLessThan(width);
  });

  it("of no phases is empty", () => {
    expect(draw(phasedGraph({ phases: [] }))).toMatchObject({ nodes: [], edges: [] });
  });
});

describe("names of an attacker", () => {
  const hostile = `"]<script>alert(1)</script>&amp;\u0000\u202e--> n9[x] %%{init}%% \`#quot;`;
  const graph: Graph = {
    nodes: [
      { id: hostile, label: hostile, gate: hostile },
      { id: "b", label: "b" },
    ],
    edges: [{ from: hostile, to: "b", label: hostile }],
  };

  it("are text in an SVG", () => {
    const svg = toSvg(draw(graph));
    for (const raw of ["<script", "\u0000", "&amp;amp"]) expect(svg).not.toContain(raw);
    expect(svg).toContain("&#60;script&#62;");
    // Only these elements: nothing that runs or loads.
    expect(new Set(svg.match(/<[a-z]+/g))).toEqual(new Set(["<svg", "<defs", "<marker", "<path", "<rect", "<text"]));
  });

  it("can't leave their quotes in Mermaid", () => {
    const lines = toMermaid(graph).trim().split("\n");
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^ {2}n0\["[^"`<>[\]{}%]*<br\/>[^"`<>[\]{}%]*"\]$/);
  });
});

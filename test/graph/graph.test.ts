import { describe, expect, it } from "vitest";
import { type Drawing, draw, type Graph, phasedGraph, routedGraph, toMermaid, toSvg } from "../../src/graph/graph.js";
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

  it("goes past each run of such phases, a long one too", () => {
    const [build] = structure.phases;
    if (build === undefined) throw new Error("two phases");
    const phasesOf = (count: number) =>
      Array.from({ length: count }, (_, index) => {
        const skipWhen = { cel: "options.small", reason: index === 3 ? "it is old" : "it is small" };
        return { ...build, number: index + 1, ...(index === 0 || index === count - 1 ? {} : { skipWhen }) };
      });
    expect(phasedGraph({ phases: phasesOf(5) }).edges.map(({ from, to, label }) => [from, to, label])).toEqual([
      ["1", "2", undefined],
      ["1", "3", "it is small"],
      ["1", "4", "it is small"],
      ["1", "5", "it is small; it is old"],
      ["2", "3", undefined],
      ["2", "4", "it is small"],
      ["2", "5", "it is small; it is old"],
      ["3", "4", undefined],
      ["3", "5", "it is old"],
      ["4", "5", undefined],
    ]);
    const { edges } = phasedGraph({ phases: phasesOf(400) });
    expect(edges.filter(({ to }) => to === "400")).toHaveLength(399);
    expect(edges.length).toBeLessThan(400 * 25);
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

/** Nodes are in the drawing, none over another, and so are the points of all arrows. */
function expectPlaces({ nodes, edges, width, height }: Drawing) {
  for (const [index, one] of nodes.entries()) {
    expect(one.x >= 0 && one.y >= 0 && one.x + one.width <= width && one.y + one.height <= height).toBe(true);
    for (const other of nodes.slice(index + 1)) {
      const apart = one.x + one.width <= other.x || other.x + other.width <= one.x;
      expect(apart || one.y + one.height <= other.y || other.y + other.height <= one.y).toBe(true);
    }
  }
  expect(edges.every(({ points }) => points.length >= 2)).toBe(true);
  for (const { x, y } of edges.flatMap(({ points }) => points))
    expect(x >= 0 && y >= 0 && x <= width && y <= height).toBe(true);
}

/** The steps of a workflow that says of none what follows it, and a session that has gone every way. */
function crowd(count: number, decisions: number): Graph {
  const [first = step("a"), ...others] = Array.from({ length: count }, (_, index) => step(`Step ${index}`));
  let random = 1;
  const steps = Array.from({ length: decisions }, () => {
    random = (random * 75 + 74) % 65_537;
    return `Step ${random % count}`;
  });
  return routedGraph({ steps: [first, ...others] }, { steps });
}

describe("a drawing", () => {
  it("has a place for each node, none over another, and points for each arrow", () => {
    const steps = Array.from({ length: 30 }, (_, index) => step(`Step ${index}`, [`Step ${(index * 7 + 3) % 30}`]));
    const [first = step("a"), ...others] = steps;
    expectPlaces(draw(routedGraph({ steps: [first, ...others] })));
  });

  it("of very many nodes or arrows is a column, which is found at once", () => {
    const begun = performance.now();
    const [crowded, long] = [draw(crowd(50, 1000)), draw(crowd(120, 0))];
    // Layers for as many arrows take ten seconds.
    expect(performance.now() - begun).toBeLessThan(1000);
    for (const drawing of [crowded, long]) {
      expectPlaces(drawing);
      const rows = drawing.nodes.map(({ y }) => y);
      expect(new Set(rows).size).toBe(rows.length);
      expect(rows).toEqual(rows.toSorted((one, other) => one - other));
    }
    expect(crowded.edges.length).toBeGreaterThan(800);
    expect(crowded.edges.some(({ from, to }) => from === to)).toBe(true);
    expect(crowded.edges.some(({ taken = 0 }) => taken > 1)).toBe(true);
  });

  it("of one workflow is laid out once for all of its sessions", () => {
    const definition = { steps: [step("Rake", ["Hoe", "FINISH"]), step("Hoe", ["Rake"])] as const };
    const [one, other] = [["Rake"], ["Rake", "Hoe"]].map((steps) => draw(routedGraph(definition, { steps })));
    const whole = draw(routedGraph(definition));
    expect(one?.nodes.map(({ state }) => state)).toEqual(["current", "ahead", "ahead"]);
    expect(other?.nodes.map(({ state }) => state)).toEqual(["done", "current", "ahead"]);
    expect(other?.edges.map(({ taken }) => taken)).toEqual([1, undefined, undefined]);
    expect(JSON.stringify(whole)).not.toMatch(/state|taken/);
    // Not found anew: the same.
    for (const drawing of [one, other]) expect(drawing?.edges[0]?.points).toBe(whole.edges[0]?.points);
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

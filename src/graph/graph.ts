/**
 * Workflows as graphs, with the path that a session has taken. The page draws the same picture that `phasegate graph` prints
 * and that can be copied as Mermaid or SVG. Layout by dagre (layered, after Sugiyama), whose work grows with the product of
 * nodes and arrows: large graphs are a column.
 */
import { Graph as Layered, layout } from "@dagrejs/dagre";
import { keyWeight, RecentMap } from "../workflow/cache.js";
import { FINISH, type RoutedDefinition } from "../workflow/routed-definition.js";
import type { GateDefinition, WorkflowStructure } from "../workflow/structure.js";

/** The state of a node in a session. */
export type NodeState = "done" | "current" | "failed" | "skipped" | "ahead";

/** A phase or a step. */
export interface GraphNode {
  /** Unique in its graph. */
  readonly id: string;
  readonly label: string;
  /** The checks of its gate, in a few words; missing if it has no gate. */
  readonly gate?: string;
  /** Missing in the graph of a workflow, of which no session is shown. */
  readonly state?: NodeState;
}

/** An arrow: the second node may follow the first. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  /** The number of times that the session has gone this way; missing if it has not. */
  readonly taken?: number;
}

/** A workflow, or the way of a session through one. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** A graph with the places of everything in it, in pixels from the upper left corner. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly (GraphNode & Box)[];
  readonly edges: readonly (GraphEdge & { readonly points: readonly Point[] })[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** `x` and `y` are its upper left corner. */
interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** The node of a step whose next step may be any. */
const ANY = "*";

/** The number of skippable phases in a row that get arrows of their own; one more arrow leads past a longer run. */
const PAST_MAX = 20;

/** Stands for the phases that a plan gives to each session. */
const PLANNED = { id: "plan", label: "phases from a plan" };

/**
 * Returns the graph of a phased workflow: its phases in order, and past each run of phases that rules may skip. Phases of a plan
 * that is not pinned yet are one node.
 */
export function phasedGraph(
  { phases, dynamic, plan }: Pick<WorkflowStructure, "phases" | "dynamic" | "plan">,
  stateOf?: (phase: number) => NodeState,
): Graph {
  const nodes = phases.map(({ number, name, gate }): GraphNode => {
    const state = stateOf === undefined ? {} : { state: stateOf(number) };
    return { id: String(number), label: `${number}. ${name}`, ...gateOf(gate), ...state };
  });
  const edges = phases.flatMap(({ number }, index): GraphEdge[] => {
    const found: GraphEdge[] = [];
    const reasons = new Set<string>();
    for (const { number: to, skipWhen } of phases.slice(index + 1)) {
      const label = reasons.size === 0 ? {} : { label: cut([...reasons].join("; ")) };
      if (found.length < PAST_MAX || skipWhen === undefined)
        found.push({ from: String(number), to: String(to), ...label });
      if (skipWhen === undefined) break;
      reasons.add(skipWhen.reason);
    }
    return found;
  });
  if (dynamic === undefined || plan !== undefined) return { nodes, edges };
  const checks = [...new Set(dynamic.verify?.map(({ verifier }) => verifier))];
  const last = phases.at(-1);
  return {
    nodes: [...nodes, { ...PLANNED, gate: ["tasks", ...checks].join(", ") }],
    edges: last === undefined ? edges : [...edges, { from: String(last.number), to: PLANNED.id }],
  };
}

/** Returns the checks of a gate, such as `2 fields, command, approval`. */
function gateOf(gate: GateDefinition): Pick<GraphNode, "gate"> {
  const parts: string[] = [];
  if (gate.kind === "fields" && gate.fields.length > 0) parts.push(counted(gate.fields.length, "field"));
  if (gate.kind === "schema") parts.push("schema");
  if (gate.kind === "plan") parts.push(counted(gate.tasks.length, "task"));
  if (gate.kind !== "open") parts.push(...new Set(gate.verify?.map(({ verifier }) => verifier)));
  if ((gate.kind === "fields" || gate.kind === "schema") && gate.approval !== undefined) parts.push("approval");
  return parts.length === 0 ? {} : { gate: parts.join(", ") };
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** The steps that a session was at, in order, and where it is now. */
export interface Path {
  readonly steps: readonly string[];
  readonly failed?: boolean;
}

/** Returns the graph of a routed workflow. A definition that is gone leaves the path alone. */
export function routedGraph(definition: Pick<RoutedDefinition, "steps"> | undefined, path?: Path): Graph {
  const names = [...new Set([...(definition?.steps.map(({ name }) => name) ?? []), ...(path?.steps ?? [])])];
  const at = path?.steps.at(-1);
  const visited = new Set(path?.steps);
  const stateOf = (name: string): NodeState => {
    if (name === at) return path?.failed === true ? "failed" : name === FINISH ? "done" : "current";
    return visited.has(name) ? "done" : "ahead";
  };
  const taken = new Map<string, number>();
  for (const [index, to] of (path?.steps ?? []).entries()) {
    const from = path?.steps[index - 1];
    const key = JSON.stringify([from, to]);
    if (from !== undefined) taken.set(key, (taken.get(key) ?? 0) + 1);
  }
  const edges = new Map<string, GraphEdge>();
  for (const { name, next } of definition?.steps ?? []) {
    for (const to of next ?? [ANY]) edges.set(JSON.stringify([name, to]), { from: name, to });
  }
  for (const [key, count] of taken) {
    const [from, to]: [string, string] = JSON.parse(key);
    edges.set(key, { from, to, taken: count });
  }
  const all = [...edges.values()];
  if (all.some(({ to }) => to === FINISH) && !names.includes(FINISH)) names.push(FINISH);
  const nodes = names.map((name): GraphNode => {
    const gate = definition?.steps.find((step) => step.name === name)?.gate;
    return {
      id: name,
      label: name,
      ...(gate === undefined ? {} : gateOf(gate)),
      ...(path === undefined ? {} : { state: stateOf(name) }),
    };
  });
  const any = all.some(({ to }) => to === ANY) ? [{ id: ANY, label: "any step" }] : [];
  return { nodes: [...nodes, ...any], edges: all };
}

/** The size of a text, roughly: the page and the file use a font of 13 pixels. */
const CHARACTER = 7.2;
const LINE = 18;
const PADDING = 12;
const MARGIN = 8;
/** The space between a node and the next one below. */
const GAP = 36;
/** The distance that an arrow from a node to itself goes out: less than the space between two nodes. */
const LOOP = 18;
/** Maximum number of characters of a label that are drawn. */
const LABEL_MAX = 40;

/** Maximum number of nodes of a layered drawing. */
const NODES_MAX = 100;
/** Maximum product of its nodes and of the arrows beyond one for each node: the time of the layout grows with it. */
const WORK_MAX = 800;

/** The newest layered drawings by graph, which all sessions on a workflow share. */
const layouts = new RecentMap<string, Drawing>(1024 * 1024, keyWeight);

export function draw({ nodes, edges }: Graph): Drawing {
  const plain: Graph = {
    nodes: nodes.map(({ state: _, ...node }) => node),
    edges: edges.map(({ taken: _, ...edge }) => edge),
  };
  const isSmall = nodes.length <= NODES_MAX && nodes.length * (edges.length - nodes.length) <= WORK_MAX;
  const drawing = isSmall ? rememberedLayers(plain) : column(plain);
  return {
    ...drawing,
    nodes: drawing.nodes.map((node, index) => ({ ...node, ...nodes[index] })),
    edges: drawing.edges.map((edge, index) => ({ ...edge, ...edges[index] })),
  };
}

function rememberedLayers(graph: Graph): Drawing {
  const key = JSON.stringify(graph);
  const drawing = layouts.get(key) ?? layers(graph);
  layouts.set(key, drawing);
  return drawing;
}

/** Places the nodes in layers, each as far as possible above those that its arrows lead to. */
function layers({ nodes, edges }: Graph): Drawing {
  const layered = new Layered({ multigraph: true });
  layered.setGraph({ rankdir: "TB", nodesep: 28, ranksep: GAP, marginx: MARGIN, marginy: MARGIN });
  for (const node of nodes) layered.setNode(node.id, sizeOf(node));
  for (const [index, { from, to, label }] of edges.entries()) {
    if (from === to) continue;
    const size = label === undefined ? {} : { width: Math.min(LABEL_MAX, label.length) * CHARACTER, height: LINE };
    layered.setEdge(from, to, { ...size, labelpos: "c" }, String(index));
  }
  layout(layered);
  const boxOf = (id: string): Box => {
    const { x = 0, y = 0, width = 0, height = 0 } = layered.node(id);
    return { x: x - width / 2, y: y - height / 2, width, height };
  };
  const pointsOf = ({ from, to }: GraphEdge, index: number): readonly Point[] => {
    if (from === to) return loopAt(boxOf(from));
    const { points = [] } = layered.edge(from, to, String(index));
    return points.map(({ x, y }: Point) => ({ x, y }));
  };
  const drawn = edges.map((edge, index) => ({ ...edge, points: pointsOf(edge, index) }));
  const { width = 0, height = 0 } = layered.graph();
  const right = Math.max(0, ...drawn.flatMap(({ points }) => points.map(({ x }) => x)));
  return {
    width: Math.max(width, right + MARGIN),
    height,
    nodes: nodes.map((node) => ({ ...node, ...boxOf(node.id) })),
    edges: drawn,
  };
}

function sizeOf({ label, gate = "" }: GraphNode): Pick<Box, "width" | "height"> {
  const characters = Math.min(LABEL_MAX, Math.max(label.length, gate.length));
  return { width: characters * CHARACTER + 2 * PADDING, height: (gate === "" ? 1 : 2) * LINE + PADDING };
}

/** An arrow from a node to itself, on its right. Dagre places such arrows beside the drawing where it runs from top to bottom. */
function loopAt({ x, y, width, height }: Box): readonly Point[] {
  const [right, above, below] = [x + width, y + height * 0.25, y + height * 0.75];
  const out = right + LOOP;
  return [
    { x: right, y: above },
    { x: out, y: above },
    { x: out, y: below },
    { x: right, y: below },
  ];
}

/** The distance that arrows beside a column go out for each node that they pass, and the highest number that counts. */
const [LANE, LANES_MAX] = [5, 40];

/** Places the nodes one below the other, in their order. Arrows down are on their right, arrows up on their left. */
function column({ nodes, edges }: Graph): Drawing {
  const rows = new Map(nodes.map(({ id }, row) => [id, row]));
  const passedBy = ({ from, to }: GraphEdge) => (rows.get(to) ?? 0) - (rows.get(from) ?? 0);
  const outOf = (passed: number) => LOOP + LANE * Math.min(LANES_MAX, Math.abs(passed));
  const left = MARGIN + edges.reduce((most, edge) => Math.max(most, outOf(passedBy(edge))), 0);
  const widest = nodes.reduce((most, node) => Math.max(most, sizeOf(node).width), 0);
  const middle = left + widest / 2;
  let bottom = MARGIN;
  const placed = nodes.map((node) => {
    const { width, height } = sizeOf(node);
    const y = bottom;
    bottom += height + GAP;
    return { ...node, x: middle - width / 2, y, width, height };
  });
  const boxes = new Map(placed.map((box) => [box.id, box]));
  const pointsOf = (edge: GraphEdge): readonly Point[] => {
    const [one, other, passed] = [boxes.get(edge.from), boxes.get(edge.to), passedBy(edge)];
    if (one === undefined || other === undefined) return [];
    if (passed === 0) return loopAt(one);
    if (passed === 1) {
      return [
        { x: middle, y: one.y + one.height },
        { x: middle, y: other.y },
      ];
    }
    const isDown = passed > 0;
    const out = isDown ? left + widest + outOf(passed) : left - outOf(passed);
    const start = one.y + one.height * (isDown ? 0.75 : 0.25);
    const end = other.y + other.height * (isDown ? 0.25 : 0.75);
    return [
      { x: isDown ? one.x + one.width : one.x, y: start },
      { x: out, y: start },
      // For the label.
      { x: out, y: (start + end) / 2 },
      { x: out, y: end },
      { x: isDown ? other.x + other.width : other.x, y: end },
    ];
  };
  const labels = edges.some(({ label }) => label !== undefined) ? (LABEL_MAX * CHARACTER) / 2 : 0;
  return {
    width: 2 * left + widest + labels,
    height: bottom - GAP + MARGIN,
    nodes: placed,
    edges: edges.map((edge) => ({ ...edge, points: pointsOf(edge) })),
  };
}

export function toMermaid({ nodes, edges }: Graph): string {
  const ids = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const lines = ["flowchart TD"];
  for (const { id, label, gate, state } of nodes) {
    const text = [label, ...(gate === undefined ? [] : [gate])].map(mermaidText).join("<br/>");
    lines.push(`  ${ids.get(id)}["${text}"]${state === undefined ? "" : `:::${state}`}`);
  }
  for (const { from, to, label, taken } of edges) {
    const arrow = taken === undefined ? "-->" : "==>";
    const text = label === undefined ? "" : `|"${mermaidText(label)}"|`;
    lines.push(`  ${ids.get(from)} ${arrow}${text} ${ids.get(to)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Mermaid reads `#…;` as a character, and Markdown and HTML in texts. */
function mermaidText(text: string): string {
  return cut(text).replace(/[^\p{L}\p{N} .,:!?()/-]/gu, (character) => `#${character.codePointAt(0)};`);
}

const COLOURS: Readonly<Record<NodeState, string>> = {
  done: "#d8f0dd",
  current: "#d9e8fb",
  failed: "#fbdcd9",
  skipped: "#eeeeee",
  ahead: "#ffffff",
};

/** Returns a drawing as an SVG file of its own, readable on light and dark pages. */
export function toSvg({ width, height, nodes, edges }: Drawing): string {
  const lines = edges.map(({ points, label, taken }) => {
    const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join("");
    const middle = points[Math.floor(points.length / 2)];
    const line = `<path d="${path}" fill="none" stroke="#555" stroke-width="${taken === undefined ? 1 : 2.5}" marker-end="url(#end)"/>`;
    return label === undefined || middle === undefined ? line : line + textAt(middle.x, middle.y, label, HALO);
  });
  const boxes = nodes.map(({ x, y, width, height, label, gate, state }) => {
    const box = `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="6" fill="${COLOURS[state ?? "ahead"]}" stroke="#555"/>`;
    const [middle, first] = [x + width / 2, y + PADDING / 2 + LINE - 5];
    return box + textAt(middle, first, label) + (gate === undefined ? "" : textAt(middle, first + LINE, gate));
  });
  const marker = `<marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#555"/></marker>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${round(height)}" width="${round(width)}" height="${round(height)}" font-family="system-ui, sans-serif" font-size="13">
<defs>${marker}</defs><rect width="100%" height="100%" fill="#fff"/>
${[...lines, ...boxes].join("\n")}
</svg>
`;
}

/** Keeps a label readable on its line. */
const HALO = ' paint-order="stroke" stroke="#fff" stroke-width="4"';

function textAt(x: number, y: number, text: string, more = ""): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="middle" fill="#222"${more}>${escaped(cut(text))}</text>`;
}

function cut(text: string): string {
  const characters = [...text];
  return characters.length > LABEL_MAX ? `${characters.slice(0, LABEL_MAX - 1).join("")}…` : text;
}

/** Characters that XML does not allow in any form are replaced. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

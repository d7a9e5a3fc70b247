/**
 * The drawings of the pages: flowcharts of Mermaid, which GitHub draws itself. The site draws them as `phasegate graph` does, and
 * so loads nothing for them. It reads what `phasegate graph` writes: one node or arrow in a line.
 */
import { draw, type Graph, type GraphEdge, type GraphNode, toSvg } from "../src/graph/graph.js";

/** `id["label<br/>second line"]` */
const NODE = /^ +(\w+)\["([^"<]+)(?:<br\/>([^"<]+))?"\]$/;
/** `id --> id`, or with a label: `id -->|"label"| id` */
const EDGE = /^ +(\w+) -->(?:\|"([^"]+)"\|)? (\w+)$/;

/** Reads a flowchart. Throws if a line of it can't be drawn. */
export function readFlowchart(text: string): Graph {
  const [title, ...lines] = text.trimEnd().split("\n");
  if (title !== "flowchart TD") throw new Error(`a drawing begins with "${title}", not with "flowchart TD"`);
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  for (const line of lines) {
    const [, id, label = "", gate] = NODE.exec(line) ?? [];
    const [, from, about, to] = EDGE.exec(line) ?? [];
    if (id !== undefined) nodes.push({ id, label, ...(gate !== undefined && { gate }) });
    else if (from !== undefined && to !== undefined)
      edges.push({ from, to, ...(about !== undefined && { label: about }) });
    else throw new Error(`a drawing has a line that can't be drawn: ${line.trim()}`);
  }
  const known = new Set(nodes.map(({ id }) => id));
  const unknown = edges.flatMap(({ from, to }) => [from, to]).find((id) => !known.has(id));
  if (unknown !== undefined) throw new Error(`a drawing has an arrow to or from ${unknown}, which is no node`);
  return { nodes, edges };
}

/** Returns the HTML of a flowchart, with its arrows in words for those who can't see it. */
export function flowchartHtml(text: string): string {
  const graph = readFlowchart(text);
  const labels = new Map(
    graph.nodes.map(({ id, label, gate }) => [id, gate === undefined ? label : `${label}, ${gate}`]),
  );
  const arrows = graph.edges.map(
    ({ from, to, label }) => `${labels.get(from)}${label ? ` (${label})` : ""} → ${labels.get(to)}`,
  );
  const words = arrows.join("; ").replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);
  const svg = toSvg(draw(graph)).replace(
    "<svg ",
    `<svg role="img" aria-label="${words}" style="max-width: 100%; height: auto" `,
  );
  return `<div v-pre>${svg}</div>\n`;
}

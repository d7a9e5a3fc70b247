/** A drawing of a workflow, or of the way of a session through one. The layout comes from the server. */
import type { Drawing } from "../../read/model.js";
import { counted, toneOf, visible } from "./text.js";

/** As many characters of a label fit into the place that the layout has left for it. */
const LABEL_MAX = 40;

function cut(text: string): string {
  const characters = [...visible(text)];
  return characters.length > LABEL_MAX ? `${characters.slice(0, LABEL_MAX - 1).join("")}…` : characters.join("");
}

const MARKER = { markerUnits: "userSpaceOnUse", markerWidth: "9", markerHeight: "9", orient: "auto" } as const;

/** The drawing, with a list of its content next to it for those who can't see it. */
export function Picture({ drawing, label }: { readonly drawing: Drawing; readonly label: string }) {
  const { width, height, nodes, edges } = drawing;
  const nameOf = new Map(nodes.map(({ id, label }) => [id, visible(label)]));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide drawing is scrolled with the keyboard */}
      <section class="picture" tabIndex={0} aria-label={label}>
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
          <defs>
            <marker id="end" viewBox="0 0 10 10" refX="9" refY="5" {...MARKER}>
              <path d="M0 0L10 5L0 10z" />
            </marker>
          </defs>
          {edges.map(({ from, to, points, taken, label }) => {
            const middle = points[Math.floor(points.length / 2)];
            return (
              <g key={`${from} ${to} ${label}`} class={taken === undefined ? "edge" : "edge taken"}>
                <path
                  d={points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("")}
                  marker-end="url(#end)"
                />
                {label !== undefined && middle !== undefined && (
                  <text x={middle.x} y={middle.y} text-anchor="middle">
                    {cut(label)}
                  </text>
                )}
              </g>
            );
          })}
          {nodes.map(({ id, x, y, width, height, label, gate, state = "plain" }) => (
            <g key={id} class={`node-${state} ${toneOf(state)}`}>
              <rect x={x} y={y} width={width} height={height} rx="6" />
              <text x={x + width / 2} y={y + 19} text-anchor="middle">
                {cut(label)}
              </text>
              {gate !== undefined && (
                <text x={x + width / 2} y={y + 37} text-anchor="middle" class="gate">
                  {cut(gate)}
                </text>
              )}
            </g>
          ))}
        </svg>
      </section>
      <details class="as-text">
        <summary>The drawing as a list</summary>
        <ul>
          {nodes.map(({ id, label, gate, state }) => (
            <li key={id}>
              <bdi>{cut(label)}</bdi>
              {state !== undefined && ` (${state})`}
              {gate !== undefined && `, gate: ${cut(gate)}`}
              {edges
                .filter(({ from }) => from === id)
                .map(({ to, label, taken }) => (
                  <div key={`${to} ${label}`}>
                    → <bdi>{cut(nameOf.get(to) ?? to)}</bdi>
                    {label !== undefined && `: ${cut(label)}`}
                    {taken !== undefined && ` (taken ${counted(taken, "time")})`}
                  </div>
                ))}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

import type { Plan, PlanTask } from "./plan.js";

/**
 * A plan as a Mermaid flowchart: a box for each phase, in order, with its tasks and what they depend on. Ids
 * of nodes are made up, so that no id of a plan can break the graph.
 */
export function planMermaid({ phases }: Plan): string {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const node = new Map(tasks.map(({ id }, index) => [id, `t${index + 1}`]));
  const lines = phases.flatMap(({ number, name, tasks: own }) => [
    `  subgraph p${number}["${quoted(`Phase ${number}: ${name}`)}"]`,
    ...own.map((task) => `    ${node.get(task.id)}${shape(task)}`),
    "  end",
  ]);
  const order = phases.slice(1).map(({ number }, index) => `  p${phases[index]?.number} ==> p${number}`);
  const edges = tasks.flatMap(({ id, dependencies }) =>
    dependencies.map((needed) => `  ${node.get(needed)} --> ${node.get(id)}`),
  );
  return ["flowchart TD", ...lines, ...order, ...edges].join("\n");
}

/** Done tasks have round ends. */
function shape({ id, name, state }: PlanTask): string {
  const text = quoted(`${id} ${name}`);
  return state === "done" ? `(["${text}"])` : `["${text}"]`;
}

/** Mermaid reads quotes, brackets of tags and line ends in a text; entities stand for them. */
function quoted(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  return short.replace(/[#&"<>`\\]/g, (char) => `#${char.charCodeAt(0)};`).replace(/\s+/g, " ");
}

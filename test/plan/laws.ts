/** The laws of a reading that hold for each plan: who a checkbox belongs to, and when a task is done. */
import type { ListItem, Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import type { PlanReading, PlanTask } from "../../src/plan/plan.js";
import { accounted, lostCheckboxes } from "./found-checkboxes.js";

/** Returns what is wrong with a reading, in words with the line; nothing if all laws hold. */
export function brokenLaws(text: string, reading: PlanReading): string[] {
  const places = accounted(reading);
  const twice = places.filter((place, index) => places.indexOf(place) !== index);
  const tasks = reading.plan.phases.flatMap((phase) => phase.tasks);
  // A sign or a word beside the name of a task says its state, too.
  const lines = text.split(/\r\n|\n|\r/);
  return [
    ...twice.map((place) => `${place}: in two places`),
    ...lostCheckboxes(text, reading).map(({ line, text: lost }) => `${line}: lost: ${lost}`),
    ...tasks
      .filter(({ position }) => !/[✅☑✔]|[([—–-]\s*(?:done|completed?)/iu.test(lines[position.line - 1] ?? ""))
      .flatMap((task) => brokenState(task, tasks.slice(tasks.indexOf(task) + 1), reading)),
    ...brokenTree(text, tasks),
  ];
}

/**
 * A task is done by its own tick; without a checkbox by its status line or its boxes, and never while one is open. Tasks
 * inside it come after it, and count as well.
 */
function brokenState(task: PlanTask, later: readonly PlanTask[], { diagnostics }: PlanReading): string[] {
  const { id, state, checkbox, status, acceptanceCriteria, position } = task;
  const boxes = acceptanceCriteria.filter((item) => item.checkbox !== undefined && item.dropped !== true);
  const open = boxes.filter(({ checked }) => !checked).length;
  const told = diagnostics.some(
    ({ code, line, column }) =>
      code === "TASK_TICKED_OPEN" && line === checkbox?.position.line && column === checkbox?.position.column,
  );
  const at = `${position.line}: task ${id}, ${state}`;
  if (checkbox !== undefined) {
    const ticked = /^(?:[xX]|[✓✔☑✅🗹☒]\uFE0F?)$/u.test(checkbox.mark);
    if (ticked !== (state === "done")) return [`${at}, but its mark is [${checkbox.mark}]`];
    const openLater = later.some(({ state: other }) => other !== "done" && other !== "dropped");
    return told
      ? ticked && (open > 0 || openLater)
        ? []
        : [`${at}, which is told to have open boxes`]
      : !ticked || open === 0
        ? []
        : [`${at}, with ${open} open criteria, which is ${told ? "" : "not "}told`];
  }
  if (state === "done")
    return open === 0 &&
      (boxes.length > 0 || status !== undefined || later.some(({ state: other }) => other === "done"))
      ? []
      : [`${at}, but ${open} are open`];
  const openLater = later.some(({ state: other }) => other !== "done");
  const waits = status !== undefined || state === "dropped" || boxes.length === 0 || open > 0 || openLater;
  return waits ? [] : [`${at}, but all its boxes are ticked`];
}

/**
 * A box in an item of a list belongs to the nearest task around it; without one, never to a task that is an item beside
 * it or beside an item around it, unless a label between them that is not indented says so.
 */
function brokenTree(text: string, tasks: readonly PlanTask[]): string[] {
  const around = itemsAround(text.replace(/^\uFEFF/, " "));
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const taskAt = new Map(tasks.map((task) => [task.position.line, task]));
  return tasks.flatMap((owner) =>
    owner.acceptanceCriteria.flatMap(({ checkbox, position: { line } }) => {
      if (checkbox === undefined) return [];
      if (line < owner.position.line) return [`${line}: belongs to the later task ${owner.id}`];
      const [, ...above] = around.get(line) ?? [];
      const nearest = above.map((item) => taskAt.get(lineOf(item))).find((task) => task !== undefined);
      if (nearest !== undefined)
        return nearest === owner ? [] : [`${line}: is in task ${nearest.id}, but belongs to ${owner.id}`];
      const siblings = (around.get(owner.position.line) ?? []).slice(0, 1);
      const beside = (around.get(line) ?? []).some((item) =>
        siblings.some((one) => parents.get(one) === parents.get(item)),
      );
      const labelled = lines.slice(owner.position.line, line - 1).some((between) => /^[^\s\-*+>#|\d]/.test(between));
      return beside && siblings.length > 0 && !labelled
        ? [`${line}: is beside task ${owner.id}, and belongs to it`]
        : [];
    }),
  );
}

const parents = new WeakMap<ListItem, Nodes>();

/** Returns, for each line that begins an item of a list, this item and those around it, the innermost first. */
function itemsAround(text: string): Map<number, ListItem[]> {
  const found = new Map<number, ListItem[]>();
  const visit = (node: Nodes, above: readonly ListItem[]): void => {
    if (node.type === "listItem" && !found.has(lineOf(node))) found.set(lineOf(node), [node, ...above]);
    if (!("children" in node)) return;
    for (const child of node.children) {
      if (child.type === "listItem") parents.set(child, node);
      visit(child, node.type === "listItem" ? [node, ...above] : above);
    }
  };
  visit(fromMarkdown(text), []);
  return found;
}

function lineOf(node: Nodes): number {
  return node.position?.start.line ?? 0;
}

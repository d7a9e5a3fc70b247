/**
 * Plans in a remark pipeline: `unified().use(remarkParse).use(remarkGfm).use(remarkPlan)`. Needs unified.
 *
 * @packageDocumentation
 */
import type { Nodes, Root } from "mdast";
import type { Plugin, Processor } from "unified";
import type { VFile } from "vfile";
import { isPhasegateError, PhasegateError } from "./errors.js";
import { type ParsePlanOptions, readTree } from "./plan/parse-plan.js";
import { checkLength, type Plan, type PlanPosition } from "./plan/plan.js";
import { SourceText } from "./plan/source.js";
import { isContainer, TreeText } from "./plan/tree-text.js";

/**
 * The role of a node in a plan:
 * - `phase`, `task`: the heading, list item or line that names it;
 * - `criterion`, `gate`: an acceptance criterion of a task, an item of a phase's validation gate;
 * - `section`: any other heading;
 * - `description`: anything else in a phase.
 */
export type PlanRole = "phase" | "task" | "criterion" | "gate" | "section" | "description";

/** The place of a node in the plan, which `remarkPlan` writes into `node.data.plan`. */
export interface PlanNode {
  /** Its role in the plan. */
  readonly role: PlanRole;
  /** The number of the phase around the node. */
  readonly phase?: number;
  /** The id of the task around the node. */
  readonly task?: string;
}

/**
 * Reads the tree of a Markdown file as a plan. Transforms before it count: nodes that they removed, moved or changed. The
 * plan is in `file.data.plan`, its diagnostics in `file.messages`, and `node.data.plan` says what a heading, list item,
 * paragraph or row of a table is in it. An error is a fatal message; a file that can't be a plan gets one, and no plan.
 *
 * Use it after `remark-parse`, with `remark-gfm` for tables. Nodes that plugins made, without a position in the file, are
 * not read: a message says how many. The transform throws `INVALID_INPUT` for a tree without positions.
 */
export const remarkPlan: Plugin<[Omit<ParsePlanOptions, "file">?], Root> = function remarkPlan(options = {}) {
  return (tree, file) => {
    const name = file.path ?? "tasks.md";
    try {
      checkLength(String(file), name);
      const source = new TreeText(tree, new SourceText(String(file)), parsedBy(this, file));
      checkPositions(source, file);
      const text = source.lines.map((line) => line.text).join("\n");
      const { plan, diagnostics } = readTree(tree, text, source, source.regions, { ...options, file: name });
      file.data.plan = plan;
      annotate(tree, plan);
      for (const { severity, code, message, hint, line = 1, column = 1 } of diagnostics) {
        say(file, `${message}${hint === undefined ? "" : ` (${hint})`}`, { line, column }, code, severity === "error");
      }
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      const { line = 1, column = 1 } = error.details;
      say(file, `${error.message} (${error.remedy})`, { line, column }, error.code, true);
    }
  };
};

/** Returns the tree of the file before all transforms; undefined in a pipeline without a parser. */
function parsedBy(processor: Processor, file: VFile): Root | undefined {
  const parsed = processor.parser && processor.parse(file);
  return isRoot(parsed) ? parsed : undefined;
}

function isRoot(node: { readonly type: string } | undefined): node is Root {
  return node?.type === "root";
}

/** Reports nodes without a position. Throws `INVALID_INPUT` if no node has one. */
function checkPositions({ unread, lines }: TreeText, file: VFile): void {
  if (unread === 0) return;
  if (lines.length === 0) {
    throw new PhasegateError(
      "INVALID_INPUT",
      "the tree has no positions, so remarkPlan can't find its nodes in the file",
      {
        remedy: "Use remarkPlan before plugins that remove positions, such as unist-util-remove-position.",
        details: { field: "tree", expected: "nodes with positions" },
      },
    );
  }
  const nodes =
    unread === 1 ? "1 node has no position in the file and is" : `${unread} nodes have no position in the file and are`;
  const hint = "Plugins made them; use remarkPlan before these, or give the nodes positions.";
  say(file, `${nodes} not read (${hint})`, { line: 1, column: 1 }, "NODES_UNREAD", false);
}

/** Writes the place of each node in the plan into its data. */
function annotate(tree: Root, plan: Plan): void {
  const named = namedIn(plan);
  /** The phase and task around, and the levels of their headings; a heading that isn't deeper ends them. */
  let open: Place = {};
  let [phaseLevel, taskLevel] = [0, 0];
  const follow = (node: Nodes, own: PlanNode | undefined): void => {
    const level = node.type === "heading" ? node.depth : BELOW_HEADINGS;
    if (own?.role === "phase") [open, phaseLevel] = [placeOf(own), level];
    else if (own?.role === "task" && node.type !== "listItem") [open, taskLevel] = [placeOf(own), level];
    else if (level <= phaseLevel && node.type === "heading") open = {};
    else if (level <= taskLevel && open.phase !== undefined && node.type === "heading") open = { phase: open.phase };
  };
  const visit = (node: Nodes, around: PlanNode | undefined): void => {
    const isPart = !isContainer(node) || node.type === "listItem";
    const own = isPart ? named.get(node.position?.start.line ?? 0) : undefined;
    if (around === undefined && isPart) follow(node, own);
    const said = isPart ? (own ?? inherited(node, around, open)) : around;
    if (isPart && said !== undefined) node.data = { ...node.data, plan: said };
    if (isContainer(node)) for (const child of node.children) visit(child, said);
  };
  visit(tree, undefined);
}

/** The level of a phase or task that is not a heading: every heading ends it. */
const BELOW_HEADINGS = 7;

type Place = Omit<PlanNode, "role">;

function placeOf({ role: _, ...place }: PlanNode): Place {
  return place;
}

/** Returns the place of a node that the plan doesn't name: in the item around it, else in the open phase and task. */
function inherited(node: Nodes, around: PlanNode | undefined, open: Place): PlanNode | undefined {
  if (around?.role === "criterion" || around?.role === "gate") return around;
  if (around === undefined && node.type === "heading") return { ...open, role: "section" };
  if (around === undefined && open.phase === undefined) return undefined;
  return { ...(around === undefined ? open : placeOf(around)), role: "description" };
}

/** Returns the phases, tasks, criteria and items of gates of a plan by their line. */
function namedIn({ phases }: Plan): ReadonlyMap<number, PlanNode> {
  const named = new Map<number, PlanNode>();
  const add = ({ position }: { readonly position: PlanPosition }, node: PlanNode) => named.set(position.line, node);
  for (const phase of phases) {
    const place = { phase: phase.number };
    for (const item of phase.validationGate) add(item, { ...place, role: "gate" });
    for (const task of phase.tasks) {
      for (const item of task.acceptanceCriteria) add(item, { ...place, task: task.id, role: "criterion" });
      add(task, { ...place, task: task.id, role: "task" });
    }
    add(phase, { ...place, role: "phase" });
  }
  return named;
}

function say(
  file: VFile,
  message: string,
  place: { readonly line: number; readonly column: number },
  code: string,
  fatal: boolean,
): void {
  const said = file.message(message, place, `phasegate:${code.toLowerCase().replaceAll("_", "-")}`);
  said.fatal = fatal;
}

declare module "vfile" {
  interface DataMap {
    /** The plan that `remarkPlan` has read. */
    plan: Plan;
  }
}

declare module "mdast" {
  interface Data {
    /** The place of the node in the plan that `remarkPlan` has read. */
    plan?: PlanNode;
  }
}

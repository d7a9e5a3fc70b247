import type { ASTNode } from "@marcbachmann/cel-js";
import { nodesOf } from "../../definition/rules/rule-tree.js";

/** Operators and functions whose time doesn't grow with the evidence, or no faster than comparing a text does. */
const FLAT: ReadonlySet<string> = new Set(
  "value id . [] ?: && || !_ -_ == != < <= > >= + - * / % in list size has int double type startsWith endsWith contains isInteger trim".split(
    " ",
  ),
);
/** A longer rule is looked at whatever it holds. */
const NODES_MAX = 60;

/** Whether a rule has to be measured against the evidence before it is run. */
export function needsCost(tree: ASTNode): boolean {
  const nodes = nodesOf(tree);
  return nodes.length > NODES_MAX || nodes.some((node) => !FLAT.has(nameOf(node)));
}

function nameOf(node: ASTNode): string {
  return node.op === "call" || node.op === "rcall" ? node.args[0] : node.op;
}

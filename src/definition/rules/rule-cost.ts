/**
 * What a rule can cost at most on the evidence at hand, worked out before it runs. The language has no loops
 * but macros over lists, so nodes times the sizes of the lists around them bound it; results that grow are
 * followed through, or a text doubled forty times over would cost nothing.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { type Costed, costOfCall, costOfOperator, type PatternSteps, stepsOf } from "./call-cost.js";
import { type Extent, eitherOf, extentOf, inside, SCALAR, together } from "./extent.js";
import { type Binding, bindingOf, type Comprehension, childrenOf, comprehensionOf, literalText } from "./rule-tree.js";

interface Scope {
  /** Of what a name stands for. */
  extent(name: string): Extent;
  readonly patternSteps: PatternSteps;
}

/** An upper bound of the steps that a rule takes. */
export function ruleCost(
  tree: ASTNode,
  variables: Readonly<Record<string, unknown>>,
  patternSteps: PatternSteps,
): number {
  const known = new Map<string, Extent>();
  const extent = (name: string) => {
    const found = known.get(name) ?? extentOf([variables[name]]);
    known.set(name, found);
    return found;
  };
  return costOf(tree, { extent, patternSteps }).steps;
}

function costOf(node: ASTNode, scope: Scope): Costed {
  const comprehension = comprehensionOf(node);
  if (comprehension !== undefined) return costOfMacro(comprehension, scope);
  const binding = bindingOf(node);
  if (binding !== undefined) return costOfBinding(binding, scope);
  switch (node.op) {
    case "value":
      return { steps: 1, extent: extentOf([node.args]) };
    case "id":
      return { steps: 1, extent: scope.extent(node.args) };
    case ".":
      return member(costOf(node.args[0], scope), 1, node.args[1]);
    case "[]": {
      const key = node.args[1];
      return member(costOf(node.args[0], scope), costOf(key, scope).steps + 1, literalText(key));
    }
    case "rcall":
      return costOfCall(node.args[0], costsOf(childrenOf(node), scope), scope.patternSteps);
    case "call":
      return costOfCall(node.args[0], costsOf(node.args[1], scope), scope.patternSteps);
    case "?:": {
      const [test, yes, no] = node.args;
      const [one, other] = [costOf(yes, scope), costOf(no, scope)];
      const extent = eitherOf(one.extent, other.extent);
      return { steps: costOf(test, scope).steps + one.steps + other.steps, extent };
    }
    case "list":
    case "map": {
      const parts = costsOf(childrenOf(node), scope);
      const { weight } = together(parts.map(({ extent }) => extent));
      return { steps: stepsOf(parts), extent: { size: parts.length, weight } };
    }
    default:
      return costOfOperator(node.op, costsOf(childrenOf(node), scope));
  }
}

function costOfMacro({ range, variable, body, gives }: Comprehension, scope: Scope) {
  const over = costOf(range, scope);
  const times = over.extent.size;
  const item = elementsOf(over.extent);
  const parts = costsOf(body, withName(scope, variable, item));
  const steps = over.steps + times * (stepsOf(parts) + 1);
  if (gives === "bool") return { steps, extent: SCALAR };
  if (gives === "elements") return { steps, extent: over.extent };
  // The last part is what is made of each; the one before it, if there is one, says of which.
  const weight = Math.max(...parts.map(({ extent }) => extent.weight));
  return { steps, extent: { size: times, weight: 1 + times * weight } };
}

/** Of a list its elements; of an object its keys, none of which is longer than a text of the whole's weight. */
function elementsOf(extent: Extent): Extent {
  const values = extent.values?.flatMap((value) => {
    if (Array.isArray(value)) return value;
    return typeof value === "object" && value !== null ? Object.keys(value) : [];
  });
  return values === undefined ? inside(extent) : extentOf(values);
}

function costOfBinding({ variable, value, body }: Binding, scope: Scope): Costed {
  const bound = costOf(value, scope);
  const costed = costOf(body, withName(scope, variable, bound.extent));
  return { steps: bound.steps + costed.steps + 1, extent: costed.extent };
}

function withName(scope: Scope, variable: string, extent: Extent): Scope {
  return { ...scope, extent: (name) => (name === variable ? extent : scope.extent(name)) };
}

function member(of: Costed, steps: number, key: string | undefined): Costed {
  return { steps: of.steps + steps, extent: inside(of.extent, key) };
}

function costsOf(nodes: readonly ASTNode[], scope: Scope): Costed[] {
  return nodes.map((node) => costOf(node, scope));
}

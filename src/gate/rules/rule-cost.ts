/**
 * What a rule can cost at most on the evidence at hand, worked out before it runs. The language has no loops
 * but macros over lists, so nodes times the sizes of the lists around them bound it; results that grow are
 * followed through, or a text doubled forty times over would cost nothing.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { childrenOf, comprehensionOf, literalText } from "../../definition/rules/rule-tree.js";
import { type Extent, eitherOf, extentOf, inside, SCALAR, textExtent, together } from "./extent.js";

interface Costed {
  readonly steps: number;
  readonly extent: Extent;
}

type Scope = (name: string) => Extent;

/** How much slower a linear-time pattern is than a search for a text. */
const PATTERN_FACTOR = 8;
/** Of functions that give back no text and no list. */
const GIVES_SCALAR: ReadonlySet<string> = new Set(
  "size has int uint double bool type contains startsWith endsWith matches_linear indexOf lastIndexOf isInteger ratio mod timestamp duration".split(
    " ",
  ),
);

/** An upper bound of the steps that a rule takes. */
export function ruleCost(tree: ASTNode, variables: Readonly<Record<string, unknown>>): number {
  const known = new Map<string, Extent>();
  return costOf(tree, (name) => {
    const extent = known.get(name) ?? extentOf([variables[name]]);
    known.set(name, extent);
    return extent;
  }).steps;
}

function costOf(node: ASTNode, scope: Scope): Costed {
  const comprehension = comprehensionOf(node);
  if (comprehension !== undefined) return costOfMacro(comprehension, scope);
  switch (node.op) {
    case "value":
      return { steps: 1, extent: extentOf([node.args]) };
    case "id":
      return { steps: 1, extent: scope(node.args) };
    case ".":
      return member(costOf(node.args[0], scope), 1, node.args[1]);
    case "[]": {
      const key = node.args[1];
      return member(costOf(node.args[0], scope), costOf(key, scope).steps + 1, literalText(key));
    }
    case "rcall":
      if (node.args[1].op === "id" && node.args[1].args === "cel" && node.args[0] === "bind") {
        return costOfBinding(node.args[2], scope);
      }
      return costOfCall(node.args[0], childrenOf(node), scope);
    case "call":
      return costOfCall(node.args[0], node.args[1], scope);
    case "?:": {
      const [test, yes, no] = node.args.map((part) => costOf(part, scope));
      return { steps: sum([test, yes, no]), extent: eitherOf(yes?.extent ?? SCALAR, no?.extent ?? SCALAR) };
    }
    case "list":
    case "map": {
      const parts = childrenOf(node).map((part) => costOf(part, scope));
      const { weight } = together(parts.map(({ extent }) => extent));
      return { steps: sum(parts), extent: { size: parts.length, weight } };
    }
    default:
      return costOfOperator(node, scope);
  }
}

function costOfMacro({ range, variable, body, gives }: NonNullable<ReturnType<typeof comprehensionOf>>, scope: Scope) {
  const over = costOf(range, scope);
  const times = over.extent.size;
  const item = elementsOf(over.extent);
  const inner: Scope = (name) => (name === variable ? item : scope(name));
  const parts = body.map((part) => costOf(part, inner));
  const steps = over.steps + times * (sum(parts) + 1);
  if (gives === "bool") return { steps, extent: SCALAR };
  if (gives === "elements") return { steps, extent: over.extent };
  const result = parts.at(-1)?.extent ?? SCALAR;
  return { steps, extent: { size: times, weight: 1 + times * result.weight } };
}

/** Of a list its elements; of an object its keys, none of which is longer than a text of the whole's weight. */
function elementsOf(extent: Extent): Extent {
  const values = extent.values?.flatMap((value) => {
    if (Array.isArray(value)) return value;
    return typeof value === "object" && value !== null ? Object.keys(value) : [];
  });
  return values === undefined ? inside(extent) : extentOf(values);
}

function costOfBinding([variable, value, body]: readonly ASTNode[], scope: Scope): Costed {
  if (variable?.op !== "id" || value === undefined || body === undefined) return { steps: 1, extent: SCALAR };
  const bound = costOf(value, scope);
  const costed = costOf(body, (name) => (name === variable.args ? bound.extent : scope(name)));
  return { steps: bound.steps + costed.steps + 1, extent: costed.extent };
}

function costOfCall(name: string, args: readonly ASTNode[], scope: Scope): Costed {
  const parts = args.map((part) => costOf(part, scope));
  const all = together(parts.map(({ extent }) => extent));
  const factor = name === "matches_linear" ? PATTERN_FACTOR : 1;
  // `size` of a list looks at no element.
  const work = name === "size" || name === "has" ? 1 : all.weight * factor;
  const steps = sum(parts) + work + 1;
  if (GIVES_SCALAR.has(name)) return { steps, extent: SCALAR };
  // What stands between the parts of a list that are joined is there once for each.
  const [list, between] = parts.map(({ extent }) => extent);
  if (name === "join" && list !== undefined) {
    return { steps: steps + list.weight, extent: textExtent(32 * list.weight + list.size * (between?.size ?? 0)) };
  }
  const most = textExtent(32 * all.weight);
  // A text is split into as many parts as it has characters.
  return { steps, extent: name === "split" ? { size: most.size, weight: 1 + 2 * most.size } : most };
}

function costOfOperator(node: ASTNode, scope: Scope): Costed {
  const parts = childrenOf(node).map((part) => costOf(part, scope));
  const extents = parts.map(({ extent }) => extent);
  const own = sum(parts) + 1;
  const [left = SCALAR, right = SCALAR] = extents;
  switch (node.op) {
    case "+":
      return { steps: own + left.size + right.size, extent: together(extents) };
    case "in":
      return { steps: own + right.weight, extent: SCALAR };
    case "&&":
    case "||":
    case "!_":
    case "-_":
      return { steps: own, extent: SCALAR };
    default:
      return { steps: own + Math.min(left.weight, right.weight), extent: SCALAR };
  }
}

function member(of: Costed, steps: number, key: string | undefined): Costed {
  return { steps: of.steps + steps, extent: inside(of.extent, key) };
}

function sum(parts: readonly (Costed | undefined)[]): number {
  return parts.reduce((steps, part) => steps + (part?.steps ?? 0), 0);
}

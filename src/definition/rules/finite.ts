/**
 * The language's own `double` divides by zero, and grows beyond all numbers, without a word: `1.0 / 0.0 > 80`
 * holds. JSON has no such number and no author means one, so whatever gives one is an error instead.
 */
import type { ASTNode } from "@marcbachmann/cel-js";

const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%"]);
const FUNCTIONS: ReadonlySet<string> = new Set(["double", "ratio", "mod"]);

/** Makes what reckons with numbers throw where its result is none. For nodes whose types have been checked. */
export function keepFinite(nodes: readonly ASTNode[]): void {
  for (const node of nodes) {
    if (!OPERATORS.has(node.op) && (node.op !== "call" || !FUNCTIONS.has(node.args[0]))) continue;
    // No overload of the language can be replaced. What a node does is its `handle`, once its types are known.
    const handle: unknown = Reflect.get(node, "handle");
    if (typeof handle !== "function") throw new TypeError(`the language runs ${node.op} in another way`);
    const isDivision = node.op === "/" || node.op === "%";
    Reflect.set(node, "handle", (left: unknown, right: unknown, ...rest: unknown[]) => {
      if (isDivision && right === 0) throw new RangeError("division by zero");
      return finite(Reflect.apply(handle, node, [left, right, ...rest]));
    });
  }
}

function finite(value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new RangeError("a result that is too large, or no number");
}

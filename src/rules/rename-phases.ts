/** Rewrites the keys by which a rule names phases, so that it means the same phases where they have other numbers. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { phaseKeyIn } from "./artifact-keys.js";
import { nodesOf } from "./tree.js";

/**
 * Returns a rule with other keys for the phases whose artifacts it reads: `artifacts["1"]` becomes `artifacts["Test"]`. `keyFor`
 * returns the new key; undefined if the key stays. A text that is no CEL stays as it is: it is reported when it is checked.
 */
export async function withPhaseKeys(rule: string, keyFor: (key: string) => string | undefined): Promise<string> {
  if (!rule.includes("artifacts")) return rule;
  const { parse } = await import("@marcbachmann/cel-js");
  let nodes: readonly ASTNode[];
  try {
    nodes = nodesOf(parse(rule).ast);
  } catch {
    return rule;
  }
  const edits = nodes.flatMap((node) => {
    const named = phaseKeyIn(node);
    if (named?.literal === undefined) return [];
    const { start, end } = named.literal;
    const key = keyFor(named.key);
    return key === undefined ? [] : [{ start, end, key }];
  });
  // From the end, so that the positions before stay right.
  return edits
    .sort((one, other) => other.start - one.start)
    .reduce((text, { start, end, key }) => text.slice(0, start) + JSON.stringify(key) + text.slice(end), rule);
}

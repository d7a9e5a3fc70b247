import type { RoutedDefinition } from "../definition/routed-definition.js";

const BETWEEN = "\n\n---\n\n";

/**
 * A routed workflow as one text for a decider: the index, then every step under a heading with its canonical name, in
 * the order of the index. Of the steps in `leftOut` only the heading is there, and that they were left out.
 */
export function definitionText(definition: RoutedDefinition, leftOut: ReadonlySet<string> = new Set()): string {
  const steps = definition.steps.map(({ name, content }) => {
    const text = leftOut.has(name) ? "(Left out: it can't be reached from where the workflow stands.)" : content.trim();
    return `## Step: ${name}\n\n${text}`;
  });
  return [definition.index.trim(), ...steps].join(BETWEEN);
}

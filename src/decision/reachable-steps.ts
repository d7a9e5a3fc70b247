import { FINISH, type RoutedDefinition } from "../definition/routed-definition.js";

/** The steps that a workflow may still come to, once one of these follows; they themselves are among them. */
export function reachableSteps(definition: RoutedDefinition, following: readonly string[]): ReadonlySet<string> {
  const names = definition.steps.map(({ name }) => name);
  const nextOf = new Map(definition.steps.map(({ name, next }) => [name, next ?? names]));
  const reached = new Set<string>();
  const open = [...following];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === FINISH || reached.has(name)) continue;
    reached.add(name);
    open.push(...(nextOf.get(name) ?? []));
  }
  return reached;
}

import * as z from "zod";
import { fieldGateSchema } from "../../definition/gate-structure.js";
import { FINISH, type RoutedDefinition } from "../../definition/routed-definition.js";

/** Checks what a session pins of a routed workflow: what may follow what, and what must be shown. */
export const routedStructureSchema = z.object({
  name: z.string(),
  revision: z.string(),
  goal: z.string().optional(),
  steps: z
    .array(
      z.object({
        name: z.string(),
        next: z.array(z.string()).optional(),
        gate: fieldGateSchema.optional(),
        maxVisits: z.int().positive().optional(),
      }),
    )
    .min(1),
});

/** What a session pins: editing a workflow changes neither its ways nor its gates for sessions under way. */
export type RoutedStructure = z.infer<typeof routedStructureSchema>;
/** A step as it is pinned. */
export type PinnedStep = RoutedStructure["steps"][number];

/** What is pinned of a definition. */
export function structureOf({ name, revision, goal, steps }: RoutedDefinition): RoutedStructure {
  return {
    name,
    revision,
    ...(goal === undefined ? {} : { goal }),
    steps: steps.map((step) => ({
      name: step.name,
      ...(step.next === undefined ? {} : { next: [...step.next] }),
      ...(step.gate === undefined ? {} : { gate: step.gate }),
      ...(step.maxVisits === undefined ? {} : { maxVisits: step.maxVisits }),
    })),
  };
}

/** A step by its name. */
export function stepOf(structure: RoutedStructure, name: string): PinnedStep | undefined {
  return structure.steps.find((step) => step.name === name);
}

/** How often steps that may not be entered for ever were entered, by their names. */
export type Visits = Readonly<Record<string, number>>;

/** What may follow a step, `FINISH` included where it may; without a step, what the work may begin with. */
export function allowedNext(structure: RoutedStructure, from: string | undefined, visits: Visits): string[] {
  const names = structure.steps.map(({ name }) => name);
  const next = from === undefined ? names : (stepOf(structure, from)?.next ?? [...names, FINISH]);
  return next.filter((name) => name === FINISH || !isUsedUp(structure, name, visits));
}

function isUsedUp(structure: RoutedStructure, name: string, visits: Visits): boolean {
  const max = stepOf(structure, name)?.maxVisits;
  return max !== undefined && (visits[name] ?? 0) >= max;
}

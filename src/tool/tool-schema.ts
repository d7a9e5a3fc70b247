import * as z from "zod/mini";
import { type Action, PARAMETERS, parametersOf } from "./actions.js";

/** A JSON Schema as MCP lists it: an object's. */
export interface ObjectSchema {
  readonly type: "object";
  readonly [key: string]: unknown;
}

/** What the tool says of itself; short, for it is in every context all the time. */
export function toolDescription(actions: readonly Action[]): string {
  const given = (...wanted: Action[]) => wanted.every((action) => actions.includes(action));
  const way = (["list_workflows", "start", "get_phase", "get_task", "complete_phase"] as const).filter((action) =>
    given(action),
  );
  return [
    "Runs phase-gated workflows. You see one phase at a time and pass its checkpoint with evidence; phases can't be skipped.",
    ...(way.length > 1 ? [`${way.join(" → ")}; do the work of each phase, repeat until workflow_complete.`] : []),
    "Every answer's `next` is the call to make.",
    ...(given("list_sessions", "get_state") ? ["After a context loss: list_sessions, then get_state with brief."] : []),
    `Actions: ${actions.join(", ")}.`,
  ].join("\n");
}

/** The input of all actions in one object; which action takes what is checked by `dispatch`. */
export function inputSchema(actions: readonly Action[]): ObjectSchema {
  const schema = z.object({ action: z.enum(actions), ...optionalParameters(actions) });
  return objectSchema(z.toJSONSchema(schema, { io: "input", override: dropBounds }));
}

/** The envelope that all answers share. */
export function outputSchema(): ObjectSchema {
  const schema = z.looseObject({
    status: z.enum(["success", "error"]),
    action: z.string(),
    // Null where no call of the agent's helps: `blocked` says whom to ask.
    next: z.nullish(z.looseObject({})),
    error: z.optional(z.string()),
    remediation: z.optional(z.string()),
  });
  return objectSchema(z.toJSONSchema(schema, { override: dropBounds }));
}

function optionalParameters(actions: readonly Action[]): Record<string, z.ZodMiniType> {
  const used = new Set<string>(actions.flatMap((action) => parametersOf(action).all));
  const entries = Object.entries(PARAMETERS).filter(([name]) => used.has(name));
  return Object.fromEntries(entries.map(([name, schema]) => [name, z.optional<z.ZodMiniType>(schema)]));
}

/** The bounds of safe integers and the names of free keys cost tokens and say nothing. */
function dropBounds({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.minimum;
  delete jsonSchema.maximum;
  delete jsonSchema.propertyNames;
  delete jsonSchema.additionalProperties;
}

function objectSchema({ $schema: _, ...schema }: z.core.JSONSchema.BaseSchema): ObjectSchema {
  return { ...schema, type: "object" };
}

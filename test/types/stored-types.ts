/**
 * The interfaces of what is stored, and the schemas that check it, have exactly the same members: a member that only the
 * interface had would be lost when a log is read. Checked by the compiler; there is nothing to run.
 */
import type * as z from "zod/mini";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import type {
  completeSessionTool,
  createSessionTool,
  nextStepTool,
  preloadWorkflowTool,
  saveOutputTool,
} from "../../src/workspace/tools/sessions.js";
import type { listFilesTool, readFileTool } from "../../src/workspace/tools/tool.js";
import type { WorkspaceFunctions } from "../../src/workspace/workspace.js";

/** The request of a workspace function, and the input of its tool's schema. */
type Request<Name extends keyof WorkspaceFunctions> = NonNullable<Parameters<WorkspaceFunctions[Name]>[0]>;
type Input<T extends { readonly input: z.core.$ZodObject }> = z.input<T["input"]>;

/** The same type with intersections resolved, without `readonly`, and with a name for JSON, a recursive type. */
type Flat<T> = [JsonValue] extends [T] ? "JSON" : [JsonObject] extends [T] ? "JSON object" : Members<T>;
type Members<T> = T extends object ? { -readonly [K in keyof T]: Flat<T[K]> } : T;

type Same<A, B> = (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : false;

export const SAME: [
  Same<Request<"preloadWorkflow">, Input<typeof preloadWorkflowTool>>,
  Same<Request<"nextStep">, Input<typeof nextStepTool>>,
  Same<Request<"readFile">, Input<typeof readFileTool>>,
  Same<Request<"listFiles">, Input<typeof listFilesTool>>,
  Same<Request<"createSession">, Input<typeof createSessionTool>>,
  Same<Request<"saveOutput">, Input<typeof saveOutputTool>>,
  Same<Request<"completeSession">, Input<typeof completeSessionTool>>,
] = [true, true, true, true, true, true, true];

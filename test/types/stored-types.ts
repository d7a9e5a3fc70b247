/**
 * The interfaces of what is stored, and the schemas that check it, have exactly the same members: a member that only the
 * interface had would be lost when a log is read. Checked by the compiler; there is nothing to run.
 */
import type * as z from "zod/mini";
import type { Problem, problemSchema } from "../../src/gate/verdict.js";
import type { SessionEvent, Snapshot, Verification } from "../../src/phased/state/events.js";
import type { SessionHead } from "../../src/phased/state/head.js";
import type {
  sessionEventSchema,
  sessionHeadSchema,
  snapshotSchema,
  verificationSchema,
} from "../../src/phased/state/schemas.js";
import type { SESSION_STATUSES, SessionStatus } from "../../src/ports/storage-adapter.js";
import type { ROUTED_STATUSES, RoutedStatus } from "../../src/routed/decision/request.js";
import type { RoutedEvent, RoutedHead, RoutedStructure } from "../../src/routed/state/events.js";
import type { routedEventSchema, routedHeadSchema, routedStructureSchema } from "../../src/routed/state/machine.js";
import type { GateDefinition, gateSchema } from "../../src/workflow/gate-definition.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import type { structureSchema, WorkflowStructure } from "../../src/workflow/structure.js";
import type {
  RecordedEvent,
  RecordedHead,
  recordedEventSchema,
  recordedHeadSchema,
} from "../../src/workspace/session/machine.js";
import type { Manifest, manifestSchema } from "../../src/workspace/session/manifest.js";
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
  Same<Problem, z.infer<typeof problemSchema>>,
  Same<GateDefinition, z.infer<typeof gateSchema>>,
  Same<WorkflowStructure, z.infer<typeof structureSchema>>,
  Same<Snapshot, z.infer<typeof snapshotSchema>>,
  Same<Verification, z.infer<typeof verificationSchema>>,
  Same<SessionEvent, z.infer<typeof sessionEventSchema>>,
  Same<SessionStatus, (typeof SESSION_STATUSES)[number]>,
  Same<SessionHead, z.infer<typeof sessionHeadSchema>>,
  Same<RoutedStatus, (typeof ROUTED_STATUSES)[number]>,
  Same<RoutedEvent, z.infer<typeof routedEventSchema>>,
  Same<RoutedHead, z.infer<typeof routedHeadSchema>>,
  Same<RoutedStructure, z.infer<typeof routedStructureSchema>>,
  Same<RecordedEvent, z.infer<typeof recordedEventSchema>>,
  Same<RecordedHead, z.infer<typeof recordedHeadSchema>>,
  Same<Manifest, z.infer<typeof manifestSchema>>,
  Same<Request<"preloadWorkflow">, Input<typeof preloadWorkflowTool>>,
  Same<Request<"nextStep">, Input<typeof nextStepTool>>,
  Same<Request<"readFile">, Input<typeof readFileTool>>,
  Same<Request<"listFiles">, Input<typeof listFilesTool>>,
  Same<Request<"createSession">, Input<typeof createSessionTool>>,
  Same<Request<"saveOutput">, Input<typeof saveOutputTool>>,
  Same<Request<"completeSession">, Input<typeof completeSessionTool>>,
] = [
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
  true,
];

/** The input of `extendWorkflow`: one schema for each part, which gives its type and refuses keys that have no meaning. */
import * as z from "zod/mini";
import type { JsonObject } from "../json.js";
import {
  anyOf,
  content,
  type FieldGateInput,
  fieldGateInput,
  filled,
  inputProblems,
  keysOf,
  list,
  object,
  type PhasePart,
  type TextInput,
  text,
} from "../workflow-input.js";
import type { AnyGateInput } from "./define-gate.js";

/** What a gate asks for besides. A field that is there already gets further validators. */
export type GateAddition = Partial<FieldGateInput>;
export const gateAddition = z.partial(fieldGateInput);

const changedPhase = keysOf({
  /** The name of the phase. */
  change: filled,
  /** The text in place of the base's. */
  content: z.optional(content),
  /** The texts of tasks in place of the base's, by the numbers of the tasks. */
  tasks: z.optional(anyOf<Readonly<Record<number, TextInput>>>()),
  /**
   * The fields, rules, checks and the approval that are added to the gate; or a function: what it returns is the whole gate.
   */
  gate: z.optional(anyOf<GateAddition | ((gate: AnyGateInput | undefined) => AnyGateInput | undefined)>()),
  /** Why the gate may ask for less than the base's; shown wherever the workflow is listed. Without it that is an error. */
  override: z.optional(text),
});
/** A phase of the base with what is different. */
export type ChangedPhase = z.infer<typeof changedPhase>;

const insertedPhase = keysOf({
  before: z.optional(filled),
  after: z.optional(filled),
  phase: z.custom<PhasePart>((value) => typeof value === "object" && value !== null, "a phase"),
});

/** One difference from the base: a phase that is inserted before or after one of it, or a change of one. */
export type PhaseChange =
  | { readonly before: string; readonly after?: never; readonly phase: PhasePart }
  | { readonly after: string; readonly before?: never; readonly phase: PhasePart }
  | ChangedPhase;

const anyChange = z.partial(keysOf({ ...insertedPhase.shape, ...changedPhase.shape }));

const workflowExtension = keysOf({
  /** The type of the new workflow. */
  type: anyOf<string>(),
  /** Identifies this version of the differences. The revision of the workflow names the base's, too. */
  revision: text,
  /** The name that people see. Default: the base's. */
  name: z.optional(text),
  /** The purpose. Default: the base's. */
  description: z.optional(text),
  /** The version that people see. Default: the base's. */
  version: z.optional(text),
  /** In what the phases differ, in this order. Default: in nothing. */
  phases: z.optional(list(anyOf<PhaseChange>())),
  /** Options of the base with a value that no session can change. Default: none. */
  options: z.optional(object),
});
/** What `extendWorkflow` takes. */
export interface WorkflowExtension extends Omit<z.infer<typeof workflowExtension>, "options"> {
  /** Options of the base with a value that no session can change. Default: none. */
  readonly options?: JsonObject | undefined;
}

/** Returns what is wrong with the form of an extension. Callers in plain JavaScript may pass anything. */
export function extensionProblems(extension: WorkflowExtension): string[] {
  const { wrong, unknown } = inputProblems("the extension", workflowExtension, extension);
  if (wrong.length > 0) return [...wrong, ...unknown];
  return [...unknown, ...(extension.phases ?? []).flatMap((change, at) => changeProblems(change, `phases[${at}]`))];
}

function changeProblems(change: PhaseChange, about: string): string[] {
  const has = (key: string) => Object.hasOwn(Object(change), key);
  const isInserted = has("before") || has("after");
  const schema = has("change") ? changedPhase : isInserted ? insertedPhase : anyChange;
  const { wrong, unknown } = inputProblems(about, schema, change);
  const found = [...wrong, ...unknown];
  if (found.length > 0 || has("change")) return found;
  if (!isInserted) return [`${about} has no place: give before, after or change, with the name of a phase`];
  return has("before") && has("after") ? [`${about} has both before and after: give one of them`] : [];
}

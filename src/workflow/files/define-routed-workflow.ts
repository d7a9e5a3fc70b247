/** `defineRoutedWorkflow` makes a definition of a workflow in code; `routedWorkflows` serves it to an engine. */
import * as z from "zod/mini";
import { PhasegateError } from "../../errors.js";
import type { RoutedListing, RoutedSource } from "../../ports/content-provider.js";
import {
  approvalSchema,
  fieldGateSchema,
  fieldSchema,
  NO_PHASES,
  ruleSchema,
  sinceFault,
  verifySchema,
} from "../gate-definition.js";
import { canonicalJson, isJsonObject, revisionOf, storedObjectSchema } from "../json.js";
import { isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { FINISH, type RoutedDefinition, type RoutedStep, stepNameFault, visibleName } from "../routed-definition.js";
import { anyOf, inputProblems, keysOf, text, texts } from "../workflow-input.js";
import { ENGLISH, innermostIssue } from "../zod-issues.js";
import { refuseProblems, unknownFields } from "./define-gate.js";

const rules = z.array(
  z.union([
    z.pipe(
      z.string(),
      z.transform((cel) => ({ source: cel, cel })),
    ),
    z.strictObject(ruleSchema.shape),
  ]),
);

const { shape } = fieldGateSchema;

const stepGateSchema = z.strictObject({
  ...shape,
  /** Always `fields`, which is also the default. */
  kind: z._default(shape.kind, "fields"),
  /** Where the gate was written. Default: `gate-file`. */
  source: z._default(shape.source, "gate-file"),
  /** True if rules block, false if they only warn. Default: true. */
  strict: z._default(shape.strict, true),
  /** The fields of the report's `details`. */
  fields: z.array(
    z.strictObject({
      ...fieldSchema.shape,
      /** The type of its value. Default: `any`. */
      type: z._default(fieldSchema.shape.type, "any"),
      /** True if a report without it is refused. Default: true. */
      required: z._default(z.boolean(), true),
      /** Rules for the value, in CEL. */
      rules: z.optional(rules),
    }),
  ),
  /** Rules for the details as a whole, in CEL. */
  rules: z.optional(rules),
  // A key that is misspelt here would let anybody answer.
  /** A person who must approve complete evidence. */
  approval: z.optional(z.strictObject(approvalSchema.shape)),
  /** Checks against reality, by the names of verifiers. `field`: the field whose value is checked. */
  verify: z.optional(z.array(z.strictObject({ ...verifySchema.shape, params: z._default(storedObjectSchema, {}) }))),
});

/**
 * The gate of a step in code: fields, each required and of type `any` unless it says otherwise; rules in CEL;
 * verifiers, an approval, and how much of the gate agents see. `allowOverride` is without effect for steps.
 */
export type StepGateInput = Omit<z.input<typeof stepGateSchema>, "waived" | "proofs">;

/** A step of a routed workflow in code. */
export interface RoutedStepInput<Name extends string = string> {
  /** The name of the step, unique in the workflow. */
  readonly name: Name;
  /** The text for the decider. */
  readonly guidance: string;
  /** The text for the client. */
  readonly instructions: string;
  /** The only steps, or `FINISH`, that may follow. Default: any. */
  readonly next?: readonly (NoInfer<Name> | typeof FINISH)[];
  /** The gate for the report's `details`, checked before the decider is asked. */
  readonly gate?: StepGateInput;
  /** Maximum number of times the step may be entered. Default: no limit. */
  readonly maxVisits?: number;
}

/** A routed workflow in code. */
export interface RoutedWorkflowInput<Name extends string = string> {
  /** The name: a folder name that every file system accepts, at most 128 characters. */
  readonly name: string;
  /** The goal, shown to the decider. */
  readonly goal?: string;
  /** The steps, in order. The work begins with the first one, unless the decider is asked. */
  readonly steps: readonly [RoutedStepInput<Name>, ...RoutedStepInput<Name>[]];
}

/**
 * Defines a routed workflow in code. `next` accepts only the names of its steps and `FINISH`.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems.
 */
export function defineRoutedWorkflow<const Name extends string>(input: RoutedWorkflowInput<Name>): RoutedDefinition {
  const remedy = "Correct the listed problems in the call of defineRoutedWorkflow.";
  refuseProblems(Object(input).name, problemsOf(input), remedy);
  const { name, goal } = input;
  const [first, ...rest] = input.steps;
  const list = input.steps.map((step, index) => `${index + 1}. ${step.name}`).join("\n");
  const index = [`# ${name}`, ...(goal === undefined ? [] : [goal]), list].join("\n\n");
  const content = { name, goal, index, steps: [stepOf(first), ...rest.map(stepOf)] as const };
  return { ...content, revision: revisionOf(canonicalJson(content)) };
}

/**
 * Returns routed workflows from code as a source for an engine.
 * @throws {PhasegateError} `INVALID_INPUT` for what `defineRoutedWorkflow` has not returned.
 */
export function routedWorkflows(...definitions: readonly RoutedDefinition[]): RoutedSource {
  if (!definitions.every(isDefinition)) {
    throw new PhasegateError("INVALID_INPUT", "routedWorkflows takes workflows, one after the other", {
      remedy: "Give what defineRoutedWorkflow() returns: routedWorkflows(first, second).",
      details: { field: "definitions", expected: "workflows" },
    });
  }
  const byName = new Map(definitions.map((definition) => [definition.name, definition]));
  return {
    list: async () =>
      [...byName].map(([name, definition]): RoutedListing => ({ status: "ready", name, definition, diagnostics: [] })),
    definition: async (name) => byName.get(name),
  };
}

const routedInput = keysOf({
  name: text,
  goal: z.optional(text),
  steps: z.array(
    keysOf({
      ...{ name: text, guidance: anyOf<unknown>(), instructions: anyOf<unknown>(), next: z.optional(texts) },
      ...{ gate: z.optional(anyOf<unknown>()), maxVisits: z.optional(anyOf<unknown>()) },
    }),
    "a list",
  ),
});

function isDefinition(value: unknown): boolean {
  return isJsonObject(value) && typeof value.name === "string" && typeof value.revision === "string";
}

/** Returns what is wrong with a workflow. Callers in plain JavaScript may pass anything. */
function problemsOf(input: RoutedWorkflowInput): string[] {
  // A gate under another name would be an open one.
  const { wrong, unknown } = inputProblems("the workflow", routedInput, input, ([, at]) =>
    at === undefined ? undefined : `step ${shown(input.steps[Number(at)]?.name)}`,
  );
  if (wrong.length > 0) return [...wrong, ...unknown];
  const { name, steps } = input;
  const problems = [...unknown];
  if (steps[0] === undefined) problems.push("there is no step");
  if (!isWorkflowType(name)) problems.push(`a workflow can't be called ${shown(name)}. ${WORKFLOW_NAME_RULE}`);
  const names: ReadonlySet<string> = new Set([FINISH, ...steps.map((step) => step.name)]);
  const before = new Set<string>();
  for (const step of steps) {
    const about = `step ${shown(step.name)}`;
    const fault = stepNameFault(step.name);
    if (fault !== undefined) problems.push(`${about} can't have this name. ${fault}`);
    const seen = visibleName(step.name);
    if (before.has(seen)) problems.push(`${about} has the name of an earlier step`);
    before.add(seen);
    if (isEmpty(step.guidance)) problems.push(`${about} has no guidance`);
    if (isEmpty(step.instructions)) problems.push(`${about} has no instructions`);
    problems.push(...gateProblems(step.gate).map((one) => `${about}: ${one}`));
    if (step.next?.length === 0) problems.push(`${about} has an empty next`);
    for (const next of step.next ?? [])
      if (!names.has(next)) problems.push(`${about} leads to ${shown(next)}, which doesn't exist`);
    if (step.maxVisits !== undefined && !(Number.isInteger(step.maxVisits) && step.maxVisits > 0)) {
      problems.push(`${about}: maxVisits must be a whole number, 1 or more`);
    }
  }
  return problems;
}

function gateProblems(asked: StepGateInput | undefined): string[] {
  if (asked === undefined) return [];
  const { gate, problems } = readStepGate(asked);
  const since = (gate?.verify ?? []).flatMap((check) => sinceFault(check, NO_PHASES) ?? []);
  return [
    ...problems,
    ...since.map(({ message, hint }) => `gate.verify: ${message}. ${hint}`),
    ...unknownFields(gate?.verify, gate?.fields.map(({ name }) => name) ?? []),
  ];
}

function isEmpty(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

/** Returns a gate in code as it is pinned, or what is wrong with it. */
function readStepGate(gate: StepGateInput) {
  const read = stepGateSchema.safeParse(gate, ENGLISH);
  if (read.success) {
    // False is the default, which is not written into a log.
    return { gate: { ...read.data, allowOverride: read.data.allowOverride || undefined }, problems: [] };
  }
  const problems = read.error.issues
    .map(innermostIssue)
    .map(({ path, message }) => `${["gate", ...path].join(".")}: ${message}`);
  return { problems: [...problems, "a gate is written as { fields: [{ name: 'tests_pass', type: 'boolean' }] }"] };
}

function stepOf({ gate: asked, ...step }: RoutedStepInput): RoutedStep {
  const { guidance, instructions } = step;
  const content = `# Orchestrator Guidance\n\n${guidance.trim()}\n\n# Client Instructions\n\n${instructions.trim()}`;
  return { ...step, gate: asked && readStepGate(asked).gate, content };
}

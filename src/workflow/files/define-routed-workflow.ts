/**
 * `defineRoutedWorkflow`: checks a routed workflow that is written in code and turns it into a definition.
 * `routedWorkflows` serves such definitions to an engine.
 */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { RoutedListing, RoutedSource } from "../../ports/content-provider.js";
import { fieldGateSchema } from "../gate-definition.js";
import { canonicalJson, revisionOf } from "../json.js";
import { isWorkflowType, shown } from "../names.js";
import { FINISH, plainName, type RoutedDefinition, type RoutedStep } from "../routed-definition.js";

/**
 * The gate of a step in code: fields, each required and of type `any` unless it says otherwise; rules in CEL;
 * verifiers, an approval, and how much of the gate agents see.
 */
export type StepGateInput = z.input<typeof stepGateSchema>;

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
  /** The name: letters, digits, `_`, `-` and `.`. */
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
  const problems = problemsOf(input);
  if (problems.length > 0) {
    throw new PhasegateError(
      "DEFINITION_INVALID",
      `the workflow ${shown(input.name)} can't be used: ${problems.join("; ")}`,
      {
        remedy: "Correct the listed problems in the call of defineRoutedWorkflow.",
        details: { workflowType: String(input.name), diagnostics: problems },
      },
    );
  }
  const { name, goal } = input;
  const [first, ...rest] = input.steps;
  const list = input.steps.map((step, index) => `${index + 1}. ${step.name}`).join("\n");
  const index = [`# ${name}`, ...(goal === undefined ? [] : [goal]), list].join("\n\n");
  const content = {
    name,
    ...(goal === undefined ? {} : { goal }),
    index,
    steps: [stepOf(first), ...rest.map(stepOf)] as const,
  };
  return { ...content, revision: revisionOf(canonicalJson(content)) };
}

/** Returns routed workflows from code as a source for an engine. */
export function routedWorkflows(...definitions: readonly RoutedDefinition[]): RoutedSource {
  const byName = new Map(definitions.map((definition) => [definition.name, definition]));
  return {
    list: async () =>
      [...byName].map(([name, definition]): RoutedListing => ({ status: "ready", name, definition, diagnostics: [] })),
    definition: async (name) => byName.get(name),
  };
}

function problemsOf({ name, steps }: RoutedWorkflowInput): string[] {
  const problems: string[] = [];
  if (!isWorkflowType(name)) problems.push(`a workflow can't be called ${shown(name)}`);
  const names = new Set<string>(steps.map((step) => step.name));
  const plain = new Set<string>();
  for (const step of steps) {
    const about = `step ${shown(step.name)}`;
    if (plainName(step.name) === "" || step.name.toUpperCase() === FINISH)
      problems.push(`${about} can't have this name`);
    if (plain.has(plainName(step.name))) problems.push(`${about} has the name of an earlier step, or nearly`);
    plain.add(plainName(step.name));
    if (isEmpty(step.guidance)) problems.push(`${about} has no guidance`);
    if (isEmpty(step.instructions)) problems.push(`${about} has no instructions`);
    if (step.gate !== undefined) problems.push(...readStepGate(step.gate).problems.map((one) => `${about}: ${one}`));
    // A gate under another name would be an open one.
    const strange = Object.keys(step).filter((key) => key !== "gate" && /gate/i.test(key));
    for (const key of strange) problems.push(`${about} has no key ${shown(key)}; did you mean gate?`);
    if (step.next?.length === 0) problems.push(`${about} has an empty next`);
    for (const next of step.next ?? [])
      if (next !== FINISH && !names.has(next)) problems.push(`${about} leads to ${shown(next)}, which doesn't exist`);
    if (step.maxVisits !== undefined && !(Number.isInteger(step.maxVisits) && step.maxVisits > 0)) {
      problems.push(`${about}: maxVisits must be a whole number, 1 or more`);
    }
  }
  return problems;
}

// Callers in plain JavaScript may pass anything.
function isEmpty(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

const { shape } = fieldGateSchema;
const field = shape.fields.element;
const rule = shape.rules.unwrap().element.strict();

const rules = z.array(z.union([z.string().transform((cel) => ({ source: cel, cel })), rule]));

const check = shape.verify.unwrap().element;

const stepGateSchema = fieldGateSchema
  .extend({
    kind: shape.kind.default("fields"),
    source: shape.source.default("gate-file"),
    strict: shape.strict.default(true),
    allowOverride: shape.allowOverride.default(false),
    fields: z.array(
      field
        .extend({ type: field.shape.type.default("any"), required: z.boolean().default(true), rules: rules.optional() })
        .strict(),
    ),
    rules: rules.optional(),
    // A key that is misspelt here would let anybody answer.
    approval: shape.approval.unwrap().strict().optional(),
    verify: z.array(check.extend({ params: z._default(check.shape.params, {}) }).strict()).optional(),
  })
  .strict();

/** Returns a gate in code as it is pinned, or what is wrong with it. */
function readStepGate(gate: StepGateInput) {
  const read = stepGateSchema.safeParse(gate);
  if (read.success) return { gate: read.data, problems: [] };
  const problems = read.error.issues.map(({ path, message }) => `${["gate", ...path].join(".")}: ${message}`);
  return { problems: [...problems, "a gate is written as { fields: [{ name: 'tests_pass', type: 'boolean' }] }"] };
}

function stepOf({ gate: asked, ...step }: RoutedStepInput): RoutedStep {
  const { guidance, instructions } = step;
  const content = `# Orchestrator Guidance\n\n${guidance.trim()}\n\n# Client Instructions\n\n${instructions.trim()}`;
  const { gate } = asked === undefined ? {} : readStepGate(asked);
  return { ...step, ...(gate === undefined ? {} : { gate }), content };
}

/** Turns a definition into the input of `defineWorkflow`, with the same gates. */
import { optionsInCode } from "../../rules/options.js";
import type { FieldGate, PhaseDefinition, WorkflowDefinition, WorkflowStructure } from "../structure.js";
import type {
  DynamicInput,
  FieldGateInput,
  FieldInput,
  PhaseInput,
  TextInput,
  WorkflowInput,
  WorkflowPart,
} from "../workflow-input.js";
import type { AnyGateInput } from "./define-gate.js";
import { nameRules } from "./named-rules.js";

/** `textOf` returns the text of a part. */
export function workflowInputOf(
  { structure, schemas, options }: WorkflowDefinition,
  documents: Readonly<Record<string, TextInput>>,
  textOf: (part: WorkflowPart) => TextInput,
): WorkflowInput {
  const { type, revision, name, description, version, category, estimatedDuration, target } = structure;
  const { targetLanguages, artifacts, prerequisites, tags, optionsSchema, startPhase, phases, dynamic } = structure;
  const isUsualStart = startPhase === (phases[0]?.number ?? startPhase);
  return {
    ...{ type, revision, name, description, version, category, estimatedDuration, target },
    ...{ targetLanguages, artifacts, prerequisites, tags },
    options: options ?? (optionsSchema && optionsInCode(optionsSchema)),
    startPhase: isUsualStart ? undefined : startPhase,
    dynamic: dynamic && dynamicInput(dynamic, textOf),
    phases: phases.map((phase) => phaseInput(phase, schemas, textOf)),
    documents,
  };
}

function dynamicInput(
  { parser, sourcePathKey, enforceDependencies, tickCriteria, verify }: NonNullable<WorkflowStructure["dynamic"]>,
  textOf: (part: WorkflowPart) => TextInput,
): DynamicInput {
  return {
    templates: { phase: textOf({ template: "phase" }), task: textOf({ template: "task" }) },
    ...{ parser, sourcePathKey, enforceDependencies, tickCriteria },
    verify,
  };
}

export function phaseInput(
  phase: PhaseDefinition,
  schemas: WorkflowDefinition["schemas"],
  textOf: (part: WorkflowPart) => TextInput,
): PhaseInput {
  const { number, name, purpose, estimatedEffort, keyDeliverables, validationCriteria, skippable, skipWhen } = phase;
  return {
    ...{ number, name, purpose, estimatedEffort, keyDeliverables, validationCriteria, skippable },
    skipWhen: skipWhen?.cel,
    skipCondition: skipWhen?.reason,
    content: textOf({ phase: number }),
    tasks: phase.tasks.map((task) => ({
      ...{ number: task.number, name: task.name, purpose: task.purpose },
      content: textOf({ phase: number, task: task.number }),
    })),
    gate: gateInput(phase, schemas),
  };
}

/** Throws for a gate that `defineWorkflow` can't make again: it must not become an open one. */
export function gateInput(
  { number, gate }: PhaseDefinition,
  schemas: WorkflowDefinition["schemas"],
): AnyGateInput | undefined {
  if (gate.kind === "fields") return fieldGateInput(gate);
  if (gate.kind === "open") return undefined;
  const evidence = schemas.get(number);
  if (gate.kind === "plan" || evidence === undefined) throw new TypeError(`the gate of phase ${number} is not in code`);
  const { allowOverride, example, allowExample, verify, approval, reveal } = gate;
  return { evidence, allowOverride, example, allowExample, verify, approval, reveal };
}

function fieldGateInput(gate: FieldGate): FieldGateInput {
  const { table, nameOf } = nameRules(gate.fields);
  const fields = gate.fields.map(({ name, rules, sample: _, ...field }): [string, FieldInput] => {
    const validatorParams = rules?.find(({ params }) => params !== undefined)?.params;
    return [name, { ...field, validator: rules?.map(nameOf), validatorParams }];
  });
  const inCode = ({ cel, message }: { readonly cel: string; readonly message?: string | undefined }) => {
    return { rule: cel, errorMessage: message };
  };
  return {
    fields: Object.fromEntries(fields),
    validators:
      table.size === 0 ? undefined : Object.fromEntries([...table].map(([name, rule]) => [name, inCode(rule)])),
    crossFieldValidation: gate.rules?.map(inCode),
    strict: gate.strict,
    allowOverride: gate.allowOverride,
    verify: gate.verify,
    approval: gate.approval,
    reveal: gate.reveal,
  };
}

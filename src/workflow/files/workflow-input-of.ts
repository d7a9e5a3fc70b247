/** Turns a definition that was read from files into the input of `defineWorkflow`, with the same gates. */
import { optionsInCode } from "../../rules/options.js";
import type { FieldGate, GateDefinition, PhaseDefinition, WorkflowStructure } from "../structure.js";
import type { DynamicInput, FieldGateInput, FieldInput, PhaseInput, WorkflowInput } from "../workflow-input.js";
import { nameRules } from "./named-rules.js";

/** `textAt` returns the text at a path in the folder. */
export function workflowInputOf(
  structure: WorkflowStructure,
  documents: Readonly<Record<string, string>>,
  textAt: (path: string | undefined) => string,
): WorkflowInput {
  const { type, revision, name, description, version, category, estimatedDuration, target } = structure;
  const { targetLanguages, artifacts, prerequisites, tags, optionsSchema, startPhase, phases, dynamic } = structure;
  const isUsualStart = startPhase === (phases[0]?.number ?? startPhase);
  return {
    ...{ type, revision, name, description, version, category, estimatedDuration, target },
    ...{ targetLanguages, artifacts, prerequisites, tags },
    options: optionsSchema && optionsInCode(optionsSchema),
    startPhase: isUsualStart ? undefined : startPhase,
    dynamic: dynamic && dynamicInput(dynamic, textAt),
    phases: phases.map((phase) => phaseInput(phase, textAt)),
    documents,
  };
}

function dynamicInput(
  {
    templates,
    parser,
    sourcePathKey,
    enforceDependencies,
    tickCriteria,
    verify,
  }: NonNullable<WorkflowStructure["dynamic"]>,
  textAt: (path: string | undefined) => string,
): DynamicInput {
  return {
    templates: { phase: textAt(templates.phase), task: textAt(templates.task) },
    ...{ parser, sourcePathKey, enforceDependencies, tickCriteria },
    verify,
  };
}

function phaseInput(phase: PhaseDefinition, textAt: (path: string | undefined) => string): PhaseInput {
  const { number, name, purpose, estimatedEffort, keyDeliverables, validationCriteria, skippable, skipWhen } = phase;
  return {
    ...{ number, name, purpose, estimatedEffort, keyDeliverables, validationCriteria, skippable },
    skipWhen: skipWhen?.cel,
    skipCondition: skipWhen?.reason,
    content: textAt(phase.file),
    tasks: phase.tasks.map((task) => ({
      ...{ number: task.number, name: task.name, purpose: task.purpose },
      content: textAt(task.file),
    })),
    gate: gateInput(phase.gate),
  };
}

/** Files have two kinds of gates. */
function gateInput(gate: GateDefinition): FieldGateInput | undefined {
  return gate.kind === "fields" ? fieldGateInput(gate) : undefined;
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

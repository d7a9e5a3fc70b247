/**
 * `extendWorkflow`: a workflow that says only in what it differs from another one. Its phases are named, never numbered:
 * those of the base are turned into parts, whose rules and checks name other phases by their names.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { optionsInCode } from "../../rules/options.js";
import { withPhaseKeys } from "../../rules/rename-phases.js";
import { CHILD_CHECK, withChildRules } from "../child-workflow.js";
import { gateChanges } from "../gate-change.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { nearest, orNearest, shown } from "../names.js";
import { movedPath, PhaseNames } from "../phase-names.js";
import type { ExtendedFrom, GateDefinition, WorkflowStructure } from "../structure.js";
import {
  type DynamicInput,
  type FieldGateInput,
  type FieldInput,
  type GateInput,
  inputProblems,
  type PhaseInput,
  type RuleInput,
  type TextInput,
  type Workflow,
} from "../workflow-input.js";
import { type AnyGateInput, buildGate, gateProblems, isFieldGate, plainGate, refuseProblems } from "./define-gate.js";
import { defineWorkflow } from "./define-workflow.js";
import {
  type ChangedPhase,
  extensionProblems,
  type GateAddition,
  gateAddition,
  type PhaseChange,
  type WorkflowExtension,
} from "./extension-input.js";

/**
 * Makes a workflow out of another one: with phases before or after those that are there, with gates that ask for more, with other
 * texts, or with options whose values are set. A gate may ask for less only where the change says why.
 *
 * @throws {PhasegateError} `DEFINITION_INVALID` with the list of all problems: a phase that the base does not have, say, or a
 * gate that asks for less.
 */
export async function extendWorkflow(base: Workflow, extension: WorkflowExtension): Promise<Workflow> {
  const { structure } = base.definition;
  const { type, revision, name, description, version, phases: changes = [], options } = extension;
  refuseProblems(type, extensionProblems(extension), REMEDY);
  const problems: string[] = [];
  const weaker: Weaker[] = [];
  const parts = await partsOf(base, problems);
  const { slots, faults } = arranged(parts, changes.map(placingOf));
  problems.push(...faults.map(({ change, message }) => `phases[${change}]: ${message}`));
  const names = namesOf(slots);
  const phases = slots.map((slot): PhaseInput => {
    let phase = partIn(slot, parts, changes);
    for (const [index, change] of changes.entries()) {
      const about = `phases[${index}]`;
      if ("change" in change && slot.changes.includes(index))
        phase = changedPhase(phase, change, { about, problems, weaker, names });
    }
    return phase;
  });
  const ofOptions = (await optionFaults(structure, options)).map(({ message }) => `options: ${message}`);
  refuseProblems(type, [...problems, ...ofOptions], REMEDY);
  const first = structure.phases.find(({ number }) => number === structure.startPhase);
  const isUsualStart = first === structure.phases[0];
  const { category, estimatedDuration, target, targetLanguages, artifacts, prerequisites, tags } = structure;
  const { definition, ...workflow } = defineWorkflow({
    ...{ type, revision: `${revision} on ${structure.revision}` },
    ...{ name: name ?? structure.name, description: description ?? structure.description },
    ...{ version: version ?? structure.version, category, estimatedDuration, target, targetLanguages },
    ...{ artifacts, prerequisites, tags },
    options: optionsOf(base, options),
    startPhase: isUsualStart ? undefined : first?.name,
    dynamic: dynamicOf(base),
    phases,
    documents: documentsOf(base, numbersOf(structure, slots)),
  });
  // What the base asks less than its own one counts here, too.
  const { type: than, weaker: inherited = [] } = structure.extends ?? {};
  const from: ExtendedFrom = {
    type: structure.type,
    revision: structure.revision,
    weaker:
      weaker.length + inherited.length === 0 ? undefined : [...inherited.map((one) => ({ than, ...one })), ...weaker],
  };
  return { ...workflow, definition: { ...definition, structure: { ...definition.structure, extends: from } } };
}

const REMEDY = "Correct the listed problems.";

type Weaker = NonNullable<ExtendedFrom["weaker"]>[number];

/** Where an entry of the changes belongs: beside a phase, with the name of the one that is inserted, or to a phase. */
export type Placing =
  | { readonly before: string; readonly name: string }
  | { readonly after: string; readonly name: string }
  | { readonly change: string };

/** A phase of the extended workflow: one of the base, or one that a change inserts. */
export interface Slot {
  readonly name: string;
  /** Its place among the phases of the base. */
  readonly base?: number;
  /** The place of the change that inserts it. */
  readonly inserted?: number;
  /** The places of the changes of it. */
  readonly changes: readonly number[];
}

interface Arranged {
  /** The phases in their order: they are numbered from 1. */
  readonly slots: readonly Slot[];
  /** The changes that belong to no phase, or to several. */
  readonly faults: readonly { readonly change: number; readonly message: string }[];
}

/** Puts the phases of a base, and those that changes insert, into their order. */
export function arranged(base: readonly { readonly name: string }[], placings: readonly Placing[]): Arranged {
  const faults: { change: number; message: string }[] = [];
  let slots = base.map(({ name }, place): Slot => ({ name, base: place, changes: [] }));
  for (const [change, placing] of placings.entries()) {
    const name = "change" in placing ? placing.change : "before" in placing ? placing.before : placing.after;
    const [at, ...others] = slots.flatMap((slot, place) => (slot.name === name ? [place] : []));
    if (at === undefined || others.length > 0) {
      faults.push({ change, message: placeFault(name, slots, others.length + 1) });
    } else if ("change" in placing) {
      slots = slots.map((slot, place) => (place === at ? { ...slot, changes: [...slot.changes, change] } : slot));
    } else {
      const slot = { name: placing.name, inserted: change, changes: [] };
      slots = slots.toSpliced("before" in placing ? at : at + 1, 0, slot);
    }
  }
  return { slots, faults };
}

function placeFault(name: string, slots: readonly Slot[], count: number): string {
  const names = slots.map((slot) => slot.name);
  if (names.includes(name)) return `${count} phases are called ${shown(name)}`;
  const near = nearest(name, names);
  const meant = near === undefined ? "; there" : `; did you mean ${shown(near)}? There`;
  return `there is no phase ${shown(name)}${meant} are ${names.map(shown).join(", ")}`;
}

export function namesOf(slots: readonly Slot[]): PhaseNames {
  return new PhaseNames(slots.map(({ name }, place) => ({ number: place + 1, name })));
}

function placingOf(change: PhaseChange): Placing {
  if ("change" in change) return change;
  const { name } = change.phase;
  return change.before === undefined ? { after: change.after, name } : { before: change.before, name };
}

function partIn({ base, inserted, name }: Slot, parts: readonly PhaseInput[], changes: readonly PhaseChange[]) {
  const change = inserted === undefined ? undefined : changes[inserted];
  const part = base === undefined ? change && "phase" in change && change.phase : parts[base];
  if (!part) throw new TypeError(`there is no phase ${name}`);
  return part;
}

/** Returns the phases of a workflow without numbers; what named other phases by their numbers names them by their names. */
export async function partsOf(workflow: Workflow, problems: string[]): Promise<PhaseInput[]> {
  const shared = (number: number) =>
    void problems.push(`the base names its phase ${number} by this number, and its name is not unique`);
  return (await phasesByName(workflow, shared)).map((phase) => ({ ...phase, number: undefined }));
}

/**
 * Returns the phases of a workflow; what named other phases by their numbers names them by their names, so that it means the same
 * ones in another workflow. Calls `onShared` for a number whose phase has no name of its own, which stays.
 */
export async function phasesByName(
  { phases, definition }: Pick<Workflow, "phases" | "definition">,
  onShared: (number: number) => void = () => {},
): Promise<PhaseInput[]> {
  const own = new PhaseNames(definition.structure.phases);
  const keyFor = (key: string): string | undefined => {
    const number = /^\d+$/.test(key) ? own.find(key) : undefined;
    if (number === undefined) return undefined;
    const name = nameKey(own, number);
    if (name === undefined) onShared(number);
    return name;
  };
  return Promise.all(phases.map(async (phase) => ({ ...phase, gate: await namedGate(phase.gate, keyFor) })));
}

/** Returns the name by which a phase can be named; undefined if it has none that is unique. */
function nameKey(names: PhaseNames, number: number): string | undefined {
  // The first key is the number.
  return names.keysOf(number)[1];
}

async function namedGate(
  given: AnyGateInput | undefined,
  keyFor: (key: string) => string | undefined,
): Promise<AnyGateInput | undefined> {
  const gate = plainGate(given);
  if (gate === undefined) return undefined;
  const inParams = async (verifier: string, params: JsonObject) =>
    verifier === CHILD_CHECK
      ? withChildRules(params, (rule) => withPhaseKeys(rule, keyFor))
      : namedSince(params, keyFor);
  const verify =
    gate.verify &&
    (await Promise.all(
      gate.verify.map(async (check) => ({
        ...check,
        params: check.params && (await inParams(check.verifier, check.params)),
      })),
    ));
  if (!isFieldGate(gate)) return { ...gate, verify };
  const inRule = async (rule: string | RuleInput) =>
    typeof rule === "string" ? withPhaseKeys(rule, keyFor) : { ...rule, rule: await withPhaseKeys(rule.rule, keyFor) };
  const entries = <T>(record: Readonly<Record<string, T>>, to: (value: T) => Promise<T>) =>
    Promise.all(Object.entries(record).map(async ([name, value]) => [name, await to(value)] as const)).then((found) =>
      Object.fromEntries(found),
    );
  const inField = async (field: FieldInput): Promise<FieldInput> => ({
    ...field,
    validator:
      field.validator &&
      (await Promise.all([field.validator].flat().map((validator) => withPhaseKeys(validator, keyFor)))),
  });
  return {
    ...gate,
    verify,
    fields: await entries(gate.fields, inField),
    validators: gate.validators && (await entries(gate.validators, inRule)),
    crossFieldValidation: gate.crossFieldValidation && (await Promise.all(gate.crossFieldValidation.map(inRule))),
  };
}

function namedSince(params: JsonObject, keyFor: (key: string) => string | undefined): JsonObject {
  const { since } = params;
  const key = isJsonObject(since) ? keyFor(String(since.phase)) : undefined;
  return key === undefined ? params : { ...params, since: { phase: key } };
}

interface Changing {
  readonly about: string;
  readonly problems: string[];
  readonly weaker: Weaker[];
  readonly names: PhaseNames;
}

function changedPhase(
  phase: PhaseInput,
  { change: name, content, tasks, gate, override }: ChangedPhase,
  { about, problems, weaker, names }: Changing,
): PhaseInput {
  const after = typeof gate === "function" ? gate(phase.gate) : addedTo(phase.gate, gate, about, problems);
  const faults = [...gateProblems(after), ...taskFaults(phase, Object.keys(tasks ?? {}))];
  problems.push(...faults.map((fault) => `${about}: ${fault}`));
  const changed = {
    ...{ ...phase, content: content ?? phase.content, gate: after },
    tasks: phase.tasks?.map((task, index) => ({ ...task, content: tasks?.[task.number ?? index + 1] ?? task.content })),
  };
  if (faults.length > 0) return changed;
  const what = lessAsked(buildGate(phase.gate, names), buildGate(after, names));
  const fault = overrideFault(name, what, override);
  if (fault !== undefined) problems.push(`${about}: ${fault.message}. ${fault.hint}`);
  else if (override !== undefined) weaker.push({ phase: name, what, reason: override });
  return changed;
}

/** Returns in what a gate asks for less than before. */
export function lessAsked(before: GateDefinition, after: GateDefinition): string[] {
  return gateChanges(before, after).flatMap(({ kind, what }) => (kind === "stricter" ? [] : [what]));
}

/** Returns why a gate may not ask for less, or why it needs no reason for that. */
export function overrideFault(name: string, what: readonly string[], override: string | undefined) {
  if (what.length === 0) {
    if (override === undefined) return undefined;
    return { message: "override is given, and the gate asks for no less", hint: "Leave it out.", isWeaker: false };
  }
  if (override !== undefined && override.trim() !== "") return undefined;
  const message = `the gate of ${shown(name)} would ask for less: ${what.join("; ")}`;
  return { message, hint: "Say in override why it may.", isWeaker: true };
}

/** Returns a fault for each number that no task of a phase has. */
export function taskFaults({ tasks = [] }: PhaseInput, numbers: readonly string[]): string[] {
  const known = tasks.map((task, index) => String(task.number ?? index + 1));
  const list = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
  return numbers.flatMap((number) =>
    known.includes(number) ? [] : [`the phase has no task ${number}, whose text could be another one: ${list}`],
  );
}

/** The check of a phase that is a workflow must stay alone, so such a gate can only be given as a whole. */
function additionFaults(gate: GateInput | FieldGateInput | undefined, more: GateAddition): string[] {
  const whole = "give a function that returns the whole gate";
  if (gate?.verify?.some(({ verifier }) => verifier === CHILD_CHECK))
    return [`gate: the gate is a workflow, to which nothing can be added: ${whole}`];
  if (Object.hasOwn(Object(more), "workflow")) return [`gate: a gate that becomes a workflow is not added: ${whole}`];
  const { wrong, unknown } = inputProblems("gate", gateAddition, more);
  return [...wrong, ...unknown];
}

/** Returns a gate with what it asks for besides. */
function addedTo(
  given: AnyGateInput | undefined,
  more: GateAddition | undefined,
  about: string,
  problems: string[],
): AnyGateInput | undefined {
  const gate = plainGate(given);
  if (more === undefined) return gate;
  const faults = additionFaults(gate, more);
  problems.push(...faults.map((fault) => `${about}: ${fault}`));
  if (faults.length > 0) return gate;
  const { verify, approval, reveal, allowOverride, ...ofFields } = more;
  const demands = {
    verify: joined(gate?.verify, verify),
    approval: approval ?? gate?.approval,
    reveal: reveal ?? gate?.reveal,
    allowOverride: allowOverride ?? gate?.allowOverride,
  };
  if (gate !== undefined && !isFieldGate(gate)) {
    const named = Object.keys(ofFields);
    if (named.length > 0) {
      const instead = "give a function that returns the whole gate";
      problems.push(`${about}: gate: ${named.join(", ")} can't be added, since the gate is a schema; ${instead}`);
    }
    return { ...gate, ...demands };
  }
  return {
    ...gate,
    ...demands,
    fields: withFields(gate?.fields ?? {}, ofFields.fields ?? {}),
    validators: withValidators(gate?.validators, ofFields.validators, `${about}: gate`, problems),
    crossFieldValidation: joined(gate?.crossFieldValidation, ofFields.crossFieldValidation),
    strict: ofFields.strict ?? gate?.strict,
  };
}

function joined<T>(before: readonly T[] | undefined, after: readonly T[] | undefined): readonly T[] | undefined {
  return before === undefined ? after : after === undefined ? before : [...before, ...after];
}

function withFields(before: FieldGateInput["fields"], more: FieldGateInput["fields"]): FieldGateInput["fields"] {
  const both = Object.entries(more).map(([name, field]): [string, FieldInput] => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (old === undefined) return [name, field];
    const validator = [old.validator ?? [], field.validator ?? []].flat(2);
    return [name, { ...old, ...field, validator: validator.length === 0 ? undefined : validator }];
  });
  return { ...before, ...Object.fromEntries(both) };
}

function withValidators(
  before: FieldGateInput["validators"] = {},
  more: FieldGateInput["validators"] = {},
  about: string,
  problems: string[],
): FieldGateInput["validators"] {
  const twice = Object.keys(more).filter((name) => Object.hasOwn(before, name));
  if (twice.length > 0) problems.push(`${about}: the base has validators of these names: ${twice.join(", ")}`);
  return { ...before, ...more };
}

/** Returns what is wrong with the values of options, each with the name of the option. */
export async function optionFaults({ optionsSchema }: WorkflowStructure, options: JsonObject = {}) {
  if (optionsSchema === undefined) return [];
  const known = Object.keys(isJsonObject(optionsSchema.properties) ? optionsSchema.properties : {});
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  const { issues = [] } = await optionsInCode(optionsSchema)["~standard"].validate(options);
  return [
    ...unknown.map((name) => ({
      name,
      message: `the base has no option ${shown(name)}${orNearest(name, known, shown)}`,
    })),
    ...issues.flatMap(({ path: [name] = [], message }) =>
      typeof name === "string" && known.includes(name) && Object.hasOwn(options, name)
        ? [{ name, message: `the base does not take this value of ${shown(name)}: ${message}` }]
        : [],
    ),
  ];
}

/** The keys of an option that still have a meaning beside its only value. */
const BESIDE_CONST: ReadonlySet<string> = new Set(["type", "description", "title"]);

/** An option that is set has its value as its only one, and as its default. */
function optionsOf({ definition }: Workflow, set: JsonObject | undefined): StandardSchemaV1 | undefined {
  const { optionsSchema: schema } = definition.structure;
  const base = definition.options ?? (schema && optionsInCode(schema));
  if (set === undefined) return base;
  const properties = isJsonObject(schema?.properties) ? schema.properties : {};
  const fixed = Object.entries(set).map(([name, value]): [string, JsonObject] => {
    const property = isJsonObject(properties[name]) ? properties[name] : {};
    const kept = Object.entries(property).filter(([key]) => BESIDE_CONST.has(key));
    return [name, { ...Object.fromEntries(kept), const: value, default: value }];
  });
  const shownSchema = {
    ...(schema ?? { type: "object" }),
    properties: { ...properties, ...Object.fromEntries(fixed) },
  };
  const standard = {
    ...optionsInCode(shownSchema)["~standard"],
    validate(given: unknown) {
      const other = Object.entries(set).find(([name, value]) => !isSameOr(Object(given)[name], value));
      if (other !== undefined)
        return { issues: [{ path: [other[0]], message: `this workflow sets it to ${shown(other[1])}` }] };
      const value = { ...Object(given), ...set };
      return base === undefined ? { value } : base["~standard"].validate(value);
    },
  };
  return { "~standard": standard };
}

/** Returns true if an option is not given, or has the value. */
function isSameOr(given: JsonValue | undefined, value: JsonValue): boolean {
  return given === undefined || canonicalJson(given) === canonicalJson(value);
}

/** The texts of the templates are those of the base. */
function dynamicOf(base: Workflow): DynamicInput | undefined {
  const { dynamic } = base.definition.structure;
  if (dynamic === undefined) return undefined;
  const { parser, sourcePathKey, enforceDependencies, tickCriteria, verify } = dynamic;
  const template = (of: "phase" | "task") => async () => (await base.text({ template: of })) ?? "";
  return {
    templates: { phase: template("phase"), task: template("task") },
    ...{ parser, sourcePathKey, enforceDependencies, tickCriteria, verify },
  };
}

/** A document below `phases/2/` can be read from phase 2 on: it moves with its phase. */
function documentsOf(
  { documents }: Workflow,
  numbers: ReadonlyMap<number, number>,
): Readonly<Record<string, TextInput>> {
  return Object.fromEntries(Object.entries(documents).map(([path, text]) => [movedPath(path, numbers), text]));
}

/** Returns the numbers of phases by those that they have in the base. */
export function numbersOf({ phases }: WorkflowStructure, slots: readonly Slot[]): ReadonlyMap<number, number> {
  const found = slots.flatMap(({ base = -1 }, place) => {
    const number = phases[base]?.number;
    return number === undefined ? [] : [[number, place + 1] as const];
  });
  return new Map(found);
}

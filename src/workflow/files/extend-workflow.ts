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
import { orNearest, shown } from "../names.js";
import { PhaseNames } from "../phase-names.js";
import type { ExtendedFrom, WorkflowStructure } from "../structure.js";
import type {
  DynamicInput,
  FieldGateInput,
  FieldInput,
  PhaseInput,
  PhasePart,
  RuleInput,
  TextInput,
  Workflow,
} from "../workflow-input.js";
import { type AnyGateInput, buildGate, gateProblems, isFieldGate, plainGate, refuseProblems } from "./define-gate.js";
import { defineWorkflow } from "./define-workflow.js";

/** One difference from the base: a phase that is inserted before or after one of it, or a change of one. */
export type PhaseChange =
  | { readonly before: string; readonly phase: PhasePart }
  | { readonly after: string; readonly phase: PhasePart }
  | ChangedPhase;

/** A phase of the base with what is different. */
export interface ChangedPhase {
  /** The name of the phase. */
  readonly change: string;
  /** The text in place of the base's. */
  readonly content?: TextInput;
  /**
   * What the gate asks for besides: further fields, rules, checks, an approval; or a function that returns the gate in place of
   * the base's.
   */
  readonly gate?: GateAddition | ((gate: AnyGateInput | undefined) => AnyGateInput);
  /** Why the gate may ask for less than the base's; shown wherever the workflow is listed. Without it that is an error. */
  readonly override?: string;
}

/** What a gate asks for besides. A field that is there already gets further validators. */
export type GateAddition = Partial<FieldGateInput>;

/** What {@link extendWorkflow} takes. */
export interface WorkflowExtension {
  /** The type of the new workflow. */
  readonly type: string;
  /** Identifies this version of the differences. The revision of the workflow names the base's, too. */
  readonly revision: string;
  /** The name that people see. Default: the base's. */
  readonly name?: string;
  /** The purpose. Default: the base's. */
  readonly description?: string;
  /** The version that people see. Default: the base's. */
  readonly version?: string;
  /** In what the phases differ, in this order. Default: in nothing. */
  readonly phases?: readonly PhaseChange[];
  /** Options of the base with a value that no session can change. Default: none. */
  readonly options?: JsonObject;
}

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
  const problems: string[] = [];
  const weaker: Weaker[] = [];
  const own = new PhaseNames(structure.phases);
  let phases = await partsOf(base, own, problems);
  for (const [index, change] of changes.entries()) {
    const about = `phases[${index}]`;
    const place = placeOf(change, phases, about, problems);
    if (place === undefined) continue;
    if (!("change" in change)) {
      const at = "before" in change ? place : place + 1;
      phases = [...phases.slice(0, at), change.phase, ...phases.slice(at)];
      continue;
    }
    const changed = changedPhase(phases[place], change, { about, problems, weaker });
    phases = phases.map((phase, other) => (other === place ? changed : phase));
  }
  refuseProblems(type, [...problems, ...optionProblems(structure, options)], "Correct the listed problems.");
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
    documents: documentsOf(base, phases, own),
  });
  const from: ExtendedFrom = {
    type: structure.type,
    revision: structure.revision,
    weaker: weaker.length === 0 ? undefined : weaker,
  };
  return { ...workflow, definition: { ...definition, structure: { ...definition.structure, extends: from } } };
}

type Weaker = NonNullable<ExtendedFrom["weaker"]>[number];

/** Returns the phases of a workflow without numbers; what named other phases by their numbers names them by their names. */
async function partsOf({ phases }: Workflow, own: PhaseNames, problems: string[]): Promise<PhaseInput[]> {
  const keyFor = (key: string): string | undefined => {
    const number = /^\d+$/.test(key) ? own.find(key) : undefined;
    if (number === undefined) return undefined;
    const name = nameKey(own, number);
    if (name === undefined)
      problems.push(`the base names its phase ${number} by this number, and its name is not unique`);
    return name;
  };
  return Promise.all(
    phases.map(async (phase) => ({ ...phase, number: undefined, gate: await namedGate(phase.gate, keyFor) })),
  );
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

function placeOf(
  change: PhaseChange,
  phases: readonly PhaseInput[],
  about: string,
  problems: string[],
): number | undefined {
  const name = "change" in change ? change.change : "before" in change ? change.before : change.after;
  const places = phases.flatMap((phase, place) => (phase.name === name ? [place] : []));
  if (places.length === 1) return places[0];
  const names = phases.map((phase) => phase.name);
  problems.push(
    places.length === 0
      ? `${about}: there is no phase ${shown(name)}${orNearest(name, names, shown)}; there are ${names.map(shown).join(", ")}`
      : `${about}: ${places.length} phases are called ${shown(name)}`,
  );
  return undefined;
}

interface Changing {
  readonly about: string;
  readonly problems: string[];
  readonly weaker: Weaker[];
}

function changedPhase(
  phase: PhaseInput | undefined,
  { change: name, content, gate, override }: ChangedPhase,
  { about, problems, weaker }: Changing,
): PhaseInput {
  if (phase === undefined) throw new TypeError(`there is no phase ${name}`);
  const after = typeof gate === "function" ? gate(phase.gate) : addedTo(phase.gate, gate, `${about}: gate`, problems);
  const faults = gateProblems(after);
  problems.push(...faults.map((fault) => `${about}: ${fault}`));
  const changed = { ...phase, content: content ?? phase.content, gate: after };
  if (faults.length > 0) return changed;
  const names = new PhaseNames([]);
  const what = gateChanges(buildGate(phase.gate, names), buildGate(after, names))
    .filter(({ kind }) => kind !== "stricter")
    .map((one) => one.what);
  if (what.length === 0) {
    if (override !== undefined) problems.push(`${about}: override is given, and the gate asks for no less`);
  } else if (override === undefined || override.trim() === "") {
    const less = `the gate of ${shown(name)} would ask for less: ${what.join("; ")}`;
    problems.push(`${about}: ${less}. Say in override why it may`);
  } else weaker.push({ phase: name, what, reason: override });
  return changed;
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
      problems.push(`${about}: ${named.join(", ")} can't be added, since the gate is a schema; ${instead}`);
    }
    return { ...gate, ...demands };
  }
  return {
    ...gate,
    ...demands,
    fields: withFields(gate?.fields ?? {}, ofFields.fields ?? {}),
    validators: withValidators(gate?.validators, ofFields.validators, about, problems),
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

function optionProblems({ optionsSchema }: WorkflowStructure, options: JsonObject | undefined): string[] {
  const known = Object.keys(isJsonObject(optionsSchema?.properties) ? optionsSchema.properties : {});
  if (optionsSchema === undefined) return [];
  return Object.keys(options ?? {})
    .filter((name) => !known.includes(name))
    .map((name) => `options: the base has no option ${shown(name)}${orNearest(name, known, shown)}`);
}

/** An option that is set has its value as its only one, and as its default. */
function optionsOf({ definition }: Workflow, set: JsonObject | undefined): StandardSchemaV1 | undefined {
  const { optionsSchema: schema } = definition.structure;
  const base = definition.options ?? (schema && optionsInCode(schema));
  if (set === undefined) return base;
  const properties = isJsonObject(schema?.properties) ? schema.properties : {};
  const fixed = Object.entries(set).map(([name, value]): [string, JsonObject] => {
    const property = isJsonObject(properties[name]) ? properties[name] : {};
    return [name, { ...property, const: value, default: value }];
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
  phases: readonly PhaseInput[],
  own: PhaseNames,
): Readonly<Record<string, TextInput>> {
  const moved = Object.entries(documents).map(([path, text]) => {
    const [, number, rest] = /^phases\/(\d+)\/(.+)$/s.exec(path) ?? [];
    const key = number === undefined ? undefined : nameKey(own, Number(number));
    const place = key === undefined ? -1 : phases.findIndex(({ name }) => name === key);
    return [place < 0 ? path : `phases/${place + 1}/${rest}`, text] as const;
  });
  return Object.fromEntries(moved);
}

/** The gates of `defineWorkflow`, checked as far as that needs no language of rules. */
import { PhasegateError } from "../../errors.js";
import {
  builtInValidator,
  hasUnclearNumber,
  isValidatorName,
  likelyNames,
  UNCLEAR_NUMBER,
  VERIFYING_VALIDATORS,
} from "../../rules/validators.js";
import { childCheck, childFaults } from "../child-workflow.js";
import { TYPE_WORDS } from "../field-types.js";
import { NO_PHASES, withSinceNumber } from "../gate-definition.js";
import { isJsonObject, type JsonObject } from "../json.js";
import { askedFields, jsonSchemaOf, noJsonIn, waivableFaults } from "../json-schema.js";
import { orNearest, RESERVED, shown } from "../names.js";
import type { PhaseNames } from "../phase-names.js";
import type {
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "../structure.js";
import {
  type ChildGateInput,
  childGateInput,
  type FieldGateInput,
  type FieldInput,
  fieldGateInput,
  type GateInput,
  gateInput,
  inputProblems,
  type RuleInput,
  ruleInput,
} from "../workflow-input.js";

export type AnyGateInput = GateInput | FieldGateInput | ChildGateInput;

export function gateProblems(gate: AnyGateInput | undefined): string[] {
  if (gate === undefined) return [];
  if (isChildGate(gate)) {
    const { wrong, unknown } = inputProblems("gate", childGateInput, gate);
    const faults = wrong.length > 0 ? [] : childFaults(buildGate(gate, NO_PHASES.phases));
    return [...wrong, ...unknown, ...faults.map((fault) => `gate: ${fault}`)];
  }
  const isFields = isFieldGate(gate);
  const { wrong, unknown } = inputProblems("gate", isFields ? fieldGateInput : gateInput, gate);
  if (wrong.length > 0) return [...wrong, ...unknown];
  if (isFields) {
    const others = "evidence" in gate ? ["a gate has either evidence, a schema, or fields"] : [];
    const { problems, gate: read } = readFieldGate(gate);
    return [
      ...unknown,
      ...others,
      ...childFaults(read).map((fault) => `gate: ${fault}`),
      ...unknownFields(gate.verify, Object.keys(gate.fields)),
      ...problems,
    ];
  }
  const schema = jsonSchemaOf(gate.evidence) ?? {};
  const isKnown = isJsonObject(schema.properties) && isClosed(schema, gate.evidence["~standard"].vendor);
  return [
    ...waivableFaults(schema).map((fault) => `gate.evidence: ${fault}`),
    ...noJsonIn(gate.evidence).map(
      ({ place, type }) =>
        `gate.evidence: ${shown(place)} becomes a ${type}, which JSON can't hold: let it be a text or number`,
    ),
    ...unknown,
    ...(isKnown ? unknownFields(gate.verify, Object.keys(Object(schema.properties))) : []),
  ];
}

/** Returns true for a schema that lets no other fields through than its own; zod's usual objects leave others out. */
function isClosed(schema: JsonObject, vendor: string): boolean {
  if (["patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some((key) => key in schema)) return false;
  return schema.additionalProperties === false || (schema.additionalProperties === undefined && vendor === "zod");
}

/** Names the fields of checks that the evidence does not have: such a check would pass whatever is submitted. */
export function unknownFields(
  checks: readonly Pick<VerifyDefinition, "field">[] = [],
  fields: readonly string[],
): string[] {
  return checks.flatMap(({ field }, at) =>
    field === undefined || fields.includes(field)
      ? []
      : [`gate.verify[${at}].field: the evidence has no field ${shown(field)}${orNearest(field, fields)}`],
  );
}

/** Returns a gate in pinned form. `phases` are those that its checks can name. */
export function buildGate(given: AnyGateInput | undefined, phases: PhaseNames): GateDefinition {
  const gate = plainGate(given);
  if (gate === undefined) return { kind: "open" };
  if (isFieldGate(gate)) return readFieldGate(gate, phases).gate;
  return {
    kind: "schema",
    allowOverride: gate.allowOverride || undefined,
    jsonSchema: jsonSchemaOf(gate.evidence) ?? askedFields(gate.evidence),
    example: gate.example,
    allowExample: gate.allowExample || undefined,
    ...demandsOf(gate, phases),
  };
}

export function isFieldGate(gate: GateInput | FieldGateInput): gate is FieldGateInput {
  return "fields" in Object(gate);
}

function isChildGate(gate: AnyGateInput): gate is ChildGateInput {
  return "workflow" in Object(gate);
}

/** Returns a gate in one of the two forms that all gates have: that of a phase which is a workflow has one check. */
export function plainGate(gate: AnyGateInput): GateInput | FieldGateInput;
export function plainGate(gate: AnyGateInput | undefined): GateInput | FieldGateInput | undefined;
export function plainGate(gate: AnyGateInput | undefined): GateInput | FieldGateInput | undefined {
  if (gate === undefined || !isChildGate(gate)) return gate;
  const { workflow: type, target, options, forEach, allowEmpty, allowOverride } = gate;
  const child = { type, target, options, for_each: forEach, allow_empty: allowEmpty || undefined };
  return { fields: {}, verify: [childCheck(child)], allowOverride };
}

export function refuseProblems(name: unknown, problems: readonly string[], remedy: string, what = "workflow"): void {
  if (problems.length > 0) throw unusable(name, problems, remedy, what);
}

/** Returns the error with all problems of a workflow, or of what else is defined. */
export function unusable(name: unknown, problems: readonly string[], remedy: string, what = "workflow") {
  return new PhasegateError("DEFINITION_INVALID", `the ${what} ${shown(name)} can't be used: ${problems.join("; ")}`, {
    remedy,
    details: { workflowType: String(name), diagnostics: problems },
  });
}

function demandsOf(
  { verify, approval, reveal }: GateInput | FieldGateInput,
  phases: PhaseNames,
): Pick<SchemaGate, "verify" | "approval" | "reveal"> {
  return {
    verify: verify?.map(({ verifier, params = {}, field, description, waivable }) => ({
      ...{ verifier, params: withSinceNumber(params, phases), field, description },
      waivable: waivable === false ? waivable : undefined,
    })),
    approval: approval && { prompt: approval.prompt, approvers: approval.approvers && [...approval.approvers] },
    reveal,
  };
}

interface Reading {
  readonly table: Readonly<Record<string, string | RuleInput>>;
  readonly problems: string[];
}

function readFieldGate(
  gate: FieldGateInput,
  phases = NO_PHASES.phases,
): { readonly gate: FieldGate; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const reading: Reading = { table: gate.validators ?? {}, problems };
  for (const [name, rule] of Object.entries(reading.table)) checkRule(rule, `gate.validators.${name}`, problems);
  const verify: VerifyDefinition[] = [];
  const fields = Object.entries(gate.fields).map(([name, field]): FieldDefinition => {
    const { required = true, description, example, allowExample, waivable } = field;
    const type = typeOf(name, field, problems);
    const rules = validatorsOf(name, field, problems).flatMap((validator) => {
      if (!VERIFYING_VALIDATORS.has(validator) || Object.hasOwn(reading.table, validator)) {
        return fieldRule(validator, name, type, field, reading);
      }
      verify.push({ verifier: validator, params: field.validatorParams ?? {}, field: name });
      return [];
    });
    return {
      ...{ name, type, required, description, example },
      allowExample: allowExample || undefined,
      rules: rules.length === 0 ? undefined : rules,
      waivable: waivable === false ? waivable : undefined,
    };
  });
  const rules = [gate.crossFieldValidation ?? []].flat().flatMap((rule, at) => {
    const place = `gate.crossFieldValidation[${at}]`;
    return checkRule(rule, place, problems) ? ruleOf(rule, {}, place, reading) : [];
  });
  const demands = demandsOf(gate, phases);
  const checks = [...verify, ...(demands.verify ?? [])];
  if (fields.length === 0 && rules.length === 0 && checks.length === 0 && demands.approval === undefined) {
    problems.push("gate.fields is empty: the gate requires nothing");
  }
  return {
    gate: {
      ...{ kind: "fields", strict: gate.strict ?? true, allowOverride: gate.allowOverride || undefined, fields },
      ...{ rules: rules.length === 0 ? undefined : rules, ...demands },
      ...{ verify: checks.length === 0 ? undefined : checks, source: "gate-file" },
    },
    problems,
  };
}

function typeOf(name: string, { type = "any" }: FieldInput, problems: string[]): FieldType {
  if (name.trim() === "" || RESERVED.has(name)) problems.push(`no field may be called ${shown(name)}`);
  const known = TYPE_WORDS.get(type);
  if (known !== undefined) return known;
  problems.push(`gate.fields.${name}: there is no type ${shown(type)}${orNearest(String(type), TYPE_WORDS.keys())}`);
  return "any";
}

function validatorsOf(name: string, { validator = [] }: FieldInput, problems: string[]): readonly string[] {
  const given: readonly unknown[] = [validator].flat();
  const texts = given.filter((one) => typeof one === "string" && one.trim() !== "").map(String);
  if (texts.length < given.length) {
    problems.push(`gate.fields.${name}: a validator is a name or a rule in CEL, as a text`);
  }
  return texts;
}

function checkRule(given: string | RuleInput, about: string, problems: string[]): boolean {
  if (typeof given !== "string") problems.push(...inputProblems(about, ruleInput, given).unknown);
  const rule: unknown = typeof given === "string" ? given : Object(given).rule;
  if (typeof rule === "string" && rule.trim() !== "") return true;
  problems.push(`${about} must be a rule, or an object with one`);
  return false;
}

/** Returns the rule of a field that one of its validators stands for, in a list of one; empty if it is wrong. */
function fieldRule(
  validator: string,
  name: string,
  type: FieldType,
  { validatorParams = {} }: FieldInput,
  reading: Reading,
): RuleDefinition[] {
  const place = `gate.fields.${name}`;
  const { table, problems } = reading;
  const own = Object.hasOwn(table, validator) ? table[validator] : undefined;
  if (own !== undefined) return ruleOf(own, validatorParams, place, reading, validator);
  const named = builtInValidator(validator, type);
  if (named?.cel !== undefined) return ruleOf(named.cel, validatorParams, place, reading, validator);
  if (named === undefined && !isValidatorName(validator)) return ruleOf(validator, validatorParams, place, reading);
  const names = [...Object.keys(table), ...likelyNames(validator)];
  const more = hasUnclearNumber(validator) ? `. ${UNCLEAR_NUMBER}` : orNearest(validator, names);
  problems.push(
    named === undefined
      ? `${place}: there is no validator ${shown(validator)}${more}`
      : `${place}: the validator ${shown(validator)} doesn't go with a field of type ${type}`,
  );
  return [];
}

/** Returns a rule in pinned form, in a list of one; empty if it is wrong. `name` is the author's name for it. */
function ruleOf(
  given: string | RuleInput,
  params: JsonObject,
  place: string,
  { problems }: Reading,
  name?: string,
): RuleDefinition[] {
  const { rule, errorMessage: message }: RuleInput = typeof given === "string" ? { rule: given } : given;
  const cel = rule.trim();
  if (/^lambda\b/.test(cel)) {
    // Their reader is not loaded with the package.
    problems.push(`${place}: a lambda is only read in a gate file; write the rule in CEL`);
    return [];
  }
  return [{ source: name ?? cel, cel, params: Object.keys(params).length === 0 ? undefined : params, message }];
}

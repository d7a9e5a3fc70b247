/**
 * The gates of `defineWorkflow`: a schema, or fields with validators and rules as a gate file has them. What can be checked
 * without the language of rules is checked here.
 */
import { PhasegateError } from "../../errors.js";
import {
  comparisonValidator,
  hasUnclearNumber,
  isValidatorName,
  likelyNames,
  namedValidator,
  UNCLEAR_NUMBER,
  VERIFYING_VALIDATORS,
} from "../../rules/validators.js";
import { TYPE_WORDS } from "../field-types.js";
import { REVEALS } from "../gate-definition.js";
import { isJsonObject, type JsonObject, optional } from "../json.js";
import { jsonSchemaOf, waivableFaults } from "../json-schema.js";
import { orNearest, RESERVED, shown } from "../names.js";
import type {
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "../structure.js";
import type {
  ApprovalInput,
  FieldGateInput,
  FieldInput,
  GateDemands,
  GateInput,
  RuleInput,
  VerifyInput,
} from "../workflow-input.js";

/** A gate of either kind. */
type AnyGateInput = GateInput | FieldGateInput;

/** Returns what is wrong with a gate, each with its place. Callers in plain JavaScript may pass anything. */
export function gateProblems(gate: AnyGateInput | undefined): string[] {
  if (gate === undefined) return [];
  const { approval, verify } = Object(gate);
  const checks: unknown[] = Array.isArray(verify) ? verify : [];
  const wrong = typeFaults(gate, checks);
  if (wrong.length > 0) return wrong;
  const common = [
    ...unknownKeys("gate.approval", approval, APPROVAL),
    ...checks.flatMap((check, at) => unknownKeys(`gate.verify[${at}]`, check, VERIFY)),
  ];
  if (isFieldGate(gate)) {
    if ("evidence" in gate) common.push("a gate has either evidence, a schema, or fields");
    common.push(...unknownFields(checks, Object.keys(Object(gate.fields))));
    return [
      ...unknownKeys("gate", gate, { ...FIELD_GATE, evidence: "any" }),
      ...common,
      ...readFieldGate(gate).problems,
    ];
  }
  // A misspelt key would be ignored, and the gate would stay open.
  const isSchema = Object(gate?.evidence)["~standard"] !== undefined;
  const schema = (isSchema ? jsonSchemaOf(gate.evidence) : undefined) ?? {};
  if (isJsonObject(schema.properties) && isClosed(schema, gate.evidence["~standard"].vendor)) {
    common.push(...unknownFields(checks, Object.keys(schema.properties)));
  }
  const problems = isSchema
    ? waivableFaults(schema).map((fault) => `gate.evidence: ${fault}`)
    : ["gate.evidence is not a Standard Schema"];
  return [...problems, ...unknownKeys("gate", gate, GATE), ...common];
}

/** Returns true for a schema that lets no other fields through than its own; zod's usual objects leave others out. */
function isClosed(schema: JsonObject, vendor: string): boolean {
  if (["patternProperties", "allOf", "anyOf", "oneOf", "$ref"].some((key) => key in schema)) return false;
  return schema.additionalProperties === false || (schema.additionalProperties === undefined && vendor === "zod");
}

/** Names the fields of checks that the evidence does not have: such a check would pass whatever is submitted. */
export function unknownFields(checks: readonly unknown[], fields: readonly string[]): string[] {
  return checks.flatMap((check, at) => {
    const { field } = Object(check);
    if (typeof field !== "string" || fields.includes(field)) return [];
    return [`gate.verify[${at}].field: the evidence has no field ${shown(field)}${orNearest(field, fields)}`];
  });
}

const isText = (value: unknown): boolean => typeof value === "string" && value.trim() !== "";

/** What a value in a literal has to be, with the words for it. A `string` may be blank, a `text` not. */
const TYPES = {
  flag: { is: (value: unknown) => typeof value === "boolean", words: "true or false" },
  string: { is: (value: unknown) => typeof value === "string", words: "a text" },
  text: { is: isText, words: "a text" },
  texts: {
    is: (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText),
    words: "a list of texts",
  },
  strings: {
    is: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "string"),
    words: "a list of texts",
  },
  list: { is: (value: unknown) => Array.isArray(value), words: "a list" },
  object: { is: (value: unknown) => isJsonObject(value), words: "an object" },
  content: {
    is: (value: unknown) => typeof value === "string" || typeof value === "function",
    words: "a text, or a function that returns one",
  },
  reveal: { is: (value: unknown) => REVEALS.some((known) => known === value), words: `one of ${REVEALS.join(", ")}` },
  /** Checked elsewhere. */
  any: { is: () => true, words: "" },
};

/** What a key of a literal has to be. Keys with a `!` must be there. */
type KeyType = keyof typeof TYPES | `${keyof typeof TYPES}!`;

/** The keys of a literal. The compiler checks that none is missing. */
export type Keys<T> = Readonly<Record<keyof T, KeyType>>;

const DEMANDS: Keys<GateDemands> = { allowOverride: "flag", verify: "list", approval: "any", reveal: "reveal" };
const GATE: Keys<GateInput> = { evidence: "any", example: "any", allowExample: "flag", ...DEMANDS };
const FIELD_GATE: Keys<FieldGateInput> = {
  ...{ fields: "any", validators: "any", crossFieldValidation: "any", strict: "flag" },
  ...DEMANDS,
};
const FIELD: Keys<FieldInput> = {
  ...{ type: "any", required: "flag", description: "text", example: "any", allowExample: "flag", validator: "any" },
  ...{ validatorParams: "object", waivable: "flag" },
};
const RULE: Keys<RuleInput> = { rule: "any", errorMessage: "any" };
const APPROVAL: Keys<ApprovalInput> = { prompt: "text!", approvers: "texts" };
const VERIFY: Keys<VerifyInput> = {
  ...{ verifier: "text!", params: "object", field: "text", description: "text", waivable: "flag" },
};

/**
 * Names the keys of a literal whose values are of another type: what the compiler does not see, such as JSON, may hold the
 * text `"false"`, which counts as true.
 */
export function wrongTypes(about: string, value: unknown, types: Readonly<Record<string, KeyType>>): string[] {
  if (!isJsonObject(value)) return [`${about} must be an object, not ${shown(value)}`];
  return Object.entries(types).flatMap(([key, type]) => {
    const given: unknown = value[key];
    const isKey = (name: string): name is keyof typeof TYPES => Object.hasOwn(TYPES, name);
    const name = type.replace("!", "");
    if (!isKey(name) || (given === undefined && name === type) || TYPES[name].is(given)) return [];
    return [
      `${about}.${key} ${given === undefined ? "is missing" : `must be ${TYPES[name].words}, not ${shown(given)}`}`,
    ];
  });
}

/** Returns the values of a gate that are of another type. */
function typeFaults(gate: unknown, checks: readonly unknown[]): string[] {
  const { approval, fields } = Object(gate);
  const named: [string, unknown][] = isJsonObject(fields) ? Object.entries(fields) : [];
  return [
    ...wrongTypes("gate", gate, { ...GATE, ...FIELD_GATE }),
    ...(approval === undefined ? [] : wrongTypes("gate.approval", approval, APPROVAL)),
    ...checks.flatMap((check, at) => wrongTypes(`gate.verify[${at}]`, check, VERIFY)),
    ...named.flatMap(([name, field]) => wrongTypes(`gate.fields.${name}`, Object(field), FIELD)),
  ];
}

/** Returns the gate as it is pinned. */
export function buildGate(gate: AnyGateInput | undefined): GateDefinition {
  if (gate === undefined) return { kind: "open" };
  if (isFieldGate(gate)) return readFieldGate(gate).gate;
  const jsonSchema = jsonSchemaOf(gate.evidence);
  return {
    kind: "schema",
    allowOverride: gate.allowOverride || undefined,
    jsonSchema,
    example: gate.example,
    ...(gate.allowExample === true ? ({ allowExample: true } as const) : {}),
    ...demandsOf(gate),
  };
}

/** Returns true for a gate with named fields. */
export function isFieldGate(gate: AnyGateInput): gate is FieldGateInput {
  return "fields" in Object(gate);
}

/** Throws `DEFINITION_INVALID` if there are problems. */
export function refuseProblems(name: unknown, problems: readonly string[], remedy: string): void {
  if (problems.length === 0) return;
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${shown(name)} can't be used: ${problems.join("; ")}`, {
    remedy,
    details: { workflowType: String(name), diagnostics: problems },
  });
}

/** Names the keys that are not known. Those that begin with `x-` are for other programs. */
export function unknownKeys(about: string, value: unknown, types: Readonly<Record<string, KeyType>>): string[] {
  const known = Object.keys(types);
  const keys = Object.keys(Object(value)).filter((key) => !known.includes(key) && !key.startsWith("x-"));
  return keys.map((key) => `${about} has no key ${shown(key)}${orNearest(key, known)}`);
}

/** Returns an object with a copy of a list, if there is one. */
export function optionalList<K extends string>(key: K, value: readonly string[] | undefined): { [P in K]?: string[] } {
  return optional(key, value === undefined ? undefined : [...value]);
}

function demandsOf({ verify, approval, reveal }: AnyGateInput): Pick<SchemaGate, "verify" | "approval" | "reveal"> {
  return {
    verify: verify?.map(({ verifier, params, field, description, waivable }) => ({
      ...{ verifier, params: params ?? {}, field, description },
      ...(waivable === false ? ({ waivable: false } as const) : {}),
    })),
    ...(approval === undefined
      ? {}
      : { approval: { prompt: approval.prompt, ...optionalList("approvers", approval.approvers) } }),
    ...optional("reveal", reveal),
  };
}

/** A gate that is being read. */
interface Reading {
  readonly table: Readonly<Record<string, string | RuleInput>>;
  readonly problems: string[];
}

function readFieldGate(gate: FieldGateInput): { readonly gate: FieldGate; readonly problems: readonly string[] } {
  const problems: string[] = [];
  if (!isJsonObject(gate.fields)) problems.push("gate.fields must be an object with the fields by name");
  const reading: Reading = { table: gate.validators ?? {}, problems };
  for (const [name, rule] of Object.entries(reading.table)) checkRule(rule, `gate.validators.${name}`, problems);
  const verify: VerifyDefinition[] = [];
  const fields = Object.entries<FieldInput>(Object(gate.fields)).map(([name, given]): FieldDefinition => {
    const type = typeOf(name, given, problems);
    const field: FieldInput = Object(given);
    const rules = validatorsOf(name, field, problems).flatMap((text) => {
      if (VERIFYING_VALIDATORS.has(text) && !Object.hasOwn(reading.table, text)) {
        verify.push({ verifier: text, params: field.validatorParams ?? {}, field: name });
        return [];
      }
      return fieldRule(text, name, type, field, reading);
    });
    return {
      ...{ name, type, required: field.required ?? true },
      ...optional("description", field.description),
      ...optional("example", field.example),
      ...(field.allowExample === true ? ({ allowExample: true } as const) : {}),
      ...optional("rules", rules.length === 0 ? undefined : rules),
      ...(field.waivable === false ? ({ waivable: false } as const) : {}),
    };
  });
  const rules = [gate.crossFieldValidation ?? []].flat().flatMap((rule, at) => {
    const place = `gate.crossFieldValidation[${at}]`;
    return checkRule(rule, place, problems) ? ruleOf(rule, {}, place, reading) : [];
  });
  const demands = demandsOf(gate);
  const checks = [...verify, ...(demands.verify ?? [])];
  if (fields.length === 0 && rules.length === 0 && checks.length === 0 && demands.approval === undefined) {
    problems.push("gate.fields is empty: the gate requires nothing");
  }
  return {
    gate: {
      ...{ kind: "fields", strict: gate.strict ?? true, fields },
      ...optional("allowOverride", gate.allowOverride || undefined),
      ...optional("rules", rules.length === 0 ? undefined : rules),
      ...demands,
      ...optional("verify", checks.length === 0 ? undefined : checks),
      source: "gate-file",
    },
    problems,
  };
}

function typeOf(name: string, field: FieldInput, problems: string[]): FieldType {
  const about = `gate.fields.${name}`;
  if (name.trim() === "" || RESERVED.has(name)) problems.push(`no field may be called ${shown(name)}`);
  if (!isJsonObject(field)) problems.push(`${about} must be an object, such as { type: "boolean" }`);
  problems.push(...unknownKeys(about, isJsonObject(field) ? field : {}, FIELD));
  const { type = "any" } = Object(field);
  const known = TYPE_WORDS.get(type);
  if (known !== undefined) return known;
  problems.push(`${about}: there is no type ${shown(type)}${orNearest(String(type), TYPE_WORDS.keys())}`);
  return "any";
}

function validatorsOf(name: string, { validator = [] }: FieldInput, problems: string[]): readonly string[] {
  const [texts, others]: [string[], unknown[]] = [[], []];
  for (const one of [validator].flat()) (typeof one === "string" && one.trim() !== "" ? texts : others).push(one);
  if (others.length > 0) problems.push(`gate.fields.${name}: a validator is a name or a rule in CEL, as a text`);
  return texts;
}

/** Checks a rule's form. */
function checkRule(given: string | RuleInput, about: string, problems: string[]): boolean {
  const text: unknown = typeof given === "string" ? given : Object(given).rule;
  if (typeof given !== "string") problems.push(...unknownKeys(about, given, RULE));
  if (typeof text === "string" && text.trim() !== "") return true;
  problems.push(`${about} must be a rule, or an object with one`);
  return false;
}

/** Returns the rule of a field that one of its validators stands for, in a list of one; empty if it is wrong. */
function fieldRule(
  text: string,
  name: string,
  type: FieldType,
  { validatorParams = {} }: FieldInput,
  reading: Reading,
): RuleDefinition[] {
  const place = `gate.fields.${name}`;
  const { table, problems } = reading;
  const defined = Object.hasOwn(table, text) ? table[text] : undefined;
  if (defined !== undefined) return ruleOf(defined, validatorParams, place, reading, text);
  const named = namedValidator(text, type) ?? comparisonValidator(text, type);
  if (named === undefined && !isValidatorName(text)) return ruleOf(text, validatorParams, place, reading);
  if (named === undefined) {
    const names = [...Object.keys(table), ...likelyNames(text)];
    const more = hasUnclearNumber(text) ? `. ${UNCLEAR_NUMBER}` : orNearest(text, names);
    problems.push(`${place}: there is no validator ${shown(text)}${more}`);
    return [];
  }
  if (named.cel !== undefined) return ruleOf(named.cel, validatorParams, place, reading, text);
  problems.push(`${place}: the validator ${shown(text)} doesn't go with a field of type ${type}`);
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
  const { rule, errorMessage }: RuleInput = typeof given === "string" ? { rule: given } : given;
  const cel = rule.trim();
  if (/^lambda\b/.test(cel)) {
    // What reads them is not loaded with the package.
    problems.push(`${place}: a lambda is only read in a gate file; write the rule in CEL`);
    return [];
  }
  return [
    {
      ...{ source: name ?? cel, cel },
      ...optional("params", Object.keys(params).length === 0 ? undefined : params),
      ...optional("message", errorMessage),
    },
  ];
}

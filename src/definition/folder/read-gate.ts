import { isJsonObject, type JsonValue } from "../json.js";
import { RESERVED, shown } from "../names.js";
import { nearest } from "../nearest.js";
import type { FieldDefinition, FieldGate, FieldType } from "../structure.js";
import { ObjectReader } from "./object-reader.js";
import { readYaml } from "./read-yaml.js";
import type { Report } from "./report.js";

/** The words that gate files have for the types of fields. */
const TYPE_WORDS: ReadonlyMap<string, FieldType> = new Map([
  ["boolean", "boolean"],
  ["bool", "boolean"],
  ["integer", "integer"],
  ["int", "integer"],
  ["number", "number"],
  ["float", "number"],
  ["string", "string"],
  ["str", "string"],
  ["object", "object"],
  ["dict", "object"],
  ["list", "list"],
  ["array", "list"],
]);
const TYPE_NAMES = [...TYPE_WORDS.keys()].join(", ");

/** Keys that ask for more than fields and types. */
const GATE_RULES = ["validators", "cross_field_validation", "verify", "approval", "reveal"] as const;
const FIELD_RULES = ["validator", "validator_params", "verify", "approval", "reveal"] as const;

/**
 * Reads a gate-definition.yaml. Undefined, with an error, if it can't be read as a gate: a gate file
 * never opens the gate.
 */
export async function readGate(file: string, text: string, report: Report): Promise<FieldGate | undefined> {
  const source = await readYaml(file, text, report);
  if (source === undefined) return undefined;
  if (!isJsonObject(source.value)) {
    const hint = "Write 'evidence_schema:' and the fields below it.";
    report.error("GATE_EMPTY", source.place([]), "a gate file must be a mapping with keys", hint);
    return undefined;
  }
  const gate = new ObjectReader(source, source.value, [], report);
  const checkpoint = gate.object("checkpoint");
  const fields = readFields(gate, report);
  refuseRules(gate, GATE_RULES, report);
  if (checkpoint !== undefined) refuseRules(checkpoint, GATE_RULES, report);
  const strict = checkpoint?.flag("strict") ?? true;
  const allowOverride = checkpoint?.flag("allow_override") ?? false;
  checkpoint?.rest();
  gate.rest();
  return { kind: "fields", strict, allowOverride, fields, source: "gate-file" };
}

/** Reports every rule that this version can't run: a gate without its rules would be another gate. */
export function refuseRules(reader: ObjectReader, keys: readonly string[], report: Report): void {
  for (const key of keys) {
    const value = reader.value(key);
    if (value === undefined || isEmpty(value)) continue;
    const hint = `Remove ${shown(key)}, or use a version of phasegate that has it.`;
    report.error("RULE_UNSUPPORTED", reader.place(key), `this version can't run ${shown(key)}`, hint);
  }
}

function isEmpty(value: JsonValue): boolean {
  return value === false || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function readFields(gate: ObjectReader, report: Report): FieldDefinition[] {
  const given = gate.value("evidence_schema");
  if (given === undefined || (isJsonObject(given) && Object.keys(given).length === 0)) {
    const hint = "Write a field below 'evidence_schema:', or delete the file if the gate is not to ask for any.";
    report.error("GATE_EMPTY", gate.place("evidence_schema"), "the gate file asks for no evidence", hint);
  }
  return gate.members("evidence_schema", asField).map(([name, field]) => readField(name, field, report));
}

/** What to write for a field that is no object: `tests_pass: boolean` gives its type. */
function asField(name: string, value: JsonValue): string {
  const type = typeof value === "string" && TYPE_WORDS.has(value) ? value : "boolean";
  return `Write ${shown(name)}: {type: ${type}}`;
}

function readField(name: string, field: ObjectReader, report: Report): FieldDefinition {
  checkFieldName(name, field, report);
  const type = readType(field, report);
  const required = field.flag("required") ?? true;
  const description = field.text("description");
  const example = field.value("example");
  refuseRules(field, FIELD_RULES, report);
  field.rest();
  return {
    name,
    type,
    required,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
  };
}

function readType(field: ObjectReader, report: Report): FieldType {
  const word = field.required("type", field.text("type"), `type: boolean (or one of ${TYPE_NAMES})`);
  const type = word === undefined ? "any" : TYPE_WORDS.get(word);
  if (type !== undefined) return type;
  const meant = nearest(word ?? "", TYPE_WORDS.keys());
  const hint = `Write one of ${TYPE_NAMES}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  report.error("FIELD_TYPE_UNKNOWN", field.place("type"), `there is no type ${shown(word)}`, hint);
  return "any";
}

function checkFieldName(name: string, field: ObjectReader, report: Report): void {
  if (!isReserved(name)) return;
  report.error("NAME_RESERVED", field.place(), `no field may be called ${shown(name)}`, "Give it another name.");
}

/** Whether a name can't be a field's. */
export function isReserved(name: string): boolean {
  return name.trim() === "" || RESERVED.has(name);
}

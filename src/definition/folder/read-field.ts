import type { SourcePosition } from "../../errors.js";
import { TYPE_WORDS } from "../field-types.js";
import type { JsonObject, JsonValue } from "../json.js";
import { RESERVED, shown } from "../names.js";
import { nearest } from "../nearest.js";
import type { FieldDefinition, FieldType, VerifyDefinition } from "../structure.js";
import type { ObjectReader } from "./object-reader.js";
import { readVerify } from "./read-demands.js";
import type { Report } from "./report.js";

const TYPE_NAMES = [...TYPE_WORDS.keys()].join(", ");

/** What a gate asks for as a whole; at a field it would be passed over. */
const GATE_KEYS = ["validators", "cross_field_validation", "approval", "reveal"];

/** A field before its rules are read. */
export interface FieldSeed {
  readonly definition: FieldDefinition;
  /** Where its validators stand. */
  readonly place: SourcePosition;
  /** Where its example stands, if its author wrote one for it: what a text shows is told where it is read. */
  readonly examplePlace?: SourcePosition;
  /** What its validators are called, or say. */
  readonly validators: readonly string[];
  readonly params: JsonObject;
  readonly verify: readonly VerifyDefinition[];
}

/** What to write for a field that is no object: `tests_pass: boolean` gives its type. */
export function asField(name: string, value: JsonValue): string {
  const type = typeof value === "string" && TYPE_WORDS.has(value) ? value : "boolean";
  return `Write ${shown(name)}: {type: ${type}}`;
}

/** Reads one field of `evidence_schema`. */
export function readField(name: string, reader: ObjectReader, report: Report): FieldSeed {
  checkFieldName(name, reader, report);
  const type = readType(reader, report);
  const required = reader.flag("required") ?? true;
  const description = reader.text("description");
  const example = reader.value("example");
  const validators = readValidators(reader);
  const params = reader.fields("validator_params") ?? {};
  if (validators.length === 0 && Object.keys(params).length > 0) {
    const message = "these parameters count for nothing: the field names no validator";
    report.warn("VALIDATOR_UNUSED", reader.place("validator_params"), message, "Write validator: and its name.");
  }
  const verify = readVerify(reader).map((check) => ({ ...check, field: name }));
  refuseGateKeys(reader, report);
  reader.refuseRest();
  const definition = {
    name,
    type,
    required,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
  };
  return {
    ...{ definition, validators, params, verify },
    ...{ place: reader.place("validator"), examplePlace: reader.place("example") },
  };
}

/** One validator, or a list of them. */
function readValidators(reader: ObjectReader): readonly string[] {
  if (Array.isArray(reader.asked("validator", "Name a validator, or remove the line: nothing is checked by it.")))
    return reader.texts("validator") ?? [];
  const one = reader.text("validator");
  return one === undefined ? [] : [one];
}

function refuseGateKeys(reader: ObjectReader, report: Report): void {
  for (const key of GATE_KEYS.filter((candidate) => reader.value(candidate) !== undefined)) {
    const hint = `Move ${shown(key)} to the top of the gate file, beside evidence_schema.`;
    report.error("RULE_MISPLACED", reader.place(key), `only a whole gate can have ${shown(key)}, not a field`, hint);
  }
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

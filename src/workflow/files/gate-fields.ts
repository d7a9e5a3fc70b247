/**
 * Reads the parts of a gate file: fields, `verify`, `approval` and `reveal`. A requirement that can't be read, or is in
 * a place where it would be ignored, is an error.
 */
import type { SourcePosition } from "../../errors.js";
import type { KeyPath } from "../diagnostic.js";
import { TYPE_WORDS } from "../field-types.js";
import { type ApprovalDefinition, type GatePlace, REVEALS, type Reveal, sinceFault } from "../gate-definition.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { orNearest, RESERVED, shown } from "../names.js";
import type { ObjectReader, Report } from "../object-reader.js";
import type { FieldDefinition, FieldType, VerifyDefinition } from "../structure.js";

/** A field whose rules are not read yet. */
export interface FieldSeed {
  readonly definition: FieldDefinition;
  /** The position of its validators. */
  readonly place: SourcePosition;
  /** The position of the author's example. Examples in a text are checked when the text is read. */
  readonly examplePlace?: SourcePosition;
  /** Names of validators, or rules. */
  readonly validators: readonly string[];
  readonly params: JsonObject;
  readonly verify: readonly VerifyDefinition[];
}

/** Returns the hint for a field that is not an object: `tests_pass: boolean` gives its type. */
export function asField(name: string, value: JsonValue): string {
  const type = typeof value === "string" && TYPE_WORDS.has(value) ? value : "boolean";
  return `Write ${shown(name)}: {type: ${type}}`;
}

/** Reads one field of `evidence_schema`. */
export function readField(name: string, reader: ObjectReader, report: Report, gate: GatePlace): FieldSeed {
  checkFieldName(name, reader, report);
  const type = readType(reader, report);
  const required = reader.flag("required") ?? true;
  const description = reader.text("description");
  const example = reader.value("example");
  const allowExample = reader.flag("allow_example");
  const waivable = reader.flag("waivable");
  const validators = readValidators(reader);
  const params = reader.fields("validator_params") ?? {};
  if (validators.length === 0 && Object.keys(params).length > 0) {
    const message = "these parameters are ignored: the field names no validator";
    report.warn("VALIDATOR_UNUSED", reader.place("validator_params"), message, "Write validator: and its name.");
  }
  const verify = readVerify(reader, report, gate).map((check) => ({ ...check, field: name }));
  refuseGateKeys(reader, report);
  reader.refuseRest();
  const definition = {
    name,
    type,
    required,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    ...(allowExample === true ? ({ allowExample } as const) : {}),
    ...(waivable === false ? ({ waivable } as const) : {}),
  };
  return {
    ...{ definition, validators, params, verify },
    ...{ place: reader.place("validator"), examplePlace: reader.place("example") },
  };
}

/** Checks whether a name can't be used for a field. */
export function isReserved(name: string): boolean {
  return name.trim() === "" || RESERVED.has(name);
}

/** Requirements of a gate in addition to evidence. */
interface Demands {
  readonly verify: readonly VerifyDefinition[];
  readonly approval?: ApprovalDefinition;
  readonly reveal?: Reveal;
}

/** Reads `verify`, `approval` and `reveal`, from the top of a gate or from its checkpoint. */
export function readDemands(readers: readonly ObjectReader[], report: Report, gate: GatePlace): Demands {
  for (const key of ["approval", "reveal"]) refuseSecond(readers, key);
  const verify = readers.flatMap((reader) => readVerify(reader, report, gate));
  const [approval] = readers.flatMap((reader) => readApproval(reader) ?? []);
  const [reveal] = readers.flatMap((reader) => readReveal(reader) ?? []);
  return { verify, ...(approval === undefined ? {} : { approval }), ...(reveal === undefined ? {} : { reveal }) };
}

function checkFieldName(name: string, field: ObjectReader, report: Report): void {
  if (!isReserved(name)) return;
  report.error("NAME_RESERVED", field.place(), `no field may be called ${shown(name)}`, "Give it another name.");
}

const TYPE_NAMES = [...TYPE_WORDS.keys()].join(", ");

function readType(field: ObjectReader, report: Report): FieldType {
  const word = field.required("type", field.text("type"), `type: boolean (or one of ${TYPE_NAMES})`);
  const type = word === undefined ? "any" : TYPE_WORDS.get(word);
  if (type !== undefined) return type;
  const hint = `Write one of ${TYPE_NAMES}${orNearest(word ?? "", TYPE_WORDS.keys())}`;
  report.error("FIELD_TYPE_UNKNOWN", field.place("type"), `there is no type ${shown(word)}`, hint);
  return "any";
}

/** Reads one validator or a list of them. */
function readValidators(reader: ObjectReader): readonly string[] {
  if (Array.isArray(reader.asked("validator", "Name a validator, or remove the line: it checks nothing.")))
    return reader.texts("validator") ?? [];
  const one = reader.text("validator");
  return one === undefined ? [] : [one];
}

const VERIFY_HINT = "Write the verifier's name, {verifier: name, …its parameters}, or a list of these.";

/** Reads `verify`: a verifier's name, an object with it and its parameters, or a list of these. */
export function readVerify(reader: ObjectReader, report: Report, gate: GatePlace): VerifyDefinition[] {
  const value = reader.asked("verify", VERIFY_HINT);
  if (value === undefined || value === false) return [];
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item, index) => {
    const check = verifyOf(item);
    const keys = Array.isArray(value) ? ["verify", index] : ["verify"];
    if (check !== undefined) {
      checkAbout(item, keys, reader);
      checkParams(check, keys, reader, report, gate);
      return [check];
    }
    reader.wrong(keys, item, "a verifier's name, or an object with one", VERIFY_HINT);
    return [];
  });
}

/** Reports parameters that can't be right in this gate, whichever host runs it. */
function checkParams(
  check: VerifyDefinition,
  keys: KeyPath,
  reader: ObjectReader,
  report: Report,
  gate: GatePlace,
): void {
  const fault = sinceFault(check, gate);
  if (fault !== undefined) {
    const place = reader.place(...keys, "since", ...(isJsonObject(check.params.since) ? ["phase"] : []));
    report.error("SINCE_WRONG", place, `${shown(check.verifier)}: ${fault.message}`, fault.hint);
  }
  const { exit = 0, output } = check.params;
  if (check.verifier !== "command" || exit === 0 || output !== undefined) return;
  const message = `"command" must end with exit code ${shown(exit)} here, for whatever reason: a syntax error is enough`;
  const hint =
    'Say what its output must show: output: {pattern: "1 failed"}. See docs/verifiers.md, "Fails for the right reason".';
  report.warn("FAILURE_UNEXPLAINED", reader.place(...keys, "exit"), message, hint);
}

function verifyOf(item: JsonValue): VerifyDefinition | undefined {
  if (typeof item === "string" && item.trim() !== "") return { verifier: item.trim(), params: {} };
  if (!isJsonObject(item)) return undefined;
  const { verifier, description, waivable, ...params } = item;
  if (typeof verifier !== "string" || verifier.trim() === "") return undefined;
  const about = typeof description === "string" ? { description: description.trim() } : {};
  return { verifier: verifier.trim(), params, ...about, ...(waivable === false ? { waivable } : {}) };
}

/** Reports what a check says about itself in a wrong form: it would be ignored. */
function checkAbout(item: JsonValue, keys: KeyPath, reader: ObjectReader): void {
  if (!isJsonObject(item)) return;
  const { description, waivable } = item;
  if (description !== undefined && (typeof description !== "string" || description.trim() === "")) {
    reader.wrong([...keys, "description"], description, "a text", "Say what the check looks at, or remove the line.");
  }
  if (waivable !== undefined && typeof waivable !== "boolean") {
    reader.wrong([...keys, "waivable"], waivable, "true or false", "Write waivable: false, or remove the line.");
  }
}

/** Keys that only a whole gate can have. At a field they would be ignored. */
const GATE_KEYS = ["validators", "cross_field_validation", "approval", "reveal"];

function refuseGateKeys(reader: ObjectReader, report: Report): void {
  for (const key of GATE_KEYS.filter((candidate) => reader.value(candidate) !== undefined)) {
    const hint = `Move ${shown(key)} to the top of the gate file, next to evidence_schema.`;
    report.error("RULE_MISPLACED", reader.place(key), `only a whole gate can have ${shown(key)}, not a field`, hint);
  }
}

/** Reports a key that a gate can have only once, if it is in two places: one of them would be ignored. */
function refuseSecond(readers: readonly ObjectReader[], key: string): void {
  const [, second] = readers.filter((reader) => (reader.value(key) ?? false) !== false);
  const hint = "Write it once, at the top of the gate or in its checkpoint.";
  second?.wrong([key], second.value(key), "written once, and it is at the top of the gate too", hint);
}

/** Reads `approval`: the question alone, or with the approvers. */
function readApproval(reader: ObjectReader): ApprovalDefinition | undefined {
  const hint = 'Write approval: {prompt: "what the person is asked"}.';
  const value = reader.asked("approval", hint);
  if (value === undefined || value === false) return undefined;
  if (typeof value === "string") return { prompt: value };
  if (!isJsonObject(value)) {
    reader.wrong(["approval"], value, "an object with a prompt", hint);
    return undefined;
  }
  const approval = reader.object("approval");
  const prompt = approval?.required("prompt", approval.text("prompt"), 'prompt: "what the person is asked"');
  const approvers = approval?.texts("approvers");
  const named = Object.hasOwn(value, "approvers") ? value.approvers : undefined;
  if (approvers?.length === 0 || named === null || named === "") {
    approval?.wrong(["approvers"], named, "a list of at least one name", "Name somebody, or leave it out.");
  }
  approval?.refuseRest();
  return prompt === undefined ? undefined : { prompt, ...(approvers === undefined ? {} : { approvers }) };
}

function readReveal(reader: ObjectReader): Reveal | undefined {
  const value = reader.asked("reveal", `Write one of ${REVEALS.join(", ")}`);
  if (value === undefined) return undefined;
  const reveal = REVEALS.find((candidate) => candidate === value);
  if (reveal !== undefined) return reveal;
  const hint = `Write one of ${REVEALS.join(", ")}${orNearest(String(value), REVEALS)}`;
  reader.wrong(["reveal"], value, `one of ${REVEALS.map(shown).join(", ")}`, hint);
  return undefined;
}

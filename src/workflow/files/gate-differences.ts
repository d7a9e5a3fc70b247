/** Warns when gate file, metadata and text ask for different things. Only one counts, so it is probably a mistake. */

import { isMissing, type Spot } from "../file-schema.js";
import type { Requirement } from "../infer/requirement.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json.js";
import { shown } from "../names.js";
import type { Report } from "../report.js";
import type { FieldDefinition, FieldGate } from "../structure.js";
import type { GatePart } from "./gate-fields.js";
import type { DemandKey } from "./gate-schema.js";

interface Counting {
  /** The words for messages: "the gate file". */
  readonly what: string;
  readonly file: string;
  readonly fields: readonly FieldDefinition[];
}

/** Warns if the names in the metadata's `required_evidence` are not the fields that count. */
export function warnOtherNames(names: readonly string[], { what, file, fields }: Counting, spot: Spot): void {
  if (names.length === 0) return;
  const asked = new Set(fields.map(({ name }) => name));
  const named = new Set(names);
  const onlyMetadata = names.filter((name) => !asked.has(name));
  const onlyFile = [...asked].filter((name) => !named.has(name));
  const free = fields.filter(({ name, required }) => !required && named.has(name)).map(({ name }) => name);
  const parts = [
    ...(onlyMetadata.length > 0 ? [`only the metadata has ${onlyMetadata.join(", ")}`] : []),
    ...(onlyFile.length > 0 ? [`only ${what} has ${onlyFile.join(", ")}`] : []),
    ...(free.length > 0 ? [`required by the metadata and optional in ${what}: ${free.join(", ")}`] : []),
  ];
  if (parts.length === 0) return;
  const subject = what.replace(/^the /, "");
  const message = `${subject} and metadata ask for different evidence, and ${what} counts: ${parts.join("; ")}`;
  spot.report.warn("GATE_DIFFERS", spot.place("phase_number"), message, `Make "required_evidence" match ${file}.`);
}

interface Difference {
  readonly text: string;
  /** True if the gate file has nothing of that kind. */
  readonly isMissing: boolean;
}

const DEMANDS: Readonly<Record<DemandKey, (value: JsonValue, gate: FieldGate) => Difference | undefined>> = {
  validators: (value, { fields }) =>
    otherRules(
      "the metadata defines validators",
      value,
      fields.flatMap(({ rules = [] }) => rules),
    ),
  cross_field_validation: (value, { rules = [] }) => otherRules("the metadata has rules between fields", value, rules),
  verify: otherChecks,
  approval: otherApproval,
  reveal: (value, { reveal = "fields" }) => {
    const text = `the metadata shows agents ${shown(value)} of the gate, the gate file ${shown(reveal)}`;
    return value === reveal ? undefined : { text, isMissing: false };
  },
};

/** Warns about requirements of the metadata's checkpoint that differ from the gate file, and so are ignored. */
export function warnOtherDemands(
  file: string,
  gate: FieldGate | undefined,
  given: JsonObject,
  { written, spot: { report, place } }: GatePart,
): void {
  for (const [key, difference] of Object.entries(DEMANDS)) {
    const value = ownValue(given, key);
    if (isMissing(value) || isNothing(value) || gate === undefined) continue;
    const said = difference(value, gate);
    if (said === undefined) continue;
    const hint = said.isMissing ? `Move it to ${file}.` : `Make it match ${file}, or remove it.`;
    report.warn("GATE_DIFFERS", place(key), `${shown(key)} is ignored here: ${said.text}`, hint);
  }
  for (const [key, value] of [
    ["strict", gate?.strict],
    ["allow_override", gate && gate.allowOverride === true],
  ] as const) {
    const stated = written[key];
    if (stated === undefined || value === undefined || stated === value) continue;
    const message = `${shown(key)} is ignored here: it is ${stated} in the metadata and ${value} in the gate file`;
    const hint = `Write ${key}: ${stated} below checkpoint: in ${file}, or remove it.`;
    report.warn("GATE_DIFFERS", place(key), message, hint);
  }
}

/** Warns if a text requires other named fields than the gate file. Claims have names made of sentences, and are left out. */
export function warnOtherText(
  requirements: readonly Requirement[],
  gate: FieldGate,
  { text, file }: { readonly text: string; readonly file: string },
  report: Report,
): void {
  for (const requirement of requirements.filter(({ named }) => named)) {
    const parts = otherField(requirement, gate);
    if (parts.length === 0) continue;
    const place = { file: text, line: requirement.line, column: requirement.column };
    const message = `the text differs from the gate file, which counts: ${parts.join("; ")}`;
    report.warn("GATE_DIFFERS", place, message, `Make both say the same: the other is ${file}.`);
  }
}

/** Returns the difference between rules. Rules with the same text are the same, under any name. */
function otherRules(what: string, value: JsonValue, rules: NonNullable<FieldGate["rules"]>): Difference | undefined {
  const known = new Set(rules.flatMap(({ source, cel }) => [source.trim(), cel]));
  const written = isJsonObject(value) && typeof value.rule !== "string" ? Object.values(value) : [value].flat();
  const texts = written.map((item) => (isJsonObject(item) ? String(item.rule) : String(item)).trim());
  const others = texts.filter((text) => !known.has(text));
  if (others.length === 0) return undefined;
  return { text: `${what} that the gate file doesn't have: ${others.map(shown).join(", ")}`, isMissing: true };
}

function otherChecks(value: JsonValue, { verify = [] }: FieldGate): Difference | undefined {
  const known = new Set(verify.map(({ verifier, params }) => canonicalJson({ ...params, verifier })));
  const written = [value].flat().map((item) => (isJsonObject(item) ? item : { verifier: item }));
  const others = written.filter(({ description: _, waivable: __, ...asked }) => !known.has(canonicalJson(asked)));
  if (others.length === 0) return undefined;
  const names = others.map(({ verifier }) => shown(verifier)).join(", ");
  return { text: `the metadata has checks that the gate file doesn't have: ${names}`, isMissing: true };
}

function otherApproval(value: JsonValue, { approval }: FieldGate): Difference | undefined {
  const stated = isJsonObject(value) ? value : { prompt: value };
  const question = shown(stated.prompt);
  if (approval === undefined) {
    return { text: `the metadata requires an approval, ${question}, and the gate file none`, isMissing: true };
  }
  if (stated.prompt !== approval.prompt) {
    const text = `the metadata asks approvers ${question}, the gate file asks ${shown(approval.prompt)}`;
    return { text, isMissing: false };
  }
  if (canonicalJson(stated.approvers ?? []) === canonicalJson(approval.approvers ?? [])) return undefined;
  const who = (approvers: JsonValue | readonly string[] | undefined) =>
    Array.isArray(approvers) && approvers.length > 0 ? approvers.join(", ") : "any approver";
  const text = `the approvers are ${who(stated.approvers)} in the metadata and ${who(approval.approvers)} in the gate file`;
  return { text, isMissing: false };
}

function isNothing(value: JsonValue): boolean {
  return value === false || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

/** Returns the differences between a field of the text and of the gate file. Of a guessed field only the name counts. */
function otherField({ field, validators, certainty }: Requirement, gate: FieldGate): string[] {
  const { name, type, required } = field;
  const other = gate.fields.find((candidate) => candidate.name === name);
  if (other === undefined) return [`the gate file doesn't ask for ${name}`];
  const known = new Set([
    ...(other.rules ?? []).flatMap(({ source, cel }) => [source, cel]),
    ...(gate.verify ?? []).filter((check) => check.field === name).map(({ verifier }) => verifier),
  ]);
  const missing = certainty === "sure" ? validators.filter((validator) => !known.has(validator)) : [];
  return [
    ...(certainty === "sure" && type !== other.type
      ? [`${name} is of type ${type} in the text, ${other.type} in the gate file`]
      : []),
    ...(required && !other.required ? [`${name} is required in the text, optional in the gate file`] : []),
    ...missing.map((validator) => `${name} has no validator ${shown(validator)} in the gate file`),
  ];
}

/**
 * Adds what a gate file says to the gate of the workflow that is extended: both are joined as they are written, and read as one
 * gate, so that rules of the addition see the fields of the base. What is wrong is reported where the addition has it.
 */
import { childFaults, hasChildCheck } from "../child-workflow.js";
import type { KeyPath, ParsedSource } from "../diagnostic.js";
import { isMissing, readBy, type Spot, spotIn } from "../file-schema.js";
import type { GatePlace } from "../gate-definition.js";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json.js";
import { shown } from "../names.js";
import type { Report } from "../report.js";
import type { FieldGate, GateDefinition, SchemaGate } from "../structure.js";
import { readYaml } from "../yaml.js";
import { gateBy, readGate, refuseChildKeys } from "./choose-gate.js";
import { demandsOf } from "./gate-fields.js";
import { gateFile } from "./gate-schema.js";
import { gateFileContent } from "./write-gate.js";

interface Addition {
  readonly file: string;
  readonly text: string;
  /** True if the file is the whole gate. */
  readonly isWhole: boolean;
}

/** Returns the gate of a phase with what a gate file adds to it; undefined if the file can't be read. */
export async function addToGate(
  gate: GateDefinition,
  { file, text, isWhole }: Addition,
  report: Report,
  place: GatePlace,
): Promise<GateDefinition | undefined> {
  const source = await readYaml(file, text, report);
  const isAddition = isJsonObject(source?.value) && isMissing(source.value.gate) && !isWhole;
  if (source === undefined || !isJsonObject(source.value) || !isAddition) {
    return source && readGate(file, text, report, place);
  }
  if (isOfWorkflow(gate, { ...source, value: source.value }, report)) return undefined;
  if (gate.kind === "open") return readGate(file, text, report, place);
  if (gate.kind === "fields") return joinedGate(gate, { ...source, value: source.value }, report, place);
  return gate.kind === "schema" ? demandingMore(gate, { ...source, value: source.value }, report, place) : undefined;
}

interface ObjectSource extends ParsedSource {
  readonly value: JsonObject;
}

/** Reports an addition to a gate that is a workflow, or to one that would become one: only the whole gate says that. */
function isOfWorkflow(gate: GateDefinition, { value, place }: ObjectSource, report: Report): boolean {
  const [first = "workflow"] = Object.keys(value);
  const [key, message] = hasChildCheck(gate)
    ? [first, "the gate of the base is a workflow, to which nothing can be added"]
    : ["workflow", "a gate that becomes a workflow can't be added to that of the base"];
  const isWrong = hasChildCheck(gate) || !isMissing(ownValue(value, "workflow"));
  if (isWrong) report.error("RULE_MISPLACED", place([key]), message, WHOLE);
  return isWrong;
}

const WHOLE = 'Write "whole_gate": true in the entry, and the whole gate.';

function joinedGate(gate: FieldGate, more: ObjectSource, report: Report, place: GatePlace): Promise<FieldGate> {
  const before: JsonObject = JSON.parse(JSON.stringify(gateFileContent(gate)));
  const spot = spotIn(more, report);
  const joining = new Joining(more);
  const both = (key: string) => [objectIn(before, key), objectIn(more.value, key, spot)] as const;
  const [known, validators] = both("validators");
  for (const name of Object.keys(validators).filter((one) => Object.hasOwn(known, one))) {
    const message = `the base has a validator ${shown(name)}`;
    report.error("VALUE_WRONG", more.place(["validators", name]), message, "Give this one another name.");
  }
  const [settings, ownSettings] = both("checkpoint");
  const { approval, reveal, ...others } = before;
  const value: JsonObject = {
    // Written in the checkpoint, they count in place of the base's.
    ...(approval === undefined || !isMissing(ownSettings.approval) ? {} : { approval }),
    ...(reveal === undefined || !isMissing(ownSettings.reveal) ? {} : { reveal }),
    ...{ ...others, ...more.value },
    checkpoint: { ...settings, ...ownSettings },
    evidence_schema: joining.fields(...both("evidence_schema")),
    validators: { ...known, ...validators },
    ...joining.lists([], before, more.value, ["cross_field_validation", "verify"]),
  };
  return gateBy(gateFile, value, spotIn({ value, place: joining.place }, report), place);
}

/** Joins the lists and the fields of two gates, and knows which place in the addition is meant by one in the joined gate. */
class Joining {
  readonly #more: ParsedSource;
  /** The number of items that come from the base, by the path of their list. */
  readonly #before = new Map<string, { readonly count: number; readonly isList: boolean }>();

  constructor(more: ParsedSource) {
    this.#more = more;
  }

  readonly place = (path: KeyPath) => {
    const at = path.findIndex((key, index) => typeof key === "number" && this.#before.has(keyOf(path.slice(0, index))));
    const list = at < 0 ? undefined : this.#before.get(keyOf(path.slice(0, at)));
    if (list === undefined) return this.#more.place(path);
    const index = Number(path[at]) - list.count;
    if (index < 0) return this.#more.place(path.slice(0, at));
    return this.#more.place([...path.slice(0, at), ...(list.isList ? [index] : []), ...path.slice(at + 1)]);
  };

  lists(path: KeyPath, before: JsonObject, more: JsonObject, keys: readonly string[]): JsonObject {
    const joined: JsonObject = {};
    for (const key of keys) {
      const [first, second] = [before[key], more[key]];
      const items = first === undefined ? [] : [first].flat();
      const isNothing = isMissing(second) || second === false || (isJsonObject(second) && !Object.keys(second).length);
      const added = isNothing ? [] : [second].flat();
      this.#before.set(keyOf([...path, key]), { count: items.length, isList: Array.isArray(second) });
      if (items.length + added.length > 0) joined[key] = [...items, ...added];
    }
    return joined;
  }

  fields(before: JsonObject, more: JsonObject): JsonObject {
    const fields = new Map<string, JsonValue>(Object.entries(before));
    for (const [name, field] of Object.entries<JsonValue>(more)) {
      const old = fields.get(name);
      const isSame = isJsonObject(old) && isJsonObject(field);
      const lists = isSame ? this.lists(["evidence_schema", name], old, field, ["validator", "verify"]) : {};
      fields.set(name, isSame ? { ...old, ...field, ...lists } : field);
    }
    return Object.fromEntries(fields);
  }
}

function keyOf(path: KeyPath): string {
  return JSON.stringify(path);
}

/** Returns the object below a key; an empty one for a value of another kind, which is reported. */
function objectIn(value: JsonObject, key: string, spot?: Spot): JsonObject {
  const inner = value[key];
  if (isJsonObject(inner)) return inner;
  if (!isMissing(inner) && inner !== false)
    spot?.at(key).wrong(inner, "an object with keys", `Write keys below ${key}.`);
  return {};
}

/** A schema in code can only get what a gate asks for besides its fields. */
function demandingMore(gate: SchemaGate, more: ObjectSource, report: Report, place: GatePlace): GateDefinition {
  const spot = spotIn(more, report);
  const written = readBy(gateFile, more.value, spot) ?? {};
  const { checkpoint } = written;
  const parts = [{ written, spot }, ...(checkpoint ? [{ written: checkpoint, spot: spot.at("checkpoint") }] : [])];
  for (const key of ["evidence_schema", "validators", "cross_field_validation"] as const) {
    for (const part of parts.filter(({ written }) => key in written)) {
      const message = `${shown(key)} can't be added: the gate of the base is a schema in code`;
      report.error("RULE_MISPLACED", part.spot.place(key), message, WHOLE);
    }
  }
  refuseChildKeys(more.value, spot);
  const { verify, approval = gate.approval, ...kept } = demandsOf(parts, place);
  const checks = [...(gate.verify ?? []), ...verify];
  const { allowOverride = gate.allowOverride, reveal = gate.reveal } = kept;
  const joined = { ...gate, verify: checks.length === 0 ? undefined : checks, approval, allowOverride, reveal };
  for (const fault of childFaults(joined)) report.error("WORKFLOW_PHASE_WRONG", spot.place("verify"), fault, WHOLE);
  return joined;
}

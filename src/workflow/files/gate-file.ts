import { isJsonObject } from "../json.js";
import { ObjectReader } from "../object-reader.js";
import type { Report } from "../report.js";
import type { FieldGate } from "../structure.js";
import { readYaml } from "../yaml.js";
import { asField, type FieldSeed, readDemands, readField } from "./gate-fields.js";
import { readRules } from "./gate-rules.js";
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
  return readGateObject(new ObjectReader(source, source.value, [], report), report);
}

/** Reads a gate that stands in an object: a gate file, or a part of another file. */
export async function readGateObject(gate: ObjectReader, report: Report): Promise<FieldGate> {
  const checkpoint = gate.object("checkpoint");
  const seeds = gate.members("evidence_schema", asField).map(([name, field]) => readField(name, field, report));
  const settings = await readSettings(seeds, gate, checkpoint, report);
  if ((settings.verify?.length ?? 0) === 0 && settings.approval === undefined) refuseEmpty(gate, report);
  checkpoint?.refuseRest();
  gate.refuseRest();
  return { kind: "fields", ...settings, source: "gate-file" };
}

/** Reads all that a gate says of its fields together. Keys may stand at its top or in its checkpoint. */
export async function readSettings(
  seeds: readonly FieldSeed[],
  top: ObjectReader | undefined,
  checkpoint: ObjectReader | undefined,
  report: Report,
): Promise<Omit<FieldGate, "kind" | "source">> {
  const readers = [top, checkpoint].filter((reader) => reader !== undefined);
  const { verify: asked, ...demands } = readDemands(readers);
  const { fields, rules, verify: meant } = await readRules(seeds, readers, report);
  const verify = [...seeds.flatMap((seed) => seed.verify), ...meant, ...asked];
  return {
    strict: checkpoint?.flag("strict") ?? true,
    allowOverride: checkpoint?.flag("allow_override") ?? false,
    fields: [...fields],
    ...(rules.length === 0 ? {} : { rules: [...rules] }),
    ...(verify.length === 0 ? {} : { verify }),
    ...demands,
  };
}

function refuseEmpty(gate: ObjectReader, report: Report): void {
  const given = gate.value("evidence_schema");
  if (given !== undefined && !(isJsonObject(given) && Object.keys(given).length === 0)) return;
  const hint = "Write a field below 'evidence_schema:', or delete the file if the gate is not to ask for any.";
  report.error("GATE_EMPTY", gate.place("evidence_schema"), "the gate file asks for no evidence", hint);
}

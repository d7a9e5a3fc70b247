/**
 * Chooses the gate of a phase: its gate file; else the fields that its text requires; else those of the metadata; else an
 * open gate. Rules of the metadata's checkpoint are added to the text's fields. A gate file that can't be read, or whose
 * name is misspelt, never opens the gate, and neither does a text that speaks of a gate and can't be read.
 */

import { type GatePlace, NO_PHASES } from "../gate-definition.js";
import { type DocumentGate, readRequirements, unreadWord } from "../infer/document-gate.js";
import { checkExamples } from "../infer/examples.js";
import type { RequirementFault } from "../infer/requirement.js";
import { isJsonObject } from "../json.js";
import { shown } from "../names.js";
import type { Report } from "../object-reader.js";
import { ObjectReader } from "../object-reader.js";
import type { FieldDefinition, FieldGate, GateDefinition, OpenGate } from "../structure.js";
import { readYaml } from "../yaml.js";
import { warnOtherDemands, warnOtherNames, warnOtherText } from "./gate-differences.js";
import { asField, type FieldSeed, isReserved, readDemands, readField } from "./gate-fields.js";
import { readRules } from "./gate-rules.js";
import type { PhaseFolders } from "./tasks.js";
import { GATE_FILES, isGateFile, looksLikeGate, type WorkflowFiles } from "./workflow-files.js";

/** The places where the gate of a phase may be. */
interface GateFolders extends PhaseFolders {
  /** The phase's text. */
  readonly file: string;
  /** The texts of the phase and its tasks, which are not gates under any name. */
  readonly texts: readonly string[];
  readonly place: GatePlace;
}

/** A gate file without requirements. As a gate it is never used: a workflow whose gate file can't be read can't be started. */
const SHUT: FieldGate = { kind: "fields", strict: true, fields: [], source: "gate-file" };

/** Returns the gate of a phase. */
export async function chooseGate(
  number: number,
  phase: ObjectReader | undefined,
  where: GateFolders,
): Promise<GateDefinition> {
  const { report } = where;
  const checkpoint = phase?.object("checkpoint");
  const names = requiredNames(phase, checkpoint, report);
  const file = gateFile(where);
  if (file !== undefined) return fileGate(file, names, phase, checkpoint, where);
  if (hasLookalikes(where)) return SHUT;
  const document = await readDocument(where, checkpoint);
  const seeds = documentSeeds(number, document, where);
  const asked = seeds.length > 0 ? seeds : names.map((name) => anyField(name, phase));
  const settings = await readSettings(asked, undefined, checkpoint, where);
  checkpoint?.refuseRest();
  if (seeds.length > 0 && phase !== undefined) {
    const what = "the phase's text";
    warnOtherNames(names, { what, file: where.file, fields: settings.fields }, phase, report);
  }
  const fields = await withSoundExamples(settings, document, where);
  const source = seeds.length > 0 ? "document" : "metadata";
  if (isAsking(settings)) return { kind: "fields", ...settings, fields, source };
  warnOpen(number, phase, where);
  return { kind: "open", ...(settings.allowOverride === true ? { allowOverride: true } : {}) };
}

/** Reports a gate that requires nothing. Where a text of the phase speaks of a gate, that is an error. */
function warnOpen(
  number: number,
  phase: ObjectReader | undefined,
  { folders, texts, files, report }: GateFolders,
): void {
  const gateFile = `${folders[0]}/${GATE_FILES[0]}`;
  const unread = texts.flatMap((file) => {
    const found = unreadWord(files.text(file) ?? "");
    return found === undefined ? [] : [{ file, ...found }];
  });
  for (const { file, line, column, word, others } of unread) {
    const more = others === 0 ? "" : others === 1 ? ", and in another line" : `, and in ${others} other lines`;
    const message = `the text says ${shown(word)} here${more}, but nothing was read that phase ${number} requires`;
    const hint = `In the phase's text, write Evidence: \`count\` (integer, at least 1). Or write ${gateFile}; gate: none in it says that the phase requires nothing.`;
    report.error("REQUIREMENT_UNREAD", { file, line, column }, message, hint);
  }
  const place = phase?.place("phase_number") ?? { file: `phases/${number}` };
  const hint = `Write ${gateFile}. If this is meant, write gate: none in it.`;
  report.warn("GATE_OPEN", place, `phase ${number} requires nothing: any evidence passes its gate`, hint);
}

/** Reads a gate-definition.yaml. Returns undefined and reports an error if it can't be read as a gate. */
export async function readGate(
  file: string,
  text: string,
  report: Report,
  place: GatePlace = NO_PHASES,
): Promise<FieldGate | OpenGate | undefined> {
  const source = await readYaml(file, text, report);
  if (source === undefined) return undefined;
  if (!isJsonObject(source.value)) {
    const hint = "Write 'evidence_schema:' and the fields below it.";
    report.error("GATE_EMPTY", source.place([]), "a gate file must be a mapping with keys", hint);
    return undefined;
  }
  const gate = new ObjectReader(source, source.value, [], report);
  // For editors.
  gate.text("$schema");
  return gate.value("gate") === undefined ? readGateObject(gate, report, place) : readNoGate(gate, report);
}

/** Reads the gate file of a phase that is meant to require nothing. */
function readNoGate(gate: ObjectReader, report: Report): OpenGate {
  if (gate.text("gate") !== "none") {
    const message = "'gate' can only be none, which says that the phase requires nothing";
    report.error("VALUE_WRONG", gate.place("gate"), message, "Write gate: none, or remove it.");
  }
  gate.refuseRest();
  return { kind: "open" };
}

/** Reads a gate from an object: a gate file, or a part of another file. Without a place it belongs to no phase. */
export async function readGateObject(
  gate: ObjectReader,
  report: Report,
  place: GatePlace = NO_PHASES,
): Promise<FieldGate> {
  const checkpoint = gate.object("checkpoint");
  const seeds = gate.members("evidence_schema", asField).map(([name, field]) => readField(name, field, report, place));
  const settings = await readSettings(seeds, gate, checkpoint, { report, place });
  if ((settings.verify?.length ?? 0) === 0 && settings.approval === undefined) refuseEmpty(gate, report);
  checkpoint?.refuseRest();
  gate.refuseRest();
  return { kind: "fields", ...settings, source: "gate-file" };
}

/** Returns the names of required evidence. They may be at the phase or in its checkpoint; all count. */
function requiredNames(
  phase: ObjectReader | undefined,
  checkpoint: ObjectReader | undefined,
  report: Report,
): string[] {
  const names = [...(phase?.texts("required_evidence") ?? []), ...(checkpoint?.texts("required_evidence") ?? [])];
  for (const name of names.filter(isReserved)) {
    const place = phase?.place("required_evidence") ?? { file: "metadata.json" };
    report.error("NAME_RESERVED", place, `no field may be called ${shown(name)}`, "Give it another name.");
  }
  return [...new Set(names)];
}

/** Returns the path of the phase's gate file. */
function gateFile({ files, folders, report }: GateFolders): string | undefined {
  const [first, second] = folders.flatMap((folder) => GATE_FILES.map((name) => `${folder}/${name}`)).filter(files.has);
  if (second !== undefined) {
    report.error(
      "GATE_DUPLICATE",
      { file: second },
      `the phase has another gate file: ${first}`,
      "Delete one of the two.",
    );
  }
  return first;
}

async function fileGate(
  file: string,
  names: readonly string[],
  phase: ObjectReader | undefined,
  checkpoint: ObjectReader | undefined,
  where: GateFolders,
): Promise<GateDefinition> {
  const { files, report } = where;
  const text = files.text(file);
  const gate = text === undefined ? undefined : await gateOf(file, text, where);
  const asked = gate?.kind === "open" ? SHUT : gate;
  if (checkpoint !== undefined) warnOtherDemands(file, asked, checkpoint, report);
  checkpoint?.refuseRest();
  if (gate === undefined || asked === undefined) return SHUT;
  const counting = { what: "the gate file", file, fields: asked.fields };
  if (phase !== undefined) warnOtherNames(names, counting, phase, report);
  const { requirements } = await readDocument(where, checkpoint);
  warnOtherText(requirements, asked, { text: where.file, file }, report);
  return gate;
}

/** Reads a gate file. If the reader throws, that is an error in the file. */
async function gateOf(
  file: string,
  text: string,
  { report, place }: Pick<GateFolders, "report" | "place">,
): Promise<FieldGate | OpenGate | undefined> {
  try {
    return await readGate(file, text, report, place);
  } catch (error) {
    report.failed({ file }, error);
    return undefined;
  }
}

interface Document {
  /** The phase's text. */
  readonly file: string;
  readonly files: WorkflowFiles;
  readonly report: Report;
}

/** Returns the requirements in the text of a phase, which may name the validators that its checkpoint defines. */
function readDocument({ file, files }: Document, checkpoint: ObjectReader | undefined): Promise<DocumentGate> {
  const value = checkpoint?.value("validators");
  return readRequirements(files.text(file) ?? "", new Set(isJsonObject(value) ? Object.keys(value) : []));
}

/** Reports files that look like the gate of a phase without a gate file. */
function hasLookalikes({ files, folders, texts, report }: GateFolders): boolean {
  const found = folders.flatMap((folder) => files.paths.flatMap((path) => meantAsGate(folder, path)));
  const lookalikes = new Set(found.filter((path) => !texts.includes(path)));
  for (const file of lookalikes) {
    const hint = `Rename it to ${folders[0]}/${GATE_FILES[0]}, or give it a name without "gate" if it is not a gate.`;
    report.error("GATE_FILE_MISNAMED", { file }, "this file looks like a gate, but isn't read", hint);
  }
  return lookalikes.size > 0;
}

/** Returns the part of a path in a phase's folder that looks like a gate: a file, a folder, or a gate file too deep. */
function meantAsGate(folder: string, path: string): string[] {
  if (!path.startsWith(`${folder}/`)) return [];
  const [name = ""] = path.slice(folder.length + 1).split("/");
  if (looksLikeGate(name)) return [`${folder}/${name}`];
  return isGateFile(path) ? [path] : [];
}

/** Returns the fields that a text requires. Records each, so that people can review how the text was read. */
function documentSeeds(phase: number, { requirements, faults }: DocumentGate, where: Document): FieldSeed[] {
  const { file, report } = where;
  reportFaults(faults, where);
  return requirements.map((requirement) => {
    const { field, validators, from, certainty, line, column } = requirement;
    const place = { file, line, column };
    report.infer({
      ...place,
      phase,
      name: field.name,
      type: field.type,
      required: field.required,
      validators,
      from,
      certainty,
    });
    return { definition: field, place, validators, params: {}, verify: [] };
  });
}

/** Reports what is wrong in a text. */
function reportFaults(faults: readonly RequirementFault[], { file, report }: Document): void {
  for (const { severity, code, message, hint, line, column } of faults) {
    const place = { file, line, column };
    if (severity === "error") report.error(code, place, message, hint);
    else report.warn(code, place, message, hint);
  }
}

function anyField(name: string, phase: ObjectReader | undefined): FieldSeed {
  const place = phase?.place("required_evidence") ?? { file: "metadata.json" };
  const definition = { name, type: "any", required: true } as const;
  return { definition, place, validators: [], params: {}, verify: [] };
}

/** Reads the requirements of a gate as a whole. Keys may be at its top or in its checkpoint. */
async function readSettings(
  seeds: readonly FieldSeed[],
  top: ObjectReader | undefined,
  checkpoint: ObjectReader | undefined,
  { report, place }: Pick<GateFolders, "report" | "place">,
): Promise<Omit<FieldGate, "kind" | "source">> {
  const readers = [top, checkpoint].filter((reader) => reader !== undefined);
  const { verify: asked, ...demands } = readDemands(readers, report, place);
  const { fields, rules, verify: meant } = await readRules(seeds, readers, report, place);
  const verify = [...seeds.flatMap((seed) => seed.verify), ...meant, ...asked];
  return {
    strict: checkpoint?.flag("strict") ?? true,
    ...(checkpoint?.flag("allow_override") === true ? { allowOverride: true } : {}),
    fields: [...fields],
    ...(rules.length === 0 ? {} : { rules: [...rules] }),
    ...(verify.length === 0 ? {} : { verify }),
    ...demands,
  };
}

/** Removes examples that the gate would refuse: agents would submit them. */
async function withSoundExamples(
  settings: Omit<FieldGate, "kind" | "source">,
  { examples }: DocumentGate,
  where: GateFolders,
): Promise<FieldDefinition[]> {
  const { faults, wrong } = await checkExamples(settings, examples);
  reportFaults(faults, where);
  return settings.fields.map((field) => {
    const { example, ...rest } = field;
    return wrong.has(field.name) ? rest : field;
  });
}

function isAsking({ fields, rules, verify, approval }: Omit<FieldGate, "kind" | "source">): boolean {
  return fields.length > 0 || rules !== undefined || verify !== undefined || approval !== undefined;
}

function refuseEmpty(gate: ObjectReader, report: Report): void {
  const given = gate.value("evidence_schema");
  if (given !== undefined && !(isJsonObject(given) && Object.keys(given).length === 0)) return;
  const hint = "Write a field below 'evidence_schema:', or delete the file if the gate is not to ask for any.";
  report.error("GATE_EMPTY", gate.place("evidence_schema"), "the gate file asks for no evidence", hint);
}

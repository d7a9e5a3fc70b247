/**
 * Chooses the gate of a phase: its gate file; else the fields that its text requires; else those of the metadata; else an
 * open gate. Rules of the metadata's checkpoint are added to the text's fields. A gate file that can't be read, or whose
 * name is misspelt, never opens the gate, and neither does a text that speaks of a gate and can't be read.
 */

import { childCheck, hasChildCheck } from "../child-workflow.js";
import { isMissing, readBy, type Spot, spotIn } from "../file-schema.js";
import { type GatePlace, NO_PHASES } from "../gate-definition.js";
import { type DocumentGate, readRequirements, unreadWord } from "../infer/document-gate.js";
import { checkExamples } from "../infer/examples.js";
import type { RequirementFault } from "../infer/requirement.js";
import { isJsonObject, type JsonObject, ownValue } from "../json.js";
import { shown } from "../names.js";
import type { Report } from "../report.js";
import type { FieldDefinition, FieldGate, GateDefinition, OpenGate } from "../structure.js";
import { readYaml } from "../yaml.js";
import { warnOtherDemands, warnOtherNames, warnOtherText } from "./gate-differences.js";
import { demandsOf, type FieldSeed, fieldSeed, type GatePart, isReserved, refuseName } from "./gate-fields.js";
import { readRules, verifyOf } from "./gate-rules.js";
import {
  CHILD_KEYS,
  childGate,
  gateFile as gateFileSchema,
  ignoredCheckpoint,
  metadataCheckpoint,
  noGate,
  stepGate,
  type WrittenDemands,
  type WrittenGate,
} from "./gate-schema.js";
import type { Listed } from "./metadata.js";
import { GATE_FILES, isGateFile, looksLikeGate, type WorkflowFiles } from "./workflow-files.js";

export interface GateFolders {
  readonly files: WorkflowFiles;
  readonly report: Report;
  /** `phases/N`, and the folder of the phase's text if that is another one. */
  readonly folders: readonly string[];
  /** The phase's text. */
  readonly file: string;
  /** The texts of the phase and its tasks, which are not gates under any name. */
  readonly texts: readonly string[];
  readonly place: GatePlace;
}

/** A gate file without requirements. As a gate it is never used: a workflow whose gate file can't be read can't be started. */
const SHUT: FieldGate = { kind: "fields", strict: true, fields: [], source: "gate-file" };

interface Said extends Listed {
  /** The `checkpoint` as it is written: where a gate file counts, it is only compared. */
  readonly given: JsonObject | undefined;
  readonly checkpoint: GatePart | undefined;
}

function saidOf({ entry, spot }: Listed, hasFile: boolean): Said {
  const at = spot.at("checkpoint");
  const written =
    entry.checkpoint === undefined
      ? undefined
      : readBy(hasFile ? ignoredCheckpoint : metadataCheckpoint, entry.checkpoint, at);
  const given = isJsonObject(entry.checkpoint) ? entry.checkpoint : undefined;
  return { entry, spot, given, checkpoint: written && { written, spot: at } };
}

export async function chooseGate(
  number: number,
  listed: Listed | undefined,
  where: GateFolders,
): Promise<GateDefinition> {
  const file = gateFile(where);
  const said = listed && saidOf(listed, file !== undefined);
  const names = requiredNames(said);
  if (file !== undefined) return fileGate(file, names, said, where);
  if (hasLookalikes(where)) return SHUT;
  const document = await readDocument(where, said);
  const seeds = documentSeeds(number, document, where);
  const asked = seeds.length > 0 || said === undefined ? seeds : names.map((name) => anyField(name, said));
  const settings = await readSettings(asked, said?.checkpoint?.written, [said?.checkpoint], where);
  if (seeds.length > 0 && said !== undefined) {
    const what = "the phase's text";
    warnOtherNames(names, { what, file: where.file, fields: settings.fields }, said.spot);
  }
  const fields = await withSoundExamples(settings, document, where);
  const source = seeds.length > 0 ? "document" : "metadata";
  if (isAsking(settings)) return { kind: "fields", ...settings, fields, source };
  warnOpen(number, listed, where);
  return { kind: "open", allowOverride: settings.allowOverride };
}

/** Reports a gate that requires nothing. Where a text of the phase speaks of a gate, that is an error. */
function warnOpen(number: number, listed: Listed | undefined, { folders, texts, files, report }: GateFolders): void {
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
  const place = listed?.spot.place("phase_number") ?? { file: `phases/${number}` };
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
  const spot = spotIn(source, report);
  if (!isMissing(ownValue(source.value, "workflow"))) return childGateOf(source.value, spot, place);
  if (isMissing(ownValue(source.value, "gate"))) return gateBy(gateFileSchema, source.value, spot, place);
  readBy(noGate, source.value, spot);
  return { kind: "open" };
}

/** Reads the gate of a phase that is a workflow. */
async function childGateOf(value: JsonObject, spot: Spot, place: GatePlace): Promise<FieldGate> {
  const { workflow: type = "", checkpoint, ...written } = readBy(childGate, value, spot) ?? {};
  const { target, options, for_each, allow_empty } = written;
  const check = childCheck({
    type,
    target: target as string,
    options,
    for_each,
    allow_empty: allow_empty || undefined,
  });
  const allowOverride = checkpoint?.allow_override || undefined;
  const gate: FieldGate = {
    kind: "fields",
    strict: true,
    allowOverride,
    fields: [],
    verify: [check],
    source: "gate-file",
  };
  await reportChildFaults(gate, spot, place, "workflow");
  return gate;
}

/** Reports what is wrong with the check of a phase that is a workflow. */
async function reportChildFaults(gate: FieldGate, spot: Spot, place: GatePlace, key: string): Promise<void> {
  if (!hasChildCheck(gate)) return;
  const { childGateFaults } = await import("../../rules/child-rules.js");
  for (const { at, message, hint } of await childGateFaults(gate, place)) {
    spot.report.error("WORKFLOW_PHASE_WRONG", spot.place(...(at.length === 0 ? [key] : at)), message, hint);
  }
}

export function readStepGate(value: JsonObject, spot: Spot): Promise<FieldGate> {
  return gateBy(stepGate, value, spot, NO_PHASES);
}

export async function gateBy(
  schema: typeof stepGate | typeof gateFileSchema,
  value: JsonObject,
  spot: Spot,
  place: GatePlace,
): Promise<FieldGate> {
  const written: WrittenGate = readBy(schema, value, spot) ?? {};
  const { checkpoint, evidence_schema: fields = {} } = written;
  const seeds = Object.entries(fields).map(([name, field]) =>
    fieldSeed(name, field, spot.at("evidence_schema", name), place),
  );
  const below = checkpoint && { written: checkpoint, spot: spot.at("checkpoint") };
  refuseChildKeys(value, spot);
  const settings = await readSettings(seeds, checkpoint, [{ written, spot }, below], { report: spot.report, place });
  if ((settings.verify?.length ?? 0) === 0 && settings.approval === undefined) refuseEmpty(value, spot);
  const gate: FieldGate = { kind: "fields", ...settings, source: "gate-file" };
  await reportChildFaults(gate, spot, place, "verify");
  return gate;
}

/** Reports the keys of a phase that is a workflow in a gate that is none: what they ask for would be lost. */
export function refuseChildKeys(value: JsonObject, { report, place }: Spot): void {
  for (const key of CHILD_KEYS.filter((name) => !isMissing(ownValue(value, name)))) {
    const message = `${shown(key)} belongs to a phase that is a workflow, and there is no "workflow"`;
    report.error("RULE_MISPLACED", place(key), message, "Write workflow: and its type, or remove the key.");
  }
}

/** Returns the names of required evidence. They may be at the phase or in its checkpoint; all count. */
function requiredNames(said: Said | undefined): string[] {
  if (said === undefined) return [];
  const { entry, spot, checkpoint } = said;
  const names = [...(entry.required_evidence ?? []), ...(checkpoint?.written.required_evidence ?? [])];
  for (const name of names.filter(isReserved)) refuseName(name, spot, spot.place("required_evidence"));
  return [...new Set(names)];
}

export function gateFile({
  files,
  folders,
  report,
}: Pick<GateFolders, "files" | "folders" | "report">): string | undefined {
  const [first, second] = folders.flatMap((folder) => GATE_FILES.map((name) => `${folder}/${name}`)).filter(files.has);
  const message = `the phase has another gate file: ${first}`;
  if (second !== undefined) report.error("GATE_DUPLICATE", { file: second }, message, "Delete one of the two.");
  return first;
}

async function fileGate(
  file: string,
  names: readonly string[],
  said: Said | undefined,
  where: GateFolders,
): Promise<GateDefinition> {
  const { files, report } = where;
  const text = files.text(file);
  const gate = text === undefined ? undefined : await readGate(file, text, report, where.place);
  const asked = gate?.kind === "open" ? SHUT : gate;
  if (said?.checkpoint !== undefined) warnOtherDemands(file, asked, said.given ?? {}, said.checkpoint);
  if (gate === undefined || asked === undefined) return SHUT;
  if (said !== undefined) warnOtherNames(names, { what: "the gate file", file, fields: asked.fields }, said.spot);
  const { requirements } = await readDocument(where, said);
  warnOtherText(requirements, asked, { text: where.file, file }, report);
  return gate;
}

/** Returns the requirements in the text of a phase, which may name the validators that its checkpoint defines. */
function readDocument({ file, files }: GateFolders, said: Said | undefined): Promise<DocumentGate> {
  const value = said?.given?.validators;
  return readRequirements(files.text(file) ?? "", new Set(isJsonObject(value) ? Object.keys(value) : []));
}

/** Reports files that look like the gate of a phase without a gate file. */
export function hasLookalikes({
  files,
  folders,
  texts,
  report,
}: Pick<GateFolders, "files" | "folders" | "texts" | "report">): boolean {
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
function documentSeeds(phase: number, { requirements, faults }: DocumentGate, where: GateFolders): FieldSeed[] {
  const { file, report } = where;
  reportFaults(faults, where);
  return requirements.map((requirement) => {
    const { field, validators, from, certainty, line, column } = requirement;
    const place = { file, line, column };
    const { name, type, required } = field;
    report.infer({ ...place, phase, name, type, required, validators, from, certainty });
    return { definition: field, place, validators, params: {}, verify: [] };
  });
}

function reportFaults(faults: readonly RequirementFault[], { file, report }: GateFolders): void {
  for (const { severity, code, message, hint, line, column } of faults) {
    report[severity === "error" ? "error" : "warn"](code, { file, line, column }, message, hint);
  }
}

function anyField(name: string, { spot }: Listed): FieldSeed {
  const definition = { name, type: "any", required: true } as const;
  return { definition, place: spot.place("required_evidence"), validators: [], params: {}, verify: [] };
}

type GateSettings = Omit<FieldGate, "kind" | "source">;

/** Returns the requirements of a gate as a whole. Keys may be at its top or in its checkpoint. */
async function readSettings(
  seeds: readonly FieldSeed[],
  { strict = true }: Pick<WrittenDemands, "strict"> = {},
  places: readonly (GatePart | undefined)[],
  { report, place }: Pick<GateFolders, "report" | "place">,
): Promise<GateSettings> {
  const parts = places.filter((part) => part !== undefined);
  const { verify: asked, ...demands } = demandsOf(parts, place);
  const { fields, rules } = await readRules(seeds, parts, report, place);
  const verify = [...seeds.flatMap((seed) => seed.verify), ...seeds.flatMap(verifyOf), ...asked];
  return {
    strict,
    fields,
    rules: rules.length === 0 ? undefined : rules,
    verify: verify.length === 0 ? undefined : verify,
    ...demands,
  };
}

/** Removes examples that the gate would refuse: agents would submit them. */
async function withSoundExamples(
  settings: GateSettings,
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

function isAsking({ fields, rules, verify, approval }: GateSettings): boolean {
  return fields.length > 0 || rules !== undefined || verify !== undefined || approval !== undefined;
}

function refuseEmpty({ evidence_schema: given = null }: JsonObject, { report, place }: Spot): void {
  if (!isMissing(given) && !(isJsonObject(given) && Object.keys(given).length === 0)) return;
  const hint = "Write a field below 'evidence_schema:', or delete the file if the gate is not to ask for any.";
  report.error("GATE_EMPTY", place("evidence_schema"), "the gate file asks for no evidence", hint);
}

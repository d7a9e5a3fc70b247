import { shown } from "../names.js";
import type { FieldDefinition, GateDefinition } from "../structure.js";
import { GATE_FILES, isGateFile, looksLikeGate } from "./gate-file-names.js";
import type { ObjectReader } from "./object-reader.js";
import { isReserved, readGate, refuseRules } from "./read-gate.js";
import type { PhaseFolders } from "./read-tasks.js";
import type { Report } from "./report.js";

/** What a checkpoint in metadata can't have, either. */
const RULES = ["validators", "cross_field_validation", "verify", "approval", "reveal"];
/** Of a gate that can't be read: never passed, since the workflow can't be started. */
const SHUT: GateDefinition = { kind: "fields", strict: true, allowOverride: false, fields: [], source: "gate-file" };

/** Where a phase's gate is looked for. */
export interface GateFolders extends PhaseFolders {
  /** The phase's text and those of its tasks: whatever they are called, they are no gates. */
  readonly texts: readonly string[];
}

interface MetadataGate {
  readonly names: readonly string[];
  readonly allowOverride: boolean;
}

/** A phase's gate: its file; else what the metadata requires; else one that lets any evidence through. */
export async function chooseGate(
  number: number,
  phase: ObjectReader | undefined,
  where: GateFolders,
): Promise<GateDefinition> {
  const required = metadataGate(phase, where.report);
  const file = gateFile(where);
  if (file !== undefined) return fileGate(file, required.names, phase, where);
  if (hasLookalikes(where)) return SHUT;
  const { names, allowOverride } = required;
  if (names.length > 0)
    return { kind: "fields", strict: true, allowOverride, fields: names.map(anyField), source: "metadata" };
  const place = phase?.place("phase_number") ?? { file: `phases/${number}` };
  const hint = `Write ${where.folders[0]}/${GATE_FILES[0]}.`;
  where.report.warn("GATE_OPEN", place, `phase ${number} asks for nothing: any evidence passes its gate`, hint);
  return { kind: "open", allowOverride };
}

/** Requirements may stand at the phase or in its checkpoint; all of them count. */
function metadataGate(phase: ObjectReader | undefined, report: Report): MetadataGate {
  const checkpoint = phase?.object("checkpoint");
  const names = [...(phase?.texts("required_evidence") ?? []), ...(checkpoint?.texts("required_evidence") ?? [])];
  const allowOverride = checkpoint?.flag("allow_override") ?? false;
  if (checkpoint !== undefined) refuseRules(checkpoint, RULES, report);
  checkpoint?.rest();
  for (const name of names.filter(isReserved)) {
    const place = phase?.place("required_evidence") ?? { file: "metadata.json" };
    report.error("NAME_RESERVED", place, `no field may be called ${shown(name)}`, "Give it another name.");
  }
  return { names: [...new Set(names)], allowOverride };
}

function anyField(name: string): FieldDefinition {
  return { name, type: "any", required: true };
}

/** The phase's gate file. */
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

/** Reports what was meant as the gate of a phase that has no gate file. */
function hasLookalikes({ files, folders, texts, report }: GateFolders): boolean {
  const found = folders.flatMap((folder) => files.paths.flatMap((path) => meantAsGate(folder, path)));
  const lookalikes = new Set(found.filter((path) => !texts.includes(path)));
  for (const file of lookalikes) {
    const hint = `Make it the file ${folders[0]}/${GATE_FILES[0]}, or give it a name without "gate" if it is none.`;
    report.error("GATE_FILE_MISNAMED", { file }, "this looks like a gate's file, but isn't read", hint);
  }
  return lookalikes.size > 0;
}

/** Of a path below a phase's folder, the part that looks like a gate: a file, a folder, or a gate file too deep. */
function meantAsGate(folder: string, path: string): string[] {
  if (!path.startsWith(`${folder}/`)) return [];
  const [name = ""] = path.slice(folder.length + 1).split("/");
  if (looksLikeGate(name)) return [`${folder}/${name}`];
  return isGateFile(path) ? [path] : [];
}

async function fileGate(file: string, names: readonly string[], phase: ObjectReader | undefined, where: PhaseFolders) {
  const text = where.files.text(file);
  const gate = text === undefined ? undefined : await readGate(file, text, where.report);
  if (gate === undefined) return SHUT;
  if (names.length > 0 && phase !== undefined) compare(file, names, gate.fields, phase, where.report);
  return gate;
}

function compare(
  file: string,
  names: readonly string[],
  fields: readonly FieldDefinition[],
  phase: ObjectReader,
  report: Report,
) {
  const asked = fields.map(({ name }) => name);
  const onlyMetadata = names.filter((name) => !asked.includes(name));
  const onlyFile = asked.filter((name) => !names.includes(name));
  if (onlyMetadata.length + onlyFile.length === 0) return;
  const parts = [
    ...(onlyMetadata.length > 0 ? [`only the metadata has ${onlyMetadata.join(", ")}`] : []),
    ...(onlyFile.length > 0 ? [`only the gate file has ${onlyFile.join(", ")}`] : []),
  ];
  const message = `gate file and metadata ask for different evidence, and the gate file counts: ${parts.join("; ")}`;
  report.warn("GATE_DIFFERS", phase.place("phase_number"), message, `Make "required_evidence" say what ${file} says.`);
}

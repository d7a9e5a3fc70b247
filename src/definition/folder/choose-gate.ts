import { shown } from "../names.js";
import type { FieldDefinition, FieldGate, GateDefinition } from "../structure.js";
import { documentSeeds } from "./document-seeds.js";
import { GATE_FILES, isGateFile, looksLikeGate } from "./gate-file-names.js";
import type { ObjectReader } from "./object-reader.js";
import { type FieldSeed, isReserved } from "./read-field.js";
import { readGate, readSettings } from "./read-gate.js";
import type { PhaseFolders } from "./read-tasks.js";
import type { Report } from "./report.js";

/** What a checkpoint in metadata asks for beside names; none of it counts where there is a gate file. */
const MORE = ["validators", "cross_field_validation", "verify", "approval", "reveal"];
/** Of a gate that can't be read: never passed, since the workflow can't be started. */
const SHUT: GateDefinition = { kind: "fields", strict: true, allowOverride: false, fields: [], source: "gate-file" };

/** Where a phase's gate is looked for. */
export interface GateFolders extends PhaseFolders {
  /** The phase's text. */
  readonly file: string;
  /** The phase's text and those of its tasks: whatever they are called, they are no gates. */
  readonly texts: readonly string[];
}

/**
 * A phase's gate: its file; else what its text asks for; else what the metadata requires; else one that lets
 * any evidence through.
 */
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
  const seeds = await documentSeeds(number, where);
  const asked = seeds.length > 0 ? seeds : names.map((name) => anyField(name, phase));
  const settings = await readSettings(asked, undefined, checkpoint, report);
  checkpoint?.rest();
  if (seeds.length > 0 && names.length > 0 && phase !== undefined) {
    compare(where.file, "the phase's text", names, settings.fields, phase, report);
  }
  if (isAsking(settings)) return { kind: "fields", ...settings, source: seeds.length > 0 ? "document" : "metadata" };
  const place = phase?.place("phase_number") ?? { file: `phases/${number}` };
  const hint = `Write ${where.folders[0]}/${GATE_FILES[0]}.`;
  report.warn("GATE_OPEN", place, `phase ${number} asks for nothing: any evidence passes its gate`, hint);
  return { kind: "open", allowOverride: settings.allowOverride };
}

function isAsking({ fields, rules, verify, approval }: Omit<FieldGate, "kind" | "source">): boolean {
  return fields.length > 0 || rules !== undefined || verify !== undefined || approval !== undefined;
}

/** Requirements may stand at the phase or in its checkpoint; all of them count. */
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

function anyField(name: string, phase: ObjectReader | undefined): FieldSeed {
  const place = phase?.place("required_evidence") ?? { file: "metadata.json" };
  const definition = { name, type: "any", required: true } as const;
  return { definition, place, examplePlace: place, validators: [], params: {}, verify: [] };
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

async function fileGate(
  file: string,
  names: readonly string[],
  phase: ObjectReader | undefined,
  checkpoint: ObjectReader | undefined,
  { files, report }: GateFolders,
): Promise<GateDefinition> {
  const text = files.text(file);
  const gate = text === undefined ? undefined : await readGate(file, text, report);
  checkpoint?.flag("allow_override");
  checkpoint?.flag("strict");
  if (checkpoint !== undefined) warnPassedOver(file, checkpoint, report);
  checkpoint?.rest();
  if (gate === undefined) return SHUT;
  if (names.length > 0 && phase !== undefined) compare(file, "the gate file", names, gate.fields, phase, report);
  return gate;
}

function warnPassedOver(file: string, checkpoint: ObjectReader, report: Report): void {
  for (const key of MORE) {
    const value = checkpoint.value(key);
    if (value === undefined || value === false) continue;
    if (typeof value === "object" && value !== null && Object.keys(value).length === 0) continue;
    const message = `${shown(key)} counts for nothing here: the phase has a gate file`;
    report.warn("GATE_DIFFERS", checkpoint.place(key), message, `Move it to ${file}.`);
  }
}

function compare(
  file: string,
  what: string,
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
    ...(onlyFile.length > 0 ? [`only ${what} has ${onlyFile.join(", ")}`] : []),
  ];
  const subject = what.replace(/^the /, "");
  const message = `${subject} and metadata ask for different evidence, and ${what} counts: ${parts.join("; ")}`;
  report.warn("GATE_DIFFERS", phase.place("phase_number"), message, `Make "required_evidence" say what ${file} says.`);
}

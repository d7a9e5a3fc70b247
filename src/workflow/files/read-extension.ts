/**
 * Reads a folder that extends another workflow. It holds only what is different: a folder such as `phases/threats` for each phase
 * that is inserted or in which something changes. `extendWorkflow` makes the workflow; here its changes are read, with the place of
 * each fault, and with the paths of texts.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import type { BaseWorkflows } from "../../ports/content-provider.js";
import { hasErrors, type ParsedSource } from "../diagnostic.js";
import { readBy, type Spot, spotIn, unknownIn } from "../file-schema.js";
import type { EarlierPhase, GatePlace } from "../gate-definition.js";
import { isJsonObject } from "../json.js";
import { meantOr, shown } from "../names.js";
import { movedPath, simpleName } from "../phase-names.js";
import type { Report } from "../report.js";
import {
  type GateDefinition,
  type PhaseDefinition,
  type TaskDefinition,
  textPaths,
  type WorkflowDefinition,
} from "../structure.js";
import type { PhaseInput, PhasePart, Workflow } from "../workflow-input.js";
import { addToGate } from "./add-to-gate.js";
import { gateFile, hasLookalikes } from "./choose-gate.js";
import { buildGate } from "./define-gate.js";
import { folderOf } from "./documents.js";
import {
  arranged,
  extendWorkflow,
  lessAsked,
  namesOf,
  numbersOf,
  optionFaults,
  overrideFault,
  type Placing,
  partsOf,
  type Slot,
  taskFaults,
} from "./extend-workflow.js";
import type { ChangedPhase, PhaseChange } from "./extension-input.js";
import { extensionFile, insertEntry, type WrittenChange, type WrittenExtension } from "./extension-schema.js";
import { checkType } from "./metadata.js";
import { phaseFile, readPhase, revision, taskFiles } from "./phases.js";
import { GATE_FILES, isGateFile, type WorkflowFiles } from "./workflow-files.js";
import { gateInput, phaseInput } from "./workflow-input-of.js";

/** Where the files of a workflow are that extends another one, in its own folder and in the base. */
export interface Extension {
  /** The type of the workflow that it extends. */
  readonly base: string;
  /** The paths of its own files, by the paths that they have in the workflow as a whole. */
  readonly own: ReadonlyMap<string, string>;
  /** The numbers of phases, by those that they have in the base. */
  readonly numbers: ReadonlyMap<number, number>;
  /** The paths of the base's files in the workflow as a whole. */
  readonly documents: readonly string[];
  /** Those of them that are texts of no phase any more, since the folder has others. */
  readonly gone: ReadonlySet<string>;
}

export interface ReadExtension {
  readonly definition: WorkflowDefinition;
  readonly extension: Extension;
}

interface Reading {
  readonly files: WorkflowFiles;
  /** The paths of files that are not read. */
  readonly others: readonly string[];
  readonly report: Report;
}

interface Extending extends Reading {
  readonly base: Workflow;
  /** The own files by their paths in the workflow as a whole. */
  readonly own: ReadonlyMap<string, string>;
  readonly numbers: ReadonlyMap<number, number>;
}

/** Checks for a metadata.json that extends another workflow. */
export function isExtension({ value }: ParsedSource): boolean {
  return isJsonObject(value) && Object.hasOwn(value, "extends");
}

/** Returns undefined if something is wrong, which is reported. */
export async function readExtension(
  type: string,
  source: ParsedSource,
  reading: Reading,
  bases: BaseWorkflows | undefined,
): Promise<ReadExtension | undefined> {
  const { report } = reading;
  const spot = spotIn(source, report);
  const written = readBy(extensionFile, source.value, spot) ?? {};
  checkType(written.workflow_type, isJsonObject(source.value) ? source.value.workflow_type : undefined, type, spot);
  const base = written.extends === undefined ? undefined : await findBase(type, written.extends, bases, spot);
  if (base === undefined) return undefined;
  const { structure } = base.definition;
  for (const { name, message } of await optionFaults(structure, written.options))
    report.error("VALUE_WRONG", spot.place("options", name), message, "Correct it, or leave it out.");
  const changes = changesIn(written, spot);
  const parts = await partsIn(base, spot);
  const { slots, faults } = arranged(
    parts,
    changes.map(({ placing }) => placing),
  );
  for (const { change, message } of faults) {
    const hint = "Name a phase of the base, or one that an entry before this one inserts.";
    report.error("PHASE_UNKNOWN", changes[change]?.place ?? spot.place("phases"), message, hint);
  }
  const numbers = numbersOf(structure, slots);
  const extending = { ...reading, base, own: ownPaths(slots, changes, reading), numbers };
  const { phases, made } = await readSlots(slots, parts, changes, extending);
  if (hasErrors(report.sorted())) return undefined;
  const { name, description, version, options } = written;
  const labels = { name, description, version: version === undefined ? undefined : String(version) };
  // In the order of the entries, in which one can name what another one inserts.
  const differences = changes.flatMap((change) => made.get(change) ?? []);
  const workflow = await extendWorkflow(base, { type, revision: "-", ...labels, options, phases: differences });
  return withPaths(workflow, phases, extending, unknownIn(extensionFile, written));
}

async function findBase(type: string, wanted: string, bases: BaseWorkflows | undefined, { report, place }: Spot) {
  const at = place("extends");
  const trail = [...(bases?.trail ?? []), type];
  if (trail.includes(wanted)) {
    const circle = [...trail.slice(trail.indexOf(wanted)), wanted].map((one) => shown(one)).join(" → ");
    report.error("BASE_CIRCULAR", at, `workflows extend one another in a circle: ${circle}`, "Extend another one.");
    return undefined;
  }
  try {
    const base = await bases?.find(wanted, type);
    if (base !== undefined) return base;
  } catch (error) {
    if (!isPhasegateError(error, "DEFINITION_INVALID")) throw error;
    const message = `the workflow ${shown(wanted)}, which this one extends, can't be used: ${error.details.diagnostics[0]}`;
    report.error("BASE_BROKEN", at, message, "Correct that one first.");
    return undefined;
  }
  const types = (await bases?.types())?.filter((one) => one !== type) ?? [];
  const list = types.length === 0 ? "There are no others." : `There are ${types.map((one) => shown(one)).join(", ")}.`;
  const where = bases === undefined ? "no other workflows are known here" : `looked in ${bases.place}`;
  const message = `there is no workflow ${shown(wanted)} to extend: ${where}`;
  const add = "Add its folder (serve: --workflows), --starters or --pack; in code, combineContent.";
  report.error("BASE_MISSING", at, message, () => meantOr(wanted, types, `${list} ${add}`, shown));
  return undefined;
}

/** Returns the phases of the base, which name one another by their names. */
async function partsIn(base: Workflow, { report, place }: Spot): Promise<readonly PhaseInput[]> {
  const problems: string[] = [];
  const parts = await partsOf(base, problems);
  for (const problem of problems)
    report.error("BASE_BROKEN", place("extends"), problem, "Give each phase of the base a name of its own.");
  return parts;
}

/** An entry of `phases`. */
interface Change {
  readonly placing: Placing;
  /** The position of the name of the phase that it belongs to. */
  readonly place: SourcePosition;
  readonly spot: Spot;
  readonly folder: string;
  readonly entry: WrittenChange;
}

function changesIn({ phases = [] }: WrittenExtension, around: Spot): Change[] {
  const names = new Map<string, string>();
  return phases.flatMap((entry, index): Change[] => {
    const spot = around.at("phases", index);
    const found = entry && placingIn(entry, spot);
    if (entry === undefined || found === undefined) return [];
    const { placing } = found;
    const [name, key] = "change" in placing ? [placing.change, "change"] : [placing.name, "phase_name"];
    const simple = simpleName(name);
    const other = names.get(simple);
    names.set(simple, name);
    if (simple === "" || other !== undefined) {
      const message =
        simple === "" ? `${shown(name)} has no letter` : `there are two entries for the folder phases/${simple}`;
      const hint = "Write one entry for each phase. Its name gives the name of its folder.";
      spot.report.error("PHASE_DUPLICATE", spot.place(key), message, hint);
    }
    return [{ placing, place: spot.place(found.key), spot, folder: `phases/${simple}`, entry }];
  });
}

function placingIn(
  { change, before, after, phase_name: name }: WrittenChange,
  { report, place }: Spot,
): { readonly placing: Placing; readonly key: string } | undefined {
  if (change !== undefined) return { placing: { change }, key: "change" };
  if (name === undefined) return undefined;
  if (before !== undefined && after === undefined) return { placing: { before, name }, key: "before" };
  if (after !== undefined && before === undefined) return { placing: { after, name }, key: "after" };
  const message = before === undefined ? "nothing says where the phase belongs" : "the phase has two places";
  const hint = 'Write either "before" or "after", with the name of a phase.';
  report.error("KEY_MISSING", place("after"), message, hint);
  return undefined;
}

/** Returns the own files by the paths that they get: `phases/threats/notes.md` becomes `phases/3/notes.md`. Reports stray ones. */
function ownPaths(slots: readonly Slot[], changes: readonly Change[], { files, others, report }: Reading) {
  const numbers = new Map<string | undefined, number>();
  for (const [at, { inserted, changes: own }] of slots.entries())
    for (const change of inserted === undefined ? own : [inserted]) numbers.set(changes[change]?.folder, at + 1);
  const known = new Set(changes.map(({ folder }) => folder));
  const texts = new Set(changes.map(({ entry }) => entry.phase_file));
  const found = new Map<string, string>();
  const stray = new Set<string>();
  for (const path of [...files.paths, ...others]) {
    const [whole = "", folder = ""] = /^(phases\/[^/]+)\//.exec(path) ?? [];
    const number = numbers.get(folder);
    if (isGateFile(path) && !known.has(folderOf(path)) && !texts.has(path)) {
      const message = "this gate file is not in the folder of an entry, so it isn't read";
      report.error("GATE_FILE_MISNAMED", { file: path }, message, foldersHint(known));
    } else if (whole === "" || texts.has(path)) found.set(path, path);
    else if (number !== undefined) found.set(`phases/${number}/${path.slice(whole.length)}`, path);
    else if (!known.has(folder)) stray.add(folder);
  }
  for (const file of stray)
    report.warn("PHASE_UNLISTED", { file }, `no entry has the folder ${file}, so it is ignored`, foldersHint(known));
  return found;
}

function foldersHint(known: ReadonlySet<string>): string {
  const folders = known.size === 0 ? "there are none" : [...known].join(", ");
  return `The folder of an entry has the name of its phase: ${folders}.`;
}

/** Reads the phases in their order: a gate can name those before it. */
async function readSlots(
  slots: readonly Slot[],
  parts: readonly PhaseInput[],
  changes: readonly Change[],
  extending: Extending,
) {
  const { structure, schemas } = extending.base.definition;
  const names = namesOf(slots);
  const start = slots.findIndex(({ base = -1 }) => structure.phases[base]?.number === structure.startPhase);
  const startPhase = start <= 0 ? undefined : start + 1;
  const phases: PhaseDefinition[] = [];
  const made = new Map<Change, PhaseChange>();
  const before: EarlierPhase[] = [];
  for (const [index, { base = -1, inserted = -1, changes: of }] of slots.entries()) {
    const place = { phase: index + 1, phases: names, startPhase, before };
    const [old, part, own] = [structure.phases[base], parts[base], changes[inserted]];
    if (own !== undefined) {
      const phase = await insertedPhase(own, place, extending);
      phases.push(phase);
      before.push(phase);
      // Its texts stay in their files.
      const input = phaseInput(phase, new Map(), () => "");
      made.set(own, insertion(own.placing, { ...input, number: undefined }));
    } else if (old !== undefined && part !== undefined) {
      const schema = schemas.get(old.number);
      let phase = movedPhase(old, part, place, extending);
      for (const change of of.flatMap((at) => changes[at] ?? [])) {
        const changed = await changedPhase(phase, part, change, schema, place, extending);
        phase = changed.phase;
        made.set(change, changed.made);
      }
      phases.push(phase);
      before.push({ number: phase.number, gate: phase.gate, schema });
    }
  }
  return { phases, made };
}

function insertion(placing: Placing, phase: PhasePart): PhaseChange {
  if ("change" in placing) throw new TypeError(`${placing.change} is not inserted`);
  return "before" in placing ? { before: placing.before, phase } : { after: placing.after, phase };
}

async function insertedPhase(
  { entry, spot, folder }: Change,
  place: GatePlace,
  extending: Extending,
): Promise<PhaseDefinition> {
  const { files, report, base } = extending;
  const { phase_name: name = "" } = entry;
  const fault = place.phases.sharedFault(name) ?? place.phases.sharedFault(simpleName(name));
  const hint = "Give this one another name: rules could not tell them apart.";
  if (fault !== undefined) report.error("PHASE_DUPLICATE", spot.place("phase_name"), fault.message, hint);
  const seed = { number: place.phase, listed: { entry, spot }, name, folder };
  const { optionsSchema, dynamic } = base.definition.structure;
  const reading = { files, report, workflow: { optionsSchema, dynamic } };
  const phase = await readPhase({ ...seed, file: phaseFile(seed, reading) }, reading, place);
  return { ...atOwnPaths(phase, extending), extra: unknownIn(insertEntry, entry) };
}

/** Returns a phase with the paths that its texts have in the workflow as a whole. */
function atOwnPaths(phase: PhaseDefinition, { own }: Extending): PhaseDefinition {
  const paths = new Map([...own].map(([path, written]) => [written, path]));
  const pathOf = (file: string | undefined) => (file === undefined ? undefined : (paths.get(file) ?? file));
  return {
    ...{ ...phase, file: pathOf(phase.file) },
    tasks: phase.tasks.map((task) => ({ ...task, file: pathOf(task.file) })),
  };
}

/** Returns a phase of the base at its place. Its gate names phases by what they are called here. */
function movedPhase(old: PhaseDefinition, part: PhaseInput, place: GatePlace, { numbers }: Extending): PhaseDefinition {
  const pathOf = (file: string | undefined) => (file === undefined ? undefined : movedPath(file, numbers));
  const tasks = old.tasks.map((task) => ({ ...task, file: pathOf(task.file) }));
  return {
    ...{ ...old, number: place.phase, file: pathOf(old.file), tasks },
    gate: withExamples(buildGate(part.gate, place.phases), old.gate),
  };
}

/** Generated examples, and the place of a gate, are those of the base. */
function withExamples(gate: GateDefinition, old: GateDefinition): GateDefinition {
  if (gate.kind === "open") return old;
  if (gate.kind !== "fields" || old.kind !== "fields") return gate;
  const fields = gate.fields.map((field, index) => ({ ...field, sample: old.fields[index]?.sample }));
  return { ...gate, fields, source: old.source };
}

async function changedPhase(
  phase: PhaseDefinition,
  part: PhaseInput,
  { entry, spot, folder }: Change,
  schema: StandardSchemaV1 | undefined,
  place: GatePlace,
  extending: Extending,
) {
  const { files, report } = extending;
  const { whole_gate: isWhole = false, override } = entry;
  const textIn = (path: string) => ({ file: path, textRevision: revision(files.text(path)) });
  const text = files.has(`${folder}/phase.md`) ? textIn(`${folder}/phase.md`) : {};
  const found = taskFiles({ files, folders: [folder] });
  for (const { number, path } of found) {
    for (const message of taskFaults(part, [String(number)]))
      report.error("PHASE_UNKNOWN", { file: path }, message, "Give the file the number of one of them.");
  }
  const tasks = phase.tasks.map((task): TaskDefinition => {
    const one = found.find(({ number }) => number === task.number);
    return one === undefined ? task : { ...task, ...textIn(one.path) };
  });
  const file = gateFile({ files, folders: [folder], report });
  const texts = [`${folder}/phase.md`, ...found.map(({ path }) => path)];
  const isLost = file === undefined && hasLookalikes({ files, folders: [folder], texts, report });
  if (file === undefined && !isLost && texts.every((path) => !files.has(path))) {
    const message = `nothing is different: there is no file in ${folder}/`;
    const hint = `Write ${folder}/${GATE_FILES[0]}, or remove the entry.`;
    report.error("PHASE_UNKNOWN", spot.place("change"), message, hint);
  }
  const more = file === undefined ? undefined : { file, text: files.text(file) ?? "", isWhole };
  const gate = (more && (await addToGate(phase.gate, more, report, place))) ?? phase.gate;
  const { name } = phase;
  // A gate that can't be read asks for less than it is meant to.
  const isSound = !hasErrors(report.sorted().filter((one) => one.file === file));
  const fault = isSound ? overrideFault(name, lessAsked(phase.gate, gate), override) : undefined;
  if (fault !== undefined) {
    const code = fault.isWeaker ? "GATE_WEAKER" : "VALUE_WRONG";
    report.error(code, spot.place(override === undefined ? "change" : "override"), fault.message, fault.hint);
  }
  const after = atOwnPaths({ ...phase, ...text, tasks, gate }, extending);
  const made: ChangedPhase = {
    ...{ change: name, override },
    gate: () => gateInput(after, new Map(schema === undefined ? [] : [[after.number, schema]])),
  };
  return { phase: after, made };
}

/** Gives an extended workflow the phases as they were read: with the paths and revisions of texts, and with examples. */
function withPaths(
  { definition, documents }: Workflow,
  phases: PhaseDefinition[],
  { base, own, numbers }: Extending,
  extra: WorkflowDefinition["structure"]["extra"],
): ReadExtension {
  const { dynamic, searches, type } = base.definition.structure;
  const structure = { ...definition.structure, phases, searches, extra };
  const templates = dynamic && { templates: dynamic.templates, templateRevisions: dynamic.templateRevisions };
  const kept = new Set(textPaths({ phases }));
  const moved = textPaths({ phases: base.definition.structure.phases }).map((path) => movedPath(path, numbers));
  const gone = new Set(moved.filter((path) => !kept.has(path)));
  return {
    definition: {
      ...definition,
      structure: { ...structure, dynamic: structure.dynamic && { ...structure.dynamic, ...templates } },
    },
    extension: { base: type, own, numbers, documents: Object.keys(documents), gone },
  };
}

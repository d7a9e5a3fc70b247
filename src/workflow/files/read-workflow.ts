/**
 * Reads a workflow's folder, given as texts, into a definition. Pure: the same texts give the same definition and
 * diagnostics, whether they come from a disk, a bundle or a test. This is the entry file of the folder.
 *
 * What is decided where:
 * - workflow-files.ts: file size limit, which file names are gate files, and how long a list waits for one definition
 * - workflow-list.ts: how the workflows of a content provider are listed, of which any may be broken
 * - metadata.ts: the schema of metadata.json, the schema of options, and phase counts that don't match
 * - phases.ts: where phases, their tasks and templates are found, and when a phase is skipped
 * - choose-gate.ts: the order gate file, text of the phase, metadata, open gate
 * - gate-schema.ts: the schema of a gate file, of a step's gate and of a checkpoint
 * - gate-fields.ts: fields, `verify`, `approval` and `reveal` of a gate, and what its schema can't say
 * - gate-rules.ts: validators and rules; the example shown for a field
 * - documents.ts: which files of the folder a text names, and which are never shown to agents
 * - gate-differences.ts: warnings when gate file, metadata and text disagree
 * - routed-workflow.ts: reads the folder of a routed workflow
 * - routed-index.ts: goal and steps of an index
 * - links.ts: the links of a paragraph of Markdown
 * - routed-step.ts: sections and front matter of a step
 * - routed-includes.ts: `{{file:path}}`, with limits on depth, number and size
 * - routed-checks.ts: names, links, and whether the end can be reached
 * - workflow-input-of.ts: the input of `defineWorkflow` that gives a definition which was read from files
 * - write-workflow.ts, write-gate.ts: `workflowToFiles`, and the text of a gate file
 * - named-rules.ts: the names of rules that are written down again
 * - define-workflow.ts, define-gate.ts: `defineWorkflow` and `definePhase`, and the gates that they take
 * - extend-workflow.ts: `extendWorkflow`, and which of its gates ask for less
 * - read-extension.ts, extension-schema.ts: a folder that extends another workflow
 * - add-to-gate.ts: what such a folder adds to a gate
 * - define-routed-workflow.ts: `defineRoutedWorkflow`
 */
import { systemClock, turns } from "../../ports/clock.js";
import type { BaseWorkflows } from "../../ports/content-provider.js";
import { declaredOptions } from "../../rules/options.js";
import { asksForSearch } from "../asks-for-search.js";
import { type Diagnostic, hasErrors, linesOf, type ParsedSource } from "../diagnostic.js";
import { type Spot, spotIn } from "../file-schema.js";
import { canonicalJson, isJsonObject, revisionOf } from "../json.js";
import { readJson } from "../json-source.js";
import { isWorkflowType, meantOr, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { PhaseNames } from "../phase-names.js";
import { findOptions } from "../placeholders.js";
import { createReport, type InferredRequirement, type Report } from "../report.js";
import {
  type PhaseDefinition,
  structureSchema,
  textPaths,
  type WorkflowDefinition,
  type WorkflowStructure,
} from "../structure.js";
import { missingDocuments } from "./documents.js";
import { checkCounts, factsOf, phaseClaims, readMetadata, readOptionsSchema } from "./metadata.js";
import { firstPhase, readDynamic, readPhases } from "./phases.js";
import { type Extension, isExtension, readExtension } from "./read-extension.js";
import { METADATA_FILE, TURN_MS, takeFiles, type WorkflowFiles } from "./workflow-files.js";

/** The result of reading a workflow: a definition, unless a diagnostic is an error. */
export interface ReadWorkflow {
  readonly definition?: WorkflowDefinition;
  readonly diagnostics: readonly Diagnostic[];
  /** Requirements that were read from the texts of phases without a gate file. */
  readonly inferred?: readonly InferredRequirement[];
  /** True if the folder extends another workflow. */
  readonly extends?: boolean;
  /** Where its files are, if it extends another workflow and nothing is wrong. */
  readonly extension?: Extension;
}

/**
 * Reads the texts of a workflow's folder; paths are relative to it. `type` is the folder's name; `unreadable` has a
 * diagnostic for each file that could not be read; `others` are the paths of files that are not read here; `bases` has the
 * workflows that it may extend. Reports all problems at once. Never throws because of the texts.
 */
export async function readWorkflow(
  type: string,
  files: readonly { readonly path: string; readonly text: string }[],
  unreadable: readonly Diagnostic[] = [],
  others: readonly string[] = [],
  bases?: BaseWorkflows,
): Promise<ReadWorkflow> {
  const report = createReport(unreadable, turns(systemClock, TURN_MS));
  let read: ReadFolder | undefined;
  let isExtending = false;
  try {
    const folder: Folder = { type, files: takeFiles(files, unreadable, report), others, report };
    const source = metadataSource(folder);
    isExtending = source !== undefined && isExtension(source);
    read = source && (isExtending ? await readExtended(source, folder, bases) : await readOwn(source, folder));
  } catch (error) {
    report.failed({ file: METADATA_FILE }, error);
  }
  const diagnostics = report.sorted();
  const found = report.inferred();
  const inferred = found.length === 0 ? undefined : found;
  const extending = isExtending || undefined;
  if (read === undefined || hasErrors(diagnostics)) return { diagnostics, inferred, extends: extending };
  return { ...read, diagnostics, inferred, extends: extending };
}

/** The folder that is read. */
interface Folder {
  readonly type: string;
  readonly files: WorkflowFiles;
  readonly others: readonly string[];
  readonly report: Report;
}

type ReadFolder = Required<Pick<ReadWorkflow, "definition">> & Pick<ReadWorkflow, "extension">;

/** Reads a folder that extends another workflow. */
async function readExtended(
  source: ParsedSource,
  folder: Folder,
  bases: BaseWorkflows | undefined,
): Promise<ReadFolder | undefined> {
  const { type, files, report } = folder;
  const read = await readExtension(type, source, folder, bases);
  if (read === undefined) return undefined;
  const { definition, extension } = read;
  const { revision: _, ...content } = definition.structure;
  const texts = textPaths({ phases: content.phases }).flatMap((path) => {
    const file = extension.own.get(path);
    return file === undefined ? [] : [{ file, path, text: files.text(file) ?? "" }];
  });
  checkTexts(texts, [...extension.own.keys(), ...extension.documents], content, report);
  const searches = content.searches ?? (texts.some(({ text }) => asksForSearch(text)) || undefined);
  const structure = sealed({ ...content, searches }, report);
  return structure && { definition: { ...definition, structure }, extension };
}

async function readOwn(source: ParsedSource, { type, files, others, report }: Folder): Promise<ReadFolder | undefined> {
  const metadata = readMetadata(source.value, spotIn(source, report));
  if (metadata === undefined || !isJsonObject(source.value)) return undefined;
  const { written, unknown, spot } = metadata;
  const facts = factsOf(metadata, type, source.value.workflow_type);
  const claims = phaseClaims(metadata, source.value);
  const given = written.start_phase;
  const optionsSchema = await readOptionsSchema(metadata);
  const dynamic = readDynamic(metadata, claims, { files, report });
  const phases = await readPhases(claims, { files, report, startPhase: given, workflow: { optionsSchema, dynamic } });
  checkCounts(claims, phases, spot);
  const texts = textPaths({ phases, dynamic }).map((path) => ({ file: path, path, text: files.text(path) ?? "" }));
  checkTexts(texts, [...files.paths, ...others], { optionsSchema, dynamic }, report);
  const startPhase = readStart(spot, given, phases, firstPhase(phases, dynamic));
  const unused = dynamic === undefined ? written.dynamic_config : undefined;
  const extra = unused === undefined ? unknown : { ...unknown, dynamic_config: unused };
  if (hasErrors(report.sorted())) return undefined;
  const searches = texts.some(({ text }) => asksForSearch(text)) || undefined;
  const structure = sealed({ ...facts, startPhase, phases, searches, optionsSchema, dynamic, extra }, report);
  return structure && { definition: { structure, schemas: new Map() } };
}

interface ReadText {
  /** The file in the folder. */
  readonly file: string;
  /** Its path in the workflow as a whole. */
  readonly path: string;
  readonly text: string;
}

/** Warns about documents and options that texts name and that there are not. */
function checkTexts(
  texts: readonly ReadText[],
  paths: readonly string[],
  workflow: Parameters<typeof declaredOptions>[0],
  report: Report,
): void {
  const checkDocuments = missingDocuments(paths, report);
  for (const { file, text, path } of texts) checkDocuments(file, text, path);
  const declared = declaredOptions(workflow);
  if (declared !== undefined) checkOptionUse(texts, declared, report);
}

/** Warns about placeholders of options that the workflow does not declare: without a value they stay in the text. */
function checkOptionUse(texts: readonly ReadText[], declared: readonly string[], report: Report): void {
  for (const { file, text } of texts) {
    const at = linesOf(file, text);
    for (const { name, offset } of findOptions(text).filter((found) => !declared.includes(found.name))) {
      const hint = () => meantOr(name, declared, 'Add it to "options_schema".', (near) => `{options.${near}}`);
      const message = `"options_schema" has no option ${shown(name)}: without a value {options.${name}} stays in the text`;
      report.warn("TEMPLATE_PLACEHOLDER_UNKNOWN", at(offset), message, hint);
    }
  }
}

function metadataSource({ type, files, report }: Folder): ParsedSource | undefined {
  if (!isWorkflowType(type)) {
    const message = `${shown(type)} can't be a workflow's type`;
    report.error("WORKFLOW_TYPE_INVALID", { file: METADATA_FILE }, message, WORKFLOW_NAME_RULE);
  }
  const file = METADATA_FILE;
  const text = files.text(file);
  if (text !== undefined) return readJson(file, text, report);
  const hint = 'Write one with "workflow_type", "name", "description" and "phases".';
  if (!files.has(file)) report.error("METADATA_MISSING", { file }, `there is no ${file}`, hint);
  return undefined;
}

function readStart(
  { report, place }: Spot,
  given: number | string | undefined,
  phases: readonly PhaseDefinition[],
  first: number | undefined,
): number {
  const isOfPlan = phases.length === 0 && first !== undefined;
  const names = new PhaseNames(isOfPlan ? [{ number: first, name: "" }] : phases);
  const { numbers } = names;
  const found = given === undefined ? first : names.find(String(given));
  if (given !== undefined && found === undefined && numbers.length > 0) {
    const none = { message: `there is no phase ${given} to start with`, hint: `Write one of ${names.list(numbers)}.` };
    const { message, hint } = names.sharedFault(String(given)) ?? none;
    report.error("START_PHASE_UNKNOWN", place("start_phase"), message, hint);
  }
  return found ?? 0;
}

/** Maximum size of a structure, in characters of JSON: sessions store it in their first commit. */
const STRUCTURE_MAX = 4 * 1024 * 1024;

/** Adds the revision, a digest of the content, and checks the result against the schema. */
function sealed(content: Omit<WorkflowStructure, "revision">, report: Report): WorkflowStructure | undefined {
  const text = canonicalJson(content);
  if (text.length <= STRUCTURE_MAX) return structureSchema.parse({ ...JSON.parse(text), revision: revisionOf(text) });
  const message = `the definition is larger than ${STRUCTURE_MAX} characters of JSON`;
  report.error("DEFINITION_TOO_LARGE", { file: METADATA_FILE }, message, "Take out what aliases have multiplied.");
  return undefined;
}

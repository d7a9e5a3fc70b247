/** loadWorkflow: the folder of a workflow as a workflow in code. */
import { isPhasegateError } from "../errors.js";
import type { WorkflowDocument } from "../ports/content-provider.js";
import { openAround } from "../sandbox/sandbox.js";
import { type Diagnostic, type DiagnosticCode, formatDiagnostic } from "../workflow/diagnostic.js";
import { unusable } from "../workflow/files/define-gate.js";
import { keptFromAgents } from "../workflow/files/documents.js";
import { METADATA_FILE } from "../workflow/files/workflow-files.js";
import { workflowInputOf } from "../workflow/files/workflow-input-of.js";
import { revisionOf } from "../workflow/json.js";
import { secretIn } from "../workflow/names.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { Workflow, WorkflowInput } from "../workflow/workflow-input.js";
import { fileOf } from "./answers.js";
import { WorkflowFolder } from "./workflow-folder.js";

/** A workflow that was read from a folder. */
export interface LoadedWorkflow extends Workflow {
  /** The input of `defineWorkflow` that has the same phases and gates: `defineWorkflow({ ...loaded.input, type: "own" })`. */
  readonly input: WorkflowInput;
}

/**
 * Reads the folder of a workflow, or of a starter, as a workflow in code: for `MemoryContent`, or to use its phases in a
 * `defineWorkflow`. The types of evidence are not known. Later changes of the folder have no effect.
 *
 * Its documents are the texts of the folder besides those of phases, tasks, gates and metadata. Keys that phasegate doesn't
 * know are in its `definition` alone.
 *
 * @param folder Path of the workflow's folder, absolute or relative to the process's working folder.
 * @throws {PhasegateError} `DEFINITION_INVALID` with all problems, each with its file, line and column.
 * @throws {PhasegateError} `FILE_NOT_FOUND` when there is no such folder.
 * @throws {PhasegateError} `PATH_REFUSED` when it is not a folder.
 * @throws {PhasegateError} `STORAGE_FAILED` when the file system can't read it.
 */
export async function loadWorkflow(folder: string): Promise<LoadedWorkflow> {
  const { sandbox, name } = await openAround(folder, { refuse: secretIn });
  const files = new WorkflowFolder(sandbox, name);
  const definition = await soundDefinition(files, name);
  const { structure } = definition;
  const texts = await textsOf(files, structure);
  const documents = await documentsOf(files, new Set(texts.keys()));
  const textAt = (path: string | undefined) => (path === undefined ? undefined : texts.get(path));
  const input = workflowInputOf(definition, documents, (part) => textAt(fileOf(structure, part)) ?? "");
  return { definition, input, phases: input.phases, documents, text: (part) => textAt(fileOf(structure, part)) };
}

async function soundDefinition(files: WorkflowFolder, type: string): Promise<WorkflowDefinition> {
  const missing = { file: METADATA_FILE, message: `there is no ${METADATA_FILE}`, hint: "Name a workflow's folder." };
  const { definition, diagnostics } = (await files.read()) ?? { diagnostics: [problem("METADATA_MISSING", missing)] };
  if (definition !== undefined) return definition;
  throw refusal(type, diagnostics);
}

/** Returns the texts of phases, tasks and templates by their paths. */
async function textsOf(files: WorkflowFolder, structure: WorkflowStructure): Promise<Map<string, string>> {
  const { type, phases, dynamic } = structure;
  const { templates, templateRevisions } = dynamic ?? {};
  const named = [
    ...phases.flatMap((phase) => [phase, ...phase.tasks]),
    { file: templates?.phase, textRevision: templateRevisions?.phase },
    { file: templates?.task, textRevision: templateRevisions?.task },
  ];
  const texts = new Map<string, string>();
  for (const { file, textRevision } of named) {
    if (file === undefined) continue;
    const text = await files.text(file);
    const changed = { file, message: "the file changes while it is read", hint: "Load it when nothing writes to it." };
    if (revisionOf(text) !== textRevision) throw refusal(type, [problem("FILE_UNREADABLE", changed)]);
    texts.set(file, text);
  }
  return texts;
}

/** Returns the other texts of the folder by their paths. */
async function documentsOf(files: WorkflowFolder, taken: ReadonlySet<string>): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  for (const document of await files.documents()) {
    const text = isDocument(document, taken) ? await textIn(document) : undefined;
    if (text !== undefined) found.push([document.path, text]);
  }
  return Object.fromEntries(found);
}

/** A link to a file of another phase does not count: in code a document has one path, which says who may read it. */
function isDocument({ path, aliases = [] }: WorkflowDocument, taken: ReadonlySet<string>): boolean {
  return [path, ...aliases].every(
    (one) => !taken.has(one) && keptFromAgents(one) === undefined && phaseFolder(one) === phaseFolder(path),
  );
}

function phaseFolder(path: string): string {
  return /^phases\/[^/]+\//.exec(path)?.[0] ?? "";
}

/** Returns undefined for what is no text, such as a picture, or too large to be shown. */
async function textIn(document: WorkflowDocument): Promise<string | undefined> {
  try {
    return (await document.read()).text;
  } catch (error) {
    if (isPhasegateError(error, "INVALID_INPUT") || isPhasegateError(error, "TOO_LARGE")) return undefined;
    throw error;
  }
}

function refusal(type: string, diagnostics: readonly Diagnostic[]) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  return unusable(type, errors, "Correct the files at these places, then load the workflow again.");
}

function problem(code: DiagnosticCode, place: Pick<Diagnostic, "file" | "message" | "hint">): Diagnostic {
  return { ...place, severity: "error", code };
}

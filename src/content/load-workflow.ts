/** loadWorkflow: the folder of a workflow as a workflow in code. */
import { isPhasegateError } from "../errors.js";
import type { BaseWorkflows, ContentProvider, WorkflowDocument } from "../ports/content-provider.js";
import { openAround } from "../sandbox/sandbox.js";
import { type Diagnostic, type DiagnosticCode, formatDiagnostic } from "../workflow/diagnostic.js";
import { unusable } from "../workflow/files/define-gate.js";
import { keptFromAgents } from "../workflow/files/documents.js";
import { phasesByName } from "../workflow/files/extend-workflow.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { METADATA_FILE } from "../workflow/files/workflow-files.js";
import { workflowInputOf } from "../workflow/files/workflow-input-of.js";
import { checkOptions, having, type OptionChecks, optionally } from "../workflow/host-options.js";
import { canonicalJson, revisionOf } from "../workflow/json.js";
import { secretIn } from "../workflow/names.js";
import { textPaths, type WorkflowStructure } from "../workflow/structure.js";
import type { PhaseInput, Workflow, WorkflowInput, WorkflowPart } from "../workflow/workflow-input.js";
import { fileOf } from "./answers.js";
import { Bases } from "./bases.js";
import { FileContent } from "./files.js";
import { WorkflowFolder } from "./workflow-folder.js";

/** A workflow that was read from a folder. */
export interface LoadedWorkflow extends Workflow {
  /** The input of `defineWorkflow` that has the same phases and gates: `defineWorkflow({ ...loaded.input, type: "own" })`. */
  readonly input: WorkflowInput;
  /**
   * Its phases for another workflow, which numbers them: `defineWorkflow({ phases: [plan, ...loaded.parts] })`. Rules and checks
   * name other phases by their names, but for one whose name is not unique.
   */
  readonly parts: readonly PhaseInput[];
}

/** The options of {@link loadWorkflow}. */
export interface LoadWorkflowOptions {
  /** The workflows that this one may extend, besides those in the folders beside it. Default: none. */
  readonly bases?: ContentProvider;
}

const CHECKS: OptionChecks<LoadWorkflowOptions> = {
  bases: optionally(having("a provider of workflows", "list", "definition", "text")),
};

/**
 * Reads the folder of a workflow, or of a starter, as a workflow in code: for `MemoryContent`, or to use its phases in a
 * `defineWorkflow`. The types of evidence are not known. Later changes of the folder have no effect.
 *
 * Its documents are the texts of the folder besides those of phases, tasks, gates and metadata. Keys that phasegate doesn't
 * know are in its `definition` alone. A workflow that the folder extends is looked for in the folders beside it, then in `bases`.
 *
 * @param folder Path of the workflow's folder, absolute or relative to the process's working folder.
 * @throws {PhasegateError} `DEFINITION_INVALID` with all problems, each with its file, line and column.
 * @throws {PhasegateError} `FILE_NOT_FOUND` when there is no such folder.
 * @throws {PhasegateError} `PATH_REFUSED` when it is not a folder.
 * @throws {PhasegateError} `STORAGE_FAILED` when the file system can't read it.
 */
export async function loadWorkflow(folder: string, options: LoadWorkflowOptions = {}): Promise<LoadedWorkflow> {
  checkOptions("loadWorkflow", options, CHECKS);
  const { sandbox, around, name } = await openAround(folder, { refuse: secretIn });
  const beside = new FileContent({ roots: [around] });
  const bases = new Bases([
    { content: beside, name: options.bases ? "the folders beside it" : "the folders beside it (`bases` is not given)" },
    ...(options.bases ? [{ content: options.bases, name: "`bases`" }] : []),
  ]);
  const files = new WorkflowFolder(sandbox, name);
  const { definition, extension } = await soundRead(files, name, bases);
  const { structure } = definition;
  const content = beside.within(bases);
  const texts = await textsOf(structure, async (part, file) =>
    extension === undefined ? files.text(file) : (await content.text(name, part)).text,
  );
  const found = extension === undefined ? await files.documents() : await content.documents(name);
  const documents = await documentsOf(found, new Set(textPaths(structure)));
  const textOf = (part: WorkflowPart) => texts.get(canonicalJson(part));
  const input = workflowInputOf(definition, documents, (part) => textOf(part) ?? "");
  const { phases } = input;
  const parts = (await phasesByName({ definition, phases })).map((phase) => ({ ...phase, number: undefined }));
  return { definition, input, phases, parts, documents, text: textOf };
}

async function soundRead(files: WorkflowFolder, type: string, bases: BaseWorkflows) {
  const missing = { file: METADATA_FILE, message: `there is no ${METADATA_FILE}`, hint: "Name a workflow's folder." };
  const read = (await files.read(bases)) ?? { diagnostics: [problem("METADATA_MISSING", missing)] };
  const { definition, diagnostics, extension }: ReadWorkflow = read;
  if (definition !== undefined) return { definition, extension };
  throw refusal(type, diagnostics);
}

/** Returns the texts of phases, tasks and templates by the part that they are. */
async function textsOf(
  structure: WorkflowStructure,
  read: (part: WorkflowPart, file: string) => Promise<string>,
): Promise<Map<string, string>> {
  const { type, phases, dynamic } = structure;
  const { templateRevisions } = dynamic ?? {};
  const parts: { readonly part: WorkflowPart; readonly textRevision?: string | undefined }[] = [
    ...phases.flatMap(({ number: phase, textRevision, tasks }) => [
      { part: { phase }, textRevision },
      ...tasks.map((task) => ({ part: { phase, task: task.number }, textRevision: task.textRevision })),
    ]),
    ...(dynamic === undefined
      ? []
      : (["phase", "task"] as const).map((template) => ({
          ...{ part: { template }, textRevision: templateRevisions?.[template] },
        }))),
  ];
  const texts = new Map<string, string>();
  for (const { part, textRevision } of parts) {
    const file = fileOf(structure, part) ?? "";
    const text = await read(part, file);
    const changed = { file, message: "the file changes while it is read", hint: "Load it when nothing writes to it." };
    // A text of a base in code may have no revision.
    if (textRevision !== undefined && revisionOf(text) !== textRevision)
      throw refusal(type, [problem("FILE_UNREADABLE", changed)]);
    texts.set(canonicalJson(part), text);
  }
  return texts;
}

/** Returns the other texts of the folder by their paths. */
async function documentsOf(
  all: readonly WorkflowDocument[],
  taken: ReadonlySet<string>,
): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  for (const document of all) {
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

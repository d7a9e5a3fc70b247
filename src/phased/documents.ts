/**
 * The texts of phases and tasks as an agent reads them, with their placeholders filled, and the documents that a session
 * may read: files of its workflow outside of `phases/`, and files beside the texts of the current phase and of completed
 * ones. Only a file that the provider lists, by exactly this path, is read, so that no
 * other spelling of a path leads anywhere. Every path of a file must be allowed: a link to a text of a later phase is
 * refused like the text itself.
 */
import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../errors.js";
import { fillOptions } from "../gate/fill-params.js";
import type { Content, WorkflowDocument } from "../ports/content-provider.js";
import { byRevision } from "../workflow/cache.js";
import { foldedPath, folderOf, keptFromAgents, meantPaths, namedPaths } from "../workflow/files/documents.js";
import { revisionOf } from "../workflow/json.js";
import { markdownFacts } from "../workflow/markdown-facts.js";
import { firstFew, nearest, parseRelativePath, type SessionId, shown } from "../workflow/names.js";
import { fillText, type TextValues } from "../workflow/placeholders.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../workflow/structure.js";
import { loadPlanned, requirePhase } from "./context.js";
import type { EngineContext, LoadedSession, TextView } from "./engine-context.js";
import { readingRefusal } from "./state/commands.js";
import type { SessionHead } from "./state/head.js";
import { findTextPlaces, type TextPlaces } from "./text-places.js";

/** A document that a text names and that the session may read. */
export interface NamedDocument {
  /** Its path, relative to the workflow's folder. */
  readonly path: string;
  /** The approximate number of its tokens: characters / 4. */
  readonly tokens: number;
}

/** A document that was found. */
interface FoundDocument {
  readonly document: WorkflowDocument;
  /** True if it is the text of a phase or task, which has placeholders. */
  readonly isText: boolean;
}

/**
 * Finds a document that a session may read. The path is relative to the workflow's folder, or written as in the text of
 * the current phase. Throws `PHASE_LOCKED` for a file of a phase ahead, `PATH_REFUSED` and `FILE_NOT_FOUND`.
 */
export async function findDocument(
  context: EngineContext,
  loaded: LoadedSession,
  given: string,
): Promise<FoundDocument> {
  const { session, structure } = loaded;
  const places = await findTextPlaces(context, structure);
  const access = accessOf(loaded, places);
  const paths = requestedPaths(given, textPath(structure, places, requirePhase(structure, session.head.phase)) ?? "");
  const listed = await listDocuments(context, structure);
  const document = find(listed, paths);
  if (document === undefined) throw absent(given, paths, access, listed);
  const refusal = refusalOf(document, access);
  if (refusal !== undefined) throw refusal;
  return { document, isText: access.texts.has(foldedPath(document.path)) };
}

/** Limits the documents that are read for one text; a text with more names is an index, and is shown itself. */
const LISTED_MAX = 50;

/** What names documents: the text of a phase or task, or a document by its path. */
type Naming = { readonly phase: PhaseDefinition; readonly task?: TaskDefinition } | { readonly path: string };

/**
 * Returns the documents that a text names and that the session may read, each once. The texts of phases and tasks are left out:
 * they have calls of their own.
 */
export async function namedDocuments(
  context: EngineContext,
  loaded: LoadedSession,
  from: Naming,
  content: Content,
): Promise<readonly NamedDocument[]> {
  const names = namesIn(content);
  if (names.length === 0) return [];
  try {
    const places = await findTextPlaces(context, loaded.structure);
    const path = "path" in from ? from.path : (textPath(loaded.structure, places, from.phase, from.task) ?? "");
    const access = accessOf(loaded, places);
    const listed = await listDocuments(context, loaded.structure);
    const found = names.map((name) => find(listed, meantPaths(name, path)));
    const readable = [...new Set(found)].filter((document) => document !== undefined && document.path !== path);
    const documents: NamedDocument[] = [];
    for (const document of readable) {
      if (document === undefined || documents.length === LISTED_MAX) continue;
      if (access.texts.has(foldedPath(document.path)) || refusalOf(document, access) !== undefined) continue;
      const content = await textOf(document);
      if (content !== undefined) documents.push({ path: document.path, tokens: content.tokens });
    }
    return documents;
  } catch (error) {
    // The text itself is more important than the list of what it names.
    if (isPhasegateError(error)) context.notifications.report("list documents", error);
    else context.notifications.notify("internalError", { operation: "list documents", error });
    return [];
  }
}

/** Returns the paths that a text names, each once. */
const namesIn = byRevision((text) => [...new Set(namedPaths(text).map(({ path }) => path))]);

/** Returns the path of a text, which its links are relative to; for a phase in code, the usual one. Undefined if it is gone. */
function textPath(
  { dynamic }: WorkflowStructure,
  places: TextPlaces,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): string | undefined {
  if (phase.plan !== undefined) return dynamic?.templates[task === undefined ? "phase" : "task"] ?? "";
  const [phaseNow, taskNow] = [places.phase(phase), task && places.task(phase, task)];
  if (phaseNow === undefined || (task !== undefined && taskNow === undefined)) return undefined;
  return pathIn(phaseNow, taskNow);
}

function pathIn(phase: PhaseDefinition, task?: TaskDefinition): string {
  return task?.file ?? phase.file ?? `phases/${phase.number}/phase.md`;
}

/** A document, and the phase whose tasks may name it. */
interface NamingQuestion {
  readonly path: string;
  readonly phase: PhaseDefinition;
  readonly tasks: readonly { readonly number: number; readonly ready: boolean }[];
}

/** Returns the number of the task that can be done next, if its text names a document: an agent then comes from there. */
export async function taskThatNames(
  context: EngineContext,
  loaded: LoadedSession,
  { phase, tasks, path }: NamingQuestion,
): Promise<number | undefined> {
  const { session, structure } = loaded;
  const next = tasks.find(({ ready }) => ready)?.number;
  const task = phase.tasks.find(({ number }) => number === next);
  if (task === undefined) return undefined;
  // The document itself is more important than where it is named.
  const text = await viewText(context, session, structure, phase, task).catch(() => undefined);
  if (text === undefined) return undefined;
  const named = await namedDocuments(context, loaded, { phase, task }, text.content);
  return named.some((document) => document.path === path) ? next : undefined;
}

/** What a session may read in its workflow's folder. All paths are folded. */
interface Access {
  /** The texts of phases and tasks, with the error for those of phases ahead. */
  readonly texts: ReadonlyMap<string, AnyPhasegateError | undefined>;
  /** The folders `phases/N` of phases. */
  readonly own: ReadonlyMap<string, AnyPhasegateError | undefined>;
  /** The folders of the texts. */
  readonly folders: ReadonlyMap<string, AnyPhasegateError | undefined>;
}

/** A text or folder of several phases can be read as soon as one of them can; that of a phase which the session lacks never. */
function accessOf({ session, structure }: LoadedSession, places: TextPlaces): Access {
  const texts = new Map<string, AnyPhasegateError | undefined>();
  const own = new Map<string, AnyPhasegateError | undefined>();
  const folders = new Map<string, AnyPhasegateError | undefined>();
  const add = (to: typeof texts, path: string, refusal: AnyPhasegateError | undefined) => {
    const folded = foldedPath(path);
    if (refusal === undefined || !to.has(folded)) to.set(folded, refusal);
  };
  const found = new Set<PhaseDefinition>();
  const gone: PhaseDefinition[] = [];
  for (const phase of structure.phases) {
    const now = places.phase(phase);
    if (now === undefined) {
      gone.push(phase);
      continue;
    }
    found.add(now);
    const refusal = readingRefusal(session.head, phase.number, structure);
    add(own, `phases/${now.number}`, refusal);
    for (const part of [undefined, ...phase.tasks]) {
      const text = textPath(structure, places, phase, part);
      if (text === undefined) continue;
      add(texts, text, refusal);
      add(folders, folderOf(text), refusal);
    }
  }
  for (const phase of [...gone, ...places.phases.filter((one) => !found.has(one))]) {
    const paths = [undefined, ...phase.tasks].map((part) => pathIn(phase, part));
    for (const path of paths)
      add(texts, path, refused(path, "the workflow has changed: it is of no phase of this session"));
  }
  return { texts, own, folders };
}

/** Returns why a session may not read a document, by any of its paths. */
function refusalOf({ path, aliases = [] }: WorkflowDocument, access: Access): AnyPhasegateError | undefined {
  return [path, ...aliases].map((one) => refusalAt(one, path, access)).find((refusal) => refusal !== undefined);
}

const PHASES = "phases";

/** Returns why nothing at a path may be read, whether there is a file or not. `named` is the path for the message. */
function refusalAt(path: string, named: string, { texts, own, folders }: Access): AnyPhasegateError | undefined {
  const reason = keptFromAgents(path);
  if (reason !== undefined) return refused(named, reason);
  const folded = foldedPath(path);
  if (texts.has(folded)) return texts.get(folded);
  if (folded !== PHASES && !folded.startsWith(`${PHASES}/`)) return undefined;
  for (let folder = folderOf(folded); folder !== ""; folder = folderOf(folder)) {
    if (own.has(folder)) return own.get(folder);
    // `phases` itself can hold texts, but what is below it belongs to other phases.
    const holdsTexts = folders.has(folder) && (folder !== PHASES || folderOf(folded) === PHASES);
    if (holdsTexts) return folders.get(folder);
  }
  return refused(named, "it is beside no text of the current phase or of a completed one");
}

/** Returns the paths that a request may mean. Throws `PATH_REFUSED` if it can mean none. */
function requestedPaths(given: string, from: string): readonly string[] {
  // `..` is resolved below.
  const fault = pathFault(given.replaceAll("..", "_"));
  if (fault !== undefined) throw refused(given, fault);
  const bare = given.replace(/#.*$/s, "");
  const paths = [...new Set([given, bare, decodedPath(bare)])].flatMap((form) => meantPaths(form, from));
  if (paths.length === 0) throw refused(given, "it leaves the workflow's folder");
  return paths;
}

/** Returns why a text is no relative path; undefined if it is one. */
function pathFault(path: string): string | undefined {
  try {
    parseRelativePath(path);
    return undefined;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return error.details.reason;
    throw error;
  }
}

/** Returns a path as a link writes it without its escapes: `my%20notes.md`. */
function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Unicode writes some letters in two ways, and file systems choose one of them. */
function find(listed: readonly WorkflowDocument[], paths: readonly string[]): WorkflowDocument | undefined {
  for (const path of paths) {
    const found = listed.find((document) => document.path.normalize() === path.normalize());
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Lists the files of a workflow's folder; none if the provider has no documents. */
async function listDocuments({ options }: EngineContext, { type }: WorkflowStructure) {
  return (await options.content.documents?.(type)) ?? [];
}

/** Reads a document for its size; undefined if it is not a text. */
async function textOf(document: WorkflowDocument): Promise<Content | undefined> {
  try {
    return await document.read();
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/** Limits the documents that an error names. */
const NAMED_MAX = 10;

/** Returns the error for a path without a file: the same whether a phase ahead has such a file or not. */
function absent(given: string, paths: readonly string[], access: Access, listed: readonly WorkflowDocument[]) {
  const refusal = paths.map((path) => refusalAt(path, path, access)).find((found) => found !== undefined);
  if (refusal !== undefined) return refusal;
  const readable = listed.filter(
    (document) => !access.texts.has(foldedPath(document.path)) && refusalOf(document, access) === undefined,
  );
  const known = readable.map(({ path }) => path);
  const meant = nearest(given, known);
  const list = known.length === 0 ? "This workflow has no documents." : `Documents: ${firstFew(known, NAMED_MAX)}.`;
  return new PhasegateError("FILE_NOT_FOUND", `the workflow has no document ${shown(given)}`, {
    remedy: `${meant === undefined ? "" : `Did you mean ${meant}? `}${list} Files of the project are not documents: read them yourself.`,
    details: { file: given },
  });
}

function refused(path: string, reason: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `the document ${shown(path)} is refused: ${reason}`, {
    remedy: "Ask for a document that a text of the current phase names.",
    details: { reason },
  });
}

/** Returns the text of a phase, or of one of its tasks, as it is now, with the session's options in it. */
export async function viewText(
  context: EngineContext,
  session: { readonly sessionId: SessionId; readonly head: Pick<SessionHead, "target"> },
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  const view = await readText(context, structure, session.head.target, phase, task);
  // What the tasks share is not in the text of their phase.
  const { own, shared } = view;
  if (![view.content, own, shared].some(namesOption)) return view;
  const content = await withOptions(context, session.sessionId, view.content);
  const named = Object.entries({ own, shared }).filter(([, part]) => namesOption(part));
  const options = await context.pinned.options(session.sessionId);
  const given = named.map(([name, part]) => [name, part && { ...part, text: fillOptions(part.text, options) }]);
  return { ...view, content, facts: markdownFacts(content), ...Object.fromEntries(given) };
}

function namesOption(part: { readonly text: string } | undefined): boolean {
  return part?.text.includes("{options.") === true;
}

/** Returns a text with the options in it that its session was started with. */
export async function withOptions({ pinned }: EngineContext, id: SessionId, content: Content): Promise<Content> {
  if (!namesOption(content)) return content;
  return withText(content, fillOptions(content.text, await pinned.options(id)));
}

/** Returns the text of a phase, or of one of its tasks, for a session on a target. */
export async function readText(
  context: EngineContext,
  structure: WorkflowStructure,
  target: string,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  if (phase.plan !== undefined) {
    const { renderedText } = await loadPlanned();
    return renderedText(context, structure, target, phase, task);
  }
  const pinned = (task ?? phase).textRevision;
  const found = await currentText(context, structure, phase, task);
  const content = filled(found, { target, plan: structure.plan?.path });
  return {
    content,
    facts: markdownFacts(content),
    leftOut: [],
    contentChanged: pinned !== undefined && pinned !== found.revision,
  };
}

/** Reads the text of a phase or task. One that is not as it was at the start may be at another place by now. */
async function currentText(
  context: EngineContext,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task: TaskDefinition | undefined,
): Promise<Content> {
  const { type, revision } = structure;
  const read = (phase: number, task: number | undefined) =>
    context.options.content.text(type, task === undefined ? { phase } : { phase, task }, revision);
  const text = await read(phase.number, task?.number).catch((error: unknown) => {
    if (isPhasegateError(error, "CONTENT_UNAVAILABLE")) return error;
    throw error;
  });
  const pinned = (task ?? phase).textRevision;
  if (!isPhasegateError(text) && text.revision === pinned) return text;
  const places = await findTextPlaces(context, structure);
  const phaseNow = places.phase(phase);
  const taskNow = task && places.task(phase, task);
  if (places.phases.length === 0 && isPhasegateError(text)) throw text;
  if (phaseNow === undefined || (task !== undefined && taskNow === undefined)) {
    throw textGone(type, places.phases.length === 0, phase, phaseNow && task);
  }
  const isHere = phaseNow.number === phase.number && taskNow?.number === task?.number;
  if (!isHere) return read(phaseNow.number, taskNow?.number);
  if (isPhasegateError(text)) throw text;
  return text;
}

function textGone(
  workflowType: string,
  isBroken: boolean,
  phase: PhaseDefinition,
  task: TaskDefinition | undefined,
): PhasegateError<"CONTENT_UNAVAILABLE"> {
  const what = task === undefined ? `phase ${shown(phase.name)}` : `task ${shown(task.name)}`;
  const why = isBroken
    ? `can't be read, so that nothing says where the text of the ${what} is`
    : `has changed, and has no ${what} any more`;
  return new PhasegateError("CONTENT_UNAVAILABLE", `the workflow ${shown(workflowType)} ${why}`, {
    remedy: isBroken
      ? "Correct it: `phasegate validate` says what is wrong with it."
      : "The person who runs this can move the session to the workflow as it is now: `phasegate migrate`.",
    details: { workflowType, phase: phase.number, task: task?.number, file: undefined },
  });
}

/** Fills the placeholders of a text. */
export function filled(content: Content, values: TextValues): Content {
  return withText(content, fillText(content.text, values));
}

/** Returns a content with another text; the same if the text is. */
function withText(content: Content, text: string): Content {
  if (text === content.text) return content;
  return { ...content, text, revision: revisionOf(text), tokens: Math.ceil(text.length / 4) };
}

/** One call in place of many: all that a workflow needs, read side by side. */
import * as z from "zod";
import { invalidCursor, readCursor, writeCursor } from "../../tools/pages.js";
import { revisionOf } from "../../workflow/json.js";
import type { Connection } from "../connection.js";
import { currentStep, type GivenStep, memoryOf } from "../steps/give-step.js";
import { firstSteps } from "../steps/step-index.js";
import { findWorkflow } from "./find.js";
import { loadParts, withinCall } from "./load-parts.js";
import { filePart, folderOf, joinParts, type MissingFile, nameOf, type PreloadedFile } from "./parts.js";
import { type OpenedSkill, skillPlaces } from "./skills.js";
/**
 * Loads a workflow's files in one go, told apart by itself: a workflow.yaml with its configuration, instructions, template,
 * validation, data, engine, elicitation and the workflows that it invokes; or a skill with its texts, its customization
 * and its current step. Throws `WORKFLOW_NOT_FOUND`, `DEFINITION_INVALID` with the lines, `CURSOR_INVALID`, and what a
 * path throws; a file that the workflow names and that isn't there is among `missing`.
 */
export async function preloadWorkflow(connection: Connection, request: PreloadRequest): Promise<PreloadedWorkflow> {
  const memory = memoryOf(connection);
  const kept = skillPlaces(connection);
  const { source, unlessSame } = withinCall(kept.source, request.workflow);
  const places = { ...kept, source };
  const found = await findWorkflow(source, request.workflow, places.roots);
  const { shape, parts, skill } = await unlessSame(found, () => loadParts(places, found));
  const stepped = skill === undefined ? undefined : { places, skill };
  // Giving a step moves the session: in turn with those who ask for the next one.
  const current = stepped === undefined ? undefined : await memory.inTurn(() => currentStep(connection, stepped));
  const step = current === undefined ? joinParts([]) : stepPart(current);
  const { files, missing, warnings } = joinParts([parts, step]);
  const page = pageFiles(files, connection.limits.preloadTokens, request, memory.given);
  const workflow = nameOf(folderOf(found.file));
  const filesLoaded = files.map(({ path }) => path);
  const steps = skill === undefined ? undefined : stepsOf(skill, current);
  await connection.record({
    type: "preloaded",
    workflow,
    files: filesLoaded,
    missing: missing.map(({ path }) => path),
  });
  // Only now: what couldn't be recorded is answered as a failure, and nobody was given anything.
  for (const file of page.files) memory.given.set(file.path, revisionOfFile(file));
  // What is kept for the next call is nobody's to change.
  const given = page.files.map((file) => ({ ...file }));
  const loaded = { workflow, shape, files: given, filesLoaded, missing, warnings };
  return {
    ...loaded,
    message: preloadMessage({ ...loaded, had: page.had, cursor: page.cursor, steps, skillRoot: skillRoot(files) }),
    ...(steps === undefined ? {} : { steps }),
    ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
  };
}

function stepPart({ path, content }: GivenStep) {
  return filePart(path, { role: "step" }, new TextEncoder().encode(content).length, content);
}

function stepsOf({ index, text }: OpenedSkill, current: GivenStep | undefined): PreloadedSteps {
  const all = index.map(({ step, title }) => ({ step, title }));
  if (current === undefined) return { choices: firstSteps(index, text).map(({ step }) => step), index: all };
  const { content: _, ...place } = current;
  return { current: place, index: all };
}

/** What `{skill-root}` stands for, where a text says so. */
function skillRoot(files: readonly PreloadedFile[]): string | undefined {
  const skill = files.findLast(({ role }) => role === "skill");
  if (skill === undefined || !files.some(({ content }) => content.includes("{skill-root}"))) return undefined;
  return skill.path.replace(/\/[^/]+$/, "");
}

/** What is asked of `preloadWorkflow`. */
interface PreloadRequest {
  /** The workflow's name, or the path of its folder or first file. */
  readonly workflow: string;
  /** Where the page before ended. */
  readonly cursor?: string;
  /** Gives files that the connection was given already once more. */
  readonly reload?: boolean;
}

/** The steps of a skill: the index of all, and none of the texts ahead. */
export interface PreloadedSteps {
  /** The step that is at hand: its text is among the files. Missing where there are several to begin with. */
  readonly current?: Omit<GivenStep, "content">;
  /** Where several steps can be the first. */
  readonly choices?: readonly string[];
  readonly index: readonly { readonly step: string; readonly title: string }[];
}

/** A workflow, loaded. */
export interface PreloadedWorkflow {
  /** The name of its folder. */
  readonly workflow: string;
  /** `classic`: a workflow.yaml that names its files. `skill`: a SKILL.md or workflow.md, often with steps. */
  readonly shape: "classic" | "skill";
  /** Whole files, those of this page. */
  readonly files: readonly PreloadedFile[];
  /** The paths of all files that were loaded, those of other pages too. */
  readonly filesLoaded: readonly string[];
  readonly missing: readonly MissingFile[];
  readonly warnings: readonly string[];
  /** For the model: what it has now, and what to do. */
  readonly message: string;
  readonly steps?: PreloadedSteps;
  /** Missing on the last page. */
  readonly cursor?: string;
}

/** What a message is about. */
interface MessageFacts {
  readonly workflow: string;
  readonly files: readonly PreloadedFile[];
  readonly filesLoaded: readonly string[];
  readonly missing: readonly MissingFile[];
  /** Files that were given before, and not again. */
  readonly had: readonly string[];
  readonly cursor: string | undefined;
  readonly steps: PreloadedSteps | undefined;
  /** What `{skill-root}` stands for, where a text names it. */
  readonly skillRoot: string | undefined;
}

/** What the model is told of a preloaded workflow: in few words, since every later turn carries them along. */
function preloadMessage(facts: MessageFacts): string {
  const { missing, cursor, steps, skillRoot } = facts;
  const sentences = [
    loaded(facts),
    cursor === undefined ? "" : "There is more: call preload_workflow with the cursor before you begin.",
    missing.length === 0 ? "" : `${counted(missing.length, "file")} could not be loaded: see missing.`,
    skillRoot === undefined ? "" : `{skill-root} is ${skillRoot}.`,
    steps === undefined ? "" : stepsSentence(steps),
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

function loaded({ workflow, files, filesLoaded, had }: MessageFacts): string {
  const all = filesLoaded.length;
  if (files.length === 0 && had.length === all && all > 0) {
    return (
      `The ${counted(all, "file")} of ${workflow} are already loaded in this conversation and have not changed: ` +
      "go on with what you have. If you no longer have them, call preload_workflow with reload: true."
    );
  }
  const which = files.length === all ? `All ${counted(all, "file")}` : `${files.length} of ${counted(all, "file")}`;
  const before = had.length === 0 ? "" : ` ${had.length} were given before, unchanged: ${had.join(", ")}.`;
  return `${which} of ${workflow} are loaded here, whole: don't read them again.${before}`;
}

function stepsSentence({ current, choices, index }: PreloadedSteps): string {
  if (current === undefined) {
    return `Choose the first of its ${counted(index.length, "step")}: next_step with step: ${choices?.join(" or ")}.`;
  }
  const gate = current.gate === undefined ? "" : ", with the evidence that its gate asks for";
  return `You are at step ${current.number} of ${current.of}. Do it whole, then call next_step${gate}; read no step ahead.`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** Characters that count as one token. */
const CHARACTERS_PER_TOKEN = 4;

/** Whole files that fit, and where the rest begins. */
interface FilesPage {
  readonly files: readonly PreloadedFile[];
  /** Files of this page that the connection has already, by path. */
  readonly had: readonly string[];
  /** Missing on the last page. */
  readonly cursor?: string;
}

/** How many tokens a text is about. */
function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** What tells one content of a file from another. Files are kept as they are read, so this is worked out once for each. */
function revisionOfFile(file: PreloadedFile): string {
  const revision = revisions.get(file) ?? revisionOf(file.content);
  revisions.set(file, revision);
  return revision;
}

const revisions = new WeakMap<PreloadedFile, string>();

/**
 * As many whole files as fit into a budget of tokens, at least one, from where a cursor points. Files that the connection
 * was given in the same revision are named in place of being given again, unless it asks for them: then on the pages that
 * follow, too. Throws `CURSOR_INVALID`.
 */
function pageFiles(
  files: readonly PreloadedFile[],
  budget: number,
  { cursor, reload }: Pick<PreloadRequest, "cursor" | "reload">,
  given: ReadonlyMap<string, string>,
): FilesPage {
  const { from, again } = cursor === undefined ? { from: 0, again: false } : placeOf(cursor, listRevision(files));
  const isAgain = again || reload === true;
  const page: PreloadedFile[] = [];
  const had: string[] = [];
  let used = 0;
  for (const [index, file] of files.entries()) {
    if (index < from) continue;
    if (!isAgain && given.get(file.path) === revisionOfFile(file)) {
      had.push(file.path);
      continue;
    }
    used += tokensOf(file.content);
    if (used > budget && page.length > 0) {
      return { files: page, had, cursor: writeCursor([index, listRevision(files), isAgain]) };
    }
    page.push(file);
  }
  return { files: page, had };
}

/** What tells one list of files from another: only who pages needs it. */
function listRevision(files: readonly PreloadedFile[]): string {
  return revisionOf(JSON.stringify(files.map((file) => [file.path, revisionOfFile(file)])));
}

/** Where the next page begins, the revision of the list, and whether files that were given before are given again. */
const cursorSchema = z.tuple([z.int().nonnegative(), z.string(), z.boolean()]);

const REMEDY = "Call preload_workflow without a cursor, with reload: true.";

function placeOf(cursor: string, list: string): { readonly from: number; readonly again: boolean } {
  const [from, revision, again] = cursorSchema.safeParse(readCursor(cursor)).data ?? [];
  if (from === undefined || again === undefined) throw invalidCursor(cursor, "it is none of this tool's", REMEDY);
  if (revision !== list) throw invalidCursor(cursor, "the workflow's files have changed since", REMEDY);
  return { from, again };
}

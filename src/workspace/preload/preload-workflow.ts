/**
 * Loads everything that a workflow needs in one call, in pages of whole files. The entry file of this folder; what is
 * decided where:
 * - preload-workflow.ts: which files a page contains, and that a connection gets no file twice
 * - find.ts: which folders are workflows, and which of several with the same name counts
 * - load-workflow.ts: limits of invocations and depth; cycles; what is read if `installed_path` misses
 * - components.ts: which paths in a workflow.yaml are its files, and which of these are needed to begin
 * - mapping.ts: which variables of a workflow.yaml are replaced
 * - tags.ts: which tags in instructions load more
 * - skills.ts: when a skill is only a pointer to another one
 * - customization.ts: how a skill's customizations are merged
 * - loading.ts: limits of files and bytes; the files, missing files and warnings of a workflow
 */
import * as z from "zod";
import { invalidCursor, readCursor, writeCursor } from "../../tools/pages.js";
import { revisionOf } from "../../workflow/json.js";
import type { Connection } from "../session/connection.js";
import { currentStep, type GivenStep } from "../steps/next-step.js";
import { firstSteps } from "../steps/step-index.js";
import { defineTool, type ToolSuccess } from "../tools/tool.js";
import { findWorkflow } from "./find.js";
import { loadWorkflow } from "./load-workflow.js";
import { boundedSource, folderOf, Loading, type MissingFile, nameOf, type PreloadedFile } from "./loading.js";
import type { OpenedSkill } from "./skills.js";

/** The steps of a skill, without the texts of later ones. */
export interface PreloadedSteps {
  /** The current step; its text is among the files. Missing if there are several first steps. */
  readonly current?: Omit<GivenStep, "content" | "warnings">;
  /** The first steps to choose from, if there are several. */
  readonly choices?: readonly string[];
  /** All steps in order: `step` is accepted by `next_step`. */
  readonly index: readonly { readonly step: string; readonly title: string }[];
}

/** The answer of `preload_workflow`: a loaded workflow, or a page of it, in whole files. */
export interface WorkflowPreloaded extends ToolSuccess {
  /** The name of its folder. */
  readonly workflow: string;
  /** `classic`: a workflow.yaml that names its files. `skill`: a SKILL.md or workflow.md, often with steps. */
  readonly shape: "classic" | "skill";
  /** The files of this page, each with its whole text. */
  readonly files: readonly PreloadedFile[];
  /** The paths of all loaded files, including those on other pages. */
  readonly filesLoaded: readonly string[];
  /** The files that the workflow needs to begin but that could not be loaded. */
  readonly missing: readonly MissingFile[];
  /** Problems that do not prevent loading, such as an unknown key of the configuration or a cycle. */
  readonly warnings: readonly string[];
  /** A message for the model: what is loaded, and what to do next. */
  readonly message: string;
  /** The steps; missing if the workflow has none in files. */
  readonly steps?: PreloadedSteps;
  /** The cursor of the next page; missing on the last page. */
  readonly cursor?: string;
}

const input = z.strictObject({
  workflow: z.string().describe("Its name, such as intake, or the path of its folder"),
  cursor: z.string().optional().describe("From the page before"),
  reload: z.boolean().optional().describe("Return files again that were returned before"),
});

export const preloadWorkflowTool = defineTool({
  name: "preload_workflow",
  title: "Preload a workflow",
  description:
    "Loads all files of a workflow in one call: its definition, configuration, instructions, template and whatever else it " +
    "names; of a skill with steps, only the current one. Call it first, and don't read these files again.",
  readOnly: true,
  input,
  run: preloadWorkflow,
});

type PreloadRequest = z.output<typeof input>;

/**
 * A missing file is in `missing` if the workflow needs it to begin, and in `warnings` if it finds or writes it later.
 * Throws `WORKFLOW_NOT_FOUND`, `DEFINITION_INVALID`, `CURSOR_INVALID`, and as resolving a path does.
 */
async function preloadWorkflow(request: PreloadRequest, connection: Connection): Promise<WorkflowPreloaded> {
  const loading = new Loading(boundedSource(connection.roots));
  const found = await findWorkflow(loading.source, request.workflow);
  const { shape, skill } = await loadWorkflow(loading, found);
  // Giving the first step changes the session, so it waits for concurrent calls of `next_step`.
  const current = skill && (await connection.inTurn(() => currentStep(connection, skill)));
  if (current !== undefined) {
    const { path, content, warnings = [] } = current;
    loading.add({ path, role: "step", size: new TextEncoder().encode(content).length, content });
    loading.warn(...warnings);
  }
  const all = [...loading.files.values()];
  const missing = [...loading.missing.values()];
  const page = pageFiles(all, connection, request);
  const workflow = nameOf(folderOf(found.file));
  const filesLoaded = all.map(({ path }) => path);
  await connection.record({
    type: "preloaded",
    workflow,
    files: filesLoaded,
    missing: missing.map(({ path }) => path),
  });
  // After the record: if that fails, the call fails and the client gets no file.
  for (const { path, content } of page.files) connection.given.set(path, revisionOf(content));
  const { files, had, cursor } = page;
  const steps = skill && stepsOf(skill, current);
  const root = skillRoot(all);
  const sentences = [
    loadedSentence(workflow, files.length, all.length, had),
    cursor === undefined ? "" : "There are more files: call preload_workflow with the cursor before you begin.",
    missing.length === 0 ? "" : `${counted(missing.length, "file")} could not be loaded: see missing.`,
    root === undefined ? "" : `{skill-root} is ${root}.`,
    steps === undefined ? "" : stepsSentence(steps),
  ];
  // It is short, since every later turn carries it along.
  const message = sentences.filter((sentence) => sentence !== "").join(" ");
  const warnings = [...loading.warnings];
  return { success: true, workflow, shape, files, filesLoaded, missing, warnings, message, steps, cursor };
}

function stepsOf({ index, text }: OpenedSkill, current: GivenStep | undefined): PreloadedSteps {
  const all = index.map(({ step, title }) => ({ step, title }));
  if (current === undefined) return { choices: firstSteps(index, text).map(({ step }) => step), index: all };
  const { content: _, warnings: __, ...place } = current;
  return { current: place, index: all };
}

/** Returns the folder that `{skill-root}` means, if a text uses it. */
function skillRoot(files: readonly PreloadedFile[]): string | undefined {
  const skill = files.findLast(({ role }) => role === "skill");
  if (skill === undefined || !files.some(({ content }) => content.includes("{skill-root}"))) return undefined;
  return skill.path.replace(/\/[^/]+$/, "");
}

function loadedSentence(workflow: string, given: number, all: number, had: readonly string[]): string {
  if (given === 0 && had.length === all && all > 0) {
    return (
      `The ${counted(all, "file")} of ${workflow} are already loaded in this conversation and have not changed: ` +
      "continue with what you have. If you no longer have them, call preload_workflow with reload: true."
    );
  }
  const which = given === all ? `All ${counted(all, "file")}` : `${given} of ${counted(all, "file")}`;
  const before = had.length === 0 ? "" : ` You already have ${had.length}, unchanged: ${had.join(", ")}.`;
  return `${which} of ${workflow} are here, complete: don't read them again.${before}`;
}

function stepsSentence({ current, choices, index }: PreloadedSteps): string {
  if (current === undefined) {
    return `Choose the first of its ${counted(index.length, "step")}: next_step with step: ${choices?.join(" or ")}.`;
  }
  const gate = current.gate === undefined ? "" : ", with the evidence that its gate asks for";
  return `You are at step ${current.number} of ${current.of}. Do all of it, then call next_step${gate}. Don't read later steps.`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

const CHARACTERS_PER_TOKEN = 4;
/** The content of a cursor: the index of the next file, the revision of the list, and whether it is a reload. */
const cursorSchema = z.tuple([z.int().nonnegative(), z.string(), z.boolean()]);

/**
 * Returns as many whole files as fit into the budget of tokens, at least one, from the cursor on. Those that the
 * connection has in the same revision are only named (`had`), unless it asks for a reload, which also holds for the
 * following pages. Throws `CURSOR_INVALID`.
 */
function pageFiles(all: readonly PreloadedFile[], { given, limits }: Connection, { cursor, reload }: PreloadRequest) {
  const revisions = all.map(({ content }) => revisionOf(content));
  const list = revisionOf(JSON.stringify(all.map(({ path }, index) => [path, revisions[index]])));
  const { from, again } = cursor === undefined ? { from: 0, again: false } : placeOf(cursor, list);
  const isAgain = again || reload === true;
  const files: PreloadedFile[] = [];
  const had: string[] = [];
  let used = 0;
  for (const [index, file] of all.entries()) {
    if (index < from) continue;
    if (!isAgain && given.get(file.path) === revisions[index]) {
      had.push(file.path);
      continue;
    }
    used += Math.ceil(file.content.length / CHARACTERS_PER_TOKEN);
    if (used > limits.preloadTokens && files.length > 0) {
      return { files, had, cursor: writeCursor([index, list, isAgain]) };
    }
    files.push(file);
  }
  return { files, had, cursor: undefined };
}

function placeOf(cursor: string, list: string): { readonly from: number; readonly again: boolean } {
  const remedy = "Call preload_workflow without a cursor, with reload: true.";
  const [from, revision, again] = cursorSchema.safeParse(readCursor(cursor)).data ?? [];
  if (from === undefined || again === undefined) throw invalidCursor(cursor, "this tool did not issue it", remedy);
  if (revision !== list) throw invalidCursor(cursor, "the files of the workflow have changed", remedy);
  return { from, again };
}

/** One call in place of many: all that a workflow needs, read side by side. */
import type { Connection } from "../connection.js";
import { currentStep, type GivenStep } from "../steps/give-step.js";
import { firstSteps } from "../steps/step-index.js";
import { memoryOf } from "../steps/step-memory.js";
import { findWorkflow } from "./find-workflow.js";
import { folderOf, nameOf } from "./load-context.js";
import { loadParts } from "./load-parts.js";
import type { OpenedSkill } from "./open-skill.js";
import { pageFiles, revisionOfFile } from "./page.js";
import { filePart, joinParts, type PreloadedFile } from "./parts.js";
import { preloadMessage } from "./preload-message.js";
import type { PreloadedSteps, PreloadedWorkflow, PreloadRequest } from "./preloaded.js";
import { skillPlaces } from "./skill-places.js";
import { withinCall } from "./within-call.js";

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

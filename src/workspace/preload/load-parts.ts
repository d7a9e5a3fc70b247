/**
 * Loads a workflow of either form with all workflows that it invokes, within limits of files, bytes, invocations and
 * depth: files name each other without limit.
 */
import { PhasegateError } from "../../errors.js";
import type { Location } from "../roots/paths.js";
import { loadCustomization } from "./customization.js";
import { findWorkflow } from "./find.js";
import { loadWorkflow } from "./load-workflow.js";
import {
  type FileSource,
  type FoundWorkflow,
  joinParts,
  type LoadContext,
  loadElicitation,
  loadEngine,
  missingPart,
  type Parts,
  warned,
} from "./parts.js";
import { type OpenedSkill, openSkill, type SkillPlaces } from "./skills.js";

/** The most files and bytes that one call reads. */
const FILES_MAX = 500;
const BYTES_MAX = 33_554_432;
/** The most invocations of workflows in one call. Each invocation of the same workflow counts. */
const INVOKED_MAX = 100;

/** A workflow's parts, and the skill if it has steps. */
export interface LoadedWorkflow {
  readonly shape: FoundWorkflow["shape"];
  readonly parts: Parts;
  readonly skill?: OpenedSkill;
}

/** Loads all parts of a workflow except the steps of a skill, which are given one by one. */
export function loadParts(places: SkillPlaces, found: FoundWorkflow): Promise<LoadedWorkflow> {
  const bounded = { ...places, source: boundedSource(places.source) };
  return loadFound(contextOf(bounded), bounded, found, []);
}

/** Limits the files and bytes that are read. Each file counts once. */
function boundedSource(source: FileSource): FileSource {
  const counted = new Set<string>();
  let bytes = 0;
  return {
    ...source,
    async read(location, options) {
      const path = source.show(location);
      const isNew = !counted.has(path);
      counted.add(path);
      if (isNew && counted.size > FILES_MAX) throw tooMuch(path, bytes, `${FILES_MAX} files`);
      if (isNew && bytes > BYTES_MAX) throw tooMuch(path, bytes, `${BYTES_MAX} bytes`);
      const read = await source.read(location, options);
      if (isNew) bytes += read.size;
      return read;
    },
  };
}

function tooMuch(file: string, bytes: number, limit: string): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `not loaded: the workflow has more than ${limit}`, {
    remedy: "Tell the user that the workflow names too many files to load at once. Read what you need with read_file.",
    details: { file, bytes, limit: BYTES_MAX },
  });
}

async function loadFound(
  context: LoadContext,
  places: SkillPlaces,
  found: FoundWorkflow,
  trail: readonly string[],
): Promise<LoadedWorkflow> {
  const { shape, file } = found;
  const path = places.source.show(file);
  const way = [...trail, path];
  const refusal = trail.includes(path)
    ? `workflows refer to each other in a cycle: ${way.join(" → ")}`
    : trail.length > places.maxDepth
      ? `not loaded: it is ${trail.length} workflows deep: ${way.join(" → ")}`
      : undefined;
  if (refusal !== undefined) return { shape, parts: warned(refusal) };
  if (shape === "classic") return { shape, parts: await loadWorkflow(context, file, way) };
  return loadSkill(context, places, file, way);
}

async function loadSkill(
  context: LoadContext,
  places: SkillPlaces,
  file: Location,
  way: readonly string[],
): Promise<LoadedWorkflow> {
  const opened = await openSkill(places, file);
  const customized = await Promise.all(opened.map((skill) => loadCustomization(places.source, skill.file)));
  const parts = opened.flatMap((skill, index) => [skill.parts, customized[index] ?? joinParts([])]);
  const last = opened.at(-1) ?? opened[0];
  if (last.leadsTo?.shape === "classic") {
    const led = await loadFound(context, places, last.leadsTo, way);
    return { shape: "classic", parts: joinParts([...parts, led.parts]) };
  }
  return { shape: "skill", parts: joinParts(parts), ...(last.index.length === 0 ? {} : { skill: last }) };
}

function contextOf(places: SkillPlaces): LoadContext {
  const { source, roots } = places;
  let invoked = 0;
  const context: LoadContext = {
    source,
    definitionRoots: roots,
    engine: once(() => loadEngine(source)),
    elicitation: once(() => loadElicitation(source)),
    async invoke(path, from, trail) {
      invoked += 1;
      if (invoked > INVOKED_MAX)
        return warned(`more than ${INVOKED_MAX} workflows are invoked: the others are not loaded`);
      let file: Location | undefined;
      try {
        const found = await findWorkflow(source, path, roots, from);
        file = found.file;
        const { parts, skill } = await loadFound(context, places, found, trail);
        if (skill === undefined) return parts;
        return joinParts([parts, warned(`${skill.name} has steps: call preload_workflow for it when you get to it`)]);
      } catch (error) {
        return missingPart(source, file, path, { role: "workflow" }, error);
      }
    },
  };
  return context;
}

/** Wraps a function so that it runs at most once. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}

/** Loads a workflow of any shape, with all that it invokes. */
import { PhasegateError } from "../../errors.js";
import type { Location } from "../roots/location.js";
import { loadElicitation, loadEngine } from "./core-texts.js";
import { findWorkflow } from "./find-workflow.js";
import type { LoadContext } from "./load-context.js";
import { loadCustomization } from "./load-customization.js";
import { loadWorkflow } from "./load-workflow.js";
import { type OpenedSkill, openSkill, type SkillPlaces } from "./open-skill.js";
import { joinParts, missingPart, type Parts, warned } from "./parts.js";
import type { FileSource, FoundWorkflow } from "./source.js";

/** How many files one call reads, and how many bytes of them: files name each other, each as many as it likes. */
const FILES_MAX = 500;
const BYTES_MAX = 33_554_432;
/** How many times workflows are invoked in one call, each counted as often as it is invoked. */
const INVOKED_MAX = 100;

/** A workflow's parts; for a skill with steps, also the skill that has them. */
export interface LoadedWorkflow {
  readonly shape: FoundWorkflow["shape"];
  readonly parts: Parts;
  readonly skill?: OpenedSkill;
}

/** Loads all parts of a workflow but the steps of a skill: these are given one by one. */
export function loadParts(places: SkillPlaces, found: FoundWorkflow): Promise<LoadedWorkflow> {
  const bounded = { ...places, source: boundedSource(places.source) };
  return loadFound(contextOf(bounded), bounded, found, []);
}

/** A source that reads no more than a workflow may have. Each file counts once. */
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
  return new PhasegateError("TOO_LARGE", `not loaded: the workflow comes to more than ${limit}`, {
    remedy: "Tell the user: the workflow names more files than are loaded at once. Read what you need with read_file.",
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
    ? `workflows lead to each other in a circle: ${way.join(" → ")}`
    : trail.length > places.maxDepth
      ? `not loaded, since ${trail.length} workflows lead to it one after the other: ${way.join(" → ")}`
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
        return warned(`workflows are invoked more than ${INVOKED_MAX} times: the others are not loaded`);
      let file: Location | undefined;
      try {
        const found = await findWorkflow(source, path, roots, from);
        file = found.file;
        const { parts, skill } = await loadFound(context, places, found, trail);
        if (skill === undefined) return parts;
        return joinParts([parts, warned(`${skill.name} has steps: preload it by itself when you come to it`)]);
      } catch (error) {
        return missingPart(source, file, path, { role: "workflow" }, error);
      }
    },
  };
  return context;
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}

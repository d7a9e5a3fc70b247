/** Loads a workflow of any shape, with all that it invokes. */
import { PhasegateError } from "../../errors.js";
import { RecentMap } from "../../runtime/cache.js";
import type { Location } from "../roots/paths.js";
import { beginLooks, type LookKind, type Seen } from "./cache.js";
import { loadCustomization } from "./customization.js";
import { findWorkflow } from "./find.js";
import { loadWorkflow } from "./load-workflow.js";
import {
  type FileSource,
  type FolderEntry,
  type FoundWorkflow,
  folderOf,
  joinParts,
  type LoadContext,
  loadElicitation,
  loadEngine,
  missingPart,
  type Parts,
  readWhole,
  type WholeText,
  warned,
} from "./parts.js";
import { type OpenedSkill, openSkill, type SkillPlaces } from "./skills.js";

/** How many files one call reads, and how many bytes of them: files name each other, each as many as it likes. */
const FILES_MAX = 500;
const BYTES_MAX = 33_554_432;
/** How many times workflows are invoked in one call, each counted as often as it is invoked. */
const INVOKED_MAX = 100;

/** A workflow's parts; for a skill with steps, also the skill that has them. */
interface LoadedWorkflow {
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

/** One call's looks at the disk, beside what the same call saw and made the last time. */

/** A call that loads a workflow. */
interface LoadingCall {
  /** Each file and folder is looked at once. */
  readonly source: FileSource;
  /** What was loaded the last time, if all that was looked at for it is as it was; else what is loaded now. */
  unlessSame(found: FoundWorkflow, load: () => Promise<LoadedWorkflow>): Promise<LoadedWorkflow>;
}

/** What a call has looked at and made. */
interface Call {
  /** Grows as long as the call goes on. */
  readonly files: ReadonlyMap<string, Location>;
  readonly folders: ReadonlyMap<string, Location>;
  readonly made?: Made;
}

/** A workflow as it was loaded, and what was seen on the way: it is made of nothing else. */
interface Made {
  readonly file: string;
  readonly loaded: LoadedWorkflow;
  readonly files: readonly Seen<WholeText>[];
  readonly folders: readonly Seen<readonly FolderEntry[]>[];
}

const lastCalls = new WeakMap<FileSource["found"], RecentMap<string, Call>>();
/** How many characters of loaded workflows are kept, and how many calls that keep none are worth as many. */
const KEPT_MAX = 8_000_000;
const CALLS_MAX = 200;

/**
 * Begins a call of some name. What the same call looked at the last time is looked at side by side, before it is asked for;
 * what isn't asked for this time was looked at in vain, and goes nowhere.
 */
export function withinCall(source: FileSource, name: string): LoadingCall {
  const calls = lastCalls.get(source.found) ?? new RecentMap<string, Call>(KEPT_MAX, weightOf);
  lastCalls.set(source.found, calls);
  const before = calls.get(name);
  const files = beginLooks(fileLooks(source), before?.files.values() ?? []);
  const folders = beginLooks(folderLooks(source), before?.folders.values() ?? []);
  const call = { files: files.asked, folders: folders.asked };
  return {
    // What is read in here is read whole.
    source: { ...source, read: files.at, list: folders.at },
    async unlessSame({ file }, load) {
      // How it was found matters no more, but for the folder that it was found in.
      files.forget(file);
      folders.forget(folderOf(file));
      const made = before?.made;
      if (made?.file === source.show(file) && (await isAsBefore(made))) {
        calls.set(name, { ...call, made });
        return made.loaded;
      }
      const known = source.found.size;
      const loaded = await load();
      const seen = { files: await files.seen(), folders: await folders.seen() };
      // What lies beside a missing file is no look of these; and who searched all folders needn't do so the next time.
      const lasts = loaded.parts.missing.length === 0 && source.found.size === known;
      calls.set(name, lasts ? { ...call, made: { file: source.show(file), loaded, ...seen } } : call);
      return loaded;
    },
  };

  async function isAsBefore(made: Made): Promise<boolean> {
    const same = await Promise.all([files.areAs(made.files), folders.areAs(made.folders)]);
    return same.every((one) => one);
  }
}

function fileLooks(source: FileSource): LookKind<WholeText> {
  return {
    look: (location) => readWhole(source, location),
    same: (one, other) => one === other || (one.text === other.text && one.size === other.size),
    show: source.show,
  };
}

function folderLooks(source: FileSource): LookKind<readonly FolderEntry[]> {
  return {
    look: (location) => source.list(location),
    same: (one, other) =>
      one.length === other.length &&
      one.every(({ path, kind }, index) => path === other[index]?.path && kind === other[index]?.kind),
    show: source.show,
  };
}

function weightOf({ made }: Call): number {
  const characters = made?.loaded.parts.files.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  return characters + KEPT_MAX / CALLS_MAX;
}

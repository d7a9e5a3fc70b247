/**
 * Opens skills, as BMAD writes them since version 6: a folder with a SKILL.md, often a workflow.md, and steps in files.
 * Follows skills that only point to another one. Texts are cached by the signature of their file.
 */
import { posix } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type { FileSignature } from "../../sandbox/read.js";
import { RecentMap } from "../../workflow/cache.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { isJsonObject } from "../../workflow/json.js";
import { createReport } from "../../workflow/report.js";
import { splitFrontMatter } from "../../workflow/yaml.js";
import type { Location } from "../roots/paths.js";
import { ROOT_NAMES } from "../roots/paths.js";
import type { Roots } from "../roots/roots.js";
import type { Connection } from "../session/keeper.js";
import { isStepFolder, type StepEntry, stepIndex } from "../steps/step-index.js";
import { findWorkflow } from "./find.js";
import {
  type FileSource,
  type FoundWorkflow,
  filePart,
  folderOf,
  inFolder,
  joinParts,
  nameOf,
  type Parts,
  readWhole,
  type WholeText,
  warned,
} from "./parts.js";

/** An opened skill: its own texts, and the index of its steps. */
export interface OpenedSkill {
  readonly name: string;
  /** SKILL.md, or the file that was requested instead. */
  readonly file: Location;
  /** Its instructions. */
  readonly text: string;
  readonly index: readonly StepEntry[];
  /** Its texts as parts. */
  readonly parts: Parts;
  /** The workflow that it points to, if any. */
  readonly leadsTo?: FoundWorkflow;
}

/** The roots in which skills are searched, and the limit of pointers. */
export interface SkillPlaces {
  readonly source: FileSource;
  readonly roots: readonly string[];
  readonly maxDepth: number;
}

/**
 * Opens a skill, and follows it while it only points to another one. Returns all skills on the way; the last one does
 * the work, or points to a classic workflow (`leadsTo`). Throws as reading its first file does.
 */
export async function openSkill(
  places: SkillPlaces,
  file: Location,
): Promise<readonly [OpenedSkill, ...OpenedSkill[]]> {
  const first = await openOne(places, file);
  const others: OpenedSkill[] = [];
  const trail = [file];
  for (let next = first.leadsTo; next?.shape === "skill"; next = others.at(-1)?.leadsTo) {
    const { file: target } = next;
    const circle = trail.some((seen) => places.source.show(seen) === places.source.show(target));
    const names = [...trail, target].map((one) => nameOf(folderOf(one))).join(" → ");
    if (circle) return noted(first, others, `skills point to each other in a cycle: ${names}`);
    if (trail.length > places.maxDepth) return noted(first, others, `too many pointers to follow: ${names}`);
    trail.push(target);
    others.push(await openOne(places, target));
  }
  return [first, ...others];
}

function noted(first: OpenedSkill, others: readonly OpenedSkill[], warning: string): [OpenedSkill, ...OpenedSkill[]] {
  return [{ ...first, parts: joinParts([first.parts, warned(warning)]) }, ...others];
}

async function openOne(places: SkillPlaces, file: Location): Promise<OpenedSkill> {
  const { source } = places;
  const folder = folderOf(file);
  const name = nameOf(folder);
  const [{ text, size }, { hasWorkflow, index }] = await Promise.all([
    readWhole(source, file),
    readFolder(source, file),
  ]);
  const path = source.show(file);
  const isSkill = nameOf(file) === "SKILL.md";
  const own = filePart(path, { role: isSkill ? "skill" : "workflow" }, size, text);
  const { description, body, warnings: faults } = await frontMatter(path, text);
  const warnings = [...faults, ...unrenderedMarks(path, text)];
  if (isSkill && hasWorkflow) {
    const place = inFolder(folder, "workflow.md");
    const workflow = await readWhole(source, place);
    const shown = source.show(place);
    const part = filePart(shown, { role: "workflow" }, workflow.size, workflow.text);
    const parts = joinParts([own, part, warned(...warnings, ...unrenderedMarks(shown, workflow.text))]);
    return { name, file, text: `${text}\n${workflow.text}`, index, parts };
  }
  const targets = isSkill && index.length === 0 ? shimTargets(name, description, body) : [];
  const leadsTo = await firstThatIsThere(places, targets, file);
  const lost = leadsTo === undefined && targets.length > 0 ? [`${path} names ${targets[0]}, which was not found`] : [];
  const parts = joinParts([own, warned(...warnings, ...lost)]);
  return { name, file, text, index, parts, ...(leadsTo === undefined ? {} : { leadsTo }) };
}

/** Marks that a build replaces: `{{.name}}` of templates, and `[[name]]` of a build's own. */
const TEMPLATE_MARK = /\{\{-?\s*\.[A-Za-z][\w.]{0,100}\s*-?\}\}/;
const BUILD_MARK = /\[\[[^\s[\]](?:[^[\]\n]{0,200}[^\s[\]])?\]\]/;

/**
 * Returns a warning if a text has marks that a build should have replaced, in a list of one. `[[` in a code block is code:
 * a test of a shell, or a table of TOML.
 */
export function unrenderedMarks(path: string, text: string): string[] {
  const inProse = withoutFences(text);
  const found = [TEMPLATE_MARK.exec(text)?.[0], BUILD_MARK.exec(inProse)?.[0]].filter((mark) => mark !== undefined);
  if (found.length === 0) return [];
  return [
    `${path} has marks that a build replaces, such as ${found.join(" and ")}: it is a source that was not rendered. Use the rendered skill.`,
  ];
}

function withoutFences(text: string): string {
  let fence: string | undefined;
  return text
    .split("\n")
    .filter((line) => {
      const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
      if (fence === undefined && mark === undefined) return true;
      if (fence === undefined) fence = mark;
      else if (mark?.startsWith(fence)) fence = undefined;
      return false;
    })
    .join("\n");
}

/** Reads the folder of a skill and the folders of steps in it. */
async function readFolder(source: FileSource, file: Location) {
  const folder = folderOf(file);
  const entries = await source.list(folder);
  const below = entries.filter(({ path, kind }) => kind === "folder" && isStepFolder(posix.basename(path)));
  const inside = await Promise.all(below.map(({ path }) => source.list({ root: folder.root, path })));
  const files = [...entries, ...inside.flat()].filter(({ kind }) => kind === "file").map(({ path }) => path);
  const relative = files.map((path) => (folder.path === "." ? path : path.slice(folder.path.length + 1)));
  return { hasWorkflow: relative.includes("workflow.md"), index: stepIndex(relative) };
}

/** Reads a skill's description. Broken front matter is only a warning: the text can still be followed. */
async function frontMatter(path: string, text: string) {
  const report = createReport();
  const { source, body } = await splitFrontMatter(path, text, report);
  const given = isJsonObject(source?.value) ? source.value.description : undefined;
  const warnings = report.sorted().map((diagnostic) => formatDiagnostic({ ...diagnostic, severity: "warning" }));
  return { description: typeof given === "string" ? given : "", body, warnings };
}

async function firstThatIsThere(
  { source, roots }: SkillPlaces,
  targets: readonly string[],
  from: Location,
): Promise<FoundWorkflow | undefined> {
  for (const target of targets) {
    try {
      const found = await findWorkflow(source, target, roots, from);
      // A path may name a file that does not exist.
      const entries = await source.list(folderOf(found.file));
      if (entries.some(({ path }) => path === found.file.path)) return found;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
    }
  }
  return undefined;
}

/** The longest chain of workflows that point to each other. */
const DEPTH_MAX = 5;

/** Returns the places of a connection's workflows: all roots except the output root. */
export function skillPlaces({ roots }: Pick<Connection, "roots">): SkillPlaces {
  return {
    source: keptSource(roots),
    roots: roots.folders.filter((name) => name !== ROOT_NAMES.output),
    maxDepth: DEPTH_MAX,
  };
}

/**
 * The longest skill that counts as a pointer, in characters. Pointers are skills under an old name, or for a client
 * that needs its own file; the longest known ones explain overrides.
 */
const SHIM_MAX = 4000;
/** In a skill this short, in characters, every named path counts as a target. */
const BARE_MAX = 700;
const FORWARDS =
  /\b(?:forwards?|forwarding|redirects?|delegates?|consolidated|merged|renamed|moved)\s+(?:\w+\s+)?(?:in)?to\s+[`'"]?((?:\{[\w-]+\}\/)?[\w./-]*[\w-])/gi;
const FOLLOWS = /\b(?:invoke|follow|load|read|execute|run|use)\b/gi;
const PATH = /@?(?:\{[\w-]+\}|(?<![\w./-])\.{1,2})\/[\w./-]+\.(?:md|xml|ya?ml)/gi;
const QUOTED = /\b(?:invoke|use|run|load)\s+(?:the\s+)?(?:skill\s+)?[`'"]([\w-]+)[`'"]/gi;
/** The engine, which every workflow names. */
const ENGINE = /\/tasks\/workflow\.(?:xml|md)$/;

/**
 * Returns the paths and names that a skill without steps and workflow may point to, the most likely first. Empty for a
 * skill that does the work itself.
 */
export function shimTargets(name: string, description: string, body: string): readonly string[] {
  const text = body.trim();
  if (text.length > SHIM_MAX) return [];
  const forwarded = matches(FORWARDS, `${description}\n${text}`);
  const followed = text.length <= BARE_MAX || forwarded.length > 0 ? followedPaths(text) : [];
  const quoted = text.length <= BARE_MAX || forwarded.length > 0 ? matches(QUOTED, text) : [];
  const targets = [...forwarded, ...followed, ...quoted].map((target) => target.replace(/^@/, ""));
  return [...new Set(targets)].filter((target) => target !== name && !ENGINE.test(target) && /[\w-]/.test(target));
}

/** Returns the paths that follow a verb such as "read" in the same line. Each verb counts for one path. */
function followedPaths(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const paths: string[] = [];
    const verbs = [...line.matchAll(FOLLOWS)].map(({ index }) => index);
    let verb = verbs.shift();
    for (const { 0: path, index } of line.matchAll(PATH)) {
      if (verb === undefined || verb > index) continue;
      paths.push(path);
      while (verb !== undefined && verb < index + path.length) verb = verbs.shift();
    }
    return paths;
  });
}

function matches(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].flatMap(({ 1: target }) => (target === undefined ? [] : [target]));
}

/** A cached text, and the signature of its file. */
interface Kept extends WholeText {
  readonly key: string;
}

/** The most characters of texts in memory. The oldest texts are dropped first. */
const KEPT_SOURCES_MAX = 8_000_000;
/** A second change within so many milliseconds may leave a file's signature the same. */
const STABLE_MS = 2000;

/** What all connections share, also those of different callers: a file that is taken from it was checked before. */
interface Shared extends Pick<FileSource, "found"> {
  readonly kept: RecentMap<string, Kept>;
}

const caches = new WeakMap<Roots, Shared>();

function sharedBy({ origin }: Roots): Shared {
  const known = caches.get(origin) ?? {
    kept: new RecentMap<string, Kept>(KEPT_SOURCES_MAX, ({ text }) => text.length),
    found: new Map(),
  };
  caches.set(origin, known);
  return known;
}

/** Returns the caching source of some roots. */
function keptSource(roots: Roots): FileSource {
  const { kept, found } = sharedBy(roots);
  return {
    known: roots.known,
    found,
    resolve: (path, options) => roots.resolve(path, options),
    expand: (text) => roots.expand(text),
    list: (location) => roots.list(location),
    nearest: (location) => roots.nearest(location),
    show: (location) => roots.show(location),
    async read(location: Location, options) {
      const path = roots.show(location);
      const known = kept.get(path);
      if (known !== undefined && known.size <= options.maxBytes) {
        const signature = await (await roots.reach(location)).signature(location.path);
        if (known.key === signature?.key) return known;
      }
      const { text, size, signature } = await roots.read(location, options);
      // The text may be newer than the signature, never older. Then the file is only read once more.
      if (isSettled(signature)) kept.set(path, { key: signature.key, text, size });
      return { text, size };
    },
  };
}

function isSettled({ changedAt }: FileSignature): boolean {
  return Date.now() - changedAt > STABLE_MS;
}

/** Skills as BMAD writes them since its version 6: a folder with SKILL.md, often a workflow.md, and steps in files. */
import { posix } from "node:path";
import { isPhasegateError } from "../../errors.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { isJsonObject } from "../../workflow/json.js";
import { createReport } from "../../workflow/report.js";
import { splitFrontMatter } from "../../workflow/yaml.js";
import type { Connection } from "../connection.js";
import { ROOT_NAMES } from "../roots/folders.js";
import type { Location } from "../roots/paths.js";
import { isStepFolder, type StepEntry, stepIndex } from "../steps/step-index.js";
import { keptSource } from "./cache.js";
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
  warned,
} from "./parts.js";
/** A skill, opened: its own texts, and what steps it has. */
export interface OpenedSkill {
  readonly name: string;
  /** SKILL.md, or what stands in its place. */
  readonly file: Location;
  /** What tells how it is worked through. */
  readonly text: string;
  readonly index: readonly StepEntry[];
  /** Its texts. */
  readonly parts: Parts;
  /** Where it leads, if it is a pointer to another one. */
  readonly leadsTo?: FoundWorkflow;
}

/** Where skills are looked for, and how far pointers are followed. */
export interface SkillPlaces {
  readonly source: FileSource;
  readonly roots: readonly string[];
  readonly maxDepth: number;
}

/**
 * Opens a skill, and follows it where it only points to another: gives all that were come by, the one that does the work
 * last. That one may lead to a classic workflow (`leadsTo`). Throws what reading its first file throws.
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
    if (circle) return noted(first, others, `skills point to each other in a circle: ${names}`);
    if (trail.length > places.maxDepth) return noted(first, others, `pointers are followed no further: ${names}`);
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
    lookAround(source, file),
  ]);
  const path = source.show(file);
  const isSkill = nameOf(file) === "SKILL.md";
  const own = filePart(path, { role: isSkill ? "skill" : "workflow" }, size, text);
  const { description, body, warnings } = await frontMatter(path, text);
  if (isSkill && hasWorkflow) {
    const place = inFolder(folder, "workflow.md");
    const workflow = await readWhole(source, place);
    const part = filePart(source.show(place), { role: "workflow" }, workflow.size, workflow.text);
    return { name, file, text: `${text}\n${workflow.text}`, index, parts: joinParts([own, part, warned(...warnings)]) };
  }
  const targets = isSkill && index.length === 0 ? shimTargets(name, description, body) : [];
  const leadsTo = await firstThatIsThere(places, targets, file);
  const lost = leadsTo === undefined && targets.length > 0 ? [`${path} names ${targets[0]}, which was not found`] : [];
  const parts = joinParts([own, warned(...warnings, ...lost)]);
  return { name, file, text, index, parts, ...(leadsTo === undefined ? {} : { leadsTo }) };
}

/** What lies beside a skill's first file; folders of steps are looked into. */
async function lookAround(source: FileSource, file: Location) {
  const folder = folderOf(file);
  const entries = await source.list(folder);
  const below = entries.filter(({ path, kind }) => kind === "folder" && isStepFolder(posix.basename(path)));
  const inside = await Promise.all(below.map(({ path }) => source.list({ root: folder.root, path })));
  const files = [...entries, ...inside.flat()].filter(({ kind }) => kind === "file").map(({ path }) => path);
  const relative = files.map((path) => (folder.path === "." ? path : path.slice(folder.path.length + 1)));
  return { hasWorkflow: relative.includes("workflow.md"), index: stepIndex(relative) };
}

/** A description that can't be read is no reason not to follow the text. */
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
      // A path may be to a file that isn't there; whoever reads it would find out too late.
      const beside = await source.list(folderOf(found.file));
      if (beside.some(({ path }) => path === found.file.path)) return found;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
    }
  }
  return undefined;
}

/** How deep workflows may lead to one another. */
const DEPTH_MAX = 5;

/** Where a connection's workflows lie: below all its roots but that of the sessions. */
export function skillPlaces({ roots }: Pick<Connection, "roots">): SkillPlaces {
  return {
    source: keptSource(roots),
    roots: roots.folders.filter((name) => name !== ROOT_NAMES.output),
    maxDepth: DEPTH_MAX,
  };
}

/** Skills that only point elsewhere: kept under an old name, or made for a client that wants a file of its own. */

/** How long a skill may be that is taken for a pointer, in characters: the longest known ones say much about overrides. */
const SHIM_MAX = 4000;
/** So short that whatever it names is all that it is. */
const BARE_MAX = 700;
const FORWARDS =
  /\b(?:forwards?|forwarding|redirects?|delegates?|consolidated|merged|renamed|moved)\s+(?:\w+\s+)?(?:in)?to\s+[`'"]?((?:\{[\w-]+\}\/)?[\w./-]*[\w-])/gi;
const FOLLOWS = /\b(?:invoke|follow|load|read|execute|run|use)\b/gi;
const PATH = /@?(?:\{[\w-]+\}|(?<![\w./-])\.{1,2})\/[\w./-]+\.(?:md|xml|ya?ml)/gi;
const QUOTED = /\b(?:invoke|use|run|load)\s+(?:the\s+)?(?:skill\s+)?[`'"]([\w-]+)[`'"]/gi;
/** What every workflow names beside itself. */
const ENGINE = /\/tasks\/workflow\.(?:xml|md)$/;

/**
 * What a skill that has neither steps nor a workflow of its own leads to: paths and names of skills, the likeliest first.
 * Empty for a skill that does something itself.
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

/** The paths that a line leads to: each behind a word of its own. */
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

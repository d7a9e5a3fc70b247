/** Opens skills, as BMAD has them since version 6: a SKILL.md, often a workflow.md, and steps in files. */
import { posix } from "node:path";
import { isPhasegateError } from "../../errors.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { isJsonObject } from "../../workflow/json.js";
import { createReport } from "../../workflow/report.js";
import { splitFrontMatter } from "../../workflow/yaml.js";
import { type Location, showLocation } from "../roots/paths.js";
import { isStepFolder, type StepEntry, stepIndex } from "../steps/step-index.js";
import { findWorkflow } from "./find.js";
import { type FileSource, type FoundWorkflow, folderOf, inFolder, nameOf, type PreloadedFile } from "./loading.js";
import { unrenderedMarks } from "./tags.js";

export interface OpenedSkill {
  readonly name: string;
  /** SKILL.md, or the file that was requested instead. */
  readonly file: Location;
  /** Its instructions. */
  readonly text: string;
  readonly index: readonly StepEntry[];
  readonly files: readonly PreloadedFile[];
  readonly warnings: readonly string[];
  /** The workflow that it points to, if any. */
  readonly leadsTo?: FoundWorkflow | undefined;
}

/** The longest chain of workflows that point to each other. */
export const DEPTH_MAX = 5;

/** Opens a skill, and those it points to. The last one does the work, or leads to a classic workflow. */
export async function openSkill(source: FileSource, file: Location): Promise<readonly [OpenedSkill, ...OpenedSkill[]]> {
  const first = await openOne(source, file);
  const others: OpenedSkill[] = [];
  const trail = [file];
  for (let next = first.leadsTo; next?.shape === "skill"; next = others.at(-1)?.leadsTo) {
    const { file: target } = next;
    const isCircle = trail.some((seen) => showLocation(seen) === showLocation(target));
    const names = [...trail, target].map((one) => nameOf(folderOf(one))).join(" → ");
    if (isCircle || trail.length > DEPTH_MAX) {
      const fault = isCircle ? "skills point to each other in a cycle" : "too many pointers to follow";
      return [{ ...first, warnings: [...first.warnings, `${fault}: ${names}`] }, ...others];
    }
    trail.push(target);
    others.push(await openOne(source, target));
  }
  return [first, ...others];
}

async function openOne(source: FileSource, file: Location): Promise<OpenedSkill> {
  const folder = folderOf(file);
  const name = nameOf(folder);
  const path = showLocation(file);
  const { text, size } = await source.read(file);
  const { hasWorkflow, index } = await readFolder(source, file);
  const isSkill = nameOf(file) === "SKILL.md";
  const own: PreloadedFile = { path, role: isSkill ? "skill" : "workflow", size, content: text };
  const { description, body, warnings: faults } = await frontMatter(path, text);
  const warnings = [...faults, ...unrenderedMarks(path, text)];
  if (isSkill && hasWorkflow) {
    const place = inFolder(folder, "workflow.md");
    const workflow = await source.read(place);
    const shown = showLocation(place);
    const other: PreloadedFile = { path: shown, role: "workflow", size: workflow.size, content: workflow.text };
    warnings.push(...unrenderedMarks(shown, workflow.text));
    return { name, file, text: `${text}\n${workflow.text}`, index, files: [own, other], warnings };
  }
  const targets = isSkill && index.length === 0 ? shimTargets(name, description, body) : [];
  const leadsTo = await firstThatIsThere(source, targets, file);
  if (leadsTo === undefined && targets.length > 0) warnings.push(`${path} names ${targets[0]}, which was not found`);
  return { name, file, text, index, files: [own], warnings, leadsTo };
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
  source: FileSource,
  targets: readonly string[],
  from: Location,
): Promise<FoundWorkflow | undefined> {
  for (const target of targets) {
    try {
      const found = await findWorkflow(source, target, from);
      // A path may name a file that does not exist.
      const entries = await source.list(folderOf(found.file));
      if (entries.some(({ path }) => path === found.file.path)) return found;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
    }
  }
  return undefined;
}

/** The longest pointer, in characters: the longest known ones explain overrides. */
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

/** Returns possible targets, the most likely first; none for a skill that does the work itself. */
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

/** Skills as BMAD writes them since its version 6: a folder with SKILL.md, often a workflow.md, and steps in files. */
import { posix } from "node:path";
import { formatDiagnostic } from "../../definition/diagnostic.js";
import { splitFrontMatter } from "../../definition/folder/front-matter.js";
import { createReport } from "../../definition/folder/report.js";
import { isJsonObject } from "../../definition/json.js";
import { isPhasegateError } from "../../errors.js";
import type { Location } from "../roots/location.js";
import { isStepFolder, type StepEntry, stepIndex } from "../steps/step-index.js";
import { findWorkflow } from "./find-workflow.js";
import { folderOf, inFolder, nameOf } from "./load-context.js";
import { filePart, joinParts, type Parts, warned } from "./parts.js";
import { shimTargets } from "./shim.js";
import { type FileSource, type FoundWorkflow, readWhole } from "./source.js";

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

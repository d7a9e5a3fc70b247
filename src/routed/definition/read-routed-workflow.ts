import { canonicalJson } from "../../definition/canonical-json.js";
import { type Diagnostic, hasErrors, unreadable } from "../../definition/diagnostic.js";
import { revisionOf } from "../../definition/digest.js";
import { createReport, type Report } from "../../definition/folder/report.js";
import { FILE_MAX, withoutMark } from "../../definition/folder/workflow-files.js";
import { isWorkflowType, shown } from "../../definition/names.js";
import type { RoutedDefinition } from "../../definition/routed-definition.js";
import type { TextSource } from "../../ports/text-source.js";
import { checkNames } from "./check-names.js";
import { checkReferences } from "./check-references.js";
import { checkWays } from "./check-ways.js";
import { expandIncludes, newBudget } from "./expand-includes.js";
import { type IndexEntry, readIndex } from "./read-index.js";
import { type FoundStep, readStep, type StepOptions, stepPath } from "./read-step.js";

/** How many paths below a workflow's folder are looked at. */
const PATHS_MAX = 10_000;

/** What came of reading a routed workflow: a definition, unless there is an error among the diagnostics. */
export interface ReadRoutedWorkflow {
  readonly definition?: RoutedDefinition;
  /** Their files are relative to the workflow's folder. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads the workflow in a folder of a source: `NAME/index.md` and `NAME/steps/*.md`, with all that they include from the
 * workflow's folder and from `includeRoots`, folders of the same source. Everything that is wrong is said at once.
 */
export async function readRoutedWorkflow(
  name: string,
  source: TextSource,
  includeRoots: readonly string[] = [],
): Promise<ReadRoutedWorkflow> {
  const report = createReport();
  const file = `${name}/index.md`;
  try {
    const definition = await readBounded(name, source, includeRoots, report);
    const diagnostics = relativeTo(name, report);
    return definition === undefined || hasErrors(diagnostics) ? { diagnostics } : { definition, diagnostics };
  } catch (error) {
    report.failed({ file }, error);
    return { diagnostics: relativeTo(name, report) };
  }
}

async function readBounded(
  name: string,
  source: TextSource,
  includeRoots: readonly string[],
  report: Report,
): Promise<RoutedDefinition | undefined> {
  const roots = [name, ...includeRoots].map((root) => (root === "" || root === "." ? "" : `${root}/`));
  const paths = await listPaths(name, source, report);
  const options: StepOptions = {
    folder: name,
    paths,
    read: (path) => readText(path, source, report),
    isAllowed: (path) => roots.some((root) => path.startsWith(root)),
    report,
    budget: newBudget(),
  };
  return readDefinition(name, options);
}

/** A text; undefined, with an error at its path, where the source throws. Of what a host's source throws only the name is told. */
async function readText(path: string, source: TextSource, report: Report): Promise<string | undefined> {
  let text: unknown;
  try {
    text = await source.read(path);
  } catch (error) {
    return tellUnreadable(error, path, report);
  }
  if (text === undefined) return undefined;
  if (typeof text !== "string") return tellUnreadable(new TypeError(), path, report);
  if (text.length <= FILE_MAX) return text;
  report.error("FILE_TOO_LARGE", { file: path }, `the file is larger than ${FILE_MAX} bytes`, "Split it.");
  return undefined;
}

/** The paths below a workflow's folder: none, with an error, where the source throws or gives something else. */
async function listPaths(name: string, source: TextSource, report: Report): Promise<readonly string[]> {
  try {
    return (await source.list(name)).filter((path) => typeof path === "string").slice(0, PATHS_MAX);
  } catch (error) {
    tellUnreadable(error, `${name}/index.md`, report);
    return [];
  }
}

function tellUnreadable(error: unknown, path: string, report: Report): undefined {
  const { code, file, message, hint = "" } = unreadable(error, path);
  report.error(code, { file }, message, hint);
}

function relativeTo(name: string, report: Report): Diagnostic[] {
  return report.sorted().map((found) => ({ ...found, file: relative(found.file, name) }));
}

async function readDefinition(name: string, options: StepOptions): Promise<RoutedDefinition | undefined> {
  const { report } = options;
  const file = `${name}/index.md`;
  if (!isWorkflowType(name)) {
    const hint = "Use letters, digits, '_', '-' and '.' only, beginning with a letter or a digit.";
    report.error("WORKFLOW_TYPE_INVALID", { file }, `a workflow can't be called ${shown(name)}`, hint);
  }
  const text = await options.read(file);
  if (text === undefined) {
    report.error("INDEX_MISSING", { file }, "there is no index.md", "Write one with a list of links to steps/*.md.");
    return undefined;
  }
  const index = await expandIncludes(file, withoutMark(text), options);
  const { goal, entries } = readIndex(index, report);
  if (entries.length === 0) {
    const hint = "Write a list whose items link to them: '- [First Step](steps/first_step.md)'.";
    report.error("STEPS_MISSING", { file, line: 1 }, "the index names no step", hint);
  }
  checkNames(entries, report);
  const steps = await readSteps(entries, options);
  checkUnlisted(steps, entries.length, options);
  const led = new Map<FoundStep, ReadonlySet<string>>();
  for (const found of steps) {
    await report.hasRoom(0, found.entry.place);
    led.set(found, checkReferences(found, steps, options));
  }
  // A step that could not be read may be the one that leads on.
  if (steps.length === entries.length) checkWays(steps, led, report);
  const [first, ...rest] = steps.map(({ step }) => step);
  if (first === undefined) return undefined;
  return sealed({ name, index: index.text.trim(), steps: [first, ...rest], ...(goal === undefined ? {} : { goal }) });
}

async function readSteps(entries: readonly IndexEntry[], options: StepOptions): Promise<FoundStep[]> {
  const steps: FoundStep[] = [];
  const before = new Map<string, string>();
  for (const entry of entries) {
    const path = stepPath(entry, options);
    if (path === undefined) continue;
    const other = before.get(path);
    if (other !== undefined && other !== entry.name) reportSameFile(entry, other, options.report);
    before.set(path, entry.name);
    const found = await readStep(entry, path, options);
    if (found !== undefined) steps.push(found);
  }
  return steps;
}

function reportSameFile({ name, place }: IndexEntry, other: string, report: Report): void {
  const message = `the steps ${shown(other)} and ${shown(name)} have the same file`;
  report.warn("STEP_DUPLICATE", place, message, "Give each step a file of its own, and include what they share.");
}

function checkUnlisted(steps: readonly FoundStep[], listed: number, { folder, paths, report }: StepOptions): void {
  if (steps.length !== listed) return;
  const used = new Set(steps.map(({ path }) => path));
  for (const path of paths) {
    if (!path.startsWith(`${folder}/steps/`) || !path.endsWith(".md") || used.has(path)) continue;
    const message = `${path.slice(folder.length + 1)} is no step: the index doesn't link to it`;
    report.warn(
      "STEP_UNLISTED",
      { file: path },
      message,
      "Add it to the list, or move what is only included elsewhere.",
    );
  }
}

/** Names the revision by all that was read. */
function sealed(content: Omit<RoutedDefinition, "revision">): RoutedDefinition {
  return { ...content, revision: revisionOf(canonicalJson(content)) };
}

function relative(file: string, folder: string): string {
  return file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : `../${file}`;
}

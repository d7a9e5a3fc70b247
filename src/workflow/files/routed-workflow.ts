/** Reads folders of routed workflows for an engine, again when any text that went into one has changed. */
import { PhasegateError, type SourcePosition } from "../../errors.js";
import { systemClock, turns } from "../../ports/clock.js";
import type { RoutedListing, RoutedSource, TextSource } from "../../ports/content-provider.js";
import { type Diagnostic, type DiagnosticCode, formatDiagnostic, hasErrors, unreadable } from "../diagnostic.js";
import { canonicalJson, revisionOf } from "../json.js";
import { firstFew, isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../names.js";
import { createReport, type Report } from "../report.js";
import type { RoutedDefinition } from "../routed-definition.js";
import { checkNames, checkReferences, checkWays, type GuidanceNames, type TakenName } from "./routed-checks.js";
import { expandIncludes, newBudget } from "./routed-includes.js";
import { type IndexEntry, readIndex } from "./routed-index.js";
import { type FoundStep, readStep, type StepOptions, stepPath } from "./routed-step.js";
import { FILE_MAX, TimedReads, TURN_MS, withoutMark } from "./workflow-files.js";

/** The result of reading a routed workflow. */
export interface ReadRoutedWorkflow {
  /** The definition; missing if a diagnostic is an error. */
  readonly definition?: RoutedDefinition;
  /** The problems of the definition. File names are relative to the workflow's folder. */
  readonly diagnostics: readonly Diagnostic[];
  /** Names in guidance texts, such as `Finish`, that could mean the end as well as a step, with what they mean. */
  readonly taken: readonly TakenName[];
}

/**
 * Reads the workflow `NAME/index.md` and `NAME/steps/*.md` from a source, with everything that they include from the
 * workflow's folder and from `includeRoots`, folders of the same source. Reports all problems at once.
 */
export async function readRoutedWorkflow(
  name: string,
  source: TextSource,
  includeRoots: readonly string[] = [],
): Promise<ReadRoutedWorkflow> {
  const report = createReport([], turns(systemClock, TURN_MS));
  let found: FoundDefinition | undefined;
  try {
    const roots = [name, ...includeRoots].map(startOf);
    found = await readDefinition(name, {
      folder: name,
      paths: await listPaths(name, source, report),
      read: (path) => readText(path, source, report),
      isAllowed: (path) => roots.some((root) => path.startsWith(root)),
      report,
      budget: newBudget(),
    });
  } catch (error) {
    report.failed({ file: `${name}/index.md` }, error);
  }
  const diagnostics = relativeTo(name, report.sorted());
  if (found === undefined || hasErrors(diagnostics)) return { diagnostics, taken: [] };
  return { definition: found.definition, diagnostics, taken: relativeTo(name, found.taken) };
}

/** The folders of routed workflows. */
export interface RoutedFoldersOptions {
  /** The texts below one root. Each folder directly in it with an index.md or a folder `steps` is a workflow. */
  readonly source: TextSource;
  /** Other folders of the same source that may be included from; `"."` for all of it. Default: none. */
  readonly includeRoots?: readonly string[];
}

const LISTED_MAX = 5;

interface Kept {
  readonly paths: readonly string[];
  /** The text of each path; undefined if there was none. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  readonly read: ReadRoutedWorkflow;
}

/** Routed workflows from texts. Edited, added and deleted files count from the next call on. */
export class RoutedFolders implements RoutedSource {
  readonly #source: TextSource;
  readonly #includeRoots: readonly string[];
  readonly #kept = new Map<string, Kept>();
  readonly #timed = new TimedReads<RoutedListing>((name, diagnostic) => {
    return { status: "broken", name, diagnostics: [diagnostic] };
  });

  constructor({ source, includeRoots = [] }: RoutedFoldersOptions) {
    this.#source = source;
    this.#includeRoots = includeRoots;
  }

  /** Returns all workflows by name; those with errors are listed as broken. */
  async list(): Promise<readonly RoutedListing[]> {
    const names = new Set((await this.#source.list("")).flatMap(folderOf));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
    return this.#timed.all([...names].sort(), async (name) => {
      const { definition, diagnostics } = await this.read(name);
      if (definition === undefined) return { status: "broken", name, diagnostics };
      return { status: "ready", name, definition, diagnostics };
    });
  }

  /**
   * Returns a definition by name; undefined if there is no such workflow.
   *
   * @throws {PhasegateError} `DEFINITION_INVALID` when the workflow has errors.
   */
  async definition(name: string): Promise<RoutedDefinition | undefined> {
    // Names come from clients: only a valid one may become a path.
    if (!isWorkflowType(name)) return undefined;
    const paths = await this.#source.list(name);
    if (!paths.some((path) => folderOf(path).includes(name))) {
      this.#kept.delete(name);
      return undefined;
    }
    const { definition, diagnostics } = await this.read(name);
    if (definition !== undefined) return definition;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    const listed = firstFew(errors, LISTED_MAX, "; ");
    throw new PhasegateError("DEFINITION_INVALID", `the workflow ${name} is broken: ${listed}`, {
      remedy: "Correct the files; `phasegate validate` shows every problem with its place.",
      details: { workflowType: name, diagnostics: errors },
    });
  }

  /** Returns a workflow with its diagnostics, from the cache if nothing has changed. */
  async read(name: string): Promise<ReadRoutedWorkflow> {
    const paths = await this.#source.list(name);
    const kept = this.#kept.get(name);
    if (kept !== undefined && (await this.#isCurrent(kept, paths))) return kept.read;
    const texts = new Map<string, string | undefined>();
    const source: TextSource = {
      list: (folder) => this.#source.list(folder),
      read: async (path) => {
        const text = texts.has(path) ? texts.get(path) : await this.#source.read(path);
        texts.set(path, text);
        return text;
      },
    };
    const read = await readRoutedWorkflow(name, source, this.#includeRoots);
    const hasFailed = read.diagnostics.some(({ code }) => code === ("DEFINITION_UNREADABLE" satisfies DiagnosticCode));
    // A failed read may work the next time.
    if (!hasFailed) this.#kept.set(name, { paths, texts, read });
    return read;
  }

  async #isCurrent(kept: Kept, paths: readonly string[]): Promise<boolean> {
    if (paths.length !== kept.paths.length || paths.some((path, index) => path !== kept.paths[index])) return false;
    const texts = await Promise.all([...kept.texts.keys()].map((path) => this.#source.read(path)));
    return [...kept.texts.values()].every((text, index) => text === texts[index]);
  }
}

/** Returns what the paths below a folder begin with. `shared/` and `./shared` are the same folder as `shared`. */
function startOf(folder: string): string {
  const plain = folder.replace(/^(?:\.\/+)+|(?<=[^/])\/+$/g, "");
  return plain === "" || plain === "." ? "" : `${plain}/`;
}

const PATHS_MAX = 10_000;

/** Returns the paths below a workflow's folder; none, with an error, if the source throws or returns something else. */
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

/** Returns a text; undefined, with an error at its path, if the source throws. Only the name of the error is reported. */
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

interface FoundDefinition {
  readonly definition: RoutedDefinition;
  readonly taken: readonly TakenName[];
}

async function readDefinition(name: string, options: StepOptions): Promise<FoundDefinition | undefined> {
  const { report } = options;
  const file = `${name}/index.md`;
  if (!isWorkflowType(name)) {
    const message = `a workflow can't be called ${shown(name)}`;
    report.error("WORKFLOW_TYPE_INVALID", { file }, message, WORKFLOW_NAME_RULE);
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
  // A step that could not be read may be the one that leads to the others.
  const isWhole = steps.length === entries.length;
  if (isWhole) checkUnlisted(steps, options);
  const led = new Map<FoundStep, GuidanceNames>();
  for (const found of steps) {
    await report.spendRules(0, found.entry.place);
    led.set(found, checkReferences(found, steps, options));
  }
  if (isWhole) checkWays(steps, led, report);
  const [first, ...rest] = steps.map(({ step }) => step);
  if (first === undefined) return undefined;
  const content = { name, goal, index: index.text.trim(), steps: [first, ...rest] as const };
  // The revision is a digest of everything that was read.
  const definition = { ...content, revision: revisionOf(canonicalJson(content)) };
  return { definition, taken: [...led.values()].flatMap(({ taken }) => taken) };
}

async function readSteps(entries: readonly IndexEntry[], options: StepOptions): Promise<FoundStep[]> {
  const steps: FoundStep[] = [];
  const before = new Map<string, string>();
  for (const entry of entries) {
    const { name, place } = entry;
    const path = stepPath(entry, options);
    if (path === undefined) continue;
    const other = before.get(path);
    if (other !== undefined && other !== name) {
      const message = `the steps ${shown(other)} and ${shown(name)} have the same file`;
      const hint = "Give each step a file of its own, and include what they share.";
      options.report.warn("STEP_DUPLICATE", place, message, hint);
    }
    before.set(path, name);
    const found = await readStep(entry, path, options);
    if (found !== undefined) steps.push(found);
  }
  return steps;
}

function checkUnlisted(steps: readonly FoundStep[], { folder, paths, report }: StepOptions): void {
  const used = new Set(steps.map(({ path }) => path));
  for (const path of paths) {
    if (!path.startsWith(`${folder}/steps/`) || !path.endsWith(".md") || used.has(path)) continue;
    const message = `${path.slice(folder.length + 1)} is not a step: the index doesn't link to it`;
    const hint = "Add it to the list, or move what is only included elsewhere.";
    report.warn("STEP_UNLISTED", { file: path }, message, hint);
  }
}

/** Returns places with file names relative to the workflow's folder. */
function relativeTo<Found extends SourcePosition>(name: string, found: readonly Found[]): Found[] {
  const relative = (file: string) => (file.startsWith(`${name}/`) ? file.slice(name.length + 1) : `../${file}`);
  return found.map((one) => ({ ...one, file: relative(one.file) }));
}

function folderOf(path: string): string[] {
  const [name, second, third] = path.split("/");
  return name !== undefined && (second === "index.md" || (second === "steps" && third !== undefined)) ? [name] : [];
}

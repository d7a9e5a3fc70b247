import { posix } from "node:path";
import { isPhasegateError } from "../../errors.js";
import { openWall } from "../../sandbox/open.js";
import type { Wall } from "../../sandbox/sandbox.js";
import { type Diagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { keptBack } from "../../workflow/kept-back.js";
import { shown } from "../../workflow/names.js";
import { createReport, type Report } from "../../workflow/report.js";
import { type Bundle, readBundle } from "./bundle.js";
/** A bundle, and where it lies. */
export interface FoundBundle extends Bundle {
  /** Its folder, relative to the one that was looked through. */
  readonly folder: string;
}

/** The bundles below a folder, and what is wrong with those that are left out. */
export interface DiscoveredBundles {
  /** By folder. */
  readonly bundles: readonly FoundBundle[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The largest bundle.yaml, in bytes. */
const FILE_MAX = 1_048_576;

/**
 * Finds the bundles below a folder: each `bundle.yaml`, at whatever depth. A broken one is left out with its diagnostics, and
 * keeps back no other. Throws `FILE_NOT_FOUND` and `PATH_REFUSED` for the folder itself.
 */
export async function discoverBundles(folder: string): Promise<DiscoveredBundles> {
  const wall = await openWall(folder, { refuse: keptBack });
  const { entries } = await wall.walk(".");
  const files = entries.map(({ path }) => path).filter((path) => posix.basename(path) === "bundle.yaml");
  const read = await Promise.all(files.map((file) => readOne(wall, file)));
  const names = new Map<string, string>();
  const report = createReport(read.flatMap(({ diagnostics }) => diagnostics));
  const bundles: FoundBundle[] = [];
  for (const [index, { bundle }] of read.entries()) {
    const file = files[index];
    if (bundle === undefined || file === undefined) continue;
    const before = names.get(bundle.name);
    if (before === undefined) bundles.push({ ...bundle, folder: posix.dirname(file) });
    else twin(report, file, bundle, before);
    names.set(bundle.name, before ?? file);
  }
  return { bundles, diagnostics: report.sorted() };
}

async function readOne(wall: Wall, file: string) {
  try {
    const { text } = await wall.read(file, { maxBytes: FILE_MAX });
    const { bundle, diagnostics } = await readBundle(file, text);
    if (bundle === undefined) return { diagnostics };
    const report = createReport(diagnostics);
    await checkParts(wall, file, bundle, report);
    const found = report.sorted();
    return hasErrors(found) ? { diagnostics: found } : { bundle, diagnostics: found };
  } catch (error) {
    const report = createReport();
    if (isPhasegateError(error)) report.error("FILE_UNREADABLE", { file }, error.message, error.remedy);
    else report.failed({ file }, error);
    return { diagnostics: report.sorted() };
  }
}

/** An agent without its text is no agent. What else is missing may come later. */
async function checkParts(wall: Wall, file: string, { agents, workflows, resources }: Bundle, report: Report) {
  const folder = posix.dirname(file);
  const missing = async (path: string) => !(await isThere(wall, posix.join(folder, path)));
  for (const agent of agents) {
    if (!(await missing(agent.file))) continue;
    const message = `the agent ${shown(agent.id)} has no file ${shown(agent.file)}`;
    report.error("BUNDLE_PART_MISSING", { file }, message, "Write the path of its text, relative to this file.");
  }
  for (const path of [...workflows.map((workflow) => workflow.path), ...Object.values(resources)]) {
    if (!(await missing(path))) continue;
    report.warn("BUNDLE_PART_MISSING", { file }, `there is no ${shown(path)}`, "Make it, or take it out.");
  }
}

async function isThere(wall: Wall, path: string): Promise<boolean> {
  const entries = await wall.list(posix.dirname(path)).catch((error: unknown) => {
    if (isPhasegateError(error)) return [];
    throw error;
  });
  return path === "." || entries.some((entry) => entry.path === path && entry.kind !== "refused");
}

function twin(report: Report, file: string, { name }: Bundle, before: string): void {
  const message = `${before} is a bundle called ${shown(name)} already, so this one is left out`;
  report.error("BUNDLE_NAME_DUPLICATE", { file }, message, "Give one of the two another name.");
}

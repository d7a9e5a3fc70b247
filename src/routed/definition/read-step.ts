import { withoutMark } from "../../definition/folder/workflow-files.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import type { RoutedStep } from "../../definition/routed-definition.js";
import { expandIncludes, type IncludeOptions } from "./expand-includes.js";
import type { ExpandedText } from "./expanded-text.js";
import type { IndexEntry } from "./read-index.js";
import { readSections } from "./read-sections.js";
import { resolvePath } from "./resolve-path.js";
import { type StepSettings, splitStep } from "./step-settings.js";

/** A step that was read, with what later checks need. */
export interface FoundStep {
  readonly step: RoutedStep;
  /** Its path from the root. */
  readonly path: string;
  readonly entry: IndexEntry;
  readonly text: ExpandedText;
  readonly settings: StepSettings;
}

/** What the steps of a workflow are read with. */
export interface StepOptions extends IncludeOptions {
  /** The workflow's folder. */
  readonly folder: string;
  /** All paths below it. */
  readonly paths: readonly string[];
}

/** Where the link of a step leads; undefined, with an error, where there is no such file. */
export function stepPath({ target, place }: IndexEntry, { folder, paths, report }: StepOptions): string | undefined {
  const resolved = resolvePath(`${folder}/index.md`, target);
  const steps = `${folder}/steps/`;
  if ("reason" in resolved || !resolved.path.startsWith(steps) || !resolved.path.endsWith(".md")) {
    const hint = "Link to a file such as steps/first_step.md.";
    report.error("PATH_REFUSED", place, `the link to ${shown(target)} leads to no step`, hint);
    return undefined;
  }
  if (paths.includes(resolved.path)) return resolved.path;
  const near = nearest(resolved.path, paths)?.slice(folder.length + 1);
  const hint = near === undefined ? "Write the file, or take the link out." : `Did you mean ${near}?`;
  report.error("STEP_FILE_MISSING", place, `there is no file ${shown(target)}`, hint);
  return undefined;
}

/** Reads a step's file; undefined, with errors, where it can't be used. */
export async function readStep(entry: IndexEntry, path: string, options: StepOptions): Promise<FoundStep | undefined> {
  const { folder, report } = options;
  const source = await options.read(path);
  if (source === undefined) {
    report.error("STEP_FILE_MISSING", entry.place, `${shown(entry.target)} can't be read`, "Make it a text file.");
    return undefined;
  }
  const { settings, body } = await splitStep(path, withoutMark(source), report);
  const text = await expandIncludes(path, body, options);
  const sections = readSections(text, report);
  if (sections === undefined) return undefined;
  const { next, gate, maxVisits } = settings;
  const step: RoutedStep = {
    name: entry.name,
    file: path.slice(folder.length + 1),
    ...sections,
    content: text.text.trim(),
    ...(next === undefined ? {} : { next }),
    ...(gate === undefined ? {} : { gate }),
    ...(maxVisits === undefined ? {} : { maxVisits }),
  };
  return { step, path, entry, text, settings };
}

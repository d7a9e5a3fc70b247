/**
 * Checks a routed workflow as a whole: the names of steps, the steps and files that guidance texts refer to, steps that
 * no other step leads to, and workflows that never end.
 */
import { paragraphsIn } from "../from-markdown.js";
import { nearest, RESERVED, shown } from "../names.js";
import type { Report } from "../report.js";
import { FINISH, matchName, plainName } from "../routed-definition.js";
import { resolvePath } from "./routed-includes.js";
import { definitionsIn, fileOf, type IndexEntry, linksIn } from "./routed-index.js";
import type { FoundStep, StepOptions } from "./routed-step.js";

/** Checks the steps and files that a guidance text names. Returns the names of the steps that it leads to. */
export function checkReferences(
  found: FoundStep,
  all: readonly FoundStep[],
  { paths, folder, report }: Pick<StepOptions, "paths" | "folder" | "report">,
): ReadonlySet<string> {
  checkNext(found, all, report);
  checkLinks(found, { paths, folder, report });
  const offset = lineOf(found.text.text, found.step.guidance);
  const led = new Set<string>();
  for (const named of namedSteps(found.step.guidance)) {
    const name = checkName(named, offset, found, all, report);
    if (name !== undefined) led.add(name);
  }
  return led;
}

/** The steps that each step leads to, from `checkReferences`. */
type Led = ReadonlyMap<FoundStep, ReadonlySet<string>>;

/** Reports steps that no other step leads to, and workflows that never end. */
export function checkWays(steps: readonly FoundStep[], led: Led, report: Report): void {
  const ways = new Map(steps.map((found, index) => [found, waysFrom(found, steps[index + 1], led)]));
  checkUnnamed(steps, ways, report);
  checkEnd(steps, ways, report);
}

const NAME_MAX = 120;

/** Reports names that can't be distinguished from another step or from the end. */
export function checkNames(entries: readonly IndexEntry[], report: Report): void {
  const before = new Map<string, IndexEntry>();
  for (const entry of entries) {
    const { name, place } = entry;
    const plain = plainName(name);
    if (plain === "" || name.length > NAME_MAX || RESERVED.has(name)) {
      const hint = `Give it a name of letters or digits, at most ${NAME_MAX} characters.`;
      report.error("STEP_NAME_INVALID", place, `a step can't be called ${shown(name)}`, hint);
    } else if (name.toUpperCase() === FINISH) {
      const hint = `${FINISH} is the answer of a decider that the work is done. Use another name, such as "Wrap Up".`;
      report.error("STEP_NAME_INVALID", place, `a step can't be called ${shown(name)}`, hint);
    }
    const other = before.get(plain);
    if (other === undefined) before.set(plain, entry);
    else reportDuplicate(entry, other, report);
  }
}

function checkNext({ step, settings }: FoundStep, all: readonly FoundStep[], report: Report): void {
  const names = [...all.map((other) => other.step.name), FINISH];
  for (const name of step.next ?? []) {
    if (names.includes(name)) continue;
    const near = matchName(name, names) ?? nearest(name, names);
    const hint = near === undefined ? `Write one of: ${names.join(", ")}.` : `Did you mean ${near}?`;
    report.error("STEP_UNKNOWN", settings.place("next"), `there is no step ${shown(name)}`, hint);
  }
}

/** Texts longer than this many characters are not searched for links. */
const LINKS_MAX = 64 * 1024;

function checkLinks(
  { path, step, text }: FoundStep,
  { paths, folder, report }: Pick<StepOptions, "paths" | "folder" | "report">,
): void {
  if (text.text.length > LINKS_MAX) return;
  for (const { target, line } of fileLinks(text.text)) {
    const { file = path } = text.place(line);
    const resolved = resolvePath(file, target);
    if ("path" in resolved && paths.includes(resolved.path)) continue;
    const near = "path" in resolved ? nearest(resolved.path, paths) : undefined;
    const hint =
      near === undefined
        ? "Correct the link, or remove it."
        : `Did you mean ${near.slice(folder.length + 1)}, in the workflow's folder?`;
    const message = `${shown(step.name)} links to ${shown(target)}, which doesn't exist`;
    report.warn("LINK_MISSING", text.place(line), message, hint);
  }
}

interface FileLink {
  readonly target: string;
  readonly line: number;
}

/** Returns the relative links to Markdown files in order, except those in code. */
function fileLinks(text: string): FileLink[] {
  return paragraphsIn(text).flatMap(({ source, line }) => linksOf(source, line));
}

function linksOf(source: string, first: number): FileLink[] {
  let line = first;
  let offset = 0;
  const defined = definitionsIn(source);
  const found = [...defined, ...linksIn(source)].sort((a, b) => a.offset - b.offset);
  return found.flatMap((link) => {
    for (; offset < link.offset; offset += 1) if (source.charAt(offset) === "\n") line += 1;
    const target = fileOf(link.target);
    const isFile = /\.md$/i.test(target) && !/^[A-Za-z][A-Za-z0-9+.-]*:|^\//.test(target);
    return isFile ? [{ target, line }] : [];
  });
}

/** Returns the line on which a part of a text begins, from 1. */
function lineOf(text: string, part: string): number {
  return text.slice(0, Math.max(0, text.indexOf(part))).split("\n").length;
}

/** A reference to a step in a text. */
interface NamedStep {
  readonly name: string;
  /** The line in the text, from 0. */
  readonly line: number;
  readonly column: number;
}

/** A name that is set apart: in quotes, as code, in bold, as a link. */
const SET_APART =
  /"([^"\n]{1,120})"|“([^”\n]{1,120})”|'([^'\n]{1,120})'(?!\w)|`([^`\n]{1,120})`|\*\*([^*\n]{1,120})\*\*|\[([^\]\n]{1,120})\]\([^()\n]*\)/g;
/** The words before a name that make it the next step. */
const LEADS =
  /\b(?:proceed(?:ing)?|go(?:es)?|going|move|transition|continue|return|advance|jump|switch|skip|redirect|route|hand over|send(?: \w+)?|loop)\b[^.;:!?"“”`*[\]\n]{0,40}$|\b(?:next step(?: is| should be)?|step)[ :]*$/i;
/** The words after a name that make it a step. */
const IS_STEP = /^\s*(?:step)\b/i;

/** Returns the steps that a guidance text refers to: names set apart, after words that lead somewhere. */
function namedSteps(guidance: string): NamedStep[] {
  return guidance.split("\n").flatMap((text, line) => {
    let leading = false;
    let end = 0;
    return [...text.matchAll(SET_APART)].flatMap((match) => {
      const before = text.slice(end, match.index);
      // "go to A or B" leads to both.
      leading = LEADS.test(before) || (leading && /^\s*(?:,|or|and|,\s*or)\s*(?:the\s*|to\s*)*$/i.test(before));
      end = match.index + match[0].length;
      if (!leading && !IS_STEP.test(text.slice(end))) return [];
      const name = match.slice(1).find((part) => part !== undefined) ?? "";
      return [{ name: name.replace(/[`*]/g, "").trim(), line, column: match.index + 1 }];
    });
  });
}

function checkName(
  { name, line, column }: NamedStep,
  offset: number,
  { step, text }: FoundStep,
  all: readonly FoundStep[],
  report: Report,
): string | undefined {
  const names = [...all.map((other) => other.step.name), FINISH];
  if (names.includes(name)) return name;
  const place = { ...text.place(offset + line), column };
  const meant = matchName(name, names) ?? byFile(name, all);
  if (meant !== undefined) {
    const hint = `Write ${meant}, as in the index: deciders may answer with names that they have read.`;
    report.warn("STEP_INEXACT", place, `${shown(step.name)} names the step ${shown(name)}`, hint);
    return meant;
  }
  const near = nearest(name, names);
  const hint = near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean ${near}?`;
  report.warn("STEP_UNKNOWN", place, `${shown(step.name)} names a step ${shown(name)} that there isn't`, hint);
  return undefined;
}

/** Returns the step with this file name: guidance texts also refer to steps by file. */
function byFile(name: string, all: readonly FoundStep[]): string | undefined {
  const plain = plainName(name.replace(/^.*\//, "").replace(/\.md$/, ""));
  return all.find(({ path }) => plainName(path.replace(/^.*\//, "").replace(/\.md$/, "")) === plain)?.step.name;
}

/** Returns the steps that may follow: `next`, else those that the guidance names, else the next one in the list. */
function waysFrom(found: FoundStep, after: FoundStep | undefined, led: Led): ReadonlySet<string> {
  const { step } = found;
  if (step.next !== undefined) return new Set(step.next);
  const named = new Set(led.get(found));
  if (namesTheEnd(step.guidance)) named.add(FINISH);
  // Without any reference, the order of the list counts.
  if (named.size === 0) named.add(after?.step.name ?? FINISH);
  return named;
}

const ENDS =
  /\bfinish(?:ed|es)?\b|\bterminal\b|\bfinal step\b|\bcomplet(?:e|ed|es|ion)\b|\bend of the workflow\b|\bends? the workflow\b/i;

/** Checks whether a guidance text mentions the end of the workflow. */
function namesTheEnd(guidance: string): boolean {
  return ENDS.test(guidance);
}

function checkUnnamed(steps: readonly FoundStep[], ways: ReadonlyMap<FoundStep, ReadonlySet<string>>, report: Report) {
  const named = new Set([...ways].flatMap(([from, to]) => [...to].filter((name) => name !== from.step.name)));
  for (const { step, entry } of steps.slice(1)) {
    if (named.has(step.name)) continue;
    const hint = "Name it in the guidance of the step before it, or remove it.";
    report.warn("STEP_UNNAMED", entry.place, `no step leads to ${shown(step.name)}`, hint);
  }
}

function checkEnd(steps: readonly FoundStep[], ways: ReadonlyMap<FoundStep, ReadonlySet<string>>, report: Report) {
  const [first] = steps;
  if (first === undefined) return;
  const byName = new Map(steps.map((found) => [found.step.name, found]));
  const reached = new Set<FoundStep>();
  const open = [first];
  for (let found = open.pop(); found !== undefined; found = open.pop()) {
    if (reached.has(found)) continue;
    reached.add(found);
    const to = ways.get(found) ?? new Set();
    if (to.has(FINISH)) return;
    open.push(...[...to].flatMap((name) => byName.get(name) ?? []));
  }
  const hint = `Name ${FINISH} in a step that can be reached.`;
  const message = "no step that can be reached from the first one leads to the end of the workflow";
  // If every reachable step has `next`, no decider can end the workflow either.
  const isSure = [...reached].every(({ step }) => step.next !== undefined);
  if (isSure) report.error("WORKFLOW_ENDLESS", first.settings.place("next"), message, hint);
  else report.warn("WORKFLOW_ENDLESS", first.entry.place, message, hint);
}

function reportDuplicate({ name, place }: IndexEntry, other: IndexEntry, report: Report): void {
  const where = other.place.line === undefined ? "" : ` (line ${other.place.line})`;
  if (name === other.name) {
    const hint = "List each step once: a workflow may return to it any number of times.";
    report.error("STEP_DUPLICATE", place, `the step ${shown(name)} appears twice${where}`, hint);
    return;
  }
  const hint = "Give them names that are easier to distinguish.";
  const message = `${shown(name)} and ${shown(other.name)}${where} differ only in case and punctuation`;
  report.error("STEP_DUPLICATE", place, message, hint);
}

/** Checks the names of steps, the steps and files that guidance texts name, and whether the end can be reached. */
import type { SourcePosition } from "../../errors.js";
import { linesOf } from "../diagnostic.js";
import { type ParagraphSource, paragraphsIn } from "../from-markdown.js";
import { meantOr, nearest, shown } from "../names.js";
import type { Report } from "../report.js";
import { FINISH, plainName, type RoutedStep, stepNameFault, stepsMeant, visibleName } from "../routed-definition.js";
import { fileOf, linksIn } from "./links.js";
import { resolvePath } from "./routed-includes.js";
import type { IndexEntry } from "./routed-index.js";
import type { FoundStep, StepOptions } from "./routed-step.js";

/** A name in a guidance text that could mean the end of the work as well as a step. */
export interface TakenName extends SourcePosition {
  /** The name as written, such as `Finish`. */
  readonly name: string;
  /** Its meaning: `FINISH`, which ends the work, or the name of a step. */
  readonly means: string;
}

export interface GuidanceNames {
  /** The names of the steps that it leads to, and `FINISH`. */
  readonly led: ReadonlySet<string>;
  /** The names that could mean the end of the work. */
  readonly taken: readonly TakenName[];
}

/** Checks the steps and files that a guidance text names, and returns these steps. */
export function checkReferences(
  found: FoundStep,
  all: readonly FoundStep[],
  { paths, folder, report }: Pick<StepOptions, "paths" | "folder" | "report">,
): GuidanceNames {
  checkNext(found, all, report);
  checkLinks(found, { paths, folder, report });
  const offset = lineOf(found.text.text, found.step.guidance);
  const led = new Set(bareNames(found.step.guidance, all));
  const taken: TakenName[] = [];
  for (const named of namedSteps(found.step.guidance)) {
    const means = checkName(named, offset, found, all, report);
    if (means === undefined) continue;
    led.add(means);
    const { name, column, line } = named;
    const isEnd = plainName(name) === plainName(FINISH) && name !== FINISH;
    if (isEnd) taken.push({ ...found.text.place(offset + line), column, name, means });
  }
  return { led, taken };
}

/** The steps, and `FINISH`, that may follow each step. */
type Ways = ReadonlyMap<FoundStep, ReadonlySet<string>>;

/** Reports steps that no other step leads to, and workflows that never end. `led` is from `checkReferences`. */
export function checkWays(
  steps: readonly FoundStep[],
  led: ReadonlyMap<FoundStep, GuidanceNames>,
  report: Report,
): void {
  const ways: Ways = new Map(
    steps.map((found, index) => [found, waysFrom(found.step, steps[index + 1], led.get(found))]),
  );
  checkUnnamed(steps, ways, report);
  checkEnd(steps, ways, report);
}

/** Reports names that no step can have, and names that two steps have. */
export function checkNames(entries: readonly IndexEntry[], report: Report): void {
  const before = new Map<string, IndexEntry>();
  for (const entry of entries) {
    const { name, place } = entry;
    const fault = stepNameFault(name);
    if (fault !== undefined) report.error("STEP_NAME_INVALID", place, `a step can't be called ${shown(name)}`, fault);
    const seen = visibleName(name);
    const other = before.get(seen);
    if (other === undefined) {
      before.set(seen, entry);
      continue;
    }
    const where = other.place.line === undefined ? "" : ` (line ${other.place.line})`;
    const hint = "List each step once: a workflow may return to it any number of times.";
    report.error("STEP_DUPLICATE", place, `the step ${shown(name)} appears twice${where}`, hint);
  }
}

function checkNext({ step, settings }: FoundStep, all: readonly FoundStep[], report: Report): void {
  const names = [...all.map((other) => other.step.name), FINISH];
  const known = new Set(names);
  for (const name of step.next ?? []) {
    if (known.has(name)) continue;
    const hint = () => {
      const [near] = meantBy(name, all);
      return near === undefined ? meantOr(name, names, `Write one of: ${names.join(", ")}.`) : `Did you mean ${near}?`;
    };
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
  for (const { target, line } of paragraphsIn(text.text).flatMap(fileLinks)) {
    const { file = path } = text.place(line);
    const resolved = resolvePath(file, target);
    if ("path" in resolved && paths.includes(resolved.path)) continue;
    const hint = () => {
      const near = "path" in resolved ? nearest(resolved.path, paths) : undefined;
      if (near === undefined) return "Correct the link, or remove it.";
      return `Did you mean ${near.slice(folder.length + 1)}, in the workflow's folder?`;
    };
    const message = `${shown(step.name)} links to ${shown(target)}, which doesn't exist`;
    report.warn("LINK_MISSING", text.place(line), message, hint);
  }
}

/** Returns the relative links to Markdown files in a paragraph. */
function fileLinks({ source, line }: ParagraphSource): { readonly target: string; readonly line: number }[] {
  const at = linesOf("", source);
  return linksIn(source).flatMap(({ target: url, offset }) => {
    const target = fileOf(url);
    const isFile = /\.md$/i.test(target) && !/^[A-Za-z][A-Za-z0-9+.-]*:|^\//.test(target);
    return isFile ? [{ target, line: line + at(offset).line - 1 }] : [];
  });
}

function lineOf(text: string, part: string): number {
  return text.slice(0, Math.max(0, text.indexOf(part))).split("\n").length;
}

interface NamedStep {
  readonly name: string;
  /** The line in the text, from 0. */
  readonly line: number;
  readonly column: number;
  /** True if the words around it say that it is a step, false if they only may. */
  readonly isSure: boolean;
}

/** A name that is set apart: in quotes, as code, in bold, as a link. */
const SET_APART =
  /"([^"\n]{1,120})"|“([^”\n]{1,120})”|'([^'\n]{1,120})'(?!\w)|`([^`\n]{1,120})`|\*\*([^*\n]{1,120})\*\*|\[([^\]\n]{1,120})\]\([^()\n]*\)/g;
const VERBS =
  "proceed(?:ing)?|go(?:es)?|going|move|transition|continue|return|advance|jump|switch|skip|redirect|route|hand over|send(?: \\w+)?|loop";
/** The words before a name that make it the next step. */
const LEADS = new RegExp(
  `\\b(?:${VERBS})\\b[^.;:!?"“”\`*[\\]\\n]{0,40}$|\\b(?:next step(?: is| should be)?|step)[ :]*$`,
  "i",
);
/** The words between a verb and the name of a step. */
const BETWEEN = "(?:\\s+(?:to|the|step|steps|back|directly|straight|either|on|over|into|with|at|a|this|next))*";
/** The words before a name that must be a step's: other names after a verb can be files, branches or variables. */
const SURELY_LEADS = new RegExp(
  `\\b(?:${VERBS})${BETWEEN}[\\s:(*_]{0,8}$|\\b(?:next step(?: is| should be)?|step)[ :]*$`,
  "i",
);
/** The words after a name that make it a step. */
const IS_STEP = /^\s*(?:step)\b/i;
/** A verb and the words after it. */
const BARE = new RegExp(`\\b(?:${VERBS})${BETWEEN}\\s+([^.;:!?"“”\`*[\\]\\n]{1,120})`, "gi");

const BARE_WORDS = 12;

/** Returns the steps that a text leads to by names that are not set apart: "proceed to Sow the Peas". */
function bareNames(guidance: string, all: readonly FoundStep[]): string[] {
  const byName = new Map(all.map(({ step }) => [plainName(step.name), step.name]));
  return [...guidance.matchAll(BARE)].flatMap(([, after = ""]) => {
    const words = after.split(/\s+/).slice(0, BARE_WORDS);
    for (let count = words.length; count > 0; count -= 1) {
      const name = byName.get(plainName(words.slice(0, count).join(" ")));
      if (name !== undefined) return [name];
    }
    return [];
  });
}

/** Returns the steps that a guidance text refers to: names set apart, after words that lead somewhere. */
function namedSteps(guidance: string): NamedStep[] {
  return guidance.split("\n").flatMap((text, line) => {
    let leading = false;
    let sure = false;
    let end = 0;
    return [...text.matchAll(SET_APART)].flatMap((match) => {
      const before = text.slice(end, match.index);
      // "go to A or B" leads to both.
      const isNext = /^\s*(?:,|or|and|,\s*or)\s*(?:the\s*|to\s*|back\s*)*$/i.test(before);
      leading = LEADS.test(before) || (leading && isNext);
      sure = SURELY_LEADS.test(before) || (sure && isNext);
      end = match.index + match[0].length;
      const isStep = IS_STEP.test(text.slice(end));
      if (!leading && !isStep) return [];
      const name = match.slice(1).find((part) => part !== undefined) ?? "";
      const isSure = sure || isStep;
      return [{ name: name.replace(/[`*]/g, "").trim(), line, column: match.index + 1, isSure }];
    });
  });
}

/** Returns the steps, and `FINISH`, that a name in a text can mean. */
function meantBy(name: string, all: readonly FoundStep[]): readonly string[] {
  return stepsMeant(name, [...all.map(({ step }) => step), { name: FINISH }]);
}

function checkName(
  { name, line, column, isSure }: NamedStep,
  offset: number,
  { step, text }: FoundStep,
  all: readonly FoundStep[],
  report: Report,
): string | undefined {
  const [meant, ...others] = meantBy(name, all);
  const place = { ...text.place(offset + line), column };
  if (meant !== undefined) {
    if (others.length === 0) return meant;
    const hint = `Write the one that is meant: ${[meant, ...others].map(shown).join(" or ")}.`;
    const message = `${shown(step.name)} names ${shown(name)}, which fits more than one: a decider is asked again`;
    report.warn("STEP_AMBIGUOUS", place, message, hint);
    return undefined;
  }
  if (!isSure) return undefined;
  const names = [...all.map((other) => other.step.name), FINISH];
  const hint = meantOr(name, names, `There are: ${names.join(", ")}.`);
  report.warn("STEP_UNKNOWN", place, `${shown(step.name)} names a step ${shown(name)} that there isn't`, hint);
  return undefined;
}

/** Returns the steps that may follow: `next`, else those that the guidance names, else the next one in the list. */
function waysFrom(step: RoutedStep, after: FoundStep | undefined, found?: GuidanceNames): ReadonlySet<string> {
  if (step.next !== undefined) return new Set(step.next);
  const named = new Set(found?.led);
  if (ENDS.test(step.guidance)) named.add(FINISH);
  // Without any reference, the order of the list counts.
  if (named.size === 0) named.add(after?.step.name ?? FINISH);
  return named;
}

const ENDS =
  /\bfinish(?:ed|es)?\b|\bterminal\b|\bfinal step\b|\bcomplet(?:e|ed|es|ion)\b|\bend of the workflow\b|\bends? the workflow\b/i;

function checkUnnamed(steps: readonly FoundStep[], ways: Ways, report: Report): void {
  const named = new Set([...ways].flatMap(([from, to]) => [...to].filter((name) => name !== from.step.name)));
  for (const { step, entry } of steps.slice(1)) {
    if (named.has(step.name)) continue;
    const hint = "Name it in the guidance of the step before it, or remove it.";
    report.warn("STEP_UNNAMED", entry.place, `no step leads to ${shown(step.name)}`, hint);
  }
}

function checkEnd(steps: readonly FoundStep[], ways: Ways, report: Report): void {
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

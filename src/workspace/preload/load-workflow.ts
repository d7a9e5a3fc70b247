/** Workflows as BMAD wrote them up to its version 6: a workflow.yaml that names its files. */

import { isPhasegateError, PhasegateError } from "../../errors.js";
import { remember } from "../../runtime/cache.js";
import { codeParts } from "../../workflow/from-markdown.js";
import type { JsonObject } from "../../workflow/json.js";
import type { Location } from "../roots/paths.js";
import { componentsOf } from "./customization.js";
import { createVariables, type Mapping, readMapping, replaceTexts, type Variables } from "./mapping.js";
import {
  filePart,
  folderOf,
  joinParts,
  type LoadContext,
  missingPart,
  nameOf,
  type Parts,
  readPart,
  readWhole,
  warned,
} from "./parts.js";

/** How many files of those that a workflow.yaml names are loaded. */
const NAMED_MAX = 200;

/** A workflow.yaml, read. */
interface Opened {
  readonly file: Location;
  readonly text: string;
  readonly size: number;
  readonly own: JsonObject;
  /** Missing for the workflow that was asked for itself. */
  readonly workflow?: string | undefined;
}

/**
 * Loads the workflow of a workflow.yaml: its configuration, then side by side all that it names, then what the instructions
 * invoke. Throws `DEFINITION_INVALID`, with the lines, for a workflow.yaml that can't be read.
 */
export async function loadWorkflow(context: LoadContext, file: Location, trail: readonly string[]): Promise<Parts> {
  const { source } = context;
  const path = source.show(file);
  // Every workflow has it: it is read beside what must be known first. Whoever asks for it is told why it can't be had.
  context.engine().catch(() => {});
  const { text, size } = await readWhole(source, file);
  const mapping = await readMapping(path, text);
  if (mapping.value === undefined) throw definitionInvalid(nameOf(folderOf(file)), mapping.diagnostics);
  const own = { installed_path: source.show(folderOf(file)), ...mapping.value };
  const invoked = trail.length > 1;
  const opened = { file, text, size, own, workflow: invoked ? nameOf(folderOf(file)) : undefined };
  const { config, value } = await loadConfig(context, opened);
  const variables = createVariables(own, value, source.known);
  const content = await replaceTexts(text, (value) => source.expand(variables.resolve(value)));
  const named = await loadNamed(context, opened, variables, trail);
  const self = filePart(path, { role: "workflow", workflow: opened.workflow }, size, content);
  return joinParts([self, config, named, warned(...variables.faults)]);
}

/** A configuration that isn't there, or can't be read, leaves its references as they are. */
async function loadConfig(
  { source }: LoadContext,
  { file, own, workflow }: Opened,
): Promise<{ readonly config: Parts; readonly value: JsonObject | undefined }> {
  const given = own.config_source;
  if (typeof given !== "string" || given.trim() === "") return { config: joinParts([]), value: undefined };
  const wanted = { role: "config", workflow } as const;
  const path = createVariables(own, undefined, source.known).resolve(given);
  let location: Location | undefined;
  try {
    location = source.resolve(path, { from: file });
    const { text, size } = await readWhole(source, location);
    const shown = source.show(location);
    const mapping: Mapping = await readMapping(shown, text);
    const part = filePart(shown, wanted, size, text);
    if (mapping.value === undefined) {
      return { config: joinParts([part, warned(...mapping.diagnostics)]), value: undefined };
    }
    return { config: part, value: mapping.value };
  } catch (error) {
    return { config: await missingPart(source, location, path, wanted, error), value: undefined };
  }
}

/** All that the workflow names, side by side; the instructions' own wishes follow theirs. */
async function loadNamed(
  context: LoadContext,
  { file, own, workflow }: Opened,
  variables: Variables,
  trail: readonly string[],
): Promise<Parts> {
  const resolved = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, variables.resolveAll(value)]));
  const { files: all, onDemand } = componentsOf(resolved, context.definitionRoots, (path) =>
    leadsIn(context, path, file),
  );
  const files = all.slice(0, NAMED_MAX);
  const others = all.length - files.length;
  const parts = await Promise.all([
    ...files.map(async ({ path, role }) => {
      const part = await readPart(context.source, path, { role, workflow }, file);
      const text = role === "instructions" ? part.files[0]?.content : undefined;
      return text === undefined ? part : joinParts([part, await loadAsked(context, text, variables, file, trail)]);
    }),
    context.engine(),
  ]);
  const left = others === 0 ? [] : [`${others} more files are named, and not loaded: ${NAMED_MAX} are`];
  const later = onDemand
    .slice(0, NAMED_MAX)
    .map((path) => `named, not loaded: ${path} (read it if the instructions choose it)`);
  return joinParts([...parts, warned(...left, ...later)]);
}

/** Whether a path leads into a root of workflows, though by another name: `{project-root}/…` in most real files. */
function leadsIn({ source, definitionRoots }: LoadContext, path: string, from: Location): boolean {
  try {
    return definitionRoots.includes(source.resolve(path, { from }).root);
  } catch (error) {
    // It leads elsewhere in the project, or has a name in it that the model fills in: no file of the workflow.
    if (isPhasegateError(error)) return false;
    throw error;
  }
}

/** What instructions ask for by their tags. */
async function loadAsked(
  context: LoadContext,
  text: string,
  variables: Variables,
  from: Location,
  trail: readonly string[],
): Promise<Parts> {
  const asked = await askedBy(text);
  const invoked = asked.workflows.map((path) => context.invoke(variables.resolve(path), from, trail));
  const elicitation = asked.elicitation ? [context.elicitation()] : [];
  return joinParts(await Promise.all([...elicitation, ...invoked]));
}

const askedBy = remember(async (text: string) => ({
  elicitation: usesElicitation(text),
  workflows: invokedWorkflows(text),
}));

/**
 * What of a workflow's instructions is meant for whoever follows them: no comment, no code. A fence of XML that holds the
 * workflow itself is no code but the instructions, which is how many people write them.
 */
export function activeText(text: string): string {
  const kept: string[] = [];
  let fence: Fence | undefined;
  let inComment = false;
  for (const line of text.split(/\r?\n/)) {
    if (fence !== undefined) {
      if (closes(line, fence)) {
        if (fence.isWorkflow()) kept.push(...outsideComments(fence.lines.join("\n")).split("\n"));
        fence = undefined;
      } else {
        fence.lines.push(line);
      }
      continue;
    }
    fence = inComment ? undefined : opened(line);
    if (fence !== undefined) continue;
    const { rest, open } = outside(line, inComment);
    inComment = open;
    kept.push(rest);
  }
  // A fence that nobody closes goes on to the end.
  if (fence?.isWorkflow() === true) kept.push(outsideComments(fence.lines.join("\n")));
  return kept.join("\n");
}

/** Whether instructions ask for elicitation: `<elicit-required/>` as all real files have it, or with content. */
export function usesElicitation(text: string): boolean {
  const active = activeText(text);
  const at = active.search(/<elicit-required(?=[\s/>])/);
  return at !== -1 && active.includes(">", at);
}

/** The paths of the workflows that instructions invoke, each once: as an attribute, or as all that the element holds. */
export function invokedWorkflows(text: string): string[] {
  const paths = [...activeText(text).matchAll(INVOKE)].map(({ 1: attributes = "", 2: content = "" }) => {
    const { 2: path = content.trim() } = PATH.exec(attributes) ?? [];
    return path.trim();
  });
  return [...new Set(paths.filter((path) => path !== "" && !/\s/.test(path)))];
}

/** Attributes in the first group; in the second, what stands up to the next tag. No attribute holds another tag. */
const INVOKE = /<invoke-workflow(?=[\s/>])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>([^<]*)/g;
const PATH = /\bpath\s*=\s*(["'])(.*?)\1/;

interface Fence {
  readonly sign: string;
  readonly lines: string[];
  isWorkflow(): boolean;
}

/** At any indentation: steps are indented, and what stands in them too. */
function opened(line: string): Fence | undefined {
  const [before = "", sign] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
  const info = line.slice(before.length);
  if (sign === undefined || info.includes("`")) return undefined;
  const [language = ""] = /^[\w-]*/.exec(info.trimStart()) ?? [];
  const lines: string[] = [];
  const isXml = language === "" || language === "xml";
  return { sign, lines, isWorkflow: () => isXml && lines.some((one) => /^\s*<workflow(?=[\s>])/.test(one)) };
}

function closes(line: string, { sign }: Fence): boolean {
  const text = line.trim();
  return text.length >= sign.length && text === sign.charAt(0).repeat(text.length);
}

/** A line without what stands in comments and between backticks. */
function outside(line: string, inComment: boolean): { readonly rest: string; readonly open: boolean } {
  let rest = "";
  let left = line;
  let open = inComment;
  while (left !== "") {
    const mark = left.indexOf(open ? "-->" : "<!--");
    if (mark === -1) {
      if (!open) rest += left;
      break;
    }
    if (!open) rest += left.slice(0, mark);
    left = left.slice(mark + (open ? 3 : 4));
    open = !open;
  }
  const shown = codeParts(rest).flatMap(({ code, text }) => (code ? [] : [text]));
  return { rest: shown.join(""), open };
}

function outsideComments(text: string): string {
  return text.replace(/<!--[\s\S]*?(?:-->|$)/g, "");
}

/** The error of a workflow that can't be read, with the place of each fault. */
export function definitionInvalid(
  workflow: string,
  diagnostics: readonly string[],
): PhasegateError<"DEFINITION_INVALID"> {
  return new PhasegateError("DEFINITION_INVALID", `the workflow can't be read: ${diagnostics.join("; ")}`, {
    remedy: "Tell the user: the file must be mended where this says. Then call again.",
    details: { workflowType: workflow, diagnostics },
  });
}

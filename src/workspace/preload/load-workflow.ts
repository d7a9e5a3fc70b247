/**
 * Loads a classic workflow, as BMAD wrote them before version 6: a workflow.yaml, its configuration, and the files that
 * it names. Also finds the tags in its instructions that load more; tags in comments and in code are examples and do not
 * count.
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { remember } from "../../workflow/cache.js";
import { codeParts } from "../../workflow/from-markdown.js";
import type { JsonObject } from "../../workflow/json.js";
import type { Location } from "../roots/paths.js";
import { componentsOf } from "./components.js";
import { createVariables, type Mapping, readMapping, replaceTexts, type Variables } from "./mapping.js";
import {
  type FileSource,
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

/** The most named files that are loaded. */
const NAMED_MAX = 200;

/** An opened workflow.yaml. */
interface Opened {
  readonly file: Location;
  readonly text: string;
  readonly size: number;
  readonly own: JsonObject;
  /** The name of an invoked workflow; undefined for the requested one. */
  readonly workflow?: string | undefined;
}

/**
 * Loads a workflow: its configuration, then all files that it names in parallel, then what its instructions invoke.
 * Throws `DEFINITION_INVALID`, with lines, if the workflow.yaml is not valid.
 */
export async function loadWorkflow(context: LoadContext, file: Location, trail: readonly string[]): Promise<Parts> {
  const { source } = context;
  const path = source.show(file);
  // Every workflow needs the engine, so it is read now, in parallel. `loadNamed` handles its errors.
  context.engine().catch(() => {});
  const { text, size } = await readWhole(source, file);
  const mapping = await readMapping(path, text);
  if (mapping.value === undefined) throw definitionInvalid(nameOf(folderOf(file)), mapping.diagnostics);
  const folder = source.show(folderOf(file));
  const lost = await lostFolder(source, file, mapping.value);
  const own = { installed_path: folder, ...mapping.value, ...(lost === undefined ? {} : { installed_path: folder }) };
  const invoked = trail.length > 1;
  const opened = { file, text, size, own, workflow: invoked ? nameOf(folderOf(file)) : undefined };
  const { config, value } = await loadConfig(context, opened);
  const variables = createVariables(own, value, source.known);
  const content = await replaceTexts(text, (value) =>
    value === lost?.written ? folder : source.expand(variables.resolve(value)),
  );
  const named = await loadNamed(context, opened, variables, trail);
  const self = filePart(path, { role: "workflow", workflow: opened.workflow }, size, content);
  const moved = lost === undefined ? [] : [lost.warning];
  return joinParts([warned(...moved), self, config, named, warned(...variables.faults)]);
}

/** An `installed_path` that cannot be read. */
interface LostFolder {
  /** The value in the workflow.yaml. */
  readonly written: string;
  readonly warning: string;
}

/**
 * Returns the `installed_path` if there is no such folder: the workflow was copied to another place than the one it was
 * written for. The folder of the workflow.yaml then takes its place.
 */
async function lostFolder(source: FileSource, file: Location, written: JsonObject): Promise<LostFolder | undefined> {
  const given = written.installed_path;
  if (typeof given !== "string" || given.trim() === "") return undefined;
  const path = createVariables(written, undefined, source.known).resolve(given.trim());
  // The configuration is not loaded yet; it may be in this folder.
  if (path.includes("{config_source}")) return undefined;
  const folder = folderOf(file);
  try {
    const place = source.resolve(path, { from: file });
    if (source.show(place) !== source.show(folder)) await source.list(place);
    return undefined;
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    const warning = `installed_path is ${path}, which can't be read: ${source.show(folder)} is used instead`;
    return { written: given, warning };
  }
}

/** Loads the configuration. Without one, the references to it stay as they are. */
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

/** Loads all files that the workflow names, in parallel, and then what its instructions ask for. */
async function loadNamed(
  context: LoadContext,
  { file, own, workflow }: Opened,
  variables: Variables,
  trail: readonly string[],
): Promise<Parts> {
  const { source, definitionRoots } = context;
  const resolved = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, variables.resolveAll(value)]));
  const { files: all, onDemand } = componentsOf({
    written: own,
    resolved,
    dataRoots: definitionRoots,
    rootOf: (path) => rootOf(source, path, file),
  });
  const files = all.slice(0, NAMED_MAX);
  const others = all.length - files.length;
  const installed = `${variables.resolve("{installed_path}")}/`;
  const laterOn: string[] = [];
  const parts = await Promise.all([
    ...files.map(async ({ path, role, needed }) => {
      const beside = path.startsWith(installed) ? `./${path.slice(installed.length)}` : undefined;
      const part = await readPart(source, path, { role, workflow }, file, beside);
      if (!needed && part.missing.length > 0) {
        laterOn.push(path);
        return joinParts([]);
      }
      const text = role === "instructions" ? part.files[0]?.content : undefined;
      return text === undefined ? part : joinParts([part, await loadAsked(context, text, variables, file, trail)]);
    }),
    context.engine(),
  ]);
  const left = others === 0 ? [] : [`${others} more named files are not loaded: the limit is ${NAMED_MAX}`];
  const chosen = onDemand
    .slice(0, NAMED_MAX)
    .map((path) => `not loaded: ${path} (read it if the instructions choose it)`);
  const written =
    laterOn.length === 0 ? [] : [`not there yet: ${laterOn.sort().join(", ")} (needed later, or written)`];
  return joinParts([...parts, warned(...left, ...chosen, ...written)]);
}

/** Returns the root that a path leads into, such as `{project-root}/…`. */
function rootOf(source: FileSource, path: string, from: Location): string | undefined {
  try {
    return source.resolve(path, { from }).root;
  } catch (error) {
    // Elsewhere in the project, or a path with a name that the model fills in: not a file of the workflow.
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/** Loads what the tags in instructions ask for. */
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

/** Returns what the tags in instructions ask for. */
const askedBy = remember(async (text: string) => ({
  elicitation: usesElicitation(text),
  workflows: invokedWorkflows(text),
}));

/** Builds the error for a workflow that is not valid, with the lines of its errors. */
export function definitionInvalid(
  workflow: string,
  diagnostics: readonly string[],
): PhasegateError<"DEFINITION_INVALID"> {
  return new PhasegateError("DEFINITION_INVALID", `the workflow is not valid: ${diagnostics.join("; ")}`, {
    remedy: "Ask the user to correct the file at these lines, then call again.",
    details: { workflowType: workflow, diagnostics },
  });
}

/** Attributes in the first group, the text up to the next tag in the second. */
const INVOKE = /<invoke-workflow(?=[\s/>])((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>([^<]*)/g;
const PATH = /\bpath\s*=\s*(["'])(.*?)\1/;

/** Returns true if instructions ask for elicitation, with `<elicit-required/>` or the same tag with content. */
export function usesElicitation(text: string): boolean {
  const active = activeText(text);
  const at = active.search(/<elicit-required(?=[\s/>])/);
  return at !== -1 && active.includes(">", at);
}

/** Returns the paths of the workflows that instructions invoke: the attribute `path`, or else the element's text. */
export function invokedWorkflows(text: string): string[] {
  const paths = [...activeText(text).matchAll(INVOKE)].map(({ 1: attributes = "", 2: content = "" }) => {
    const { 2: path = content.trim() } = PATH.exec(attributes) ?? [];
    return path.trim();
  });
  return [...new Set(paths.filter((path) => path !== "" && !/\s/.test(path)))];
}

/**
 * Returns instructions without comments and code. A fence of XML that contains a `<workflow>` is kept: many people
 * write their instructions that way.
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
  // A fence that is not closed continues to the end.
  if (fence?.isWorkflow() === true) kept.push(outsideComments(fence.lines.join("\n")));
  return kept.join("\n");
}

/** An open code fence. */
interface Fence {
  /** The characters that close it, or more of them. */
  readonly sign: string;
  readonly lines: string[];
  /** Returns true if it contains a workflow in XML. */
  isWorkflow(): boolean;
}

/** Returns the fence that a line opens, at any indentation: steps are indented. */
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

/** Returns a line without comments and code between backticks. */
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

/** Finds tags that load more, and marks that a build has not replaced. In comments and code they are examples. */
import { codeParts } from "../../workflow/from-markdown.js";

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

/** Removes comments and code, but no fence of XML with a `<workflow>`: many people write instructions that way. */
export function activeText(text: string): string {
  const kept: string[] = [];
  let fence: Fence | undefined;
  let inComment = false;
  for (const line of text.split(/\r?\n/)) {
    if (fence !== undefined) {
      if (closes(line, fence)) {
        kept.push(...workflowIn(fence));
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
  if (fence !== undefined) kept.push(...workflowIn(fence));
  return kept.join("\n");
}

/** An open code fence: what closes it, whether it may contain a workflow in XML, and its lines. */
interface Fence {
  readonly sign: string;
  readonly isXml: boolean;
  readonly lines: string[];
}

/** Returns the fence that a line opens, at any indentation: steps are indented. */
function opened(line: string): Fence | undefined {
  const [before = "", sign] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
  const info = line.slice(before.length);
  if (sign === undefined || info.includes("`")) return undefined;
  const [language = ""] = /^[\w-]*/.exec(info.trimStart()) ?? [];
  return { sign, isXml: language === "" || language === "xml", lines: [] };
}

/** Returns the lines of a fence that count: those of a workflow in XML, without comments. */
function workflowIn({ isXml, lines }: Fence): readonly string[] {
  const isWorkflow = isXml && lines.some((one) => /^\s*<workflow(?=[\s>])/.test(one));
  return isWorkflow ? [lines.join("\n").replace(/<!--[\s\S]*?(?:-->|$)/g, "")] : [];
}

function closes(line: string, { sign }: Fence): boolean {
  const text = line.trim();
  return text.length >= sign.length && text === sign.charAt(0).repeat(text.length);
}

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

/** Marks that a build replaces: `{{.name}}` of templates, and `[[name]]` of a build's own. */
const TEMPLATE_MARK = /\{\{-?\s*\.[A-Za-z][\w.]{0,100}\s*-?\}\}/;
const BUILD_MARK = /\[\[[^\s[\]](?:[^[\]\n]{0,200}[^\s[\]])?\]\]/;

/** Returns a warning in a list of one. `[[` in a code block is code: a test of a shell, or a table of TOML. */
export function unrenderedMarks(path: string, text: string): string[] {
  let fence: Fence | undefined;
  const prose = text.split("\n").filter((line) => {
    const before = fence;
    fence = before === undefined ? opened(line) : closes(line, before) ? undefined : before;
    return before === undefined && fence === undefined;
  });
  const found = [TEMPLATE_MARK.exec(text)?.[0], BUILD_MARK.exec(prose.join("\n"))?.[0]];
  const marks = found.filter((mark) => mark !== undefined).join(" and ");
  if (marks === "") return [];
  return [
    `${path} has marks that a build replaces, such as ${marks}: it is a source that was not rendered. Use the rendered skill.`,
  ];
}

/** Finds the tags in instructions that load more. Tags in comments and in code are examples and do not count. */
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

import { codeParts } from "../../definition/markdown/inline-text.js";

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

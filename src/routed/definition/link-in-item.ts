import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";

/** A longer item is no link with a few words: its parser would take long over unclosed marks. */
const ITEM_MAX = 2048;
/** And one with more marks, for the same reason. */
const MARKS_MAX = 100;

/** A step's name, and where its file is. */
interface StepLink {
  readonly name: string;
  readonly target: string;
}

/**
 * The first link of a list item's first paragraph that leads into `steps/`; undefined if there is none. `definitions` are
 * the lines of the text that say where its references lead: `[1]: steps/dig.md` for `[Dig][1]`.
 */
export function linkInItem(source: string, definitions: string): StepLink | undefined {
  if (source.length > ITEM_MAX || source.replace(/[^*_[`<]/g, "").length > MARKS_MAX) return undefined;
  const tree = fromMarkdown(definitions === "" ? source : `${source}\n\n${definitions}`);
  const urls = new Map(
    tree.children.flatMap((node) => (node.type === "definition" ? [[node.identifier, node.url]] : [])),
  );
  return linkToStep(tree, urls);
}

function linkToStep(node: Nodes, urls: ReadonlyMap<string, string>): StepLink | undefined {
  if (node.type === "link" || node.type === "linkReference") {
    const url = node.type === "link" ? node.url : (urls.get(node.identifier) ?? "");
    const target = decoded(url).replace(/[#?].*$/s, "");
    const name = textOf(node).replace(/\s+/g, " ").trim();
    return /^(?:\.\/)?steps\//.test(target) ? { name, target } : undefined;
  }
  if (!("children" in node)) return undefined;
  for (const child of node.children) {
    const found = linkToStep(child, urls);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A link's target as the name of a file: `%20` is a blank in it. */
export function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    // A `%` that belongs to the name.
    return url;
  }
}

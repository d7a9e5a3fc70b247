import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";

/** A longer item is no link with a few words: its parser would take long over unclosed marks. */
const ITEM_MAX = 2048;

/** The first link of a list item's first paragraph that leads into `steps/`; undefined if there is none. */
export function linkInItem(source: string): { readonly name: string; readonly target: string } | undefined {
  const link = source.length > ITEM_MAX ? undefined : linkToStep(fromMarkdown(source));
  return link;
}

function linkToStep(node: Nodes): { name: string; target: string } | undefined {
  if (node.type === "link") {
    const target = decoded(node.url).replace(/[#?].*$/s, "");
    const name = textOf(node).replace(/\s+/g, " ").trim();
    return /^(?:\.\/)?steps\//.test(target) ? { name, target } : undefined;
  }
  if (!("children" in node)) return undefined;
  for (const child of node.children) {
    const found = linkToStep(child);
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

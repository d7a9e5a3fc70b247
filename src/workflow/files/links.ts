/** The links of a paragraph. The parser takes quadratic time over unclosed marks, so a long one is parsed in pieces. */
import type { Nodes } from "mdast";
import { fromMarkdown } from "../from-markdown.js";

/** A link, or the definition of a reference: `[1]: steps/dig.md`. */
export interface Link {
  /** Its text as written, with its marks. */
  readonly label: string;
  readonly target: string;
  /** The position in the paragraph, in characters. */
  readonly offset: number;
  readonly isDefinition: boolean;
}

export type Targets = ReadonlyMap<string, string>;

/** Returns the links and definitions of a paragraph in order; of references those with a target in `targets`. */
export function linksIn(paragraph: string, targets: Targets = new Map()): Link[] {
  return piecesOf(paragraph).flatMap(({ text, start }) => {
    const root = fromMarkdown(withDefinitions(text, targets), { disabled: ["attention"] });
    return [...nodesIn(root)].flatMap((node): Link[] => {
      const offset = node.position?.start.offset ?? text.length;
      if (offset >= text.length) return [];
      const place = { offset: start + offset, isDefinition: node.type === "definition" };
      if (node.type === "definition") return [{ label: node.label ?? "", target: node.url, ...place }];
      const isLink = node.type === "link" || node.type === "linkReference";
      const target = node.type === "link" ? node.url : isLink ? targets.get(node.identifier) : undefined;
      if (!isLink || target === undefined) return [];
      const [first, last] = [node.children[0]?.position, node.children.at(-1)?.position];
      return [{ label: text.slice(first?.start.offset ?? 0, last?.end.offset ?? 0), target, ...place }];
    });
  });
}

/** Returns the label of a reference as the parser compares it. */
export function referenceName(label: string): string {
  return label.replace(/\s+/g, " ").trim().toLowerCase();
}

/** Returns the file that a link leads to, decoded and without a fragment or query. */
export function fileOf(url: string): string {
  let decoded = url;
  try {
    decoded = decodeURIComponent(url);
  } catch {
    // The `%` belongs to the name.
  }
  return decoded.replace(/[#?].*$/s, "");
}

/** Maximum number of characters that are parsed at once. */
const PIECE_MAX = 4096;

/** Cuts a long text between lines or words. */
function piecesOf(text: string) {
  const pieces: { readonly text: string; readonly start: number }[] = [];
  for (let start = 0; start < text.length; ) {
    const part = text.slice(start, start + PIECE_MAX);
    const cut = part.length < PIECE_MAX ? -1 : Math.max(part.lastIndexOf("\n"), part.lastIndexOf(" "));
    const piece = cut > 0 ? part.slice(0, cut + 1) : part;
    pieces.push({ text: piece, start });
    start += piece.length;
  }
  return pieces;
}

/** Adds the definitions of the references in a text: without them, the parser takes references for text. */
function withDefinitions(text: string, targets: Targets): string {
  if (targets.size === 0) return text;
  const names = [...text.matchAll(/\[([^[\]]+)\]/g)].map(([, name = ""]) => referenceName(name));
  const known = [...new Set(names)].filter((name) => targets.has(name));
  return [text, ...known.map((name) => `[${name}]: x`)].join("\n\n");
}

function* nodesIn(node: Nodes): Generator<Nodes> {
  yield node;
  if ("children" in node) for (const child of node.children) yield* nodesIn(child);
}

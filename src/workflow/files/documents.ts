/**
 * Documents: the files of a workflow's folder that its texts name, such as `core/template.md`. Reads the names in a text,
 * resolves them, and decides which files are never shown to an agent. Which documents a session may read is decided in
 * phased/documents.ts, because it depends on the session's phase.
 */

import { linesOf } from "../diagnostic.js";
import { codeSpans, paragraphsIn, withoutAtEnd } from "../from-markdown.js";
import { HIDDEN } from "../hidden.js";
import { keptBack, nearest, shown } from "../names.js";
import type { Report } from "../report.js";
import { fileOf, linksIn } from "./links.js";
import { resolvePath } from "./routed-includes.js";
import { looksLikeGate } from "./workflow-files.js";

export interface NamedPath {
  /** The path as written: a link without its fragment, decoded. */
  readonly path: string;
  readonly line: number;
  /** True for a link, and for a path that the text asks to read. Other paths may be files of the project. */
  readonly isSure: boolean;
}

/** Texts are searched for names up to this many characters. */
const SEARCHED = 64 * 1024;
/** Longer words are not paths. */
const NAME_MAX = 300;
/** The end of a path: the name of a file with a suffix. */
const FILE = /^[^\s\\{}<>*$|?:"'`()[\]…]+\.[A-Za-z][A-Za-z0-9]{0,9}$/;
/** Marks and punctuation around a word. */
const BEFORE = /^[([{"'*_~“‘«]+/;
const AFTER = ")]}\"'*_~”’».,;:!?";
/** The words that ask to read the file that is named next, or later in the sentence. */
const ASKS = /\bMUST[-_ ]READ\b|\bsee(?: also)?:?\s+(?:the\s+)?[`"'(*[]*$/i;

/** Returns the paths in a text that may be those of documents, in order: links, and paths in prose and code spans. */
export function namedPaths(text: string): NamedPath[] {
  return paragraphsIn(text.slice(0, SEARCHED)).flatMap(({ source, line }) => {
    const found = [...linkedFiles(source), ...writtenPaths(source)].sort((one, other) => one.offset - other.offset);
    const at = linesOf("", source);
    return found.map(({ path, offset, isSure }) => ({ path, isSure, line: line + at(offset).line - 1 }));
  });
}

interface FoundPath {
  readonly path: string;
  readonly offset: number;
  readonly isSure: boolean;
}

/** Returns the targets of links to files; other addresses and places in the same text are not files. */
function linkedFiles(source: string): FoundPath[] {
  return linksIn(source).flatMap(({ target, offset }) => {
    const path = fileOf(target);
    if (path === "" || /^[A-Za-z][A-Za-z0-9+.-]*:|^[\\/]|[{}<>*$[\]…]/.test(path)) return [];
    return [{ path, offset, isSure: FILE.test(path.replace(/\s/g, "_")) }];
  });
}

/** Returns the paths in code spans and between blanks. In prose only a path with a `/` counts: `a.md` is often a noun. */
function writtenPaths(source: string): FoundPath[] {
  const found: FoundPath[] = [];
  let sentence = 0;
  const take = (word: string, offset: number, isCode: boolean) => {
    if (word.length > NAME_MAX || !FILE.test(word) || !(isCode || word.includes("/")) || word.startsWith("/")) return;
    const isAsked = word.includes("/") && ASKS.test(source.slice(Math.max(sentence, offset - NAME_MAX), offset));
    found.push({ path: word, offset, isSure: isAsked });
  };
  const codeEnds = codeSpans(source);
  for (let at = 0; at < source.length; ) {
    const end = codeEnds.get(at);
    if (end !== undefined) {
      const marks = /^`+/.exec(source.slice(at, end))?.[0].length ?? 0;
      take(source.slice(at + marks, end - marks).trim(), at, true);
      at = end;
      continue;
    }
    const [word = source.charAt(at)] = /^[^\s`]+/.exec(source.slice(at, at + NAME_MAX)) ?? [];
    // The parts of a link are read as a link.
    if (!word.includes("](")) {
      const before = BEFORE.exec(word)?.[0].length ?? 0;
      take(withoutAtEnd(word.slice(before), AFTER), at + before, false);
    }
    at += word.length;
    if (word === "\n" || /[.!?]$/.test(word)) sentence = at;
  }
  return found;
}

/** Returns the paths that a name may mean: relative to the file that names it, and to the workflow's folder. */
export function meantPaths(name: string, from: string): string[] {
  const isRelative = /^\.{1,2}[\\/]/.test(name);
  const beside = joined(folderOf(from), name);
  const above = joined("", name);
  const paths = isRelative ? [beside, above] : [above, beside];
  return [...new Set(paths.filter((path) => path !== undefined))];
}

/** Returns the folder of a file; empty for the workflow's folder itself. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Joins a folder and a name; undefined if that leaves the workflow's folder, or is no path. */
function joined(folder: string, name: string): string | undefined {
  const resolved = resolvePath(folder === "" ? "" : `${folder}/`, name.replace(/\\/g, "/").replace(/^\/+/, ""));
  return "path" in resolved ? resolved.path : undefined;
}

/** Returns a path as file systems that fold case and Unicode forms compare it. */
export function foldedPath(path: string): string {
  return path.normalize("NFKC").replace(HIDDEN, "").toLowerCase();
}

/** Returns why a file is never shown to an agent, in any phase; undefined for a file that may be a document. */
export function keptFromAgents(path: string): string | undefined {
  const folded = foldedPath(path);
  if (folded === "metadata.json") return "it defines the workflow";
  if (looksLikeGate(folded.slice(folded.lastIndexOf("/") + 1))) return "it is a gate, or named like one";
  return keptBack(folded);
}

/**
 * Returns a check that warns about documents that a text names and that are not among `paths`. `at` is the path of the text
 * among them, if its file is elsewhere.
 */
export function missingDocuments(
  paths: readonly string[],
  report: Report,
): (file: string, text: string, at?: string) => void {
  const all = new Set(paths.map((path) => path.normalize()));
  const folders = new Set(paths.map(folderOf));
  return (file, text, at = file) => {
    const reported = new Set<string>();
    for (const { path, line, isSure } of namedPaths(text)) {
      const meant = meantPaths(path, at);
      if (reported.has(path) || meant.some((one) => all.has(one.normalize()))) continue;
      // A path in a folder that the workflow doesn't have is more likely a file of the project.
      const isOfWorkflow = meant.some((one) => one.includes("/") && folders.has(folderOf(one)));
      if (!isSure && !(path.includes("/") && isOfWorkflow)) continue;
      reported.add(path);
      const hint = () => {
        const near = meant.map((one) => nearest(one, paths)).find((one) => one !== undefined);
        if (near !== undefined) return `Did you mean ${shown(near)}, in the workflow's folder?`;
        return "Add the file to the workflow's folder, or correct the path: it is relative to this text, or to the folder.";
      };
      report.warn("DOCUMENT_MISSING", { file, line }, `the text names ${shown(path)}, which doesn't exist`, hint);
    }
  };
}

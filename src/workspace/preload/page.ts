import * as z from "zod";
import { revisionOf } from "../../definition/digest.js";
import { shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import type { PreloadedFile } from "./parts.js";
import type { PreloadRequest } from "./preloaded.js";

/** Characters that count as one token. */
const CHARACTERS_PER_TOKEN = 4;

/** Whole files that fit, and where the rest begins. */
export interface FilesPage {
  readonly files: readonly PreloadedFile[];
  /** Files of this page that the connection has already, by path. */
  readonly had: readonly string[];
  /** Missing on the last page. */
  readonly cursor?: string;
}

/** How many tokens a text is about. */
function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** What tells one content of a file from another. Files are kept as they are read, so this is worked out once for each. */
export function revisionOfFile(file: PreloadedFile): string {
  const revision = revisions.get(file) ?? revisionOf(file.content);
  revisions.set(file, revision);
  return revision;
}

const revisions = new WeakMap<PreloadedFile, string>();

/**
 * As many whole files as fit into a budget of tokens, at least one, from where a cursor points. Files that the connection
 * was given in the same revision are named in place of being given again, unless it asks for them: then on the pages that
 * follow, too. Throws `CURSOR_INVALID`.
 */
export function pageFiles(
  files: readonly PreloadedFile[],
  budget: number,
  { cursor, reload }: Pick<PreloadRequest, "cursor" | "reload">,
  given: ReadonlyMap<string, string>,
): FilesPage {
  const { from, again } = cursor === undefined ? { from: 0, again: false } : placeOf(cursor, listRevision(files));
  const isAgain = again || reload === true;
  const page: PreloadedFile[] = [];
  const had: string[] = [];
  let used = 0;
  for (const [index, file] of files.entries()) {
    if (index < from) continue;
    if (!isAgain && given.get(file.path) === revisionOfFile(file)) {
      had.push(file.path);
      continue;
    }
    used += tokensOf(file.content);
    if (used > budget && page.length > 0) {
      return { files: page, had, cursor: btoa(JSON.stringify([index, listRevision(files), isAgain])) };
    }
    page.push(file);
  }
  return { files: page, had };
}

/** What tells one list of files from another: only who pages needs it. */
function listRevision(files: readonly PreloadedFile[]): string {
  return revisionOf(JSON.stringify(files.map((file) => [file.path, revisionOfFile(file)])));
}

/** Where the next page begins, the revision of the list, and whether files that were given before are given again. */
const cursorSchema = z.tuple([z.int().nonnegative(), z.string(), z.boolean()]);

function placeOf(cursor: string, list: string): { readonly from: number; readonly again: boolean } {
  const [from, revision, again] = cursorSchema.safeParse(decoded(cursor)).data ?? [];
  if (from === undefined || again === undefined) throw invalidCursor(cursor, "it is none of this tool's");
  if (revision !== list) throw invalidCursor(cursor, "the workflow's files have changed since");
  return { from, again };
}

function decoded(cursor: string): unknown {
  try {
    return JSON.parse(atob(cursor));
  } catch {
    return undefined;
  }
}

function invalidCursor(cursor: string, reason: string): PhasegateError<"CURSOR_INVALID"> {
  return new PhasegateError("CURSOR_INVALID", `the cursor ${shown(cursor)} can't be used: ${reason}`, {
    remedy: "Call preload_workflow without a cursor, with reload: true.",
    details: { cursor },
  });
}

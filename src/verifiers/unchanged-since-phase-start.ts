/**
 * The verifier `unchanged_since_phase_start`: files are byte for byte as they were when the phase was entered, or at the
 * end of an earlier phase. A refusal shows the differences of short texts, which are part of the snapshot.
 */
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { JsonValue } from "../workflow/json.js";
import { defineVerifier, failedSchema } from "./define-verifier.js";
import {
  boundedReader,
  findNamed,
  isNamedBy,
  LISTED_MAX,
  listed,
  namedFilesParams,
  namedPaths,
  plainPath,
  sinceWords,
} from "./named-files.js";
import { isGlob, pathsParam, WrongParam } from "./params.js";
import { harmless, sha256, shortened, shownPath, shownPaths } from "./subject.js";

/** New and deleted files among the named ones are changes. */
const params = z.strictObject({
  ...namedFilesParams,
  except: pathsParam.describe("Files, folders and globs that may change."),
  allow_none: z
    .boolean()
    .optional()
    .describe("True if the paths may name no file, neither then nor now. Default: false, since they may be misspelt."),
});

/** A file as it was: its digest, and its text if that is short. A link is compared by the content of its file. */
const fileSchema = z.strictObject({
  path: z.string(),
  /** `unreadable` can't be compared; `skipped` is a folder that is not read. */
  kind: z.enum(["file", "link", "skipped", "unreadable"]),
  digest: z.string().optional(),
  text: z.string().optional(),
});

type FileState = z.infer<typeof fileSchema>;

/** The files as they were; or why they could not be read, which an agent may have caused. */
const snapshotSchema = z.union([z.strictObject({ files: z.array(fileSchema) }), failedSchema]);

export const unchangedSincePhaseStart = defineVerifier({
  about: "Files are as they were when the phase was entered.",
  params,
  keepsSnapshot: true,
  fixedPaths: (given) => [...namedPaths(given), ...(given.except ?? [])],
  check({ path, paths }) {
    if ((path === undefined) === (paths === undefined)) throw new WrongParam("path", "give either path or paths");
  },
  snapshot: async (given, { project: { sandbox } }) => storable(await statesOf(sandbox, given)),
  async verify(given, { snapshot, snapshotTakenAt, project: { sandbox }, signal }) {
    const paths = namedPaths(given);
    const ran = paths.map(shownPath).join(", ");
    const since = sinceWords(given, snapshotTakenAt);
    const before = snapshotSchema.safeParse(snapshot);
    if (!before.success) return { ok: false, message: "no snapshot was recorded when this phase was entered", ran };
    if ("failed" in before.data) {
      const again = "They are recorded once the phase before is passed again: roll back to it, or start a new session";
      const message = `the files could not be recorded: ${before.data.failed}. ${again}`;
      return { ok: false, message, ran };
    }
    const now = await statesOf(sandbox, given, signal);
    const { files } = before.data;
    const unreadable = now.find(({ kind }) => kind === "unreadable");
    if (unreadable !== undefined) {
      const message = `${shownPath(unreadable.path)} can't be compared: it is no regular file, nor a link to one in the project`;
      return { ok: false, message, ran };
    }
    if (files.length === 0 && now.length === 0 && given.allow_none !== true) {
      const message = `there is nothing to compare: ${ran} named no file then, and names none now`;
      return { ok: false, message, ran };
    }
    const changes = changesBetween(files, now);
    if (changes.length === 0) return { ok: true, message: asBefore(paths, now, since), ran, digest: digestOf(now) };
    const told = changes.map((change) => `${shownPath(change.path)} ${kindOf(change)}`);
    const message = `${listed(told)} ${since}; undo these changes`;
    return { ok: false, message, ran, digest: digestOf(now), output: await differences(changes) };
  },
});

type Params = z.infer<typeof params>;

/** Limits of the texts in a snapshot, in characters of JSON: of one file, and of all. */
const TEXT_MAX = 64 * 1024;
const TEXTS_MAX = 512 * 1024;

/** Maximum length of a snapshot, in characters of JSON; it is below the engine's own limit. */
const SNAPSHOT_MAX = 3 * 2 ** 20;

function storable(files: readonly FileState[]): JsonValue {
  const json = JSON.stringify({ files });
  if (json.length <= SNAPSHOT_MAX) return JSON.parse(json);
  return { failed: `the names of ${files.length} files are too long to be recorded` };
}

/** Returns the states of all files that the parameters name. Throws `TOO_LARGE` and `PATH_REFUSED`. */
async function statesOf(sandbox: Sandbox, given: Params, signal?: AbortSignal): Promise<readonly FileState[]> {
  const read = boundedReader(sandbox, signal);
  const states: FileState[] = [];
  let left = TEXTS_MAX;
  for (const { path, kind } of await findNamed(sandbox, namedPaths(given), given.except?.map(plainPath))) {
    const bytes = kind === "file" || kind === "link" ? await bytesAt(read, path) : undefined;
    if (bytes === undefined) {
      states.push({ path, kind: kind === "skipped" ? kind : "unreadable" });
      continue;
    }
    const text = bytes.length <= TEXT_MAX ? textOf(bytes) : undefined;
    const length = JSON.stringify(text)?.length ?? 0;
    const isKept = text !== undefined && length <= Math.min(TEXT_MAX, left);
    if (isKept) left -= length;
    states.push({
      ...{ path, kind: kind === "link" ? kind : "file", digest: sha256(bytes) },
      ...(isKept ? { text } : {}),
    });
  }
  return states;
}

/** Returns the bytes of a file; undefined for a link that leads to no file in the project. */
async function bytesAt(read: (path: string) => Promise<Uint8Array>, path: string): Promise<Uint8Array | undefined> {
  try {
    return await read(path);
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED") || isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

interface Change {
  readonly path: string;
  readonly before?: FileState;
  readonly now?: FileState;
}

function changesBetween(before: readonly FileState[], now: readonly FileState[]): Change[] {
  const states = new Map(now.map((state) => [state.path, state]));
  const changes = before.flatMap((state): Change[] => {
    const other = states.get(state.path);
    states.delete(state.path);
    if (other === undefined) return [{ path: state.path, before: state }];
    const isSame = other.kind === state.kind && other.digest === state.digest;
    return isSame ? [] : [{ path: state.path, before: state, now: other }];
  });
  return [...changes, ...[...states.values()].map((state) => ({ path: state.path, now: state }))];
}

function digestOf(states: readonly FileState[]): string {
  return sha256(new TextEncoder().encode(JSON.stringify(states.map(({ path, kind, digest }) => [path, kind, digest]))));
}

/** Says that the files are as before, and which paths name nothing: they may be misspelt. */
function asBefore(paths: readonly string[], now: readonly FileState[], since: string): string {
  const [count, files] = now.length === 1 ? ["1 file", "is"] : [`${now.length} files`, "are"];
  const none = paths.filter((path) => !now.some((state) => isNamedBy(path, state.path)));
  const missing = none.map((path) => `${shownPath(path)} ${isGlob(path) ? "names nothing" : "does not exist"}`);
  const names = now.map(({ path }) => path);
  const named = names.length === 0 ? "" : `: ${shownPaths(names, LISTED_MAX)}`;
  // A long list is for many kinds of projects: most of it names nothing in any one of them.
  const told = missing.length > LISTED_MAX ? [] : missing;
  const found =
    now.length === 0
      ? `no such file was there, and none was added ${since}`
      : `${count} ${files} unchanged ${since}${named}`;
  return [found, ...told].join("; ");
}

function kindOf({ before, now }: Change): string {
  if (before === undefined) return "was added";
  if (now === undefined) return "was deleted";
  if (now.kind !== before.kind) return now.kind === "link" ? "was replaced by a link" : "was replaced";
  return "was changed";
}

/** Limits of the lines that are shown: of all files, of one file, and the characters of a line. */
const LINES_MAX = 40;
const FILE_LINES_MAX = 20;
const LINE_MAX = 200;

/** Returns the differences as lines: those of short texts, and digests of other files. */
async function differences(changes: readonly Change[]): Promise<string[]> {
  const lines: string[] = [];
  for (const [index, change] of changes.entries()) {
    const own = [`${shownPath(change.path)} ${kindOf(change)}`, ...(await differenceOf(change))];
    const left = LINES_MAX - lines.length;
    if (own.length > left && index > 0) return [...lines, `… ${changes.length - index} more files`];
    lines.push(...own.map((line) => shortened(harmless(line), LINE_MAX)));
  }
  return lines;
}

async function differenceOf({ before, now }: Change): Promise<string[]> {
  if (before === undefined || now === undefined) return [];
  if (before.text === undefined || now.text === undefined) {
    const digest = (state: FileState) => (state.digest ?? "none").slice(0, 16);
    return [`SHA-256 ${digest(before)} is now ${digest(now)}; the lines are not shown: no text, or a long one`];
  }
  const all = await lineDifferences(before.text.split("\n"), now.text.split("\n"));
  const shownLines = all.slice(0, FILE_LINES_MAX);
  return all.length === shownLines.length ? all : [...shownLines, `… ${all.length - shownLines.length} more lines`];
}

/** Maximum number of removed and added lines; above it, all old lines are shown before all new ones. */
const EDITS_MAX = 500;

/** Returns the removed lines with `-` and the added ones with `+`, each run below the number of its first old line. */
async function lineDifferences(before: readonly string[], now: readonly string[]): Promise<string[]> {
  const start = equalFrom(before, now);
  const end = equalFrom(before.slice(start).reverse(), now.slice(start).reverse());
  const old = before.slice(start, before.length - end);
  const fresh = now.slice(start, now.length - end);
  // Few sessions need it.
  const { diffArrays } = await import("diff");
  const parts = diffArrays(old, fresh, { maxEditLength: EDITS_MAX }) ?? [
    { removed: true, added: false, value: old },
    { removed: false, added: true, value: fresh },
  ];
  const lines: string[] = [];
  let at = start;
  let isRun = false;
  for (const { removed, added, value } of parts) {
    const isChange = removed || added;
    if (isChange && !isRun && value.length > 0) lines.push(`@ line ${at + 1}`);
    if (isChange) lines.push(...value.map((line) => `${removed ? "-" : "+"} ${line}`));
    if (!added) at += value.length;
    isRun = isChange && (isRun || value.length > 0);
  }
  return lines;
}

/** Returns the number of lines at the beginning that are equal. */
function equalFrom(some: readonly string[], others: readonly string[]): number {
  const index = some.findIndex((line, at) => line !== others[at]);
  return index === -1 ? some.length : index;
}

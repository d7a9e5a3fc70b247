/**
 * Reads one workflow's folder, again only after a change. A file that may be a gate but cannot be read is always
 * reported: a gate must never disappear silently.
 */
import { isPhasegateError } from "../errors.js";
import type { BaseWorkflows, Content, SourceText, WorkflowDocument } from "../ports/content-provider.js";
import type { SandboxEntry } from "../sandbox/list.js";
import { identityOf } from "../sandbox/read.js";
import { notText, pathRefused, REMEDIES } from "../sandbox/refusals.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { FILE_MAX, isGateFile, looksLikeGate, METADATA_FILE, withoutMark } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/names.js";
import { contentOf } from "./answers.js";

/** A cached value, and the state of the files that it was read from. */
interface Kept<T> {
  readonly key: string;
  readonly value: T;
}

/** Attempts to read a folder that changes while it is read. */
const TURNS = 3;
/** Within so many milliseconds, a second change may leave a signature the same: what is that young is not cached. */
const STABLE_MS = 2_000;

export class WorkflowFolder {
  private workflow: Kept<ReadWorkflow> | undefined;
  /** The last version without errors, and the state of its metadata.json. */
  private sound: Kept<ReadWorkflow> | undefined;
  private readonly texts = new Map<string, Kept<string>>();

  private readonly sandbox: Sandbox;
  private readonly type: string;
  private readonly now: () => number;

  /** `now` returns milliseconds since 1970; tests replace it. */
  constructor(sandbox: Sandbox, type: string, now: () => number = Date.now) {
    this.sandbox = sandbox;
    this.type = type;
    this.now = now;
  }

  /**
   * Reads again only if metadata.json has changed, or if a base could have. Running sessions go on with the last version without
   * errors.
   */
  async forTexts(bases?: BaseWorkflows): Promise<ReadWorkflow | undefined> {
    const metadata = await this.metadataKey();
    const isKnown = metadata !== undefined && this.sound?.key === metadata && this.sound.value.extends !== true;
    if (isKnown) return this.sound?.value;
    const read = await this.read(bases);
    if (read === undefined || read.definition === undefined) return read && (this.sound?.value ?? read);
    if (metadata !== undefined) this.sound = { key: metadata, value: read };
    return read;
  }

  /**
   * Reads the workflow as it is now; broken if its folder cannot be read, undefined if it no longer exists. `bases` has the
   * workflows that it may extend.
   */
  async read(bases?: BaseWorkflows): Promise<ReadWorkflow | undefined> {
    try {
      return await this.readStable(bases);
    } catch (error) {
      return { diagnostics: [unreadableFolder(error)] };
    }
  }

  /** Reads a text as it is now; the path is relative to the folder. Throws as the sandbox does. */
  async text(path: string): Promise<string> {
    const file = `${this.type}/${path}`;
    const before = await this.sandbox.signature(file);
    const kept = this.texts.get(path);
    if (kept !== undefined && kept.key === before?.key) return kept.value;
    const readAt = this.now();
    const { text, signature } = await this.sandbox.read(file, { maxBytes: FILE_MAX });
    const value = withoutMark(text);
    if (signature.changedAt < readAt - STABLE_MS) this.texts.set(path, { key: signature.key, value });
    return value;
  }

  /** Lists the files that are not hidden. A file with several paths, by links of any kind, has them as aliases. */
  async documents(): Promise<readonly WorkflowDocument[]> {
    const inside = await this.sandbox.within(this.type, { refuse: (path) => secretIn(path) ?? hiddenIn(path) });
    // Paths that lead out of the folder are not read, but their files may have paths inside, too.
    const [own, all] = [await inside.walk("."), await this.sandbox.walk(this.type)];
    if (own.truncated || all.truncated) return [];
    const paths = new Map<string, string[]>();
    for (const entry of all.entries) {
      const identity = entry.signature && identityOf(entry.signature);
      if (identity !== undefined) paths.set(identity, [...(paths.get(identity) ?? []), below(this.type, entry)]);
    }
    return own.entries.flatMap(({ path, kind, signature }): WorkflowDocument[] => {
      if (kind !== "file" || signature === undefined) return [];
      const identity = identityOf(signature);
      const aliases = (identity === undefined ? [] : (paths.get(identity) ?? [])).filter((other) => other !== path);
      const names = aliases.length === 0 ? undefined : aliases;
      return [{ path, aliases: names, read: () => readDocument(inside, path, paths) }];
    });
  }

  private async readStable(bases: BaseWorkflows | undefined): Promise<ReadWorkflow | undefined> {
    let state = await this.state();
    for (let turn = 0; turn < TURNS && state !== undefined; turn += 1) {
      if (this.workflow?.key === state.key && (await this.isCurrent(this.workflow.value, bases)))
        return this.workflow.value;
      const readAt = this.now();
      const { files, unreadable } = await readFolder(this.sandbox, this.type, state);
      // Readers of Markdown, YAML and rules are loaded with the first workflow.
      const { readWorkflow } = await import("../workflow/files/read-workflow.js");
      const value = await readWorkflow(this.type, files, unreadable, state.others, bases);
      const after = await this.state();
      if (after?.key !== state.key) {
        state = after;
        continue;
      }
      // Cached only if nothing changed meanwhile: otherwise files of two versions could be pinned as one.
      const hasFailed = value.diagnostics.some(
        ({ code }) => code === ("DEFINITION_UNREADABLE" satisfies DiagnosticCode),
      );
      if (state.changedAt < readAt - STABLE_MS && !hasFailed) this.workflow = { key: state.key, value };
      return value;
    }
    if (state === undefined) return undefined;
    const hint = "Call again when nothing writes to it. Replace a folder with one rename, not file by file.";
    const message = "the workflow's folder changes while it is read";
    return { diagnostics: [problem(METADATA_FILE, "FILE_UNREADABLE", message, hint)] };
  }

  /** Checks that a workflow that extends another one extends what that is now. */
  private async isCurrent(read: ReadWorkflow, bases: BaseWorkflows | undefined): Promise<boolean> {
    if (read.extends !== true) return true;
    const { type, revision } = read.definition?.structure.extends ?? {};
    if (type === undefined || bases === undefined || [...bases.trail, this.type].includes(type)) return false;
    try {
      return (await bases.find(type, this.type))?.definition.structure.revision === revision;
    } catch (error) {
      // It is reported where the workflow is read again.
      if (isPhasegateError(error, "DEFINITION_INVALID")) return false;
      throw error;
    }
  }

  /** Returns undefined if the file cannot be read. Reading the workflow reports the error. */
  private async metadataKey(): Promise<string | undefined> {
    try {
      return (await this.sandbox.signature(`${this.type}/${METADATA_FILE}`))?.key;
    } catch (error) {
      if (isPhasegateError(error)) return undefined;
      throw error;
    }
  }

  /** A folder may seem to be missing because a part was removed during the walk, so it is checked twice. */
  private async state(): Promise<FolderState | undefined> {
    return (await readState(this.sandbox, this.type)) ?? (await readState(this.sandbox, this.type));
  }
}

/** The state of a workflow's folder, determined without reading its files. */
interface FolderState {
  /** Equal for an unchanged folder. */
  readonly key: string;
  /** The time of the last change of a file, in milliseconds since 1970. */
  readonly changedAt: number;
  /** True if it contains more than the limit. */
  readonly tooLarge: boolean;
  readonly entries: readonly SandboxEntry[];
  /** The paths of files that are not read with the workflow, relative to the folder: its texts may name them. */
  readonly others: readonly string[];
}

/** The limit of one workflow, in bytes: all its files are in memory while it is read. */
const FOLDER_MAX = 32 * FILE_MAX;

/** Returns undefined if there is no workflow. A folder with phases but without metadata.json is a broken one. */
export async function readState(sandbox: Sandbox, type: string): Promise<FolderState | undefined> {
  const tree = await sandbox.walk(type).catch((error: unknown) => {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  });
  if (tree === undefined) return undefined;
  const entries = tree.truncated ? [] : await relevantEntries(sandbox, type, tree.entries);
  if (
    !tree.truncated &&
    !entries.map((entry) => below(type, entry)).some((path) => path === METADATA_FILE || isInPhases(path))
  )
    return undefined;
  const bytes = entries.reduce((sum, { signature }) => sum + (signature?.size ?? 0), 0);
  const taken = new Set(entries.map(({ path }) => path));
  const others = tree.truncated ? [] : tree.entries.filter(({ path, kind }) => kind === "file" && !taken.has(path));
  return {
    key: [
      ...entries.map(({ path, kind, signature }) => [path, kind, signature?.key].join("|")),
      ...others.map(({ path }) => path),
    ].join("\n"),
    changedAt: Math.max(0, ...entries.map(({ signature }) => signature?.changedAt ?? 0)),
    tooLarge: tree.truncated || bytes > FOLDER_MAX,
    entries,
    others: others.map((entry) => below(type, entry)),
  };
}

/** Kubernetes links files to folders whose names begin with two dots. */
function hiddenIn(path: string): string | undefined {
  return /(?:^|\/)\.(?!\.)./.test(path) ? "names that begin with '.' are kept back" : undefined;
}

/** Reads a document. Refuses a file that was replaced by a link to another one since the folder was listed. */
async function readDocument(
  inside: Sandbox,
  path: string,
  paths: ReadonlyMap<string, readonly string[]>,
): Promise<Content> {
  const { text, signature } = await inside.read(path, { maxBytes: FILE_MAX });
  const known = paths.get(identityOf(signature) ?? "");
  if (known !== undefined && !known.includes(path))
    throw pathRefused(path, "it changed while it was read", REMEDIES.again);
  if (text.includes("\0")) throw notText(path);
  return contentOf(withoutMark(text), path);
}

function below(type: string, { path }: SandboxEntry): string {
  return path.slice(type.length + 1);
}

/** Reads the files of a folder in a given state, with the errors of those that can't be read. Paths are relative to it. */
export async function readFolder(sandbox: Sandbox, type: string, { entries, tooLarge }: FolderState) {
  const files: SourceText[] = [];
  const unreadable: Diagnostic[] = [];
  if (tooLarge) {
    const hint = "Move files that do not belong to the workflow elsewhere.";
    unreadable.push(problem(METADATA_FILE, "FOLDER_TOO_LARGE", "the folder contains too many files or bytes", hint));
  }
  for (const entry of tooLarge ? [] : entries) {
    const path = below(type, entry);
    try {
      files.push({ path, text: (await sandbox.read(entry.path, { maxBytes: FILE_MAX })).text });
    } catch (error) {
      // A file that was removed meanwhile changes the state, so the folder is read again.
      if (!isPhasegateError(error, "FILE_NOT_FOUND")) unreadable.push(unreadableFile(path, error));
    }
  }
  return { files, unreadable };
}

/** Returns metadata.json, Markdown and gate files, and where there is no gate, what was probably meant as one. */
async function relevantEntries(
  sandbox: Sandbox,
  type: string,
  found: readonly SandboxEntry[],
): Promise<readonly SandboxEntry[]> {
  const gates = found.filter(({ path, kind }) => kind === "file" && isGateFile(path));
  const gated = new Set(gates.map(({ path }) => parentOf(path)));
  const files = found.filter((entry) => isRelevant(entry, entry.path.slice(type.length + 1), gated));
  const folders = await gateFolders(sandbox, type, found, gated);
  return [...files, ...folders].sort((one, other) => (one.path < other.path ? -1 : 1));
}

function isRelevant({ path: whole, kind }: SandboxEntry, path: string, gated: ReadonlySet<string>): boolean {
  if (path === METADATA_FILE || path.endsWith(".md") || isGateFile(path)) return true;
  // A refused entry may be a gate, or contain one.
  if (isInPhases(path) && ((kind === "refused" && secretIn(path) === undefined) || /\.ya?ml$/i.test(path))) return true;
  return kind === "file" && !gated.has(parentOf(whole)) && looksLikeGate(nameOf(path));
}

/** Returns folders whose name is, or looks like, the name of a gate file, in places where phases have their gates. */
async function gateFolders(sandbox: Sandbox, type: string, found: readonly SandboxEntry[], gated: ReadonlySet<string>) {
  const phases = `${type}/phases`;
  const hasPhases = found.some(({ path }) => path.startsWith(`${phases}/`));
  const inPhases = hasPhases ? await foldersIn(sandbox, phases) : [];
  const withTexts = found.filter(({ path }) => path.endsWith(".md")).map(({ path }) => parentOf(path));
  const places = new Set([...inPhases.map(({ path }) => path), ...withTexts]);
  const ungated = [...places].filter((place) => place !== type && !gated.has(place));
  const folders = (await Promise.all(ungated.map((place) => foldersIn(sandbox, place)))).flat();
  return folders.filter(
    ({ path }) => isGateFile(path) || (path.startsWith(`${phases}/`) && looksLikeGate(nameOf(path))),
  );
}

/** Lists the folders in a folder; none if it was removed meanwhile. */
async function foldersIn(sandbox: Sandbox, folder: string): Promise<readonly SandboxEntry[]> {
  try {
    return (await sandbox.list(folder)).filter(({ kind }) => kind === "folder");
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return [];
    throw error;
  }
}

function isInPhases(path: string): boolean {
  return path === "phases" || path.startsWith("phases/");
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function unreadableFile(path: string, error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const { code, message, remedy } = error;
  if (code === "TOO_LARGE") return problem(path, "FILE_TOO_LARGE", `the file is larger than ${FILE_MAX} bytes`, remedy);
  if (code === "INVALID_INPUT") return problem(path, "NOT_UTF8", "the file is not UTF-8 text", remedy);
  const inPlace = "Put the file itself there, not a link out of the root or a folder.";
  const hint = code === "PATH_REFUSED" ? inPlace : remedy;
  return problem(path, "FILE_UNREADABLE", message, hint);
}

function unreadableFolder(error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const inPlace = "Put the folder itself there instead of the link, or add the folder that contains it to the roots.";
  const hint = error.code === "PATH_REFUSED" ? inPlace : error.remedy;
  return problem(METADATA_FILE, "FILE_UNREADABLE", `the workflow's folder can't be read: ${error.message}`, hint);
}

function problem(file: string, code: DiagnosticCode, message: string, hint: string): Diagnostic {
  return { file, severity: "error", code, message, hint };
}

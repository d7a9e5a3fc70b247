import { isPhasegateError } from "../errors.js";
import type { SourceText } from "../ports/content-provider.js";
import type { SandboxEntry } from "../sandbox/list.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import { METADATA_FILE, type ReadWorkflow, readWorkflow } from "../workflow/files/read-workflow.js";
import { FILE_MAX, isGateFile, looksLikeGate, withoutMark } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/kept-back.js";

interface Kept<T> {
  readonly key: string;
  readonly value: T;
}

/** How often a folder that changes while it is read is read again. */
const TURNS = 3;
/**
 * A file can be changed twice within what its times tell apart (2 seconds at worst), so what was
 * changed just before it was read is not kept.
 */
const SETTLED = 2_000;

/** One workflow's folder, read again when its files have changed. */
export class WorkflowFolder {
  private workflow: Kept<ReadWorkflow> | undefined;
  /** The last one that had no error, and the state of its metadata.json. */
  private sound: Kept<ReadWorkflow> | undefined;
  private readonly texts = new Map<string, Kept<string>>();

  private readonly sandbox: Sandbox;
  private readonly type: string;
  private readonly now: () => number;

  /** `now` gives the milliseconds since 1970; another one in tests. */
  constructor(sandbox: Sandbox, type: string, now: () => number = Date.now) {
    this.sandbox = sandbox;
    this.type = type;
    this.now = now;
  }

  /**
   * The workflow, for the names of its texts: looked through only if metadata.json has changed, and the
   * last one without an error where the newest has one, so that an edit gone wrong strands no session.
   */
  async forTexts(): Promise<ReadWorkflow | undefined> {
    const metadata = await this.metadataKey();
    if (metadata !== undefined && this.sound?.key === metadata) return this.sound.value;
    const read = await this.read();
    if (read === undefined || read.definition === undefined) return read && (this.sound?.value ?? read);
    if (metadata !== undefined) this.sound = { key: metadata, value: read };
    return read;
  }

  /** The workflow as its files are now, broken if its folder can't be read; undefined if there is none any more. */
  async read(): Promise<ReadWorkflow | undefined> {
    try {
      return await this.readSettled();
    } catch (error) {
      return { diagnostics: [unreadableFolder(error)] };
    }
  }

  /** A text of the workflow as it is now, by its path in the folder; throws as the sandbox does. */
  async text(path: string): Promise<string> {
    const file = `${this.type}/${path}`;
    const before = await this.sandbox.signature(file);
    const kept = this.texts.get(path);
    if (kept !== undefined && kept.key === before?.key) return kept.value;
    const readAt = this.now();
    const { text, signature } = await this.sandbox.read(file, { maxBytes: FILE_MAX });
    const value = withoutMark(text);
    if (signature.changedAt < readAt - SETTLED) this.texts.set(path, { key: signature.key, value });
    return value;
  }

  private async readSettled(): Promise<ReadWorkflow | undefined> {
    let state = await this.look();
    for (let turn = 0; turn < TURNS && state !== undefined; turn += 1) {
      if (this.workflow?.key === state.key) return this.workflow.value;
      const readAt = this.now();
      const { files, unreadable } = await readFolder(this.sandbox, this.type, state);
      const value = await readWorkflow(this.type, files, unreadable);
      const after = await this.look();
      if (after?.key !== state.key) {
        state = after;
        continue;
      }
      // Only what was the same before and after: else files of two workflows could be pinned as one.
      const hasFailed = value.diagnostics.some(
        ({ code }) => code === ("DEFINITION_UNREADABLE" satisfies DiagnosticCode),
      );
      if (state.changedAt < readAt - SETTLED && !hasFailed) this.workflow = { key: state.key, value };
      return value;
    }
    return state === undefined ? undefined : { diagnostics: [unsettledFolder()] };
  }

  /** Undefined for one that can't be had: what is wrong with it shows when the workflow is read. */
  private async metadataKey(): Promise<string | undefined> {
    try {
      return (await this.sandbox.signature(`${this.type}/${METADATA_FILE}`))?.key;
    } catch (error) {
      if (isPhasegateError(error)) return undefined;
      throw error;
    }
  }

  /** A folder that seems to have gone may be one of which a part has: look twice. */
  private async look(): Promise<FolderState | undefined> {
    return (await lookAtFolder(this.sandbox, this.type)) ?? (await lookAtFolder(this.sandbox, this.type));
  }
}

/** The state of a workflow's folder, found without reading its files. */
interface FolderState {
  /** Equal for an unchanged folder. */
  readonly key: string;
  /** When a file was last changed, in milliseconds since 1970. */
  readonly changedAt: number;
  /** Whether there is more in it than is read. */
  readonly tooLarge: boolean;
  readonly entries: readonly SandboxEntry[];
}

/** All texts of a workflow's folder, and why others can't be had. Paths are relative to the folder. */
interface FolderTexts {
  readonly files: readonly SourceText[];
  readonly unreadable: readonly Diagnostic[];
}

/** The most that is read of one workflow, in bytes: its files are held together while it is read. */
const FOLDER_MAX = 32 * FILE_MAX;

/**
 * Looks at a workflow's folder; undefined if it isn't there, or is none: one with phases and without
 * metadata.json was meant to be one, and is to be listed as broken, not to vanish.
 */
export async function lookAtFolder(sandbox: Sandbox, type: string): Promise<FolderState | undefined> {
  const tree = await sandbox.walk(type).catch((error: unknown) => {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  });
  if (tree === undefined) return undefined;
  const entries = tree.truncated ? [] : await relevantEntries(sandbox, type, tree.entries);
  if (!tree.truncated && !entries.some((entry) => isTelling(below(type, entry)))) return undefined;
  const bytes = entries.reduce((sum, { signature }) => sum + (signature?.size ?? 0), 0);
  return {
    key: entries.map(({ path, kind, signature }) => [path, kind, signature?.key].join("|")).join("\n"),
    changedAt: Math.max(0, ...entries.map(({ signature }) => signature?.changedAt ?? 0)),
    tooLarge: tree.truncated || bytes > FOLDER_MAX,
    entries,
  };
}

function isTelling(path: string): boolean {
  return path === METADATA_FILE || path === "phases" || path.startsWith("phases/");
}

function below(type: string, { path }: SandboxEntry): string {
  return path.slice(type.length + 1);
}

/** Reads the files of a folder that was looked at. */
export async function readFolder(
  sandbox: Sandbox,
  type: string,
  { entries, tooLarge }: FolderState,
): Promise<FolderTexts> {
  const files: SourceText[] = [];
  const unreadable: Diagnostic[] = [];
  if (tooLarge) unreadable.push(folderTooLarge());
  for (const entry of tooLarge ? [] : entries) {
    const path = below(type, entry);
    try {
      files.push({ path, text: (await sandbox.read(entry.path, { maxBytes: FILE_MAX })).text });
    } catch (error) {
      // One that has gone since is no longer part of the folder: the next look will say so.
      if (!isPhasegateError(error, "FILE_NOT_FOUND")) unreadable.push(unreadableFile(path, error));
    }
  }
  return { files, unreadable };
}

/**
 * What matters of all that lies in a workflow's folder: metadata.json, Markdown anywhere, gate files;
 * and whatever was probably meant as a gate where there is none, a folder too: a gate must never vanish.
 */
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
  // Whatever can't be followed may be a gate, or lead to one.
  if (isInPhases(path) && ((kind === "refused" && secretIn(path) === undefined) || /\.ya?ml$/i.test(path))) return true;
  return kind === "file" && !gated.has(parentOf(whole)) && looksLikeGate(nameOf(path));
}

/** Folders that have the name of a gate's file, or one like it, where phases have their gates. */
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

/** None for a folder that has gone since. */
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

/** Why a file of a workflow can't be had, from what the sandbox has thrown; throws what isn't the sandbox's. */
function unreadableFile(path: string, error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const { code, message, remedy } = error;
  if (code === "TOO_LARGE") return problem(path, "FILE_TOO_LARGE", `the file is larger than ${FILE_MAX} bytes`, remedy);
  if (code === "INVALID_INPUT") return problem(path, "NOT_UTF8", "the file is not UTF-8 text", remedy);
  const inPlace = "Put the real one there: no link that leads out, and no folder in place of a file.";
  const hint = code === "PATH_REFUSED" ? inPlace : remedy;
  return problem(path, "FILE_UNREADABLE", message, hint);
}

/** Why a workflow's whole folder can't be had. */
function unreadableFolder(error: unknown): Diagnostic {
  if (!isPhasegateError(error)) throw error;
  const inPlace = "Put the folder itself there in place of the link, or name the folder that holds it as a root, too.";
  const hint = error.code === "PATH_REFUSED" ? inPlace : error.remedy;
  return problem(METADATA_FILE, "FILE_UNREADABLE", `the workflow's folder can't be read: ${error.message}`, hint);
}

/** A folder that is over the limits of what is read. */
function folderTooLarge(): Diagnostic {
  const hint = "Move what is no part of the workflow elsewhere.";
  return problem(METADATA_FILE, "FOLDER_TOO_LARGE", "the folder holds more than is read", hint);
}

/** A folder that was another one each time that it was looked at. */
function unsettledFolder(): Diagnostic {
  const hint = "Call again when nobody writes to it; replace a folder by one rename rather than file by file.";
  return problem(METADATA_FILE, "FILE_UNREADABLE", "the workflow's folder changes while it is read", hint);
}

function problem(file: string, code: DiagnosticCode, message: string, hint: string): Diagnostic {
  return { file, severity: "error", code, message, hint };
}

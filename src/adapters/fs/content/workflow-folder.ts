import type { DiagnosticCode } from "../../../definition/folder/diagnostic-codes.js";
import { METADATA_FILE, type ReadWorkflow, readWorkflow } from "../../../definition/folder/read-workflow.js";
import { FILE_MAX, withoutMark } from "../../../definition/folder/workflow-files.js";
import { isPhasegateError } from "../../../errors.js";
import type { Wall } from "../../../walls/wall.js";
import { type FolderState, lookAtFolder, readFolder } from "./folder-source.js";
import { unreadableFolder, unsettledFolder } from "./unreadable.js";

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

  private readonly wall: Wall;
  private readonly type: string;
  private readonly now: () => number;

  /** `now` gives the milliseconds since 1970; another one in tests. */
  constructor(wall: Wall, type: string, now: () => number = Date.now) {
    this.wall = wall;
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

  /** A text of the workflow as it is now, by its path in the folder; throws as the wall does. */
  async text(path: string): Promise<string> {
    const file = `${this.type}/${path}`;
    const before = await this.wall.signature(file);
    const kept = this.texts.get(path);
    if (kept !== undefined && kept.key === before?.key) return kept.value;
    const readAt = this.now();
    const { text, signature } = await this.wall.read(file, { maxBytes: FILE_MAX });
    const value = withoutMark(text);
    if (signature.changedAt < readAt - SETTLED) this.texts.set(path, { key: signature.key, value });
    return value;
  }

  private async readSettled(): Promise<ReadWorkflow | undefined> {
    let state = await this.look();
    for (let turn = 0; turn < TURNS && state !== undefined; turn += 1) {
      if (this.workflow?.key === state.key) return this.workflow.value;
      const readAt = this.now();
      const { files, unreadable } = await readFolder(this.wall, this.type, state);
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
      return (await this.wall.signature(`${this.type}/${METADATA_FILE}`))?.key;
    } catch (error) {
      if (isPhasegateError(error)) return undefined;
      throw error;
    }
  }

  /** A folder that seems to have gone may be one of which a part has: look twice. */
  private async look(): Promise<FolderState | undefined> {
    return (await lookAtFolder(this.wall, this.type)) ?? (await lookAtFolder(this.wall, this.type));
  }
}

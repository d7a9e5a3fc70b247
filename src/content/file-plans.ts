/** FilePlans and FileTexts: plans of a project, and the texts of routed workflows, in folders. */
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { PlanSource, PlanText, TextSource } from "../ports/content-provider.js";
import { utf8 } from "../sandbox/read.js";
import { sha256 } from "../sandbox/replace.js";
import { isFolder, openSandbox, type Sandbox } from "../sandbox/sandbox.js";
import { FILE_MAX } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/names.js";
import { notAPlan, planPlaces } from "./memory.js";

/** The options of {@link FilePlans}. */
export interface FilePlansOptions {
  /** The project root: plans are below it, and no path may lead out of it. */
  readonly root: string;
  /** The largest plan, in bytes. Default 5 MiB. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Plans in the files of a project. Paths are relative to its root. Links may lead anywhere inside it; writing through a
 * link replaces the file that it leads to.
 */
export class FilePlans implements PlanSource {
  private readonly root: string;
  private readonly maxBytes: number;

  /** Does not read anything yet. */
  constructor(options: FilePlansOptions) {
    this.root = options.root;
    this.maxBytes = options.maxBytes ?? MAX_BYTES;
  }

  /**
   * Reads the plan at a path: a file, or `tasks.md` in a folder. The text is unchanged, including a byte order mark.
   * Undefined if there is none.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path leads out of the root, or is not a regular file.
   * @throws {PhasegateError} `PLAN_PARSE` when the file is larger than `maxBytes`, or is not UTF-8.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when the root does not exist.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
   */
  async read(path: string): Promise<PlanText | undefined> {
    const sandbox = await openSandbox(this.root, { refuse: secretIn });
    const file = await locate(sandbox, path);
    if (file === undefined) return undefined;
    const read = await this.guarded(file, () => sandbox.readBytes(file, { maxBytes: this.maxBytes }));
    if (read === undefined) return undefined;
    const text = utf8(read.bytes);
    if (text === undefined) throw notAPlan(file, "it is not UTF-8 text", "Save the file as UTF-8.");
    return { path: file, text, hash: sha256(read.bytes) };
  }

  /**
   * Replaces the text with this hash, completely or not at all. Returns false without a change if the file now has
   * another hash.
   *
   * @param hash SHA-256 of the current bytes in hexadecimal, as `read` returns it.
   * @throws {PhasegateError} `PATH_REFUSED` when the path leads out of the root, or is not a regular file.
   * @throws {PhasegateError} `PLAN_PARSE` when the old or the new text is larger than `maxBytes`.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when the root does not exist.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot write it, or it has several hard links.
   */
  async replace(path: string, hash: string, text: string): Promise<boolean> {
    const sandbox = await openSandbox(this.root, { refuse: secretIn });
    const file = await locate(sandbox, path);
    if (file === undefined) return false;
    const replaced = this.guarded(file, () => sandbox.replace(file, { text, hash, maxBytes: this.maxBytes }));
    return (await replaced) ?? false;
  }

  /** Returns undefined for a file that was removed since it was found. */
  private async guarded<T>(file: string, step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
      if (!isPhasegateError(error, "TOO_LARGE")) throw error;
      const limit = `it is over the size limit of ${this.maxBytes} bytes`;
      throw notAPlan(file, limit, "Split the plan, or remove what does not belong to it.");
    }
  }
}

/** Returns the file of a plan; undefined if there is none. Opening it refuses what is not a regular file. */
async function locate(sandbox: Sandbox, path: string): Promise<string | undefined> {
  const { file, inFolder } = planPlaces(path);
  // Checked first, so that a refusal names this path and not `tasks.md` below it.
  await sandbox.check(file);
  if ((await sandbox.signature(inFolder)) !== undefined) return inFolder;
  return (await isFolder(sandbox, file)) ? undefined : file;
}

/** The options of {@link FileTexts}. */
export interface FileTextsOptions {
  /** The folder with the texts: for `RoutedFolders`, the one that contains the workflows. */
  readonly root: string;
}

/**
 * Texts in a folder, read at each call. Names that begin with `.`, links that lead out, files over 1 MiB and files that
 * are not UTF-8 count as missing.
 */
export class FileTexts implements TextSource {
  readonly #root: string;
  #sandbox: Sandbox | undefined;

  /** Does not read anything yet. */
  constructor({ root }: FileTextsOptions) {
    this.#root = root;
  }

  /**
   * Lists all files below a folder; the empty text is the root. None if the folder does not exist or leads out of the
   * root.
   *
   * @throws {PhasegateError} `FILE_NOT_FOUND` when the root does not exist.
   * @throws {PhasegateError} `TOO_LARGE` when there are more than 10,000 files and folders below it.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
   */
  async list(folder: string): Promise<readonly string[]> {
    const sandbox = await this.#open();
    try {
      const { entries, truncated } = await sandbox.walk(folder === "" ? "." : folder);
      if (truncated) throw tooMany(folder);
      return entries.filter(({ kind }) => kind === "file").map(({ path }) => path);
    } catch (error) {
      // A folder that does not exist or is refused has no texts.
      const isNone = isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED");
      if (folder !== "" && isNone) return [];
      throw error;
    }
  }

  /**
   * Reads a text; undefined if it counts as missing.
   *
   * @throws {PhasegateError} `FILE_NOT_FOUND` when the root does not exist.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
   */
  async read(path: string): Promise<string | undefined> {
    // Hidden names are missing here as they are in a list. The sandbox checks where links lead.
    if (path.split(/[\\/]/).some((name) => name.startsWith(".") && name !== ".")) return undefined;
    const sandbox = await this.#open();
    try {
      return (await sandbox.read(path, { maxBytes: FILE_MAX })).text;
    } catch (error) {
      if (isPhasegateError(error) && NO_TEXT.has(error.code)) return undefined;
      throw error;
    }
  }

  /** Opens the root again if it is a link that now leads elsewhere. */
  async #open(): Promise<Sandbox> {
    if (this.#sandbox === undefined || !(await this.#sandbox.isCurrent())) {
      this.#sandbox = await openSandbox(this.#root, { refuse: secretIn });
    }
    return this.#sandbox;
  }
}

const NO_TEXT: ReadonlySet<string> = new Set(["FILE_NOT_FOUND", "PATH_REFUSED", "TOO_LARGE", "INVALID_INPUT"]);

function tooMany(folder: string): PhasegateError<"TOO_LARGE"> {
  const limit = 10_000;
  return new PhasegateError(
    "TOO_LARGE",
    `there are more than ${limit} files and folders below the folder of workflows`,
    {
      remedy: "Give a folder that contains only workflows and the files that they include.",
      details: { file: folder === "" ? "." : folder, bytes: limit, limit },
    },
  );
}

import { isPhasegateError, PhasegateError } from "../errors.js";
import type { PlanSource, PlanText, TextSource } from "../ports/content-provider.js";
import { sha256 } from "../sandbox/replace.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { openSandbox } from "../sandbox/sandbox.js";
import { FILE_MAX } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/kept-back.js";
import { notAPlan, planPlaces } from "./memory.js";
/** Where plans lie. */
export interface FilePlansOptions {
  /** The project root: a folder that no path leads out of. */
  readonly root: string;
  /** The largest plan, in bytes. Default 5 MiB. */
  readonly maxBytes?: number;
}

const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Plans in the files of a project. Paths are relative to its root, and links may lead anywhere inside
 * it; writing through one replaces the file that it leads to.
 */
export class FilePlans implements PlanSource {
  private readonly root: string;
  private readonly maxBytes: number;

  constructor(options: FilePlansOptions) {
    this.root = options.root;
    this.maxBytes = options.maxBytes ?? MAX_BYTES;
  }

  /**
   * The plan at a path: a file, or a folder with a `tasks.md`; every character as it is in the file, a
   * byte order mark too. Undefined if there is none. Throws `PATH_REFUSED` for a path that leads out,
   * `PLAN_PARSE` for what is over the size limit or not UTF-8, `FILE_NOT_FOUND` if the root isn't there.
   */
  async read(path: string): Promise<PlanText | undefined> {
    const sandbox = await openSandbox(this.root, { refuse: secretIn });
    const file = await locate(sandbox, path);
    if (file === undefined) return undefined;
    const bytes = await this.bytes(sandbox, file);
    return bytes === undefined ? undefined : { path: file, text: textOf(file, bytes), hash: sha256(bytes) };
  }

  /**
   * Puts another text in the place of the one with this hash, whole or not at all. False, and nothing is
   * changed, if the text isn't that one any more. Throws as `read` does.
   */
  async replace(path: string, hash: string, text: string): Promise<boolean> {
    const sandbox = await openSandbox(this.root, { refuse: secretIn });
    const file = await locate(sandbox, path);
    if (file === undefined) return false;
    const replaced = this.guarded(file, () => sandbox.replace(file, { text, hash, maxBytes: this.maxBytes }));
    return (await replaced) ?? false;
  }

  private bytes(sandbox: Sandbox, file: string): Promise<Uint8Array | undefined> {
    return this.guarded(file, async () => (await sandbox.readBytes(file, { maxBytes: this.maxBytes })).bytes);
  }

  /** Undefined for a file that has gone since it was found. */
  private async guarded<T>(file: string, step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
      if (!isPhasegateError(error, "TOO_LARGE")) throw error;
      const limit = `it is over the size limit of ${this.maxBytes} bytes`;
      throw notAPlan(file, limit, "Split the plan, or take out of the file what is no part of it.");
    }
  }
}

/** The file of a plan; undefined if there is none. What is neither file nor folder is refused by whoever opens it. */
async function locate(sandbox: Sandbox, path: string): Promise<string | undefined> {
  const { file, inFolder } = planPlaces(path);
  // By itself first: where it leads out, the refusal names it, and not what would have lain in it.
  await sandbox.check(file);
  if ((await sandbox.signature(inFolder)) !== undefined) return inFolder;
  return (await isFolder(sandbox, file)) ? undefined : file;
}

async function isFolder(sandbox: Sandbox, path: string): Promise<boolean> {
  try {
    await sandbox.list(path);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED") || isPhasegateError(error, "FILE_NOT_FOUND")) return false;
    throw error;
  }
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notAPlan(file, "it is not UTF-8 text", "Save the file as UTF-8.");
  }
}

/** Where texts lie. */
export interface FileTextsOptions {
  /** The folder that they lie below: for `RoutedFolders`, the one that holds the workflows. */
  readonly root: string;
}

/**
 * Texts in a folder, as they are at each call; names that begin with `.` are left out. No link leads out of it, and what
 * is no UTF-8 text of at most 1 MiB counts as not there.
 */
export class FileTexts implements TextSource {
  readonly #root: string;
  #sandbox: Sandbox | undefined;

  constructor({ root }: FileTextsOptions) {
    this.#root = root;
  }

  /** Throws `FILE_NOT_FOUND` where the root isn't there, and `TOO_LARGE` where more lies below than is looked through. */
  async list(folder: string): Promise<readonly string[]> {
    const sandbox = await this.#open();
    try {
      const { entries, truncated } = await sandbox.walk(folder === "" ? "." : folder);
      if (truncated) throw tooMany(folder);
      return entries.filter(({ kind }) => kind === "file").map(({ path }) => path);
    } catch (error) {
      // A folder that isn't there, or that a path from outside can't lead to, holds nothing.
      const isNone = isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED");
      if (folder !== "" && isNone) return [];
      throw error;
    }
  }

  async read(path: string): Promise<string | undefined> {
    // As in a list; where a link leads is the sandbox's to say.
    if (path.split(/[\\/]/).some((name) => name.startsWith(".") && name !== ".")) return undefined;
    const sandbox = this.#sandbox ?? (await this.#open());
    try {
      return (await sandbox.read(path, { maxBytes: FILE_MAX })).text;
    } catch (error) {
      if (isPhasegateError(error) && NO_TEXT.has(error.code)) return undefined;
      throw error;
    }
  }

  /** The root may be a link that leads elsewhere by now. */
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
  return new PhasegateError("TOO_LARGE", "there are more files below the folder of workflows than are looked through", {
    remedy: "Give a folder that holds nothing but workflows and what they include.",
    details: { file: folder === "" ? "." : folder, bytes: limit, limit },
  });
}

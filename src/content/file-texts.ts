import { isPhasegateError, PhasegateError } from "../errors.js";
import type { TextSource } from "../ports/text-source.js";
import { openWall } from "../sandbox/open.js";
import type { Wall } from "../sandbox/sandbox.js";
import { FILE_MAX } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/kept-back.js";
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
  #wall: Wall | undefined;

  constructor({ root }: FileTextsOptions) {
    this.#root = root;
  }

  /** Throws `FILE_NOT_FOUND` where the root isn't there, and `TOO_LARGE` where more lies below than is looked through. */
  async list(folder: string): Promise<readonly string[]> {
    const wall = await this.#open();
    try {
      const { entries, truncated } = await wall.walk(folder === "" ? "." : folder);
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
    // As in a list; where a link leads is the wall's to say.
    if (path.split(/[\\/]/).some((name) => name.startsWith(".") && name !== ".")) return undefined;
    const wall = this.#wall ?? (await this.#open());
    try {
      return (await wall.read(path, { maxBytes: FILE_MAX })).text;
    } catch (error) {
      if (isPhasegateError(error) && NO_TEXT.has(error.code)) return undefined;
      throw error;
    }
  }

  /** The root may be a link that leads elsewhere by now. */
  async #open(): Promise<Wall> {
    if (this.#wall === undefined || !(await this.#wall.isCurrent())) {
      this.#wall = await openWall(this.#root, { refuse: secretIn });
    }
    return this.#wall;
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

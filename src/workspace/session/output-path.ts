import { posix } from "node:path";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Wall } from "../../walls/wall.js";
import { MANIFEST, type Manifest } from "./manifest.js";

/** How many names a path may have: what lies deeper is not looked for as a session is gone on with. */
const NAMES_MAX = 12;

/**
 * Checks where a file of a session may be saved, and gives the path in its one form (NFC). A name that differs from one
 * that is there in case or composition alone is refused: on another system they would be one file.
 */
export async function checkedOutput(
  wall: Wall,
  id: string,
  given: string,
  { outputs }: Pick<Manifest, "outputs">,
): Promise<string> {
  const path = given.normalize("NFC");
  if (folded(path) === folded(MANIFEST)) {
    throw refusal(path, "the workspace keeps the manifest itself", "Save under another name.");
  }
  if (path.split("/").length > NAMES_MAX) {
    throw refusal(path, `it is more than ${NAMES_MAX} names deep`, "Use fewer folders.");
  }
  // Saved under just this name before. Whether a file system finds it is no answer: one that folds names finds its twin.
  if (outputs.some((output) => output.path === path)) return path;
  let folder = id;
  for (const name of path.split("/")) {
    const twin = (await namesIn(wall, folder)).find((there) => there !== name && folded(there) === folded(name));
    if (twin !== undefined) {
      throw refusal(
        path,
        `on some systems ${name} is the same name as ${twin}, which is there`,
        `Use ${twin}, or another name.`,
      );
    }
    folder = `${folder}/${name}`;
  }
  return path;
}

async function namesIn(wall: Wall, folder: string): Promise<readonly string[]> {
  try {
    return (await wall.list(folder)).map(({ path }) => posix.basename(path));
  } catch (error) {
    // A folder that is to be made has no names yet; what else is wrong with it is told where it is used.
    if (isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED")) return [];
    throw error;
  }
}

/** One form for all names that some file system takes for one: `ſ` is an `s` on a Mac, and `ﬆ` is `st`. */
function folded(name: string): string {
  return name.normalize("NFD").toUpperCase().toLowerCase().normalize("NFC");
}

function refusal(path: string, reason: string, remedy: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `${path} can't be saved: ${reason}`, { remedy, details: { reason } });
}

/** What all classic workflows share: the engine that tells how they are followed, and the task of elicitation. */
import { isPhasegateError } from "../../errors.js";
import type { Location } from "../roots/location.js";
import { filePart, joinParts, missingPart, type Parts, type PreloadRole } from "./parts.js";
import { type FileSource, readWhole } from "./source.js";

/** Where each lies below the core root, the name of today first. */
const PLACES = {
  engine: ["tasks/workflow.md", "tasks/workflow.xml"],
  elicitation: [
    "tasks/adv-elicit.md",
    "tasks/adv-elicit.xml",
    "tasks/advanced-elicitation.md",
    "tasks/advanced-elicitation.xml",
    "workflows/advanced-elicitation/workflow.md",
    "workflows/advanced-elicitation/workflow.xml",
  ],
} as const;
/** A table of methods that a task names, beside itself. */
const TABLE = /(?<![\w-])[\w-]+\.csv\b/;

/** The core engine's text. Nothing where the workspace has no core root. */
export function loadEngine(source: FileSource): Promise<Parts> {
  return loadFirst(source, "engine");
}

/** The elicitation task, and the table of methods that it draws from. */
export async function loadElicitation(source: FileSource): Promise<Parts> {
  const task = await loadFirst(source, "elicitation");
  const [file] = task.files;
  const table = file === undefined ? undefined : TABLE.exec(file.content)?.[0];
  if (file === undefined || table === undefined) return task;
  const methods = await readOrMissing(source, source.resolve(table, { from: source.resolve(file.path) }), "data");
  return joinParts([task, methods]);
}

/** The first that is there, one after the other: as a rule it is the first of all. */
async function loadFirst(source: FileSource, role: keyof typeof PLACES): Promise<Parts> {
  if (!source.known.includes("core-root")) return joinParts([]);
  for (const path of PLACES[role]) {
    const location = { root: "core-root", path };
    try {
      const { text, size } = await readWhole(source, location);
      return filePart(source.show(location), { role }, size, text);
    } catch (error) {
      if (!isPhasegateError(error, "FILE_NOT_FOUND")) throw error;
    }
  }
  return readOrMissing(source, { root: "core-root", path: PLACES[role][0] }, role);
}

async function readOrMissing(source: FileSource, location: Location, role: PreloadRole): Promise<Parts> {
  const path = source.show(location);
  try {
    const { text, size } = await readWhole(source, location);
    return filePart(path, { role }, size, text);
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return missingPart(source, location, path, { role }, error);
  }
}

import { access } from "node:fs/promises";
import { join } from "node:path";
import { contentUnavailable } from "../adapters/content-answers.js";
import { FileStorage } from "../adapters/fs/storage/file-storage.js";
import { createEngine, type Engine } from "../engine/engine.js";
import type { EngineOptions } from "../engine/options.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { requireFolder } from "./require-folder.js";

/**
 * An engine that looks at sessions, or says a person's word: it needs no workflows, since what a session was started on is
 * in its log. A folder that holds no sessions is refused and left as it is.
 */
export async function openState(
  path: string,
  trust: Pick<EngineOptions, "approvers" | "hashKey" | "verifiers"> = {},
): Promise<Engine> {
  const folder = await requireFolder(path, "the state folder");
  await access(join(folder, "format.json")).catch((cause: unknown) => {
    const hint = "Name the folder that `phasegate serve --state` was given.";
    throw new CommandFailure(`there are no sessions in ${folder}`, EXIT.environment, hint, { cause });
  });
  return createEngine({ storage: await FileStorage.open(folder), content: NO_WORKFLOWS, ...trust });
}

const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async (type, part) => {
    throw contentUnavailable(type, part, "texts are not shown here");
  },
};

/** The packs that a command is given with `--pack`. open-packs.ts opens them: it is loaded only where there are some. */
import process from "node:process";
import { parsed, repeated } from "./command.js";
import type { OpenedPacks } from "./open-packs.js";

export function packOption() {
  return parsed("--pack <name>", "a pack that `phasegate add` has added to the project; may be repeated", repeated);
}

const NO_PACKS: OpenedPacks = { workflows: [], verifiers: {}, close: async () => {} };

/** Opens packs of the project that a folder is in. Throws `CommandFailure` if one can't be served as the user has confirmed it. */
export async function openPacks(folder: string, names: readonly string[] = []): Promise<OpenedPacks> {
  return names.length === 0 ? NO_PACKS : (await import("./open-packs.js")).openPacksOf(folder, names);
}

/**
 * Runs a part of a command while its packs are open: with the given folders of workflows and those of the packs, and with the packs'
 * verifiers.
 */
export async function withPacks<T>(
  {
    project = process.cwd(),
    workflows,
    pack,
  }: { readonly project?: string; readonly workflows?: readonly string[]; readonly pack?: readonly string[] },
  run: (opened: {
    readonly workflows: readonly string[] | undefined;
    readonly verifiers: OpenedPacks["verifiers"];
  }) => Promise<T>,
): Promise<T> {
  const packs = await openPacks(project, pack);
  try {
    const folders = packs.workflows.map(({ folder }) => folder);
    return await run({
      workflows: folders.length === 0 ? workflows : [...(workflows ?? []), ...folders],
      verifiers: packs.verifiers,
    });
  } finally {
    await packs.close();
  }
}

import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { FileTexts } from "../adapters/fs/content/file-texts.js";
import { workflowNames } from "../adapters/fs/content/workflow-names.js";
import { withoutMark } from "../definition/folder/workflow-files.js";
import { isPhasegateError } from "../errors.js";
import { RoutedFolders } from "../routed/definition/routed-folders.js";
import { openWall } from "../walls/open-wall.js";
import type { Wall } from "../walls/wall.js";
import { type FoundFiles, failed } from "./find-workflows.js";
import { unknownInGates } from "./unknown-verifiers.js";

/**
 * The routed workflow that a folder is, or all of those in it, by name, but for folders that are phased workflows.
 * `includeRoots` are relative to what holds the workflows.
 */
export async function findRouted(
  folder: string,
  includeRoots: readonly string[],
  phased: ReadonlySet<string>,
): Promise<FoundFiles[]> {
  const path = await realpath(folder);
  const inside = await openWall(path);
  if (phased.size === 0 && (await isRouted(inside, "."))) {
    const source = new FileTexts({ root: dirname(path) });
    return [await readRouted(new RoutedFolders({ source, includeRoots }), source, basename(path), "")];
  }
  const source = new FileTexts({ root: path });
  const folders = new RoutedFolders({ source, includeRoots });
  const found: FoundFiles[] = [];
  for (const name of await workflowNames(inside)) {
    if (phased.has(name) || !(await isRouted(inside, name))) continue;
    found.push(await readRouted(folders, source, name, name).catch((error: unknown) => failed(name, error)));
  }
  return found;
}

/** Whether a folder looks like a routed workflow; one that can't be looked into is none. */
async function isRouted(wall: Wall, folder: string): Promise<boolean> {
  try {
    const entries = await wall.list(folder);
    return entries.some(({ path, kind }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      return name === "index.md" || (name === "steps" && kind === "folder");
    });
  } catch (error) {
    if (isPhasegateError(error)) return false;
    throw error;
  }
}

async function readRouted(
  folders: RoutedFolders,
  source: FileTexts,
  name: string,
  folder: string,
): Promise<FoundFiles> {
  const { definition, diagnostics } = await folders.read(name);
  const unknown = (definition?.steps ?? []).flatMap(({ name: step, file = "index.md", gate }) =>
    gate === undefined ? [] : unknownInGates(gate, `the step ${step}`, file),
  );
  return {
    type: name,
    folder,
    read: { diagnostics: [...diagnostics, ...unknown] },
    source: async (file) => {
      const text = await source.read(pathOf(name, file));
      return text === undefined ? undefined : withoutMark(text);
    },
  };
}

/** Where a diagnostic's file lies: beside the workflow's folder where it was included from there. */
function pathOf(name: string, file: string): string {
  return file.startsWith("../") ? file.slice(3) : `${name}/${file}`;
}

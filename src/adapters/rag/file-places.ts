import { METADATA_FILE, readWorkflow } from "../../definition/folder/read-workflow.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import type { WorkflowStructure } from "../../definition/structure.js";
import { tagsOf } from "./front-matter.js";

const ANY_NAME = "workflow";

/** What a file is a text of, as far as its place and its workflow's metadata say. */
export interface FilePlace {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
  /** What the definition calls it, and what for. */
  readonly about?: string;
}

/**
 * The places of the Markdown files in a workflow's folder, by path in it; `folder` is its own path, empty for a root that is
 * itself a workflow, and what chunks call their workflow. The definition says which file
 * is the text of which phase and task (one may be that of several); what it doesn't name, and all of a
 * broken definition's files, goes by the usual names: `phases/N/phase.md`, `phases/N/task-M-*.md`,
 * `core/*.md`. Never throws.
 */
export async function filePlaces(
  folder: string,
  metadata: string | undefined,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly FilePlace[]>> {
  const { workflow_type: named } = metadataIn(metadata);
  const workflow = folder === "" ? (typeof named === "string" ? named : ".") : folder;
  const structure =
    (await structureOf(folder.slice(folder.lastIndexOf("/") + 1), metadata, paths)) ??
    (await structureOf(ANY_NAME, metadata && withName(metadata, ANY_NAME), paths));
  const tags = structure?.tags ?? ownTags(metadata);
  return new Map(
    paths.map((path) => {
      const parts = structure === undefined ? [] : partsOf(structure, path);
      const places = parts.length > 0 ? parts : [structure === undefined ? byName(path) : unnamed(path)];
      return [path, places.map((place) => ({ workflow, ...place, tags: [...new Set([...place.tags, ...tags])] }))];
    }),
  );
}

/** The definition without looking into the texts: which file belongs where stands in the metadata and in their names. */
async function structureOf(
  workflow: string,
  metadata: string | undefined,
  paths: readonly string[],
): Promise<WorkflowStructure | undefined> {
  if (metadata === undefined) return undefined;
  const texts = paths.map((path) => ({ path, text: "" }));
  return (await readWorkflow(workflow, [{ path: METADATA_FILE, text: metadata }, ...texts])).definition?.structure;
}

function partsOf({ phases, dynamic }: WorkflowStructure, path: string): FilePlace[] {
  const parts = phases.flatMap(({ number: phase, file, name, purpose, tasks }) => [
    ...(file === path ? [{ phase, tags: ["phase"], about: about(`Phase ${phase}`, name, purpose) }] : []),
    ...tasks
      .filter((task) => task.file === path)
      .map((task) => ({
        phase,
        task: task.number,
        tags: ["task"],
        about: about(`Task ${task.number}`, task.name, task.purpose),
      })),
  ]);
  const templates = (["phase", "task"] as const)
    .filter((kind) => dynamic?.templates[kind] === path)
    .map((kind) => ({ tags: ["template", kind] }));
  return [...parts, ...templates];
}

function about(number: string, name: string, purpose = ""): string {
  return `${number}: ${name}. ${purpose}`;
}

/** A file by its name, where there is no definition. */
function byName(path: string): FilePlace {
  const [, number = "", name = ""] = /^phases\/(\d{1,9})\/([^/]+)$/.exec(path) ?? [];
  const task = /^task-(\d{1,9})(?:-.+)?\.md$/.exec(name)?.[1];
  if (task !== undefined) return { phase: Number(number), task: Number(task), tags: ["task"] };
  return name === "phase.md" ? { phase: Number(number), tags: ["phase"] } : unnamed(path);
}

/** A file that is the text of no phase and no task. */
function unnamed(path: string): FilePlace {
  const template = /^phases\/dynamic\/(phase|task)-template\.md$/.exec(path)?.[1];
  if (template !== undefined) return { tags: ["template", template] };
  // Whatever else lies with a phase is the phase's: it must not be found where phases are hidden.
  const below = /^phases\/(\d{1,9})\//.exec(path)?.[1];
  return { ...(below === undefined ? {} : { phase: Number(below) }), tags: path.startsWith("core/") ? ["core"] : [] };
}

/** The tags of a definition that is broken elsewhere. */
function ownTags(metadata: string | undefined): string[] {
  return tagsOf(metadataIn(metadata).tags);
}

/**
 * A definition under a name that a workflow may have: in a folder of another name it can't be started, but which of its
 * files are texts of phases stands in it all the same.
 */
function withName(metadata: string, name: string): string {
  return JSON.stringify({ ...metadataIn(metadata), workflow_type: name });
}

function metadataIn(metadata: string | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(metadata ?? "null");
    return isJsonObject(value) ? value : {};
  } catch {
    // That it isn't JSON is said where the definition is read.
    return {};
  }
}

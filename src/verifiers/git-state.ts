/**
 * What the files of a repository were like at a moment: the commit that was checked out, and the contents of the files that
 * differed from it.
 */
import * as z from "zod";
import type { JsonValue } from "../workflow/json.js";
import { contentOf } from "./committed-files.js";
import { CheckFailed } from "./define-verifier.js";
import { uncommittedIn } from "./git.js";
import { findRepository, type Looking } from "./git-repository.js";
import { failedSchema } from "./named-files.js";

/** The contents of files, as `contentOf` tells them, by their names. */
type Contents = Readonly<Record<string, string>>;

/** The state of a repository: the commit that was checked out, and the files that differed from it. */
export const stateSchema = z.strictObject({ head: z.string(), files: z.record(z.string(), z.string()) });

/** Returns the state that was recorded. Throws `CheckFailed` if there is none. */
export function recordedState<T>(schema: z.ZodType<T>, snapshot: JsonValue | undefined): T {
  const failed = failedSchema.safeParse(snapshot);
  if (failed.success) {
    throw new CheckFailed(`the state of the files could not be recorded: ${failed.data.failed}`);
  }
  const state = schema.safeParse(snapshot);
  if (!state.success) throw new CheckFailed("the state of the files was not recorded");
  return state.data;
}

/** Returns the state of the files at or below a folder. Throws `CheckFailed`. */
export async function stateOf(looking: Looking, path = "."): Promise<{ head: string; files: Record<string, string> }> {
  const head = (await findRepository(looking.project.root))?.head;
  const files = await contentsIn(looking, path, head);
  if (head === undefined) throw new CheckFailed("the git repository has no commit that can be read");
  return { head, files };
}

/** Returns the names whose contents differ. */
export function changesBetween(before: Contents, now: Contents): readonly string[] {
  const all = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...all].filter((file) => before[file] !== now[file]);
}

/** Maximum number of uncommitted files that are compared. */
const FILES_MAX = 5_000;

/**
 * Returns the contents of the files that differ from a commit, by their names. Throws `CheckFailed` for what can't be read.
 */
export async function contentsIn(looking: Looking, path = ".", head?: string): Promise<Record<string, string>> {
  const found = await uncommittedIn({ ...looking, untracked: true }, path, head);
  if (found.size > FILES_MAX)
    throw new CheckFailed(`there are ${found.size} uncommitted files, at most ${FILES_MAX} are compared`);
  const contents: [string, string][] = [];
  for (const [name, place] of found) contents.push([name, await contentOf(place, name)]);
  return Object.fromEntries(contents);
}

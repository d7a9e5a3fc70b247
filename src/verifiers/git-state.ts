/**
 * What the files of a repository were like at a moment: the commit that was checked out, and the contents of the files that
 * differed from it.
 */
import * as z from "zod";
import type { JsonValue } from "../workflow/json.js";
import { contentOf } from "./committed-files.js";
import { reported, uncommittedIn } from "./git.js";
import { findRepository, type GitHost, NotComparable } from "./git-repository.js";
import { failedSchema } from "./named-files.js";

/** The contents of files, as `contentOf` tells them, by their names. */
type Contents = Readonly<Record<string, string>>;

/** The state of a repository at a moment. */
export interface State {
  /** The commit that was checked out. */
  readonly head: string;
  /** The files that differed from it. */
  readonly files: Contents;
}

export const stateSchema = z.strictObject({ head: z.string(), files: z.record(z.string(), z.string()) });

/** What is recorded if the state could not be read, which an agent may have caused. */
/** Time limit of a snapshot, in milliseconds. */
const SNAPSHOT_MS = 60_000;

/** Returns a snapshot, or why it could not be taken: a retry would record what the agent has changed since. */
export async function recordState<T extends JsonValue>(
  host: GitHost,
  take: (signal: AbortSignal, host: GitHost) => Promise<T>,
): Promise<JsonValue> {
  let taken: JsonValue = null;
  const done = await reported(host, async () => {
    taken = await take(AbortSignal.timeout(SNAPSHOT_MS), host);
    return { ok: true, message: "" };
  });
  return done.ok ? taken : { failed: done.message };
}

/** Returns the state that was recorded. Throws `NotComparable` if there is none. */
export function recordedState<T>(schema: z.ZodType<T>, snapshot: JsonValue | undefined): T {
  const failed = failedSchema.safeParse(snapshot);
  if (failed.success) {
    throw new NotComparable(`the state of the files could not be recorded: ${failed.data.failed}`);
  }
  const state = schema.safeParse(snapshot);
  if (!state.success) throw new NotComparable("the state of the files was not recorded");
  return state.data;
}

/** How files are looked for. */
interface Looking {
  readonly host: GitHost;
  readonly signal: AbortSignal;
}

/** Returns the state of the files at or below a folder. Throws `GitStopped` and `NotComparable`. */
export async function stateOf(
  root: string,
  path: string,
  looking: Looking,
): Promise<{ head: string; files: Record<string, string> }> {
  const head = (await findRepository(root))?.head;
  const files = await contentsIn(root, path, looking, head);
  if (head === undefined) throw new NotComparable("the git repository has no commit that can be read");
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
 * Returns the contents of the files that differ from a commit, by their names. Throws `GitStopped`, and `NotComparable` for
 * what can't be read.
 */
export async function contentsIn(
  root: string,
  path: string,
  looking: Looking,
  head?: string,
): Promise<Record<string, string>> {
  const found = await uncommittedIn(root, path, { ...looking, untracked: true }, head);
  if (found.size > FILES_MAX)
    throw new NotComparable(`there are ${found.size} uncommitted files, at most ${FILES_MAX} are compared`);
  const contents: [string, string][] = [];
  for (const [name, place] of found) contents.push([name, await contentOf(place, name)]);
  return Object.fromEntries(contents);
}

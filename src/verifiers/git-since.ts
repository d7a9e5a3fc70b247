/**
 * The verifiers `git_clean_since_phase_start` (no file is uncommitted but those that were, as they were) and
 * `git_changed_since_phase_start` (no file has changed but those that the evidence names, committed or not).
 */
import * as z from "zod";
import type { Verifier, VerifyResult } from "../ports/verifier.js";
import { isJsonObject, type JsonValue } from "../workflow/json.js";
import { parseRelativePath, shown } from "../workflow/names.js";
import { contentOf } from "./committed-files.js";
import { defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { requireGit, uncommittedIn, uncommittedResult } from "./git.js";
import { findRepository, type GitHost } from "./git-repository.js";
import { checkPaths, namedFilesParams, sinceWords } from "./named-files.js";
import { shownPath } from "./subject.js";

export const params = z.strictObject({
  path: textParam.optional().describe("The folder that is looked at. Default: the whole project."),
  since: namedFilesParams.since,
});

/** The commit that was checked out, and the contents of the uncommitted files; or why they could not be recorded. */
const snapshotSchema = z.union([
  z.strictObject({ head: z.string(), files: z.record(z.string(), z.string()) }),
  z.strictObject({ failed: z.string() }),
]);

/** The state of a repository when a phase was entered. */
type State = Exclude<z.infer<typeof snapshotSchema>, { failed: string }>;

/** Maximum number of uncommitted files that are recorded. */
const FILES_MAX = 5_000;
/** Time limit of a snapshot, in milliseconds. */
const SNAPSHOT_MS = 60_000;

/** Checks that no file is uncommitted but those that were when the phase was entered, as they were. */
export function gitCleanSincePhaseStart(root: string, host: GitHost | undefined): Verifier {
  return comparing("git_clean_since_phase_start", root, host, async ({ files }, { path, since, signal, gitHost }) => {
    const now = await contentsIn(root, path, { host: gitHost, signal });
    if ("ok" in now) return now;
    const other = Object.keys(now.files).filter((name) => files[name] !== now.files[name]);
    const result = uncommittedResult(other);
    return { ...result, message: `${result.message} (${since}, other files were)` };
  });
}

/**
 * Checks which files have changed since the phase was entered, committed or not: those that the evidence field names, all of
 * them and no other; none if the check is not at a field.
 */
export function gitChangedSincePhaseStart(root: string, host: GitHost | undefined): Verifier {
  const name = "git_changed_since_phase_start";
  return comparing(name, root, host, async ({ head, files }, { path, since, signal, gitHost, value }) => {
    const named = value === undefined ? [] : namedIn(name, value);
    const now = await contentsIn(root, path, { host: gitHost, signal }, head);
    if ("ok" in now) return now;
    const all = new Set([...Object.keys(files), ...Object.keys(now.files)]);
    const changed = [...all].filter((file) => files[file] !== now.files[file]);
    const unnamed = changed.filter((file) => !named.includes(file));
    const unchanged = named.filter((file) => !changed.includes(file));
    const words = value === undefined ? "changed" : "changed, but not named";
    const wrong = [
      ...(unnamed.length === 0 ? [] : [`${words}: ${few(unnamed)}`]),
      ...(unchanged.length === 0 ? [] : [`named, but not changed: ${few(unchanged)}`]),
    ];
    const found = changed.length === 0 ? "no file has changed" : `changed: ${few(changed)}`;
    const message = `${wrong.length === 0 ? found : wrong.join("; ")} (${since})`;
    return { ok: wrong.length === 0, message, ran: "git diff" };
  });
}

/** What a comparison is made with. */
interface Comparing {
  readonly path: string;
  /** The moment of the snapshot, in words. */
  readonly since: string;
  readonly value: JsonValue | undefined;
  readonly gitHost: GitHost;
  readonly signal: AbortSignal;
}

function comparing(
  name: string,
  root: string,
  host: GitHost | undefined,
  compare: (before: State, comparing: Comparing) => Promise<VerifyResult>,
): Verifier {
  return defineVerifier({
    name,
    params,
    keepsSnapshot: true,
    checkParams({ path }) {
      requireGit(name, host);
      if (path !== undefined) checkPaths(name, [path]);
    },
    async snapshot({ path = "." }): Promise<JsonValue> {
      const head = (await findRepository(root))?.head;
      const gitHost = requireGit(name, host);
      const found = await contentsIn(root, path, { host: gitHost, signal: AbortSignal.timeout(SNAPSHOT_MS) }, head);
      if ("ok" in found) return { failed: found.message };
      return head === undefined ? { failed: "the repository has no commit" } : { head, files: found.files };
    },
    async verify({ path = ".", ...given }, { value, snapshot, snapshotTakenAt }, signal) {
      const before = snapshotSchema.safeParse(snapshot);
      if (!before.success) return { ok: false, message: "the state of the files was not recorded" };
      if ("failed" in before.data) {
        return { ok: false, message: `the state of the files could not be recorded: ${before.data.failed}` };
      }
      const since = sinceWords(given, snapshotTakenAt);
      return compare(before.data, { path, since, value, gitHost: requireGit(name, host), signal });
    },
  });
}

/** Returns the contents of the files that differ from a commit, by their names; or why they are not known. */
async function contentsIn(
  root: string,
  path: string,
  looking: { readonly host: GitHost; readonly signal: AbortSignal },
  head?: string,
): Promise<VerifyResult | { readonly files: Readonly<Record<string, string>> }> {
  const found = await uncommittedIn(root, path, { ...looking, untracked: true }, head);
  if ("ok" in found) return found;
  if (found.size > FILES_MAX) return { ok: false, message: `there are ${found.size} uncommitted files` };
  const contents: [string, string][] = [];
  for (const [name, place] of found) contents.push([name, await contentOf(place)]);
  return { files: Object.fromEntries(contents) };
}

/** Reads a list of paths. Throws `INVALID_INPUT`. */
function namedIn(verifier: string, value: JsonValue): readonly string[] {
  if (!Array.isArray(value)) throw wrongParam(verifier, "", "the evidence must be a list of files");
  return value.map((item) => {
    const path = isJsonObject(item) ? item.file : item;
    if (typeof path === "string") return parseRelativePath(path);
    throw wrongParam(verifier, "", `${shown(item)} is not a file`);
  });
}

const SHOWN_MAX = 10;

function few(files: readonly string[]): string {
  const first = files.slice(0, SHOWN_MAX).map(shownPath).join(", ");
  return files.length > SHOWN_MAX ? `${first}, and ${files.length - SHOWN_MAX} more` : first;
}

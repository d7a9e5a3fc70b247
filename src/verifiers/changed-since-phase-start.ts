/**
 * The verifier `changed_since_phase_start`: files have content that no file had when the phase was entered. Renamed,
 * swapped and restored content is not new work.
 */
import * as z from "zod";
import { pathRefused } from "../sandbox/refusals.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import type { JsonValue } from "../workflow/json.js";
import { parseRelativePath } from "../workflow/names.js";
import { defineVerifier } from "./define-verifier.js";
import {
  boundedReader,
  findNamed,
  isAtOrBelow,
  isNamedBy,
  listed,
  namedFilesParams,
  namedPaths,
  orIfRefused,
  sinceWords,
} from "./named-files.js";
import { isGlob, textParam, WrongParam } from "./params.js";
import { refuseTwice, sha256, shownPath, subjectsOf } from "./subject.js";

/** Of `path` and `paths` each must have changed; of a folder or a glob, a file that it names. */
const params = z.strictObject({
  ...namedFilesParams,
  within: textParam.optional().describe("The folder of the files that the evidence field names, one or several."),
  allow_deleted: z
    .boolean()
    .optional()
    .describe("True if a file that was deleted or emptied counts as changed. Default: false."),
});

/** The result of `snapshot`: paths and digests. It is a list, so that no file name is a key. */
const snapshotSchema = z.array(z.tuple([z.string(), z.string()]));

export const changedSincePhaseStart = defineVerifier({
  about: "Files have new content since the phase was entered.",
  params,
  fixedPaths: namedPaths,
  check(given) {
    const ways = [given.path, given.paths, given.within].filter((way) => way !== undefined);
    if (ways.length === 1) return;
    throw new WrongParam("path", "give exactly one of path, paths, and within (for files that the evidence names)");
  },
  snapshot: async (given, { project: { sandbox } }): Promise<JsonValue> =>
    [...(await digestsOf(sandbox, namedPaths(given)))].map(([path, digest]) => [path, digest]),
  async verify(given, { value, snapshot, snapshotTakenAt, earlierSnapshots, project: { sandbox }, signal }) {
    const before = snapshotSchema.safeParse(snapshot);
    const earlier = z.array(snapshotSchema).safeParse(earlierSnapshots ?? []);
    if (!before.success || !earlier.success) {
      return { ok: false, message: "no snapshot was recorded when this phase was entered" };
    }
    const now = await digestsOf(sandbox, namedPaths(given), signal);
    const states = earlier.data.map((state) => new Map(state));
    const changes = changesBetween(new Map(before.data), now, states);
    const wanted = given.within === undefined ? namedPaths(given) : claimed(given.within, value);
    const work = given.allow_deleted ? ["created", "changed", "deleted"] : ["created", "changed"];
    const counting = changes.filter(({ kind }) => work.includes(kind));
    if (given.within !== undefined) {
      const signatures = wanted.map(async (path) => ({
        path,
        signature: await orIfRefused(sandbox.signature(path), undefined),
      }));
      refuseTwice("file", await Promise.all(signatures));
    }
    // A folder that the evidence names doesn't count, because any change in it would do.
    const isShown = given.within === undefined ? isNamedBy : Object.is;
    const unchanged = wanted.filter((path) => !counting.some((change) => isShown(path, change.path)));
    const ran = wanted.map(shownPath).join(", ");
    const since = sinceWords(given, snapshotTakenAt);
    const late = snapshotTakenAt === undefined ? "" : ` ${since}`;
    if (unchanged.length > 0) return { ok: false, message: complaint(unchanged, changes, since), ran };
    const told = counting.filter((change) => wanted.some((path) => isNamedBy(path, change.path)));
    return { ok: true, message: `${listed(told.map(({ kind, path }) => `${shownPath(path)} ${kind}`))}${late}`, ran };
  },
});

/** Digits of a digest. Sixteen bytes are enough: an agent that makes two contents collide only hides its own change. */
const DIGITS = 32;

/**
 * Returns the digests of files, and of all files in folders, by path. Links are neither counted nor followed, so that
 * each file has one name. Missing files, empty files and files of NUL bytes alone are left out. Throws `TOO_LARGE` for
 * more than can be hashed at a gate, and `PATH_REFUSED`.
 */
async function digestsOf(
  sandbox: Sandbox,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  const read = boundedReader(sandbox, signal);
  for (const path of paths) await refuseLinks(sandbox, path);
  for (const { path, kind } of await findNamed(sandbox, paths)) {
    if (kind === "other" && paths.includes(path)) throw pathRefused(path, "it is not a file");
    const bytes = kind === "file" ? await read(path) : new Uint8Array();
    if (!bytes.every((byte) => byte === 0)) digests.set(path, sha256(bytes).slice(0, DIGITS));
  }
  return digests;
}

/** Throws `PATH_REFUSED` for links: one that is made during the phase would show an old file under a new name. */
async function refuseLinks(sandbox: Sandbox, path: string): Promise<void> {
  const names = path.split("/").slice(0, isGlob(path) ? path.split("/").findIndex(isGlob) : undefined);
  for (const index of names.keys()) {
    const part = names.slice(0, index + 1).join("/");
    if (await sandbox.isLink(part)) throw pathRefused(path, `${shownPath(part)} is a symbolic link`);
  }
}

type Digests = ReadonlyMap<string, string>;

interface Change {
  readonly path: string;
  /**
   * `renamed` is a new file, and `swapped` an old one, with content that a file had before. `restored` is a file that is
   * as it was when the phase was entered before.
   */
  readonly kind: "created" | "changed" | "renamed" | "swapped" | "restored" | "deleted";
}

/** Returns the changes between two states of files. `earlier` are the states when the phase was entered before. */
function changesBetween(before: Digests, now: Digests, earlier: readonly Digests[] = []): Change[] {
  const changes: Change[] = [];
  const known = new Set([before, ...earlier].flatMap((state) => [...state.values()]));
  const wasSo = (path: string) => earlier.some((state) => state.get(path) === now.get(path));
  for (const [path, digest] of now) {
    const was = before.get(path);
    if (was === digest) continue;
    if (!known.has(digest)) changes.push({ path, kind: was === undefined ? "created" : "changed" });
    else if (wasSo(path)) changes.push({ path, kind: "restored" });
    else changes.push({ path, kind: was === undefined ? "renamed" : "swapped" });
  }
  for (const path of before.keys()) {
    if (!now.has(path)) changes.push({ path, kind: wasSo(path) ? "restored" : "deleted" });
  }
  return changes;
}

function claimed(within: string, value: JsonValue | undefined): readonly string[] {
  return subjectsOf({}, value).map((path) => {
    const checked = parseRelativePath(path);
    if (isAtOrBelow(parseRelativePath(within), checked)) return checked;
    throw new WrongParam("within", `${shownPath(checked)} is not in ${shownPath(within)}`);
  });
}

function complaint(unchanged: readonly string[], changes: readonly Change[], since: string): string {
  const complaints = unchanged.map((path) => {
    const kinds = changes.filter((change) => isNamedBy(path, change.path)).map(({ kind }) => kind);
    const old = (["renamed", "swapped", "restored"] as const).find((kind) => kinds.includes(kind));
    if (old !== undefined) return `${shownPath(path)} has no new content ${since}: ${OLD_CONTENT[old]}`;
    return `${shownPath(path)} ${kinds.includes("deleted") ? "was only deleted or emptied" : "has not changed"} ${since}`;
  });
  return complaints.join("; ");
}

const OLD_CONTENT = {
  renamed: "it is old content under a new name",
  swapped: "another file had this content",
  restored: "it was restored to its state at an earlier start of this phase",
};

/**
 * The verifier `changed_since_phase_start`: files have content that no file had when the phase was entered. Renamed,
 * swapped and restored content is not new work.
 */
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { checkPlaceholders, hasPlaceholder } from "../gate/fill-params.js";
import type { Verifier } from "../ports/verifier.js";
import type { FileSignature } from "../sandbox/read.js";
import { pathRefused } from "../sandbox/refusals.js";
import { isFolder, type Sandbox } from "../sandbox/sandbox.js";
import type { JsonValue } from "../workflow/json.js";
import { parseRelativePath } from "../workflow/names.js";
import { defineVerifier, textParam, wrongParam } from "./define-verifier.js";
import { refuseTwice, sha256, shownPath, subjectsOf } from "./subject.js";

const NAME = "changed_since_phase_start";

const params = z.strictObject({
  /** A file or folder that must have changed. */
  path: textParam.optional(),
  /** Files or folders, each of which must have changed. */
  paths: z.array(textParam).min(1).max(100).optional(),
  /** The folder of the files that the evidence field names, a path or a list of paths. */
  within: textParam.optional(),
  /** True if a file that was deleted or emptied counts as changed. Default false. */
  allow_deleted: z.boolean().optional(),
});

/** The result of `snapshot`: paths and digests. It is a list, so that no file name is a key. */
const snapshotSchema = z.array(z.tuple([z.string(), z.string()]));

/** Checks whether files have content that none of them had when the phase was entered. */
export function changedSincePhaseStart(sandbox: Sandbox): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams,
    async snapshot(given): Promise<JsonValue> {
      return [...(await digestsOf(sandbox, namedPaths(given)))].map(([path, digest]) => [path, digest]);
    },
    async verify(given, { value, snapshot, earlierSnapshots }, signal) {
      const before = snapshotSchema.safeParse(snapshot);
      const earlier = z.array(snapshotSchema).safeParse(earlierSnapshots ?? []);
      if (!before.success || !earlier.success) {
        return { ok: false, message: "no snapshot was recorded when this phase was entered" };
      }
      const now = await digestsOf(sandbox, namedPaths(given), signal);
      const changes = changesBetween(
        new Map(before.data),
        now,
        earlier.data.map((state) => new Map(state)),
      );
      const wanted = given.within === undefined ? namedPaths(given) : claimed(given.within, value);
      const counting = changes.filter(
        ({ kind }) => isNewContent(kind) || (kind === "deleted" && given.allow_deleted === true),
      );
      if (given.within !== undefined) {
        refuseTwice(
          "file",
          await Promise.all(wanted.map(async (path) => ({ path, signature: await fileAt(sandbox, path) }))),
        );
      }
      // A folder that the evidence names doesn't count, because any change in it would do.
      const isShown = given.within === undefined ? isAtOrBelow : Object.is;
      const unchanged = wanted.filter((path) => !counting.some((change) => isShown(path, change.path)));
      const ran = wanted.map(shownPath).join(", ");
      if (unchanged.length === 0) return { ok: true, message: describe(counting, wanted), ran };
      return { ok: false, message: complaint(unchanged, changes), ran };
    },
  });
}

type Params = z.infer<typeof params>;

/** Throws `INVALID_INPUT` if the paths depend on evidence: they must be known when the phase begins. */
function checkParams(given: Params): void {
  const ways = [given.path, given.paths, given.within].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw wrongParam(NAME, "path", "give exactly one of path, paths, and within (for files that the evidence names)");
  }
  for (const path of namedPaths(given)) {
    if (!hasPlaceholder(path)) parseRelativePath(path);
    else if (checkPlaceholders({ path }).some((name) => name.startsWith("evidence."))) {
      throw wrongParam(NAME, "path", "there is no evidence when the phase begins; use within");
    }
  }
}

function namedPaths({ path, paths, within }: Params): readonly string[] {
  return (paths ?? [path ?? within ?? ""]).map((each) => (hasPlaceholder(each) ? each : parseRelativePath(each)));
}

interface Hashing {
  readonly sandbox: Sandbox;
  readonly signal: AbortSignal | undefined;
  readonly digests: Map<string, string>;
  folders: number;
  bytes: number;
}

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
  const hashing: Hashing = { sandbox, signal, digests: new Map(), folders: 0, bytes: 0 };
  for (const path of paths) {
    await refuseLinks(sandbox, path);
    if (await isFolder(sandbox, path)) await addFolder(hashing, path);
    else await addFile(hashing, path);
  }
  return hashing.digests;
}

/** Throws `PATH_REFUSED` for links: one that is made during the phase would show an old file under a new name. */
async function refuseLinks(sandbox: Sandbox, path: string): Promise<void> {
  const names = path.split("/");
  for (const index of names.keys()) {
    const part = names.slice(0, index + 1).join("/");
    if (await sandbox.isLink(part)) throw pathRefused(path, `${shownPath(part)} is a symbolic link`);
  }
}

const FOLDERS_MAX = 2_000;

/** Folders that are skipped: they change by themselves, or are not work. */
const SKIPPED = new Set([".git", "node_modules"]);

async function addFolder(hashing: Hashing, folder: string): Promise<void> {
  hashing.folders += 1;
  if (hashing.folders > FOLDERS_MAX) throw tooMuch(`more than ${FOLDERS_MAX} folders`, FOLDERS_MAX);
  for (const { path, kind } of await hashing.sandbox.list(folder)) {
    if (kind === "refused" || SKIPPED.has(path.slice(path.lastIndexOf("/") + 1))) continue;
    if (await hashing.sandbox.isLink(path)) continue;
    if (kind === "folder") await addFolder(hashing, path);
    else await addFile(hashing, path);
  }
}

function tooMuch(what: string, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `${what} would have to be hashed`, {
    remedy: "Name a smaller folder in the gate, or the files.",
    details: { bytes: limit + 1, limit },
  });
}

/** Limits of what is hashed. */
const FILES_MAX = 2_000;

const ALL_BYTES_MAX = 256 * 2 ** 20;

const FILE_BYTES_MAX = 64 * 2 ** 20;

/** Digits of a digest. Sixteen bytes are enough: an agent that makes two contents collide only hides its own change. */
const DIGITS = 32;

async function addFile(hashing: Hashing, path: string): Promise<void> {
  hashing.signal?.throwIfAborted();
  const signature = await hashing.sandbox.signature(path);
  if (signature === undefined || signature.size === 0) return;
  hashing.bytes += signature.size;
  if (hashing.digests.size >= FILES_MAX) throw tooMuch(`more than ${FILES_MAX} files`, FILES_MAX);
  if (hashing.bytes > ALL_BYTES_MAX) throw tooMuch(`more than ${ALL_BYTES_MAX} bytes`, ALL_BYTES_MAX);
  const { bytes } = await hashing.sandbox.readBytes(path, { maxBytes: FILE_BYTES_MAX });
  if (bytes.every((byte) => byte === 0)) return;
  hashing.digests.set(path, sha256(bytes).slice(0, DIGITS));
}

type Digests = ReadonlyMap<string, string>;

/** The change of a file. */
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
    throw wrongParam(NAME, "within", `${shownPath(checked)} is not in ${shownPath(within)}`);
  });
}

/** Checks whether a path is another one or below it; `.` is above all. Both are results of `parseRelativePath`. */
function isAtOrBelow(above: string, path: string): boolean {
  return above === "." || path === above || path.startsWith(`${above}/`);
}

/** Checks whether a change has content that no file had before. */
function isNewContent(kind: Change["kind"]): boolean {
  return kind === "created" || kind === "changed";
}

/** Returns the signature of a file; undefined if there is none, or a folder. */
async function fileAt(sandbox: Sandbox, path: string): Promise<FileSignature | undefined> {
  try {
    return await sandbox.signature(path);
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return undefined;
    throw error;
  }
}

function describe(changes: readonly Change[], wanted: readonly string[]): string {
  const told = changes.filter((change) => wanted.some((path) => isAtOrBelow(path, change.path)));
  const first = told.slice(0, 5).map(({ kind, path }) => `${shownPath(path)} ${kind}`);
  return [...first, ...(told.length > 5 ? [`${told.length - 5} more`] : [])].join(", ");
}

function complaint(unchanged: readonly string[], changes: readonly Change[]): string {
  return unchanged
    .map((path) => {
      const was = (kind: Change["kind"]) =>
        changes.some((change) => change.kind === kind && isAtOrBelow(path, change.path));
      return `${shownPath(path)} ${howUnchanged(was)}`;
    })
    .join("; ");
}

const SINCE = "since this phase was entered";
const NOTHING_NEW = `has no new content ${SINCE}`;

function howUnchanged(was: (kind: Change["kind"]) => boolean): string {
  if (was("renamed")) return `${NOTHING_NEW}: it is old content under a new name`;
  if (was("swapped")) return `${NOTHING_NEW}: another file had this content`;
  if (was("restored")) return `${NOTHING_NEW}: it was restored to its state at an earlier start of this phase`;
  return `${was("deleted") ? "was only deleted or emptied" : "has not changed"} ${SINCE}`;
}

import * as z from "zod";
import type { JsonValue } from "../../definition/json.js";
import { parseRelativePath } from "../../definition/relative-path.js";
import { isPhasegateError } from "../../errors.js";
import { checkPlaceholders } from "../../gate/fill-params.js";
import { hasPlaceholder } from "../../gate/placeholders.js";
import type { Verifier } from "../../ports/verifier.js";
import type { FileSignature } from "../../walls/file-signature.js";
import type { Wall } from "../../walls/wall.js";
import { type Change, changesBetween, isAtOrBelow } from "./changes.js";
import { defineVerifier } from "./define-verifier.js";
import { digestsOf } from "./file-digests.js";
import { textParam, wrongParam } from "./parse-params.js";
import { shownPath } from "./shown-text.js";
import { refuseTwice, subjectsOf } from "./subject.js";

const params = z.strictObject({
  /** A file or folder that must have changed. */
  path: textParam.optional(),
  /** Files or folders, each of which must have changed. */
  paths: z.array(textParam).min(1).max(100).optional(),
  /** A folder in which the files lie that the evidence field names, a path or a list of them. */
  within: textParam.optional(),
  /** Whether a file that has gone, or has been emptied, counts as changed. */
  allow_deleted: z.boolean().optional(),
});
type Params = z.infer<typeof params>;

const NAME = "changed_since_phase_start";
/** What `snapshot` records: paths and digests. A list, so that no file's name is a key. */
const snapshotSchema = z.array(z.tuple([z.string(), z.string()]));

/** Whether there are contents in files that none of them had when the phase was entered. */
export function changedSincePhaseStart(wall: Wall): Verifier {
  return defineVerifier({
    name: NAME,
    params,
    checkParams,
    async snapshot(given): Promise<JsonValue> {
      return [...(await digestsOf(wall, namedPaths(given)))].map(([path, digest]) => [path, digest]);
    },
    async verify(given, { value, snapshot, earlierSnapshots }, signal) {
      const before = snapshotSchema.safeParse(snapshot);
      const earlier = z.array(snapshotSchema).safeParse(earlierSnapshots ?? []);
      if (!before.success || !earlier.success) {
        return { ok: false, message: "nothing was recorded when this phase was entered" };
      }
      const now = await digestsOf(wall, namedPaths(given), signal);
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
          await Promise.all(wanted.map(async (path) => ({ path, signature: await fileAt(wall, path) }))),
        );
      }
      // A folder that the evidence names says nothing: it would be any change in it.
      const isShown = given.within === undefined ? isAtOrBelow : Object.is;
      const unchanged = wanted.filter((path) => !counting.some((change) => isShown(path, change.path)));
      const ran = wanted.map(shownPath).join(", ");
      if (unchanged.length === 0) return { ok: true, message: describe(counting, wanted), ran };
      return { ok: false, message: complaint(unchanged, changes), ran };
    },
  });
}

/** Without the evidence: what is hashed must be known when the phase begins. */
function checkParams(given: Params): void {
  const ways = [given.path, given.paths, given.within].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw wrongParam(NAME, "path", "name one of path, paths, and within (for files that the evidence names)");
  }
  for (const path of namedPaths(given)) {
    if (!hasPlaceholder(path)) parseRelativePath(path);
    else if (checkPlaceholders({ path }).some((name) => name.startsWith("evidence."))) {
      throw wrongParam(NAME, "path", "there is no evidence yet when the phase begins; use within");
    }
  }
}

function namedPaths({ path, paths, within }: Params): readonly string[] {
  return (paths ?? [path ?? within ?? ""]).map((each) => (hasPlaceholder(each) ? each : parseRelativePath(each)));
}

function claimed(within: string, value: JsonValue | undefined): readonly string[] {
  return subjectsOf({}, value).map((path) => {
    const checked = parseRelativePath(path);
    if (isAtOrBelow(parseRelativePath(within), checked)) return checked;
    throw wrongParam(NAME, "within", `${shownPath(checked)} does not lie in ${shownPath(within)}`);
  });
}

/** The signature of a file that is named; undefined if there is none, or a folder. */
async function fileAt(wall: Wall, path: string): Promise<FileSignature | undefined> {
  try {
    return await wall.signature(path);
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

/** Whether there is something that no file had before: contents that only go from name to name are nobody's work. */
function isNewContent(kind: Change["kind"]): boolean {
  return kind === "created" || kind === "changed";
}

const RENAMED = "has nothing but old contents under a new name";
const SWAPPED = "has nothing new, but contents that another file had";
const RESTORED = "has nothing new (it is as it was when this phase was entered before)";

function complaint(unchanged: readonly string[], changes: readonly Change[]): string {
  return unchanged
    .map((path) => {
      const was = (kind: Change["kind"]) =>
        changes.some((change) => change.kind === kind && isAtOrBelow(path, change.path));
      return `${shownPath(path)} ${howUnchanged(was)} since this phase was entered`;
    })
    .join("; ");
}

function howUnchanged(was: (kind: Change["kind"]) => boolean): string {
  if (was("renamed")) return RENAMED;
  if (was("swapped")) return SWAPPED;
  if (was("restored")) return RESTORED;
  return was("deleted") ? "was only deleted or emptied" : "has not changed";
}

/**
 * The verifier `tasks_shown`: each task that a plan's gate is told is done is shown by files that have changed since the phase
 * began, or by lines of files. It looks them up, and its result shows them.
 */
import * as z from "zod";
import { claimedIds } from "../gate/plan-gate.js";
import { isInvisible } from "../workflow/field-types.js";
import { type JsonObject, ownValue } from "../workflow/json.js";
import { firstFew, parseRelativePath, shown } from "../workflow/names.js";
import { CheckFailed, defineVerifier, type Project, recordedState } from "./define-verifier.js";
import { linesIn, placeIn } from "./lines.js";
import { isAtOrBelow, namedFilesParams } from "./named-files.js";
import { textParam, WrongParam } from "./params.js";
import { harmless, shortened, shownPath } from "./subject.js";
import { changedSince, stateOf, stateSchema } from "./uncommitted.js";

const params = z.strictObject({
  field: textParam
    .optional()
    .describe(
      "The evidence field that shows each task, by its id: a path, `file:line`, or a list of these. Default: `where`.",
    ),
  since: namedFilesParams.since,
});

/** Maximum number of paths and lines for one task. */
const SHOWN_MAX = 50;

const placesSchema = z.union([z.string(), z.array(z.string()).max(SHOWN_MAX)]).transform((given) => [given].flat());

export const tasksShown = defineVerifier({
  about: "Each claimed task of a plan is shown by changed files, or by lines of files.",
  params,
  keepsSnapshot: true,
  usesGit: true,
  snapshot: (_, looking) => stateOf(looking),
  async verify({ field = "where" }, asked) {
    const { evidence, snapshot, project } = asked;
    const tasks = claimedIds(evidence);
    let now: readonly string[] | undefined;
    const changed = async (path: string) => {
      const files = now ?? (await changedSince(asked, recordedState(stateSchema, snapshot)));
      now = files;
      return files.some((file) => isAtOrBelow(path, file));
    };
    const found: string[] = [];
    const wrong: string[] = [];
    for (const task of tasks) {
      const places = placesOf(evidence, field, task);
      if (places.length === 0) wrong.push(`task ${shownPath(task)} is not in ${field}`);
      for (const place of places) {
        const line = /:\d+$/.test(place) ? await lineAt(project, place) : undefined;
        if (line !== undefined) found.push(`${shownPath(task)}: ${shownPath(place)} ${line}`);
        else if (await changed(parseRelativePath(place)))
          found.push(`${shownPath(task)}: ${shownPath(place)} has changed`);
        else wrong.push(`task ${shownPath(task)}: ${shownPath(place)} has not changed since this phase was entered`);
      }
    }
    if (wrong.length > 0) throw new CheckFailed(`${firstFew(wrong, 5, "; ")}. ${howTo(field, tasks)}`);
    return {
      ok: true,
      message: found.length === 0 ? "no task is claimed" : firstFew(found, 5, "; "),
      output: found,
    };
  },
});

function howTo(field: string, tasks: readonly string[]): string {
  const example = { [field]: { [tasks[0] ?? "1.1"]: ["src/a.js", "docs/a.md:12"] } };
  return `Say for each task where it can be seen, as in ${JSON.stringify(example)}: a file that has changed, or a line of a file`;
}

/** Returns what shows a task; nothing if it is not shown. Throws `WrongParam`. */
function placesOf(evidence: JsonObject, field: string, task: string): readonly string[] {
  const own = ownValue(ownValue(evidence, field), task);
  if (own === undefined) return [];
  const places = placesSchema.safeParse(own);
  if (places.success) return places.data;
  throw new WrongParam(field, `${shown(task)} needs a path, file:line, or a list of at most ${SHOWN_MAX} of these`);
}

/** Maximum number of characters of a line that are shown. */
const LINE_MAX = 80;

/** Returns the text of a line of a file. Throws `WrongParam` if there is no such line, or it is blank. */
async function lineAt(project: Project, place: string): Promise<string> {
  const { file, line } = placeIn(place);
  const lines = await linesIn(project, file);
  const text = lines[line - 1]?.trim() ?? "";
  if (!isInvisible(text)) return JSON.stringify(shortened(harmless(text), LINE_MAX));
  const reason = line > lines.length ? `the file has ${lines.length} lines` : "the line is blank";
  throw new WrongParam("", `${shownPath(place)}: ${reason}`);
}

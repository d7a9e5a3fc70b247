/**
 * The verifier `fails_without`: in a copy of the project a command passes with all changes, and fails once certain files are
 * as they were. So it is the changes in these files that make the difference, and not a new configuration of the tests.
 */
import { join, relative, sep } from "node:path";
import * as z from "zod";
import { withoutFolders } from "../sandbox/refusals.js";
import type { JsonValue } from "../workflow/json.js";
import { parseRelativePath } from "../workflow/names.js";
import { checkRun, faultOfEnd, faultOfOutput, runCommand, runParams, saidOf } from "./command.js";
import { EXECUTABLE, filesOf, LINK, parentOf, pathsAndFolders, readWhole, statOf } from "./committed-files.js";
import { type Asked, CheckFailed, defineVerifier, type Outcome, recordedState } from "./define-verifier.js";
import {
  type GitRepository,
  objectsAt,
  onRepository,
  output,
  repositoryAt,
  requireIntactTree,
  type WorkTree,
} from "./git-repository.js";
import { isNamedBy, namedFilesParams, plainPath, sinceWords } from "./named-files.js";
import { pathsParam, WrongParam } from "./params.js";
import { type OldFile, type ProjectCopy, withProjectCopy } from "./project-copy.js";
import { shownCommand, shownPath, shownPaths, subjectsOf } from "./subject.js";
import { changedSince, changesBetween, contentsIn, stateOf, stateSchema, workTreeOf } from "./uncommitted.js";

const params = z.strictObject({
  ...runParams,
  files: z
    .union([z.literal("changed"), pathsParam.unwrap()])
    .optional()
    .describe(
      "The files that are put back together; `changed`: each file that has changed, one after the other, and those that make no difference are only named. Default: the files that the evidence field names.",
    ),
  except: pathsParam.describe("With `files: changed`: files, folders and globs that are not put back, such as tests."),
  since: namedFilesParams.since,
});

type Params = z.infer<typeof params>;

/** What an earlier state is read from: the commit, and the bytes of what was uncommitted. */
const snapshotSchema = stateSchema.extend({ bytes: z.record(z.string(), z.string()) });

type Snapshot = z.infer<typeof snapshotSchema>;

/** Limits of the uncommitted files that are recorded with their bytes: of one file, and of all. */
const BYTES_MAX = 64 * 1024;
const ALL_BYTES_MAX = 512 * 1024;

/** Maximum number of files that are put back one after the other, as each is one run of the command. */
const RUNS_MAX = 10;

export const failsWithout = defineVerifier({
  about: "A command passes, and fails once certain changed files are as they were when the phase was entered.",
  params,
  verbatim: ["output"],
  keepsSnapshot: true,
  usesGit: true,
  async check(given, project) {
    await checkRun(given, project);
    if (given.except !== undefined && given.files !== "changed") {
      throw new WrongParam("except", "it goes with files: changed");
    }
  },
  async snapshot(_, looking): Promise<JsonValue> {
    const state = await stateOf(looking);
    const workTree = await workTreeOf(looking.project.root);
    return { ...state, bytes: await bytesOf(workTree, Object.keys(state.files)) };
  },
  verify: (given, asked) =>
    onRepository(asked, async (tree, repository) => {
      const run: Run = { given, asked, tree, repository, before: recordedState(snapshotSchema, asked.snapshot) };
      const result = await (given.files === "changed" ? judgeEach(run) : judgeTogether(run));
      return { ...result, message: `${result.message} (${sinceWords(given, asked.snapshotTakenAt)})` };
    }),
});

interface Run {
  readonly given: Params;
  readonly asked: Asked;
  readonly tree: WorkTree;
  readonly repository: GitRepository;
  readonly before: Snapshot;
}

/** Puts the files back together: the command must fail. */
async function judgeTogether(run: Run): Promise<Outcome> {
  const { given, asked, repository } = run;
  const { root } = asked.project;
  // Git's paths are those of the whole repository.
  const below = relative(repository.workTree, root).split(sep);
  const named = given.files === undefined || given.files === "changed" ? subjectsOf({}, asked.value) : given.files;
  const files = named.map((file) => [...below, ...parseRelativePath(file).split("/")].filter(Boolean).join("/"));
  const old = await oldFiles(run, files);
  const now = await contentsIn(asked, ".", run.before.head);
  const changed = new Set(changesBetween(run.before.files, now));
  const same = files.filter((file) => !changed.has(file));
  if (same.length > 0) return { ok: false, message: `nothing to put back: ${shownPaths(same)} did not change` };
  return inCopy(run, async (copy, passes) => {
    for (const [file, was] of old) await copy.putBack(file, was);
    const { fault, passed, said, command } = await runIn(run, copy, "nonzero");
    const without = `without the changes in ${shownPaths(files)}`;
    if (passed) {
      const message = `${command} passes ${without} as well: they are not what makes the difference`;
      return { ok: false, message, ...said };
    }
    if (fault !== undefined) return { ok: false, message: `${without}, ${command}: ${fault}`, ...said };
    return { ok: true, message: `${command} passes, and fails ${without}`, ...passes };
  });
}

/** Puts each changed file back alone, and names those without which the command passes as well. It only warns. */
async function judgeEach(run: Run): Promise<Outcome> {
  const { given, before, asked } = run;
  const except = (given.except ?? []).map(plainPath);
  const changed = (await changedSince(asked, before)).filter((file) => !except.some((other) => isNamedBy(other, file)));
  const files = changed.slice(0, RUNS_MAX);
  const left = changed.length > files.length ? `; ${changed.length - files.length} more were not tried` : "";
  if (files.length === 0) return { ok: true, message: "no file has changed that could make a difference" };
  const old = await oldFiles(run, files);
  const result = await inCopy(run, async (copy, passes) => {
    const idle: string[] = [];
    for (const [file, was] of old) {
      await copy.putBack(file, was);
      if ((await runIn(run, copy, "nonzero")).passed) idle.push(file);
      await copy.takeAgain(file);
    }
    const made = files.length - idle.length;
    const message =
      idle.length === 0
        ? `each of ${made} changed files makes a difference`
        : `WARNING: no test depends on the changes in ${shownPaths(idle)}: the command passes without them as well`;
    return { ok: true, message: `${message}${left}`, ...passes };
  });
  return result.ok ? result : { ...result, ok: true, message: `WARNING: not tried: ${result.message}` };
}

/** Copies the project, and runs the command with all changes. Then, if it passes, calls `use` with what that run says. */
async function inCopy(
  run: Run,
  use: (copy: ProjectCopy, passes: ReturnType<typeof saidOf>) => Promise<Outcome>,
): Promise<Outcome> {
  const { tree, repository } = run;
  const committed = pathsAndFolders(await filesOf(tree, repository.head ?? "HEAD"));
  const isCommitted = (path: string) => committed.has(path);
  return withProjectCopy(repository.workTree, isCommitted, tree.signal, async (copy) => {
    const { fault, said, command } = await runIn(run, copy, 0);
    if (fault === undefined) return use(copy, said);
    return { ok: false, message: `in a copy of the project with all changes, ${command}: ${fault}`, ...said };
  });
}

async function runIn(run: Run, copy: ProjectCopy, wanted: 0 | "nonzero") {
  const { given, asked, repository } = run;
  const { root } = asked.project;
  const done = await runCommand(given, asked, {
    root: join(copy.root, relative(repository.workTree, root)),
    // A compiled file would count as that of a source of the same second and size.
    env: { PYTHONDONTWRITEBYTECODE: "1" },
    withoutRoot: withoutFolders([copy.root, repository.workTree, root]),
    started: copy.started,
  });
  const end = faultOfEnd(done, wanted, given, asked.project);
  const isChecked = end === undefined && wanted === "nonzero";
  const fault = isChecked ? await faultOfOutput(done, given, asked) : end;
  const passed = done.result.exit === 0 && done.result.stopped === undefined;
  return { fault, passed, said: saidOf(done), command: shownCommand(done.words) };
}

/** Returns the earlier states of files. Throws `CheckFailed` for one that is not known. */
async function oldFiles(run: Run, files: readonly string[]): Promise<readonly (readonly [string, OldFile])[]> {
  await requireIntactTree(run.tree, run.before.head);
  const old: [string, OldFile][] = [];
  for (const file of files) old.push([file, (await recordedFile(run, file)) ?? (await committedFile(run, file))]);
  return old;
}

/** Returns a file as it was when it was uncommitted; undefined if it was not. */
async function recordedFile({ before: { files, bytes } }: Run, file: string): Promise<OldFile | undefined> {
  const content = Object.hasOwn(files, file) ? files[file] : undefined;
  if (content === undefined) return undefined;
  if (content === "missing") return { kind: "missing" };
  const [kind, target = ""] = content.split(" ");
  if (kind === "link") return { kind: "link", target: Buffer.from(target, "hex").toString("utf8") };
  const recorded = Object.hasOwn(bytes, file) ? bytes[file] : undefined;
  if (recorded === undefined) throw notPutBack(file, "it was not committed, and too large to be recorded");
  return { kind: "file", bytes: Buffer.from(recorded, "base64"), isExecutable: content.endsWith(" executable") };
}

async function committedFile({ tree, before: { head } }: Run, file: string): Promise<OldFile> {
  for (let folder = parentOf(file); folder !== ""; folder = parentOf(folder)) {
    if ((await repositoryAt(join(tree.root, folder))) !== undefined) {
      throw notPutBack(file, `${shownPath(folder)} is a repository of its own`);
    }
  }
  const listed = (await output(tree, ["ls-tree", "-z", head, "--", file])).toString("latin1");
  const [, mode, type, id] = /^(\d+) (\w+) ([0-9a-f]+)\t/.exec(listed) ?? [];
  if (mode === undefined || id === undefined) return { kind: "missing" };
  const [object] = await objectsAt(tree, [id]);
  if (type !== "blob" || object === undefined) throw notPutBack(file, "it was not a file");
  if (mode === LINK) return { kind: "link", target: object.bytes.toString("utf8") };
  return { kind: "file", bytes: object.bytes, isExecutable: mode === EXECUTABLE };
}

function notPutBack(file: string, reason: string): CheckFailed {
  return new CheckFailed(`${shownPath(file)} can't be put back: ${reason}`);
}

/** Returns the bytes of files as texts, as far as they are small. */
async function bytesOf(workTree: string, files: readonly string[]): Promise<Record<string, string>> {
  const found: [string, string][] = [];
  let left = ALL_BYTES_MAX;
  for (const file of files) {
    const size = (await statOf(join(workTree, file)))?.size ?? 0;
    if (size > Math.min(BYTES_MAX, left)) continue;
    const bytes = await readWhole(join(workTree, file));
    if (bytes === undefined) continue;
    left -= bytes.length;
    found.push([file, bytes.toString("base64")]);
  }
  return Object.fromEntries(found);
}

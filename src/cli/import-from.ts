/**
 * `phasegate import --from`: starts a session on a plan that another tool has written, or in the phase that a session of
 * praxis-os has reached. The plan stays where it is, and its ticks prove nothing. A phase that praxis-os has passed is skipped
 * or overridden by the host, as far as the workflow allows that: the log then says that it was not checked here.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import process from "node:process";
import { InvalidArgumentError } from "commander";
import * as z from "zod/mini";
import { goingOn } from "../agents/unfinished.js";
import { FilePlans } from "../content/file-plans.js";
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { StartRequest, StartResult } from "../phased/start.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { isInside } from "../sandbox/resolve.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import { ENGLISH } from "../workflow/zod-issues.js";
import { flag, parsed, text, type Values } from "./command.js";
import { contentIn } from "./content-in.js";
import { CommandFailure, EXIT, type ExitCode, usage } from "./exit-codes.js";
import { enginesOver } from "./opened.js";
import { jsonIn, requireFolder, startersOption, unreadable, workflowFolders, workflowsOption } from "./options.js";
import { packOption, withPacks } from "./packs.js";
import { NoSessions, openState, using } from "./state.js";
import { counted, print, printable, type Terminal } from "./terminal.js";
import { openVerifiers, projectOption, readHashKey, verifierOptions } from "./trust.js";

/** The tools from which something is taken. */
export const TOOLS = ["spec-kit", "openspec", "kiro", "task-master", "bmad", "praxis-os"] as const;
type Tool = (typeof TOOLS)[number];

/** The file that is taken: in words, and where it may be in a folder that is given. */
const SOURCES: Readonly<Record<Tool, { readonly what: string; readonly places: readonly string[] }>> = {
  "spec-kit": { what: "the folder of a spec, such as specs/001-login", places: ["tasks.md"] },
  openspec: { what: "the folder of a change, such as openspec/changes/add-login", places: ["tasks.md"] },
  kiro: { what: "the folder of a spec, such as .kiro/specs/login", places: ["tasks.md"] },
  "task-master": {
    what: "the file of tasks, .taskmaster/tasks/tasks.json",
    places: ["tasks.json", "tasks/tasks.json", ".taskmaster/tasks/tasks.json"],
  },
  bmad: { what: "the file of a story; skills are served as they are: phasegate serve --bundle", places: [] },
  "praxis-os": { what: "the file of a session, .praxis-os/.cache/state/ID.json", places: [] },
};

/** The workflow of a session on a plan, if none is named. */
const WORKFLOW = "plan_execution";

type Options = Readonly<Record<string, unknown>>;

export function fromOptions() {
  return {
    dryRun: flag("--dry-run", "with --from: only show what would be done"),
    by: text("--by <name>", "with --from praxis-os: your name, which is recorded"),
    option: parsed(
      "--option <name=value>",
      "with --from: an option of the workflow, as a text or JSON; may be repeated",
      (value: string, before: Options = {}): Options => ({ ...before, ...optionIn(value) }),
    ),
    project: projectOption("with --from: the server's project folder, which has the plan"),
    workflows: workflowsOption("with --from: the server's folders of phased workflows"),
    starters: startersOption(),
    pack: packOption(),
    ...verifierOptions(),
  };
}

export type FromOptions = Values<ReturnType<typeof fromOptions>> & {
  readonly state: string;
  readonly workflow?: string;
  readonly hashKeyFile?: string;
};

function optionIn(value: string): Options {
  const at = value.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write it as NAME=VALUE.");
  const given = value.slice(at + 1);
  return { [value.slice(0, at)]: jsonIn(given) ?? given };
}

/** A session that is to be started. */
interface Taken {
  readonly request: StartRequest;
  /** Targets of sessions on the same work. */
  readonly targets: readonly string[];
  /** The session of praxis-os that it goes on with. */
  readonly from?: PraxisState;
}

export async function importFrom(
  tool: Tool,
  given: string | undefined,
  options: FromOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { by = "", dryRun } = options;
  if (given === undefined) throw usage("the file is missing", `Name ${SOURCES[tool].what}.`);
  if (options.project === undefined) throw usage("--project is missing", "Give the value that `phasegate serve` has.");
  if (tool === "praxis-os" && by === "") throw usage("--by is missing", "Give your name: the log records it.");
  const file = await findFile(tool, given);
  const project = await requireFolder(options.project, "the project");
  return withPacks({ ...options, project }, async ({ workflows, verifiers: ofPacks }) => {
    const content = await contentFor(workflowFolders({ workflows, starters: options.starters }));
    const verifiers = { ...(await openVerifiers({ ...options, project }, process.env)), ...ofPacks };
    const setup = { ...(await readHashKey(options)), content, plans: new FilePlans({ root: project }), verifiers };
    const isState = tool === "praxis-os";
    const taken = isState ? await takeState(file, content, options) : takePlan(file, project, options);
    const inState = async (state: string, create: boolean, use: (engine: Engine) => Promise<void>) =>
      using(enginesOver(await openState(state, { create }), setup).engine, use);
    const begin = async (engine: Engine) => {
      const started = await start(engine, taken.request);
      const passed = taken.from === undefined ? [] : await takeOver(engine, started.sessionId, taken.from, by);
      await report(engine, started, { ...taken, passed }, dryRun === true, terminal);
    };
    if (dryRun === true) {
      await inState(options.state, false, (engine) => refuseSecond(engine, taken)).catch((error: unknown) => {
        if (!(error instanceof NoSessions)) throw error;
      });
      await inState("sqlite::memory:", true, begin);
    } else {
      await inState(options.state, true, async (engine) => {
        await refuseSecond(engine, taken);
        await begin(engine);
      });
    }
    return EXIT.ok;
  });
}

async function contentFor(folders: readonly string[]): Promise<ContentProvider> {
  if (folders.length === 0) throw usage("--workflows is missing", "Give what `phasegate serve` has, or --starters.");
  return contentIn(await Promise.all(folders.map((path) => requireFolder(path, "the workflows folder"))));
}

/** Returns the absolute path of the file that is taken. */
async function findFile(tool: Tool, given: string): Promise<string> {
  const place = resolve(given);
  const found = await stat(place).catch((cause: unknown) => unreadable(place, "the file", cause));
  if (!found.isDirectory()) return place;
  const { what, places } = SOURCES[tool];
  const [file] = await existing(place, places);
  if (file !== undefined) return file;
  const folders = (await readdir(place, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const [below] = (await Promise.all(folders.map(({ name }) => existing(join(place, name), places)))).flat();
  const message = places[0] === undefined ? `${place} is a folder` : `there is no ${places[0]} in ${place}`;
  const hint = `Name ${what}.${below === undefined ? "" : ` One is ${below}.`}`;
  throw new CommandFailure(message, EXIT.environment, hint);
}

async function existing(folder: string, names: readonly string[]): Promise<string[]> {
  const files = names.map((name) => join(folder, name));
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return files.filter((_, index) => found[index]?.isFile() === true);
}

function takePlan(file: string, project: string, { workflow = WORKFLOW, option }: FromOptions): Taken {
  if (!isInside(project, file)) {
    throw usage(`${file} is not in the project ${project}`, "Give --project the folder of the server's project.");
  }
  const path = relative(project, file).split(sep).join("/");
  const folder = dirname(path);
  // As agents name it.
  const target = basename(path) === "tasks.md" && folder !== "." ? folder : path;
  return { request: { workflowType: workflow, target, options: option }, targets: [...new Set([target, path])] };
}

/** A session of praxis-os, as its file has it. */
const praxisState = z.object({
  session_id: z.string(),
  workflow_type: z.string(),
  target_file: z.string(),
  completed_phases: z.array(z.int()),
  metadata: z.optional(z.looseObject({ spec_path: z.optional(z.unknown()) })),
});
type PraxisState = z.infer<typeof praxisState>;

async function takeState(file: string, content: ContentProvider, { option }: FromOptions): Promise<Taken> {
  const read = praxisState.safeParse(jsonIn(await readFile(file, "utf8")), ENGLISH);
  if (!read.success) {
    const [issue] = read.error.issues;
    const why = [...(issue?.path.length ? [issue.path.join(".")] : []), issue?.message].join(": ");
    const hint = `Name ${SOURCES["praxis-os"].what}.`;
    throw new CommandFailure(`${file} is no state of praxis-os: ${why}`, EXIT.problems, hint);
  }
  const { workflow_type: workflowType, target_file: target, completed_phases: completed, metadata } = read.data;
  const structure = (await content.definition(workflowType))?.structure;
  if (structure !== undefined && isOver(structure, completed)) {
    const message = `the session ${read.data.session_id} is completed in praxis-os`;
    throw new CommandFailure(message, EXIT.problems, "There is nothing to go on with: start a session of its own.");
  }
  const key = structure?.dynamic?.sourcePathKey;
  const plan = key === undefined || metadata?.spec_path === undefined ? {} : { [key]: metadata.spec_path };
  return { request: { workflowType, target, options: { ...plan, ...option } }, targets: [target], from: read.data };
}

/** True if nothing is left; only its plan says how many phases a workflow with a plan has. */
function isOver({ dynamic, phases }: WorkflowStructure, completed: readonly number[]): boolean {
  return dynamic === undefined && phases.every(({ number }) => completed.includes(number));
}

/** Throws if a session on the same work is not over. */
async function refuseSecond(engine: Engine, { request: { workflowType }, targets }: Taken): Promise<void> {
  for (const target of targets) {
    const status = ["active", "paused", "failed"] as const;
    const [open] = (await engine.listSessions({ workflowType, target, status, limit: 1 })).items;
    if (open === undefined) continue;
    const { sessionId } = open;
    const next = (await goingOn(engine, sessionId, { isGuess: false }))?.next;
    const call = next === undefined ? `see \`phasegate show ${sessionId}\`` : `pos_workflow ${JSON.stringify(next)}`;
    const message = `${sessionId} is a session on it already, ${open.status} in phase ${open.current}`;
    const hint = `Go on with it: ${call}. To begin anew, delete it: \`phasegate delete ${sessionId} --by YOU\`.`;
    throw new CommandFailure(message, EXIT.problems, hint);
  }
}

/** Starts a session. An error is in the words of this command. */
async function start(engine: Engine, request: StartRequest): Promise<StartResult> {
  try {
    return await engine.start(request);
  } catch (error) {
    if (isPhasegateError(error, "PLAN_PARSE")) {
      const { file, line, column } = error.details;
      const place = [file, line, column].filter((part) => part !== undefined).join(":");
      // An error of the whole plan has the place in its message.
      const message = error.message.includes(place) ? error.message : `${place}: ${error.message}`;
      throw new CommandFailure(message, EXIT.problems, error.remedy, { cause: error });
    }
    const isAboutOptions = isPhasegateError(error, "INVALID_INPUT") && error.details.field?.startsWith("options");
    if (!isAboutOptions) throw error;
    const hint = 'Give each option as --option NAME=VALUE. A command must be allowed, too: --allow-command "npm test".';
    throw new CommandFailure(error.message, EXIT.usage, hint, { cause: error });
  }
}

/** Moves a session past the phases that praxis-os has passed, as far as its workflow lets the host. Returns their numbers. */
async function takeOver(engine: Engine, id: string, from: PraxisState, by: string): Promise<readonly number[]> {
  const session = engine.session(id);
  const request = { by, note: `passed in praxis-os, session ${from.session_id}; not checked here` };
  const passed: number[] = [];
  for (;;) {
    const { head, structure } = await session.state();
    const phase = structure.phases[head.position];
    const isPassed = phase !== undefined && from.completed_phases.includes(phase.number);
    if (head.status !== "active" || !isPassed) return passed;
    if (phase.skippable === true) await session.skipPhase(phase.number, request);
    else if (phase.gate.allowOverride === true) await session.overrideGate(phase.number, request);
    else return passed;
    passed.push(phase.number);
  }
}

/** Limits the warnings about a plan that are printed. */
const WARNINGS_MAX = 5;

/** Prints what was started, and how it goes on. */
async function report(
  engine: Engine,
  { sessionId, workflowType, target, plan, skipped = [] }: StartResult,
  { from, passed }: Pick<Taken, "from"> & { readonly passed: readonly number[] },
  dryRun: boolean,
  terminal: Terminal,
): Promise<void> {
  const warnings = (plan?.warnings ?? []).map(formatDiagnostic);
  const more = warnings.length - WARNINGS_MAX;
  const rest = more > 0 ? [`and ${counted(more, "warning")} more: phasegate plan ${plan?.path}`] : [];
  for (const line of [...warnings.slice(0, WARNINGS_MAX), ...rest]) terminal.stderr.write(`${printable(line)}\n`);
  const { structure, head } = await engine.session(sessionId).state();
  const tasks = structure.phases.flatMap((phase) => phase.tasks);
  const marked = tasks.filter((task) => task.plan?.state === "done").length;
  const isTarget = plan !== undefined && [plan.path, dirname(plan.path)].includes(target);
  const on =
    plan === undefined ? target : `${isTarget ? "" : `${target}, with the plan `}${plan.path}, read as ${plan.dialect}`;
  const sizes = [
    counted(structure.phases.length, "phase"),
    ...(tasks.length === 0 ? [] : [counted(tasks.length, "task")]),
  ];
  const say = (line: string) => print(terminal, printable(line));
  say(`${dryRun ? "would start" : `started ${sessionId},`} a session of ${workflowType} on ${on}: ${sizes.join(", ")}`);
  if (marked > 0) {
    const which = `${marked} of them ${marked === 1 ? "is" : "are"} marked as done`;
    say(`${which}, which phasegate has not checked: each gate asks for all tasks of its phase`);
  }
  const some = (numbers: readonly number[]) => `${numbers.length === 1 ? "phase" : "phases"} ${numbers.join(", ")}`;
  if (skipped.length > 0) say(`rules of the workflow skip ${some(skipped.map(({ phase }) => phase))}`);
  if (passed.length > 0) say(`passed in praxis-os, and recorded as not checked here: ${some(passed)}`);
  if (head.status === "active" && from?.completed_phases.includes(head.phase) === true) {
    say(`passed in praxis-os, but checked here, since its workflow lets nobody skip it: phase ${head.phase}`);
  }
  const name = structure.phases[head.position]?.name ?? "";
  say(`it ${passed.length === 0 ? "begins" : "goes on"} in phase ${head.phase} "${name}"`);
  const next = dryRun ? undefined : (await goingOn(engine, sessionId, { isGuess: false }))?.next;
  if (next !== undefined) say(`next: pos_workflow ${JSON.stringify(next)}`);
}

/**
 * `phasegate new`: writes the folder of a new workflow, which is valid at once. Its texts are in the package's folder
 * `templates`: each says what belongs in its place.
 */
import { mkdir, open, readdir, readFile, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, parse, relative, resolve, sep } from "node:path";
import process from "node:process";
import { errnoOf } from "../errors.js";
import { exists } from "../setup/project.js";
import { schemasAddress, withSchemas } from "../setup/wanted.js";
import { isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../workflow/names.js";
import { argument, command, flag, parsed, preset, text, type Values, wholeNumber } from "./command.js";
import { CommandFailure, EXIT, packageVersion, usage } from "./exit-codes.js";
import { aligned } from "./layout.js";
import { packageFolder } from "./options.js";
import { capitalized, inShell, print, printable, printLines, type Terminal } from "./terminal.js";

/** The phases of a workflow for which nobody has said how many. */
const PHASES = 2;
const PHASES_MAX = 50;

const newOptions = () => ({
  phases: parsed("--phases <number>", `how many phases it has; ${PHASES} if not given`, wholeNumber(1, PHASES_MAX)),
  plan: flag("--plan", "its phases come from a plan, such as a tasks.md").conflicts(["phases", "routed"]),
  routed: flag("--routed", "a routed workflow: a decider picks the next step").conflicts("phases"),
  in: preset(text("--in <dir>", "the folder of workflows"), "workflows"),
});
type NewOptions = Values<ReturnType<typeof newOptions>>;

export const newCommand = command({
  name: "new",
  description: "Writes the folder of a new workflow, with texts that say what to put in their place.",
  arguments: [argument("<name...>", 'the workflow\'s name, in quotes if it has blanks: fix_a_bug, or "Fix a bug"')],
  options: newOptions(),
  help: "\nNothing is overwritten: if the folder of the workflow exists, nothing is written.",
  async run(options, terminal, words) {
    const name = nameOf(words, options.in);
    const root = await folderOfWorkflows(options.in);
    const folder = join(root, name);
    await requireNothing(folder);
    const kind = options.routed ? "routed" : options.plan ? "planned" : "phased";
    const files = await newFiles(kind, name, options.phases ?? PHASES, await schemasOf(folder));
    await writeAll(folder, files);
    const shownFolder = join(options.in, name);
    const rows = files.map(({ path, what }) => [`wrote ${printable(join(shownFolder, path))}`, what]);
    printLines(terminal, aligned(rows));
    printNext(terminal, options, shownFolder);
    return EXIT.ok;
  },
});

function nameOf(words: readonly string[], folder: string): string {
  const name = words.join(" ");
  if (words.length > 1) {
    const hint = `If the blanks belong to the name, put it in quotes: phasegate new ${inShell(name)}`;
    throw usage(`${words.length} names are given: ${printable(words.join(", "))}`, hint);
  }
  const path = name.replaceAll("\\", "/");
  if (isWorkflowType(name)) return name;
  const last = basename(path);
  const isPath = path.includes("/") && isWorkflowType(last);
  const parent = isPath ? dirname(path) : folder;
  const hint = isPath
    ? `Name its folder apart: phasegate new ${inShell(last)} --in ${inShell(parent)}`
    : WORKFLOW_NAME_RULE;
  throw usage(`${shown(name)} can't be the name of a workflow`, hint);
}

/** The folder need not exist. */
async function folderOfWorkflows(given: string): Promise<string> {
  const folder = resolve(given);
  const found = await stat(folder).catch(() => undefined); // making it says what is wrong
  if (found !== undefined && !found.isDirectory()) {
    throw new CommandFailure(`${folder} is not a folder`, EXIT.environment, "Name a folder with --in.");
  }
  const names = found === undefined ? [] : await readdir(folder);
  const isWorkflow = names.includes("metadata.json") || (names.includes("index.md") && names.includes("steps"));
  if (!isWorkflow) return folder;
  const hint = `Name the folder around it: --in ${inShell(dirname(given))}`;
  throw usage(`${folder} is a workflow itself, not a folder of workflows`, hint);
}

async function requireNothing(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CommandFailure(`${folder} is there, and can't be read as a folder`, EXIT.problems, OTHER, {
      cause: error,
    });
  });
  if (names.length > 0)
    throw new CommandFailure(`${folder} is there already; nothing was written`, EXIT.problems, OTHER);
}

const OTHER = "Choose another name, or another folder with --in.";

/** Returns how files name the folder of their schemas: by the path of the installed package, else by a public address. */
async function schemasOf(folder: string): Promise<(path: string) => string> {
  const { root } = parse(folder);
  for (let at = folder; at !== root; at = dirname(at)) {
    const schemas = join(dirname(at), "node_modules", "phasegate", "schemas");
    if (!(await exists(schemas))) continue;
    return (path) =>
      relative(dirname(join(folder, path)), schemas)
        .split(sep)
        .join("/");
  }
  return () => schemasAddress(packageVersion());
}

/** Writes all files or none, where there are none. A folder that is there stays what it is, with its rights, also if it is a link. */
async function writeAll(folder: string, files: readonly NewFile[]): Promise<void> {
  const written: string[] = [];
  let made: string | undefined;
  try {
    made = await mkdir(folder, { recursive: true });
    for (const { path, text } of files) {
      const file = join(folder, path);
      await mkdir(dirname(file), { recursive: true });
      const opened = await open(file, "wx");
      written.push(file);
      await opened.writeFile(text).finally(() => opened.close());
    }
  } catch (cause) {
    for (const file of written) await rm(file, { force: true });
    // Innermost first; one that somebody else has filled stays.
    const top = made === undefined ? folder.length + 1 : made.length;
    for (const file of [...written, join(folder, "any")].toReversed()) {
      for (let at = dirname(file); at.length >= top; at = dirname(at)) await rmdir(at).catch(() => undefined);
    }
    const message = `${folder} can't be written (${errnoOf(cause) ?? "unknown"})`;
    throw new CommandFailure(message, EXIT.environment, OTHER, { cause });
  }
}

function printNext(terminal: Terminal, { in: root, plan, routed }: NewOptions, folder: string): void {
  // npm sets it for what npx starts: without npx there may be no such command.
  const phasegate = process.env.npm_command === "exec" ? "npx phasegate" : "phasegate";
  const served = routed ? `--routed ${inShell(root)} --decider linear` : `--workflows ${inShell(root)}`;
  const example = inShell(join(folder, "example-tasks.md"));
  const steps = [
    [`${phasegate} validate ${inShell(folder)} --project .`, "# checks it"],
    ...(plan ? [[`${phasegate} plan ${example}`, "# shows how a plan is read"]] : []),
    [`${phasegate} serve ${served} --state .phasegate --project .`, "# serves it over MCP"],
  ];
  print(terminal, "\nPut your own texts in their place. Then:");
  for (const line of aligned(steps)) print(terminal, `  ${printable(line)}`);
}

interface NewFile {
  readonly path: string;
  readonly text: string;
  readonly what: string;
}

/** A file of a workflow, with the template that it is made of: the one of the same path if none is named. */
interface Template {
  readonly path: string;
  readonly what: string;
  readonly from?: string;
  /** What replaces `{{key}}` in its text. */
  readonly values?: Readonly<Record<string, string>>;
  readonly phases?: readonly object[];
}

const METADATA: Template = { path: "metadata.json", what: "what the workflow is for, and its phases" };

const PLANNED: readonly Template[] = [
  METADATA,
  { path: "phases/0/phase.md", what: "what the agent reads before the phases of the plan" },
  { path: "phases/0/gate-definition.yaml", what: "what phase 0 requires" },
  { path: "phases/dynamic/phase-template.md", what: "the text of each phase of the plan" },
  { path: "phases/dynamic/task-template.md", what: "the text of each of its tasks" },
  { path: "example-tasks.md", what: "a plan to begin with; copy it to specs/NAME/tasks.md" },
];

const ROUTED: readonly Template[] = [
  { path: "index.md", what: "its goal, and its steps in their order" },
  { path: "steps/begin.md", what: "a step with a gate" },
  { path: "steps/work.md", what: "a step that may be repeated" },
  { path: "steps/check.md", what: "the step that ends the work" },
];

/** `schemas` returns the folder of the schemas as a file names it. */
async function newFiles(
  kind: "phased" | "planned" | "routed",
  type: string,
  phases: number,
  schemas: (path: string) => string,
): Promise<NewFile[]> {
  const folder = join(packageFolder("templates"), kind);
  const words = type.replace(/[_-]+/g, " ").trim();
  // `Fix a bug` for `fix_a_bug`.
  const title = words === "" ? type : capitalized(words);
  const templates = kind === "phased" ? phasedTemplates(phases) : kind === "planned" ? PLANNED : ROUTED;
  return Promise.all(
    templates.map(async ({ path, what, from = path, values, phases: listed }) => {
      const named = withSchemas(await readFile(join(folder, from), "utf8"), schemas(path));
      const filled = Object.entries({ title, ...values }).reduce(
        (text, [key, value]) => text.replaceAll(`{{${key}}}`, () => value),
        named,
      );
      if (path !== METADATA.path) return { path, what, text: filled };
      const content = { ...JSON.parse(filled), workflow_type: type, name: title, ...(listed && { phases: listed }) };
      return { path, what, text: `${JSON.stringify(content, null, 2)}\n` };
    }),
  );
}

function phasedTemplates(count: number): Template[] {
  const phases = Array.from({ length: count }, (_, index) => ({
    phase_number: index + 1,
    phase_name: phaseName(index + 1, count),
    purpose: "What is different when this phase is done",
    tasks: index === 0 ? [{ task_number: 1, name: "First task", file: "task-1-first.md" }] : undefined,
  }));
  return [
    { ...METADATA, phases },
    ...phases.flatMap(({ phase_number: number, phase_name: name, tasks = [] }): Template[] => [
      {
        path: `phases/${number}/phase.md`,
        what: `what the agent reads in phase ${number}`,
        from: "phase.md",
        values: { number: `${number}`, name },
      },
      ...tasks.map(({ file }) => ({
        path: `phases/${number}/${file}`,
        what: "a task; delete it if the phase needs none",
        from: file,
      })),
      {
        path: `phases/${number}/gate-definition.yaml`,
        what: `what phase ${number} requires`,
        from: number === 1 ? "first-gate.yaml" : "later-gate.yaml",
      },
    ]),
  ];
}

/** The first phase prepares, the last one verifies, and those between are work. */
function phaseName(number: number, count: number): string {
  if (number === count) return count === 1 ? "Work" : "Verify";
  if (number === 1) return count === 2 ? "Work" : "Prepare";
  return count === 3 ? "Work" : `Work, part ${number - 1}`;
}

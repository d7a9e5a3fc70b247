/** `phasegate new`: writes the folder of a new workflow, which is valid at once. Its texts are in new-texts.ts. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, parse, relative, resolve, sep } from "node:path";
import process from "node:process";
import { errnoOf } from "../errors.js";
import { temporaryName } from "../sandbox/replace.js";
import { schemasAddress } from "../setup/wanted.js";
import { isWorkflowType, shown, WORKFLOW_NAME_RULE } from "../workflow/names.js";
import { argument, command, flag, parsed, preset, text, type Values, wholeNumber } from "./command.js";
import { CommandFailure, EXIT, packageVersion } from "./exit-codes.js";
import { type NewFile, phasedFiles, plannedFiles, routedFiles, type SchemaAddress } from "./new-texts.js";
import { aligned, inShell, print, printable, type Terminal } from "./terminal.js";

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
  summary: "write a new workflow to begin with",
  description: "Writes the folder of a new workflow, with texts that say what to put in their place.",
  arguments: [argument("<name...>", 'the workflow\'s name, in quotes if it has blanks: fix_a_bug, or "Fix a bug"')],
  options: newOptions(),
  help: "\nNothing is overwritten: if the folder of the workflow exists, nothing is written.",
  async run(options, terminal, words) {
    const name = nameOf(words, options.in);
    const root = await folderOfWorkflows(options.in);
    const folder = join(root, name);
    await requireNothing(folder);
    const files = filesOf(name, options, await schemaAddress(folder));
    await writeAll(folder, files);
    printWritten(terminal, join(options.in, name), files);
    printNext(terminal, options, join(options.in, name));
    return EXIT.ok;
  },
});

function nameOf(words: readonly string[], folder: string): string {
  const name = words.join(" ");
  if (words.length > 1) {
    const hint = `If the blanks belong to the name, put it in quotes: phasegate new ${inShell(name)}`;
    throw new CommandFailure(`${words.length} names are given: ${printable(words.join(", "))}`, EXIT.usage, hint);
  }
  if (!isWorkflowType(name)) throw badName(name, folder);
  return name;
}

function badName(name: string, folder: string): CommandFailure {
  const path = name.replaceAll("\\", "/");
  const last = basename(path);
  const isPath = path.includes("/") && isWorkflowType(last);
  const parent = isPath ? dirname(path) : folder;
  const hint = isPath
    ? `Name its folder apart: phasegate new ${inShell(last)} --in ${inShell(parent)}`
    : WORKFLOW_NAME_RULE;
  return new CommandFailure(`${shown(name)} can't be the name of a workflow`, EXIT.usage, hint);
}

/** Returns the absolute path of the folder of workflows. It need not exist. */
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
  throw new CommandFailure(`${folder} is a workflow itself, not a folder of workflows`, EXIT.usage, hint);
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

function filesOf(name: string, { phases = PHASES, plan, routed }: NewOptions, address: SchemaAddress): NewFile[] {
  if (routed) return routedFiles(name);
  return plan ? plannedFiles(name, address) : phasedFiles(name, phases, address);
}

/** Returns how files name their schemas: by the path of the installed package, else by a public address. */
async function schemaAddress(folder: string): Promise<SchemaAddress> {
  const { root } = parse(folder);
  for (let at = folder; at !== root; at = dirname(at)) {
    const schemas = join(dirname(at), "node_modules", "phasegate", "schemas");
    if ((await stat(schemas).catch(() => undefined)) === undefined) continue;
    return (file, schema) =>
      relative(dirname(join(folder, file)), join(schemas, schema))
        .split(sep)
        .join("/");
  }
  return (_, schema) => `${schemasAddress(packageVersion())}/${schema}`;
}

/** Writes all files or none. An empty folder that is there stays what it is, with its rights, also if it is a link. */
async function writeAll(folder: string, files: readonly NewFile[]): Promise<void> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  return isThere ? fill(folder, files) : create(folder, files);
}

/** Writes into an empty folder. If a file can't be written, those that were are deleted; nobody else's are. */
async function fill(folder: string, files: readonly NewFile[]): Promise<void> {
  const written: string[] = [];
  try {
    await writeIn(folder, files, written);
  } catch (cause) {
    for (const file of written.reverse()) {
      await rm(file, { force: true });
      for (let at = dirname(file); at !== folder; at = dirname(at)) await rmdir(at).catch(() => undefined);
    }
    throw unwritten(folder, cause);
  }
}

/** Writes files where there are none; `written` gets their paths, that of one that could only be begun as well. */
async function writeIn(folder: string, files: readonly NewFile[], written: string[] = []): Promise<void> {
  for (const { path, text } of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    const opened = await open(file, "wx");
    written.push(file);
    await opened.writeFile(text).finally(() => opened.close());
  }
}

function unwritten(folder: string, cause: unknown): CommandFailure {
  const message = `${folder} can't be written (${errnoOf(cause) ?? "unknown"})`;
  return new CommandFailure(message, EXIT.environment, OTHER, { cause });
}

/** Writes into a folder beside the one that is wanted, which then gets its name. */
async function create(folder: string, files: readonly NewFile[]): Promise<void> {
  const root = dirname(folder);
  const temporary = temporaryName(folder, randomBytes(6).toString("hex"));
  let made: string | undefined;
  try {
    made = await mkdir(root, { recursive: true });
    await writeIn(temporary, files);
    // A folder that has something in it by now is not replaced.
    await rename(temporary, folder);
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    for (let at = root; made !== undefined && at.length >= made.length; at = dirname(at))
      await rmdir(at).catch(() => undefined);
    throw unwritten(folder, cause);
  }
}

function printWritten(terminal: Terminal, folder: string, files: readonly NewFile[]): void {
  const rows = files.map(({ path, what }) => [`wrote ${printable(join(folder, path))}`, what]);
  for (const line of aligned(rows)) print(terminal, line);
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

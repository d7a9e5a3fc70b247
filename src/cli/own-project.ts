/**
 * The project that `phasegate init` has set up around the current folder. What no option and no variable names is taken from
 * it: the sessions, the workflows, and the project that gates look at. What gates may run is always named by an option.
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { printable, type Terminal } from "./terminal.js";

/** A project that init has set up. All paths are absolute. */
export interface OwnProject {
  readonly root: string;
  readonly state: string;
  /** The folder of workflows; missing if the project has none. */
  readonly workflows?: string;
}

/** Finds the project that init has set up in the current folder, or in the nearest folder above it. */
export async function findOwnProject(): Promise<OwnProject | undefined> {
  // Loaded here: most commands are given --state.
  const [{ findProject }, { RECORD_PATH }, { STATE, WORKFLOWS }] = await Promise.all([
    import("../setup/project.js"),
    import("../setup/record.js"),
    import("../setup/wanted.js"),
  ]);
  const found = await findProject(process.cwd(), [RECORD_PATH]);
  if (found === undefined) return undefined;
  const { root } = found;
  const workflows = join(root, WORKFLOWS);
  const hasWorkflows = (await stat(workflows).catch(() => undefined))?.isDirectory() === true;
  return { root, state: join(root, STATE), ...(hasWorkflows && { workflows }) };
}

/**
 * Lets the command that is asked for work on the project of the current folder, if it needs `--state` and that is not given,
 * and prints which project it is.
 */
export async function useOwnProject(program: Command, args: readonly string[], terminal: Terminal): Promise<void> {
  const command = program.commands.find((one) => one.name() === args[0]);
  const needs = command?.options.some(({ long, mandatory }) => long === "--state" && mandatory) === true;
  const isGiven = process.env.PHASEGATE_STATE !== undefined || args.some((arg) => /^--state(?:=|$)/.test(arg));
  if (command === undefined || !needs || isGiven) return;
  const project = await findOwnProject();
  if (project !== undefined) useProject(command, project, terminal);
}

/** Options and variables win. If the sessions are elsewhere, the workflows and the project are not assumed to be here. */
function useProject(command: Command, { root, state, workflows }: OwnProject, { stderr }: Terminal): void {
  command.setOptionValueWithSource("state", state, "config");
  command.hook("preAction", () => {
    if (command.getOptionValueSource("state") !== "config") return;
    const more = { project: root, ...(workflows !== undefined && { workflows: [workflows] }) };
    for (const [name, value] of Object.entries(more)) {
      const has = command.options.some((option) => option.attributeName() === name);
      if (has && command.getOptionValue(name) === undefined) command.setOptionValueWithSource(name, value, "config");
    }
    stderr.write(`phasegate: the project is ${printable(root)}\n`);
  });
}

/** What `phasegate init` shows before it writes: what changes, what gates may run, and what the project has brought with it. */
import { join } from "node:path";
import { checksOf } from "../gate/check-gate.js";
import { changedLines } from "../read/differences.js";
import { linkIn } from "../sandbox/change.js";
import type { Piece } from "../setup/pieces.js";
import { type Roots, WORKFLOWS } from "../setup/places.js";
import type { FileFact, SetupPlan } from "../setup/plan.js";
import { isFolder } from "../setup/project.js";
import { RECORD_PATH, type SetupRecord } from "../setup/record.js";
import type { GateDefinition } from "../workflow/structure.js";
import { counted, print, printable, styled, type Terminal } from "./terminal.js";

export function reportPlan(plan: SetupPlan, { root }: Roots, terminal: Terminal, differences: boolean): void {
  const { stdout } = terminal;
  const changed = plan.changes.length > 0;
  print(
    terminal,
    changed ? `${differences ? "Would change" : "Changes"} in ${printable(root)}:` : "Nothing to change.",
  );
  for (const { path, before, after } of plan.changes) {
    const word = before === undefined ? "create" : after === undefined ? "delete" : "change";
    print(terminal, `  ${word}  ${printable(path)}`);
    const isOwn = path === RECORD_PATH || (before === undefined && path.startsWith(`${WORKFLOWS}/`));
    if (differences && !isOwn) printLines(terminal, changedLines(before ?? "", after ?? ""));
  }
  for (const { path, text } of plan.notes) print(terminal, `  ${printable(path)} ${printable(text)}`);
  for (const { path, text, byHand } of plan.refused) {
    print(terminal, `${styled(stdout, "yellow", "not changed:")} ${printable(path)}: ${printable(text)}`);
    if (byHand === undefined) continue;
    print(terminal, "  add this by hand:");
    for (const line of byHand.split("\n")) print(terminal, `    ${printable(line, { lines: true })}`);
  }
}

function printLines(terminal: Terminal, lines: readonly string[]): void {
  for (const line of lines) {
    const colour = line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : "dim";
    print(terminal, `    ${styled(terminal.stdout, colour, printable(line, { lines: true }))}`);
  }
}

/** Prints what a record says that nobody has confirmed on this machine. */
export function reportRecord({ choices, pieces }: SetupRecord, terminal: Terminal): void {
  const { clients, starters, hooks, testCommand } = choices;
  const files = [...new Set(pieces.map(({ path }) => path))];
  print(terminal, `${RECORD_PATH} came with the project, or was changed since your init wrote it. It says:`);
  for (const [what, said] of [
    ["clients", clients.join(", ")],
    ["starters", starters.join(", ")],
    ["hooks", hooks ? "yes" : "no"],
    ["gates may run", testCommand ?? "nothing"],
    ["written, so that update and remove may change it", files.join(", ")],
  ]) {
    print(terminal, `  ${what}: ${printable(said || "none")}`);
  }
}

/** More lines of one file than these are counted. */
const LINES_MAX = 60;

/** Prints the workflows that came with the project: what their gates run, and how they differ from starters. */
export async function reportBrought(
  { root }: Roots,
  pieces: readonly Piece[],
  files: ReadonlyMap<string, FileFact>,
  record: SetupRecord | undefined,
  terminal: Terminal,
): Promise<void> {
  if (linkIn(root, WORKFLOWS) !== undefined) return;
  const folder = join(root, WORKFLOWS);
  if (!(await isFolder(folder))) return;
  // Loaded here: most projects have none, and it takes longer than all else that init loads.
  const { findWorkflows } = await import("./find-workflows.js");
  for (const { folder: name, gates = [] } of await findWorkflows(folder)) {
    const unit = `${WORKFLOWS}/${name}/`;
    if (record?.pieces.some(({ path }) => path.startsWith(unit)) === true) continue;
    const runs = gates.flatMap(({ gate, where }) => commandsOf(gate).map((command) => `${where}: ${command}`));
    print(
      terminal,
      `  ${printable(unit)} came with the project. ${runs.length === 0 ? "Its gates run nothing." : "Its gates run:"}`,
    );
    for (const run of runs) print(terminal, `    ${printable(run)}`);
    for (const piece of pieces) {
      if (piece.kind !== "file" || !piece.path.startsWith(unit)) continue;
      const { text = "" } = files.get(piece.path) ?? {};
      if (text.replaceAll("\r\n", "\n") === piece.text) continue;
      print(terminal, `    ${printable(piece.path)} differs from the starter:`);
      const lines = changedLines(piece.text, text);
      printLines(terminal, lines.slice(0, LINES_MAX));
      if (lines.length > LINES_MAX) print(terminal, `    … ${counted(lines.length - LINES_MAX, "more line")}`);
    }
  }
}

/** Returns what a gate runs, and the servers that it asks. */
function commandsOf(gate: GateDefinition): string[] {
  return checksOf(gate).flatMap(({ verifier, params }) => {
    if (verifier !== "command" && verifier !== "http_ok") return [];
    const { line, argv, url } = params;
    return `${verifier} ${JSON.stringify(line ?? argv ?? url ?? params)}`;
  });
}

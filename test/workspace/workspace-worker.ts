/**
 * Processes for races with others, and for kills.
 *
 * - `workspace-worker save <bundle> <output> <session>`: saves one file over and over, in two versions
 * - `workspace-worker large <bundle> <output> <session>`: saves one large file, and prints the answer
 * - `workspace-worker swap <name> <to> <or>`: points a link to one place, then to the other, over and over
 * - `workspace-worker swap-folder <name> <to>`: replaces a folder by a link, and back, over and over
 */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createWorkspace } from "../../src/workspace/create-workspace.js";
import { VERSIONS } from "./versions.js";

/** Number of moved folders. Declared above the task, which runs as soon as this file is loaded. */
let gone = 0;

const [task, one = "", two = "", three = ""] = process.argv.slice(2);
if (task === "swap") swap(one, [two, three]);
else if (task === "swap-folder") swapFolder(one, two);
else await work(task === "large");

async function work(large: boolean): Promise<void> {
  const workspace = await createWorkspace({ bundleRoot: one, outputRoot: two });
  const opened = await workspace.createSession({ session_id: three, reopen: true });
  if (!opened.success) throw new Error(opened.error);
  const save = (content: string) => workspace.saveOutput({ path: `${three}/notes/file.md`, content });
  if (large) {
    writeSync(1, `${JSON.stringify(await save("x".repeat(500_000)))}\n`);
    return;
  }
  writeSync(1, "at work\n");
  for (let turn = 0; ; turn += 1) {
    const saved = await save(VERSIONS[turn % 2] ?? "");
    if (!saved.success) throw new Error(saved.error);
  }
}

/** Replaces a name by a link in one step, so that the name always exists. */
function swap(name: string, places: readonly string[]): void {
  writeSync(1, "at work\n");
  for (let turn = 0; ; turn += 1) {
    const place = places[turn % 2] ?? "";
    symlinkSync(place, `${name}.next`);
    renameSync(`${name}.next`, name);
  }
}

/** A saving process may create the folder in between: it is moved away, so that the race continues. */
function swapFolder(name: string, to: string): void {
  const away = `${name}-away`;
  mkdirSync(graveOf(name));
  writeSync(1, "at work\n");
  for (;;) {
    renameSync(name, away);
    inPlaceOf(name, () => symlinkSync(to, name));
    pause(0.5);
    rmSync(name);
    inPlaceOf(name, () => renameSync(away, name));
    pause(2);
  }
}

/** Returns a folder next to the parent of `name`, for the folders that were moved away. */
function graveOf(name: string): string {
  return `${dirname(name)}-gone`;
}

function inPlaceOf(name: string, step: () => void): void {
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && ["EEXIST", "ENOTEMPTY"].includes(String(error.code))))
        throw error;
      // Renamed, not removed: a process may be saving in it, so that it would never be empty.
      gone += 1;
      renameSync(name, join(graveOf(name), String(gone)));
    }
  }
}

/** Sleeps: a busy loop would take time from the process that it races with. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

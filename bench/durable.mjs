/** One phase completed on FileStorage, by the engine and through the tool, against the bare system calls for the same bytes. */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { inFolder, pairedMedians, row, time, warmUp } from "./measure.mjs";
import { benchTool, completeByEngine, completePhase, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
/** How long the file of such a commit is. */
const COMMIT_BYTES = 2200;
/** More than for other calls: how long a new file takes differs by a factor of ten within seconds. */
const ROUNDS = 25;
const BAR = 1.3;

/**
 * write + fsync + link + fsync of the folder that it gets, each call awaited, the closes too. `folderOf` is not timed.
 */
export function bareCommit(folderOf, bytes) {
  let [number, folder] = [0, ""];
  const data = "x".repeat(bytes);
  return {
    beforeEach: async () => {
      folder = await folderOf(number);
      number += 1;
    },
    fn: async () => {
      const temporary = join(folder, `tmp-bare-${number}`);
      const file = await open(temporary, "wx", 0o600);
      await file.writeFile(data);
      await file.sync();
      await file.close();
      await link(temporary, join(folder, `bare-${number}.json`));
      const directory = await open(folder, "r");
      await directory.sync();
      await directory.close();
    },
  };
}

/** Gives folders for as many files as a session has, made as the storage makes that of a session: in one of 256 others. */
export function newFolders(root) {
  let folder = "";
  return async (number) => {
    if (number % PHASES > 0) return folder;
    folder = join(root, randomBytes(1).toString("hex"), randomUUID());
    await mkdir(folder, { recursive: true });
    return folder;
  };
}

/**
 * The bare files are made in the folder of the session: ext4 without a journal needs half a millisecond to make a file where
 * many were deleted within the last minutes, and each folder may be in another group of inodes.
 */
async function completed(what, call) {
  return inFolder(async (root) => {
    const storage = await FileStorage.open(root);
    const host = benchTool(PHASES, storage);
    const complete = completing(host, PHASES, EVIDENCE, call);
    await warmUp(complete, completing(benchTool(PHASES), PHASES, EVIDENCE, call));
    const folders = new Map();
    const folderOfSession = async () => {
      const id = complete.place.sessionId;
      if (!folders.has(id)) folders.set(id, await folderOf(root, id));
      return folders.get(id);
    };
    const found = await pairedMedians({ bare: bareCommit(folderOfSession, COMMIT_BYTES), complete }, ROUNDS);
    await host.engine.close();
    return row(what, time(found.complete), `bare write+fsync+link+fsync ${time(found.bare)}`, found.ratio, BAR);
  });
}

export async function run() {
  return [
    await completed("engine.completePhase, FileStorage", completeByEngine),
    await completed("complete_phase with the next phase and its task in the answer, FileStorage", completePhase),
  ];
}

/** Finds the folder of a session. */
async function folderOf(root, id) {
  const sessions = join(root, "sessions");
  for (const shelf of await readdir(sessions)) {
    const folder = join(sessions, shelf, id);
    if (existsSync(folder)) return folder;
  }
  throw new Error(`${root} has no folder of ${id}`);
}

/** One phase completed on FileStorage, against the bare system calls for the same bytes. */
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { pairedMedians, row, time, warmUp } from "./measure.mjs";
import { benchTool, completePhase, evidenceOf, startSession } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
/** How long the file of such a commit is. */
const COMMIT_BYTES = 2200;
/** More than for other calls: how long a new file takes differs by a factor of ten within seconds. */
const ROUNDS = 25;

/**
 * write + fsync + link + fsync of the folder, each call awaited, the closes too. In folders of as many files as those of the
 * sessions: in a group of inodes of which many were deleted within the last minutes, ext4 needs half a millisecond to make a
 * file, and folders of different parents are in different groups.
 */
export function bareCommit(root, bytes) {
  let [number, folder] = [0, ""];
  const data = "x".repeat(bytes);
  return {
    beforeEach: async () => {
      if (number % PHASES === 0) folder = await newFolder(root);
      number += 1;
    },
    fn: async () => {
      const temporary = join(folder, `tmp-${number}`);
      const file = await open(temporary, "wx", 0o600);
      await file.writeFile(data);
      await file.sync();
      await file.close();
      await link(temporary, join(folder, `${number}.json`));
      const directory = await open(folder, "r");
      await directory.sync();
      await directory.close();
    },
  };
}

/** Makes a folder as the storage makes that of a session: in one of 256 others. */
async function newFolder(root) {
  const folder = join(root, randomBytes(1).toString("hex"), randomUUID());
  await mkdir(folder, { recursive: true });
  return folder;
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const root = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const storage = await FileStorage.open(root);
  const host = benchTool(PHASES, storage);
  const place = { sessionId: "", phase: PHASES + 1 };
  const complete = {
    beforeEach: async () => {
      if (place.phase < PHASES) return;
      place.sessionId = await startSession(host);
      place.phase = 1;
    },
    fn: async () => {
      await completePhase(host, place.sessionId, place.phase, EVIDENCE);
      place.phase += 1;
    },
  };
  await warmUp(complete);
  const found = await pairedMedians({ bare: bareCommit(folder, COMMIT_BYTES), complete }, ROUNDS);
  await host.engine.close();
  await Promise.all([folder, root].map((path) => rm(path, { recursive: true, force: true })));
  return [
    row(
      "complete_phase, FileStorage, durable",
      time(found.complete),
      `bare write+fsync+link+fsync ${time(found.bare)}`,
      found.ratio,
      1.2,
    ),
  ];
}

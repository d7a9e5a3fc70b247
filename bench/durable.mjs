/** One phase completed on FileStorage, against the bare system calls for the same bytes. */
import { link, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { pairedMedians, row, time } from "./measure.mjs";
import { benchTool, completePhase, evidenceOf, startSession } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
/** How long the file of such a commit is. */
const COMMIT_BYTES = 2200;

/** write + fsync + link + fsync of the folder: what any durable commit of a file costs. */
function bareCommit(folder, bytes) {
  let number = 0;
  const data = "x".repeat(bytes);
  return async () => {
    number += 1;
    const temporary = join(folder, `tmp-${number}`);
    const file = await open(temporary, "wx", 0o600);
    await file.writeFile(data);
    await file.sync();
    await file.close();
    await link(temporary, join(folder, `${number}.json`));
    const directory = await open(folder, "r");
    await directory.sync();
    await directory.close();
  };
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const root = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const storage = await FileStorage.open(root);
  const host = benchTool(PHASES, storage);
  const place = { sessionId: "", phase: PHASES + 1 };
  const found = await pairedMedians({
    bare: { fn: bareCommit(folder, COMMIT_BYTES) },
    complete: {
      beforeEach: async () => {
        if (place.phase < PHASES) return;
        place.sessionId = await startSession(host);
        place.phase = 1;
      },
      fn: async () => {
        await completePhase(host, place.sessionId, place.phase, EVIDENCE);
        place.phase += 1;
      },
    },
  });
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

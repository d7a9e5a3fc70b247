/**
 * A process that appends to sessions: `append-worker <place> <appends> [together] <session>...`, to one after the other, or
 * to all at the same time. Each acknowledged version is written to the standard output at once.
 */
import { writeSync } from "node:fs";
import { isPhasegateError } from "../../src/errors.js";
import { parseSessionId, type SessionId } from "../../src/workflow/names.js";
import { begin } from "./begin.js";
import { countingCommit } from "./counting-commit.js";
import { openStorage } from "./open-storage.js";

const STATUSES = ["active", "active", "paused", "active", "completed"] as const;

const [place = "", appends = "1", ...rest] = process.argv.slice(2);
const [isTogether, ids] = rest[0] === "together" ? [true, rest.slice(1)] : [false, rest];
const storage = await openStorage(place);
await begin();
if (isTogether) {
  const chain = async (id: SessionId) => {
    for (let count = 0; count < Number(appends) / ids.length; count++) await appendOne(id, count);
  };
  await Promise.all(ids.map((id) => chain(parseSessionId(id))));
} else {
  for (let count = 0; count < Number(appends); count++) {
    await appendOne(parseSessionId(ids[count % ids.length]), count);
  }
}
await storage.close?.();

async function appendOne(id: SessionId, count: number): Promise<void> {
  for (;;) {
    const commit = countingCommit(id, await storage.read(id), STATUSES[count % STATUSES.length] ?? "active");
    try {
      await storage.append(commit);
      writeSync(1, `${id} ${commit.version} ${commit.hash}\n`);
      return;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
    }
  }
}

/**
 * A process that compacts a session over and over: `compact-worker <root> <session>`. What is packed is deleted
 * soon. Each compaction that is done goes to the standard output as a line.
 */
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { parseSessionId } from "../../../src/workflow/names.js";

const [root = "", session] = process.argv.slice(2);
const storage = await FileStorage.open(root, { copyWindowMs: 200 });
for (;;) {
  await storage.compact(parseSessionId(session));
  writeSync(1, "compacted\n");
  await delay(2);
}

/**
 * A process that compacts a session over and over: `compact-worker <root> <session>`. Packed commits are deleted
 * soon. Each finished compaction writes a line to the standard output.
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

/**
 * A process that keeps a store busy: `traffic-worker <root> <name>`. It starts sessions, appends to active ones,
 * pauses, resumes and compacts them. It writes a line once it runs.
 */
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isPhasegateError } from "../../../src/errors.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { parseSessionId, type SessionId } from "../../../src/workflow/names.js";
import { countingCommit } from "../../support/counting-commit.js";

const STATUSES = ["active", "active", "paused", "active"] as const;
const MAX_ACTIVE = 60;

const [root = "", name = ""] = process.argv.slice(2);
const storage = await FileStorage.open(root);
const { items } = await storage.list({ limit: 1000 });
const resting = items.filter(({ status }) => status === "completed").map(({ sessionId }) => sessionId);
const active = items.filter(({ status }) => status !== "completed").map(({ sessionId }) => sessionId);
writeSync(1, "begun\n");
for (let count = 0; ; count++) {
  if (count % 15 === 0 && active.length < MAX_ACTIVE) active.push(parseSessionId(`${name}_${count}`));
  await appendOne(oneOf(active), count);
  await delay(5);
  if (count % 2 === 0) await storage.compact(oneOf([...resting, ...active]));
}

function oneOf(ids: readonly SessionId[]): SessionId {
  const id = ids[Math.floor(Math.random() * ids.length)];
  if (id === undefined) throw new Error("There is no session");
  return id;
}

async function appendOne(id: SessionId, count: number): Promise<void> {
  try {
    const newest = await storage.read(id);
    await storage.append(countingCommit(id, newest, STATUSES[count % STATUSES.length] ?? "active"));
  } catch (error) {
    if (!isPhasegateError(error, "CONFLICT")) throw error;
  }
}

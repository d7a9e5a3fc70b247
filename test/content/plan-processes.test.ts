import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryRoots } from "../storage/files/temporary-root.js";
import { howOften } from "../support/how-often.js";
import { workersOf } from "../support/worker-process.js";

const TIMES = howOften(15, 1000);
const LINES = ["a", "b", "c", "d"];

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "replace-worker.ts"));

/** Each process rewrites the whole file for its own line: overwriting another's text would reset that number. */
it("no write is lost when several processes write into one file", { timeout: 300_000 }, async () => {
  const root = await newRoot();
  await writeFile(join(root, "tasks.md"), LINES.map((line) => `${line}:0\n`).join(""));
  const workers = LINES.map((line) => startWorker(root, line, `${TIMES}`));
  for (const { ended } of workers) expect(await ended).toEqual({ lines: [], exitCode: 0, errors: "" });
  expect(await readFile(join(root, "tasks.md"), "utf8")).toBe(LINES.map((line) => `${line}:${TIMES}\n`).join(""));
  expect(await readdir(root)).toEqual(["tasks.md"]);
});

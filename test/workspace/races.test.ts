import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { howOften } from "../support/how-often.js";
import { workersOf } from "../support/worker-process.js";
import { type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

/** Many rounds for concurrent reads; saves wait for the disk, and get as many only in the long form. */
const READS = howOften(2_000, 10_000);
/** Number of concurrent reads: waiting for each one alone would leave the machine idle. */
const AT_ONCE = 8;
const SAVES = howOften(150, 10_000);
const startWorker = workersOf(join(import.meta.dirname, "workspace-worker.ts"));

let made: MadeWorkspace;
let outside: string;

beforeEach(async () => {
  made = await makeWorkspace();
  outside = join(made.base, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "file.md"), "secret");
});

/** Reads a file repeatedly, and returns the different results. */
async function readsOf(path: string): Promise<readonly string[]> {
  const contents = new Set<string>();
  for (let round = 0; round < READS; round += AT_ONCE) {
    const answers = Array.from({ length: AT_ONCE }, () => made.workspace.readFile({ path }));
    for (const answer of await Promise.all(answers)) contents.add(answer.success ? answer.content : "refused");
  }
  return [...contents].sort();
}

/** Runs a function while another process swaps; that process has ended when this resolves. */
async function whileSwapping(args: readonly string[], work: () => Promise<void>): Promise<void> {
  const worker = startWorker(...args);
  try {
    await new Promise<void>((resolve) => worker.process.stdout?.once("data", () => resolve()));
    await work();
  } finally {
    worker.process.kill("SIGKILL");
  }
  // The worker swapped to the end: it was killed, and had no error before.
  expect(await worker.ended).toMatchObject({ errors: "", exitCode: null });
}

it("never reads through a link that another process swaps in after the check", async () => {
  await mkdir(join(made.bundle, "real"));
  await writeFile(join(made.bundle, "real/file.md"), "inside");
  await whileSwapping(["swap", join(made.bundle, "dir"), "real", outside], async () => {
    // Both results must occur, else there was no race.
    expect(await readsOf("dir/file.md")).toEqual(["inside", "refused"]);
  });
});

it("never reads from a folder that another process swaps for a link after the check", async () => {
  const dir = join(made.bundle, "a/dir");
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "file.md"), "inside");
  await whileSwapping(["swap-folder", dir, outside], async () => {
    expect(await readsOf("a/dir/file.md")).toEqual(["inside", "refused"]);
  });
});

it("never saves through a link that another process swaps in after the check", async () => {
  const opened = await made.workspace.createSession();
  if (!opened.success) throw new Error(opened.error);
  const folder = join(made.output, opened.session_id);
  await mkdir(join(folder, "dir"));
  const path = `${opened.session_id}/dir/file.md`;
  let [saved, refused] = [0, 0];
  await whileSwapping(["swap-folder", join(folder, "dir"), outside], async () => {
    for (let round = 0; round < SAVES; round += 1) {
      const answer = await made.workspace.saveOutput({ path, content: "x" });
      if (answer.success) saved += 1;
      else refused += 1;
    }
  });
  expect(await readdir(outside)).toEqual(["file.md"]);
  expect(await readFile(join(outside, "file.md"), "utf8")).toBe("secret");
  // Both results must occur, else there was no race.
  expect(saved).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
  console.log(`${SAVES} saves while a folder is swapped: ${saved} inside, ${refused} refused`);
});

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { workersOf } from "../support/worker-process.js";
import { type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

/** The number of rounds for reads at once; saves wait for the disk, and have as many in the long run. */
const READS = 10_000;
const SAVES = process.env.PHASEGATE_LONG === "1" ? 10_000 : 400;
const startWorker = workersOf(join(import.meta.dirname, "workspace-worker.ts"));

let made: MadeWorkspace;
let outside: string;

beforeEach(async () => {
  made = await makeWorkspace();
  outside = join(made.base, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "file.md"), "secret");
});

/** Does something while another process swaps, which has ended when this resolves. */
async function whileSwapping(args: readonly string[], work: () => Promise<void>): Promise<void> {
  const worker = startWorker(...args);
  try {
    await new Promise<void>((resolve) => worker.process.stdout?.once("data", () => resolve()));
    await work();
    expect(worker.process.exitCode).toBeNull();
  } finally {
    worker.process.kill("SIGKILL");
    expect((await worker.ended).errors).toBe("");
  }
}

it("never reads through a link that another process swaps in after the check", async () => {
  await mkdir(join(made.bundle, "real"));
  await writeFile(join(made.bundle, "real/file.md"), "inside");
  const contents = new Map<string, number>();
  await whileSwapping(["swap", join(made.bundle, "dir"), "real", outside], async () => {
    for (let round = 0; round < READS; round += 1) {
      const answer = await made.workspace.readFile({ path: "dir/file.md" });
      const content = answer.success ? answer.content : "refused";
      contents.set(content, (contents.get(content) ?? 0) + 1);
    }
  });
  // Both have happened, or there was no race.
  expect([...contents.keys()].sort()).toEqual(["inside", "refused"]);
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
  // Both have happened, or there was no race.
  expect(saved).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
  console.log(`${SAVES} saves while a folder is swapped: ${saved} inside, ${refused} refused`);
});

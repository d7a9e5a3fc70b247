import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { howOften } from "../support/how-often.js";
import { workersOf } from "../support/worker-process.js";
import { makeWorkspace } from "./make-workspace.js";
import { VERSIONS } from "./versions.js";

const KILLS = howOften(4, 300);
const SOURCE = join(import.meta.dirname, "workspace-worker.ts");
const startWorker = workersOf(SOURCE);

async function begin() {
  const made = await makeWorkspace();
  const opened = await made.workspace.createSession();
  if (!opened.success) throw new Error(opened.error);
  const id = opened.session_id;
  const saved = await made.workspace.saveOutput({ path: `${id}/notes/file.md`, content: VERSIONS[0] ?? "" });
  if (!saved.success) throw new Error(saved.error);
  return { ...made, id, folder: join(made.output, id, "notes") };
}

it("a process that is killed while saving leaves the complete old file or the complete new one", async () => {
  const { bundle, output, id, folder, again } = await begin();
  const seen = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = startWorker("save", bundle, output, id);
    await new Promise<void>((resolve) => {
      worker.process.stdout?.once("data", () => resolve());
      worker.process.once("close", () => resolve());
    });
    await delay(Math.random() * 40);
    worker.process.kill("SIGKILL");
    expect((await worker.ended).errors).toBe("");
    const text = await readFile(join(folder, "file.md"), "utf8");
    expect(VERSIONS).toContain(text);
    seen.add(text.charAt(0));
    // The next process continues with it, and its manifest matches the file.
    const next = await again();
    expect(await next.createSession({ session_id: id, reopen: true })).toMatchObject({ outputs: ["notes/file.md"] });
    const [known] = (await next.session(id).manifest()).outputs;
    expect(known?.bytes).toBe(text.length);
  }
  const left = (await readdir(folder)).filter((name) => name !== "file.md");
  expect(left.filter((name) => !/^\.file\.md\.[\da-f]+\.phasegate\.tmp$/.test(name))).toEqual([]);
  console.log(`${KILLS} kills of processes that save: ${seen.size} versions seen, ${left.length} incomplete ones`);
});

it("a full disk keeps the old file, and the answer reports the failure", async ({ skip }) => {
  skip(process.platform === "win32", "Windows can't limit how much a process writes");
  const { bundle, output, id, folder } = await begin();
  const script = join(await temporaryFolder(), "worker.mjs");
  await build({ entryPoints: [SOURCE], outfile: script, bundle: true, platform: "node", format: "esm" });
  // This process may write 128 blocks of 512 bytes per file: a longer write fails as on a full disk.
  const limited = `ulimit -f 128 && exec "${process.execPath}" "${script}" large "${bundle}" "${output}" "${id}"`;
  const { stdout, stderr } = spawnSync("sh", ["-c", limited], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    success: false,
    error: expect.stringMatching(/notes\/file\.md" can't be replaced \(EFBIG\)$/),
    code: "STORAGE_FAILED",
    remedy: expect.any(String),
  });
  expect(await readFile(join(folder, "file.md"), "utf8")).toBe(VERSIONS[0]);
  expect(await readdir(folder)).toEqual(["file.md"]);
});

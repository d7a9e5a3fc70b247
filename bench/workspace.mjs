/** A file read through a workspace: a variable, the walls, the check of what was opened; against a bare realpath and open. */
import { mkdir, mkdtemp, open, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWorkspace } from "phasegate/workspace";
import { pairedMedians, row, time } from "./measure.mjs";

const BYTES = 2000;
const FILE = "workflows/intake/instructions.md";

/** What a host without walls would do. */
async function bareRead(path) {
  const handle = await open(await realpath(path), "r");
  try {
    return await handle.read(new Uint8Array(BYTES), 0, BYTES, 0);
  } finally {
    await handle.close();
  }
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-bench-"));
  const bundle = join(folder, "bundle");
  await mkdir(join(bundle, "workflows/intake"), { recursive: true });
  await mkdir(join(folder, "outputs"));
  await writeFile(join(bundle, FILE), "x".repeat(BYTES));
  const workspace = await createWorkspace({ bundleRoot: bundle, outputRoot: join(folder, "outputs") });
  const found = await pairedMedians({
    bare: { fn: () => bareRead(join(bundle, FILE)) },
    walled: {
      fn: async () => {
        const answer = await workspace.readFile({ path: `{bundle-root}/${FILE}` });
        if (!answer.success) throw new Error(answer.error);
      },
    },
  });
  await rm(folder, { recursive: true, force: true });
  const what = "read_file of 2 KB, warm: path resolved, opened, checked and read";
  return [row(what, time(found.walled), `realpath, open, read ${time(found.bare)}`, found.ratio, 2)];
}

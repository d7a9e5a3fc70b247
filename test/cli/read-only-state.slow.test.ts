/** Sessions on a read-only file system, such as a mounted backup: they can be looked at and copied, and not changed. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createEngine, MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { DURABLE, openStorage } from "../support/open-storage.js";
import { built, twoPhases } from "../support/workflows.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";

const WHY = process.platform === "linux" && process.getuid?.() === 0 ? "" : " (only root on Linux may mount)";

/** Runs the bin where a folder is mounted for reading alone. */
async function runMounted(folder: string, args: readonly string[]) {
  const mounts = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" "$0" && exec "$@"';
  const command = ["-m", "sh", "-c", mounts, folder, process.execPath, BIN, ...args];
  return promisify(execFile)("unshare", command).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: "" }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe.skipIf(WHY !== "")(`a state on a read-only file system${WHY}`, () => {
  it.each(Object.values(DURABLE))("%s is shown and copied, and nothing in it changes", async (name) => {
    const folder = await temporaryFolder();
    const storage = await openStorage(join(folder, name));
    const engine = createEngine({ storage, content: new MemoryContent({ workflows: [twoPhases] }) });
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, built);
    await engine.close();
    const state = name.endsWith(".db") ? `sqlite:${join(folder, name)}` : join(folder, name);
    const elsewhere = await temporaryFolder();

    for (const command of [["sessions"], ["stats"], ["show", sessionId], ["graph", sessionId], ["audit", sessionId]]) {
      const { code, stdout, stderr } = await runMounted(folder, [...command, "--state", state]);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toBe((await run(...command, "--state", state)).stdout);
    }
    const backup = join(elsewhere, "backup");
    expect(await runMounted(folder, ["backup", backup, "--state", state])).toMatchObject({ code: 0 });
    expect((await run("sessions", "--state", backup)).stdout).toContain(sessionId);

    const suspend = ["suspend", sessionId, "--by", "ann", "--note", "a review", "--state", state];
    const { code, stderr } = await runMounted(folder, suspend);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/failed to append: (?:EROFS|SQLITE_READONLY)/)]);
    const { stdout } = await run("show", sessionId, "--json", "--state", state);
    expect(JSON.parse(stdout)).toMatchObject({ status: "active" });
  });
});

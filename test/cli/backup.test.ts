import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { livedIn } from "../support/house.js";
import { makeEngine } from "../support/make-engine.js";
import { run } from "./run-cli.js";

async function aState() {
  const folder = await temporaryFolder();
  const state = join(folder, "state");
  const storage = await FileStorage.open(state);
  const { ids } = await livedIn(storage);
  // Waits for what the storage writes after its answers.
  await storage.close();
  return { state, ids, backup: join(folder, "backup"), restored: join(folder, "restored") };
}

describe("phasegate backup", () => {
  it("copies all sessions, and the next time only new commits", async () => {
    const { state, ids, backup } = await aState();
    expect(await run("backup", backup, "--state", state)).toMatchObject({
      code: 0,
      stdout: "backed up 4 sessions, 14 new commits\n",
    });
    expect((await run("sessions", "--state", backup)).stdout).toBe((await run("sessions", "--state", state)).stdout);
    const storage = await FileStorage.open(state);
    await makeEngine({ storage }).engine.session(ids.odd).resume();
    await storage.close();
    expect((await run("backup", backup, "--state", state)).stdout).toBe("backed up 4 sessions, 1 new commit\n");
    expect((await run("backup", backup, "--state", state)).stdout).toBe("backed up 4 sessions, 0 new commits\n");
    expect(await run("audit", ids.odd, "--state", backup)).toMatchObject({ code: 0 });
  });

  it("can be restored into any kind of state, and is checked there", async () => {
    const { state, ids, backup, restored } = await aState();
    await run("backup", backup, "--state", state);
    for (const to of [restored, `sqlite:${restored}.db`]) {
      expect(await run("restore", backup, "--state", to)).toMatchObject({
        code: 0,
        stdout: "restored and checked 4 sessions, 14 commits\n",
      });
      expect(await run("audit", ids.large, "--state", to)).toMatchObject({ code: 0 });
    }
    const again = await run("backup", `${backup}.2`, "--state", `sqlite:${restored}.db`);
    expect(again).toMatchObject({ code: 0, stdout: "backed up 4 sessions, 14 new commits\n" });
  });

  it("reports damaged sessions, and copies the others", async () => {
    const { state, ids, backup, restored } = await aState();
    await run("backup", backup, "--state", state);
    const names = await readdir(join(backup, "sessions"), { recursive: true });
    const first = names.find((name) => name.endsWith(join(ids.odd, "1.json"))) ?? "";
    await writeFile(join(backup, "sessions", first), "changed");
    const told = await run("restore", backup, "--state", restored);
    expect(told).toMatchObject({ code: 1, stdout: expect.stringContaining(`session ${ids.odd} was skipped`) });
    expect(told.stdout).toContain("restored and checked 3 sessions, 10 commits");
  });

  it("refuses a folder with other files in it, and the state's own folder", async () => {
    const { state, backup } = await aState();
    await mkdir(backup);
    await writeFile(join(backup, "notes.txt"), "");
    expect(await run("backup", backup, "--state", state)).toMatchObject({ code: 3 });
    expect(await run("backup", state, "--state", state)).toMatchObject({ code: 2 });
    expect(await run("backup", backup, "--state", `${state}-not`)).toMatchObject({ code: 3 });
    expect(await readdir(backup)).toEqual(["notes.txt"]);
  });
});

describe("phasegate repair", () => {
  it("rebuilds lists, and reports what it did", async () => {
    const { state } = await aState();
    const before = (await run("sessions", "--state", state)).stdout;
    expect((await run("repair", "--state", state)).stdout).toBe("read 4 sessions\nnothing needed repair\n");
    for (const tree of ["all", "active"]) await rm(join(state, tree), { recursive: true });
    const { stdout, code } = await run("repair", "--state", state);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^read 4 sessions\nlist markers made: \d\n$/)]);
    expect((await run("sessions", "--state", state)).stdout).toBe(before);
    expect(JSON.parse((await run("repair", "--state", state, "--json")).stdout)).toMatchObject({ sessions: 4 });
  });

  it("does nothing for a database", async () => {
    const { state, backup } = await aState();
    await run("restore", state, "--state", `sqlite:${backup}.db`);
    const { stdout, code } = await run("repair", "--state", `sqlite:${backup}.db`);
    const note = "nothing to do: this kind of state keeps no lists next to its logs";
    expect([code, stdout]).toEqual([0, `${note}\n`]);
    const json = await run("repair", "--state", `sqlite:${backup}.db`, "--json");
    expect([json.code, JSON.parse(json.stdout)]).toEqual([0, { repaired: [], damaged: [], note }]);
  });

  it("reports damaged sessions", async () => {
    const { state, ids } = await aState();
    const names = await readdir(join(state, "sessions"), { recursive: true });
    await rm(join(state, "sessions", names.find((name) => name.endsWith(join(ids.odd, "2.json"))) ?? ""));
    const { stdout, code } = await run("repair", "--state", state);
    expect([code, stdout]).toEqual([1, expect.stringContaining(`session ${ids.odd} is damaged: Version 2 is missing`)]);
  });
});

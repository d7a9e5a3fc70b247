import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { SessionSize } from "phasegate/storage";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openState } from "../../src/cli/state.js";
import { withoutPasswords } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { livedIn } from "../support/house.js";
import { emptyDatabase } from "../support/postgres.js";
import { run } from "./run-cli.js";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

async function aState() {
  const state = join(await temporaryFolder(), "state");
  const { ids } = await livedIn(await FileStorage.open(state));
  return { state, ids };
}

describe("--state", () => {
  it("names a folder, by a flag or by the environment", async () => {
    const { state, ids } = await aState();
    vi.stubEnv("PHASEGATE_STATE", state);
    expect((await run("sessions")).stdout).toContain(ids.odd);
    expect(await run("show", ids.odd)).toMatchObject({ code: 0 });
    expect(await run("sessions", "--state", `${state}-not`)).toMatchObject({ code: 3 });
  });

  it("names a SQLite database, for every command", async () => {
    const { state, ids } = await aState();
    const [file, lines] = [`${state}.db`, `${state}.jsonl`];
    const sqlite = `sqlite:${file}`;
    expect(await run("sessions", "--state", sqlite)).toMatchObject({ code: 3 });
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await run("sessions", "--state", "sqlite:")).toMatchObject({ code: 2 });
    await run("export", "--state", state, "--out", lines);
    const imported = await run("import", lines, "--state", sqlite);
    expect(imported).toMatchObject({ code: 0, stdout: "imported 4 sessions, 14 commits\n" });
    expect(await run("audit", ids.large, "--state", sqlite)).toMatchObject({ code: 0 });
    expect((await run("show", ids.odd, "--state", sqlite)).stdout).toContain("Paused at 2 Ship: ");
    expect((await run("sessions", "--sizes", "--state", sqlite)).stdout).toMatch(
      /4 sessions, 14 commits, [\d.]+ [kM]B/,
    );
    expect(await run("compact", "--state", sqlite)).toMatchObject({ code: 0 });
    const again = `${lines}.again`;
    await run("export", "--state", sqlite, "--out", again);
    expect((await readFile(again)).equals(await readFile(lines))).toBe(true);
  });

  it("is closed again if a command can't begin its work on it", async () => {
    const { state, ids } = await aState();
    await run("restore", state, "--state", `sqlite:${state}.db`);
    const commands = [["show", ids.odd], ["stats"], ["cleanup", "--older-than", "1d", "--by", "ann"]];
    for (const args of commands) {
      const failed = await run(...args, "--state", `sqlite:${state}.db`, "--approver", "ann=none");
      expect([args, failed.code, failed.stderr]).toEqual([args, 2, expect.stringContaining("no Ed25519 public key")]);
      // SQLite deletes its log when the last connection is closed.
      await expect(stat(`${state}.db-wal`)).rejects.toMatchObject({ code: "ENOENT" });
    }
  });

  it("suggests the `sqlite:` prefix for the path of a database", async () => {
    const file = join(await temporaryFolder(), "sessions.db");
    const hint = `hint: Write an SQLite database as sqlite:${file}`;
    const named = { code: 3, stderr: expect.stringContaining(hint) };
    expect(await run("sessions", "--state", file)).toMatchObject(named);
    await writeFile(file, "");
    expect(await run("sessions", "--state", file)).toMatchObject(named);
    await expect(openState(file, { create: true })).rejects.toMatchObject({ hint: expect.stringContaining("sqlite:") });
  });

  it("does not change a database without sessions, unless it may be created", async () => {
    const folder = await temporaryFolder();
    const [empty, others] = [join(folder, "empty.db"), join(folder, "others.db")];
    await writeFile(empty, "");
    const database = new DatabaseSync(others);
    database.exec("CREATE TABLE mine (a)");
    database.close();
    const before = await readFile(others);
    for (const file of [empty, others]) {
      for (const command of [["sessions"], ["export"], ["compact"], ["show", "x"], ["audit", "x"]]) {
        const { code, stderr } = await run(...command, "--state", `sqlite:${file}`);
        expect([command, code, stderr]).toEqual([command, 3, expect.stringContaining("version 0 of the tables")]);
      }
    }
    expect((await stat(empty)).size).toBe(0);
    expect((await readFile(others)).equals(before)).toBe(true);
    expect(await readdir(folder)).toEqual(["empty.db", "others.db"]);
    await (await openState(`sqlite:${others}`, { create: true })).close?.();
    expect(await run("sessions", "--state", `sqlite:${others}`)).toMatchObject({ code: 0, stdout: "0 sessions\n" });
  });

  it("names the schema of a PostgreSQL database as a parameter", async () => {
    const { state } = await aState();
    const [url, lines] = [await emptyDatabase(), `${state}.jsonl`];
    await run("export", "--state", state, "--out", lines);
    const places = [
      `${url}?schema=acme`,
      `${url}?schema=acme&application_name=x`,
      `${url}?application_name=x&schema=acme`,
    ];
    for (const place of places) {
      expect(await run("import", lines, "--state", place)).toMatchObject({ code: 0 });
      expect((await run("sessions", "--state", place)).stdout).toContain("4 sessions");
    }
    expect(await run("sessions", "--state", url)).toMatchObject({ code: 3 });
    expect(await run("sessions", "--state", `${url}?schema=pg_x`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("schema is not valid"),
    });
  });

  it("names a SQLite database in memory, and creates no file for it", async () => {
    const storage = await openState("sqlite::memory:", { create: true });
    expect(await storage.list({})).toMatchObject({ items: [] });
    await storage.close?.();
    await expect(stat(":memory:")).rejects.toMatchObject({ code: "ENOENT" });
    expect(await run("sessions", "--state", "sqlite::memory:")).toMatchObject({ code: 3 });
  });

  it("names a PostgreSQL database, whose tables only writing commands create", async () => {
    const { state, ids } = await aState();
    const lines = `${state}.jsonl`;
    const url = await emptyDatabase();
    expect(await run("sessions", "--state", url)).toMatchObject({ code: 3 });
    await run("export", "--state", state, "--out", lines);
    const imported = await run("import", lines, "--state", `postgres:${url}`);
    expect(imported).toMatchObject({ code: 0, stdout: "imported 4 sessions, 14 commits\n" });
    expect(await run("audit", ids.large, "--state", url)).toMatchObject({ code: 0 });
    await run("export", "--state", url, "--out", `${lines}.again`);
    expect((await readFile(`${lines}.again`)).equals(await readFile(lines))).toBe(true);
    const wrong = await run("sessions", "--state", url.replace(/:[^:@]+@/, ":wr0ng@"));
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).not.toContain("wr0ng");
    expect(await run("sessions", "--state", "postgres:")).toMatchObject({ code: 2 });
  });

  it("names a module of the user, which gets the parameters, for every command", async () => {
    const { state, ids } = await aState();
    const adapter = join(import.meta.dirname, "../testing/storages/files.ts");
    const [here, there] = [state, `${state}-copy`].map((root) => `module:${adapter}?root=${encodeURIComponent(root)}`);
    if (here === undefined || there === undefined) throw new Error("two states");
    expect((await run("show", ids.odd, "--state", here)).stdout).toContain("Paused at 2 Ship: ");
    expect(await run("audit", ids.large, "--state", here)).toMatchObject({ code: 0 });
    expect(await run("restore", here, "--state", there)).toMatchObject({ code: 0 });
    expect((await run("sessions", "--state", there)).stdout).toContain("4 sessions");
  });

  it.each([
    ["module:", "", "names no file", 2],
    ["module:./none.mjs", "", "can't be read", 3],
    ["module:./a.mjs", "export const other = 1;", "exports no function openWith", 2],
    ["module:./a.mjs", "export default () => ({ read() {} });", "returns no storage", 2],
    ["module:./a.mjs", "export default () => { throw new Error('no server'); };", "no server", 3],
  ])("refuses %s of %j", async (spec, text, message, code) => {
    const file = join(await temporaryFolder(), "a.mjs");
    await writeFile(file, text);
    const refused = await run("sessions", "--state", spec.replace("./a.mjs", file));
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  it("refuses unknown kinds instead of creating a folder with such a name", async () => {
    for (const spec of ["sqlit:file.db", "mysql://ann:secret@host/db", "constructor:x"]) {
      const { code, stderr } = await run("sessions", "--state", spec);
      expect([spec, code]).toEqual([spec, 2]);
      expect(stderr).toContain("unknown kind of state");
      expect(stderr).not.toContain("secret");
    }
  });

  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)(
    "says that it may not be read, instead of that there are no sessions",
    async () => {
      const folder = await temporaryFolder();
      const state = join(folder, "state");
      await (await openState(state, { create: true })).close?.();
      await chmod(state, 0o000);
      onTestFinished(() => chmod(state, 0o700));
      const { code, stderr } = await run("sessions", "--state", state);
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringContaining("can't be read: you may not read it"),
      });
    },
  );

  it("does not change a folder without sessions, unless it may be created", async () => {
    const folder = await temporaryFolder();
    await expect(openState(folder)).rejects.toThrow("there are no sessions in");
    expect(await readdir(folder)).toEqual([]);
    const storage = await openState(join(folder, "new"), { create: true });
    expect(storage.capabilities.durability).toBe("power");
    expect(await readdir(join(folder, "new"))).toContain("format.json");
  });
});

describe("passwords", () => {
  const texts: readonly (readonly [string, string])[] = [
    ["postgres://ann:secret@host:5432/db", "postgres://ann:***@host:5432/db"],
    [
      "could not connect to postgresql://ann:sec@ret/x@host/db?a=1 now",
      "could not connect to postgresql://ann:***@host/db?a=1 now",
    ],
    ["postgres://:secret@host", "postgres://:***@host"],
    ["postgres://ann:secret@a:5432,b:5433/db?x=1", "postgres://ann:***@a:5432,b:5433/db?x=1"],
    ["postgres://a:5432,b:5433/db?user=ann&password=secret", "postgres://a:5432,b:5433/db?user=ann&password=***"],
    ["postgres://host/db?user=ann&password=secret&x=1", "postgres://host/db?user=ann&password=***&x=1"],
    ["host=h password=secret sslpassword=secret", "host=h password=*** sslpassword=***"],
    ["postgres://ann:se\"cr'et@host/db", "postgres://ann:***@host/db"],
    ['"postgres://ann:secret@host/db" failed', '"postgres://ann:***@host/db" failed'],
    ['at <postgres://host/db?password=sec"ret>', "at <postgres://host/db?password=***>"],
    // A password may be all that is before the last "@".
    ['{"a":"postgres://a:secret@h","b":"x@y"}', '{"a":"postgres://a:***@y"}'],
    ["http://host:80/a and ann@host", "http://host:80/a and ann@host"],
  ];
  for (const [text, safe] of texts) {
    it(`are not printed: ${safe}`, () => {
      expect(withoutPasswords(text)).toBe(safe);
    });
  }
});

describe("phasegate sessions --sizes", () => {
  it("reports that the state has no sizes", async () => {
    const { state } = await aState();
    spied({ size: undefined });
    const { stdout, code } = await run("sessions", "--state", state, "--sizes");
    expect(code).toBe(0);
    expect(stdout.split("\n").at(-2)).toBe("4 sessions, sizes unknown: this kind of state does not know them");
    const { sessions } = JSON.parse((await run("sessions", "--state", state, "--sizes", "--json")).stdout);
    expect(sessions[0]).not.toHaveProperty("size");
  });

  it("shows commits and sizes, and their totals", async () => {
    const { state, ids } = await aState();
    const sizes: Record<string, SessionSize> = {
      [ids.odd]: { commits: 4, bytes: 1 },
      [ids.large]: { commits: 3, bytes: 1_234_567 },
      [ids.done]: { commits: 3, bytes: 999 },
    };
    spied({ size: async (id) => sizes[id] });
    const { stdout } = await run("sessions", "--state", state, "--sizes");
    const rows = stdout.split("\n").map((line) => line.split(/ {2,}/));
    expect(rows[0]).toEqual(["SESSION", "STATUS", "PHASE", "UPDATED", "WORKFLOW", "TARGET", "COMMITS", "SIZE"]);
    expect(rows.slice(1, 5).map((row) => row.slice(5).join(" "))).toEqual([
      "failed",
      "done 3 999 bytes",
      "large 3 1.2 MB",
      "odd 4 1 byte",
    ]);
    expect(stdout.split("\n").at(-2)).toBe("4 sessions, 10 commits, 1.2 MB");
    const { sessions } = JSON.parse((await run("sessions", "--state", state, "--sizes", "--json")).stdout);
    expect(sessions[1]).toMatchObject({ target: "done", size: { commits: 3, bytes: 999 } });
  });
});

describe("phasegate compact", () => {
  it("reports that there is nothing to do", async () => {
    const { state } = await aState();
    spied({ compact: undefined });
    const { stdout, code } = await run("compact", "--state", state);
    expect([code, stdout]).toEqual([0, "nothing to do: this kind of state needs no compaction\n"]);
  });

  it("compacts all matching sessions, or the named one", async () => {
    const { state, ids } = await aState();
    const compacted: string[] = [];
    let left = 110;
    const size = async () => {
      left -= 10;
      return { commits: 1, bytes: left };
    };
    const compact = async (id: string) => void compacted.push(id);
    spied({ compact, size });
    expect((await run("compact", "--state", state)).stdout).toBe(
      "compacted 4 sessions: 280 bytes before, 240 bytes now\n",
    );
    expect(compacted.sort()).toEqual(Object.values(ids).sort());
    const grow = async () => ({ commits: 1, bytes: 100 + compacted.length });
    spied({ compact, size: grow });
    const { stdout } = await run("compact", ids.odd, "--state", state);
    expect(stdout).toMatch(/^compacted 1 session: 104 bytes before, 105 bytes now\nThe commits are the same/);
    compacted.length = 0;
    await run("compact", ids.odd, "--state", state);
    await run("compact", "--status", "failed", "--state", state);
    expect(compacted).toEqual([ids.odd, ids.failed]);
    expect(await run("compact", "nobody", "--state", state)).toMatchObject({ code: 1 });
    expect(await run("compact", "../x", "--state", state)).toMatchObject({ code: 2 });
  });
});

const { open } = FileStorage;

/** Replaces methods of every FileStorage that is opened; undefined removes a method. */
function spied(methods: { [M in "size" | "compact"]?: StorageAdapter[M] | undefined }): void {
  const opened: typeof FileStorage.open = async (...args) =>
    Object.assign(await open.apply(FileStorage, args), methods);
  vi.spyOn(FileStorage, "open").mockImplementation(opened);
}

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { MemoryStorage, parseSessionId, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { type Commit, copySessions } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { exportLines, writeToFile } from "../../src/cli/export.js";
import { checkLines, importAll, importBlock } from "../../src/cli/import.js";
import { commitHash } from "../../src/log/commit.js";
import { wrapStorage } from "../../src/testing/broken.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { livedIn, logOf } from "../support/house.js";
import { makeEngine } from "../support/make-engine.js";
import { BIN } from "./bin.js";
import { piped } from "./piped.js";
import { run } from "./run-cli.js";

const HASH_KEY = "0123456789abcdef0123456789abcdef";

/** Creates a state folder with used sessions, and exports it into a file. */
async function exported(...args: string[]) {
  const root = await temporaryFolder();
  const [state, file] = [join(root, "state"), join(root, "sessions.jsonl")];
  const storage = await FileStorage.open(state);
  const { ids, engine } = await livedIn(storage);
  const told = await run("export", "--state", state, "--out", file, ...args);
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
  return { root, state, file, storage, ids, engine, told, lines, other: join(root, "other") };
}

/** Joins lines to a file with the matching last line. */
function ended(lines: readonly string[], counts?: { sessions: number; commits: number }): string {
  const commits = lines.slice(1).map((line) => JSON.parse(line) as Commit);
  const sessions = commits.filter(({ version }) => version === 1).length;
  const all = lines.map((line) => `${line}\n`).join("");
  const digest = createHash("sha256").update(all).digest("hex");
  return `${all}${JSON.stringify({ end: { sessions, commits: commits.length, ...counts, digest } })}\n`;
}

/** Exports a state into a stream. */
async function exportTo(stdout: Writable, state: string): Promise<{ code: number; stderr: string }> {
  const stderr = new PassThrough();
  const code = await runCli(["export", "--state", state], { stdin: new PassThrough(), stdout, stderr });
  return { code, stderr: String(stderr.read() ?? "") };
}

async function expectSame(one: StorageAdapter, other: StorageAdapter, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await logOf(other, id)).toEqual(await logOf(one, id));
  expect((await other.list({})).items).toEqual((await one.list({})).items);
}

describe("phasegate export and import", () => {
  it("copy sessions between folders and into memory exactly", async () => {
    const { told, file, storage, ids, other, lines } = await exported();
    expect(told).toMatchObject({ code: 0, stdout: "", stderr: "exported 4 sessions, 14 commits\n" });
    expect(lines).toHaveLength(16);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const imported = await run("import", file, "--state", other);
    expect(imported).toEqual({ code: 0, stdout: "imported 4 sessions, 14 commits\n", stderr: "" });
    const there = await FileStorage.open(other);
    await expectSame(storage, there, Object.values(ids));
    for (const id of Object.values(ids)) {
      expect(await run("audit", id, "--state", other)).toMatchObject({ code: 0 });
    }
    const memory = new MemoryStorage();
    for (const block of await checkLines(file, undefined)) await importBlock(file, block, memory, undefined);
    await expectSame(storage, memory, Object.values(ids));
    expect(await run("import", file, "--state", other)).toMatchObject({ stdout: "imported 4 sessions, 0 commits\n" });
  });

  it("escape text that is not valid UTF-8", async () => {
    const { file, ids, lines } = await exported();
    expect(lines.join("")).toMatch(/\\\\ud800/);
    expect((await readFile(file)).equals(Buffer.from(lines.map((line) => `${line}\n`).join("")))).toBe(true);
    const memory = new MemoryStorage();
    for (const block of await checkLines(file, undefined)) await importBlock(file, block, memory, undefined);
    const [failed] = await makeEngine({ storage: memory }).engine.session(ids.large).errors();
    expect(failed?.phase).toBe(1);
    const raw = { hash: "0".repeat(64), body: "\ud800" };
    expect(JSON.parse(JSON.stringify(raw))).toEqual(raw);
  });

  it("work through pipes, and delete their temporary files", async () => {
    const { state, file, other, storage, ids } = await exported();
    const before = (await readdir(tmpdir())).filter((name) => name.startsWith("phasegate-import-"));
    const out = await piped("", "export", "--state", state);
    expect(out).toMatchObject({ code: 0, stderr: "exported 4 sessions, 14 commits\n" });
    expect(out.stdout).toBe(await readFile(file, "utf8"));
    expect(await piped(out.stdout, "import", "-", "--state", other)).toMatchObject({ code: 0 });
    await expectSame(storage, await FileStorage.open(other), Object.values(ids));
    expect(await piped(out.stdout.slice(0, -1), "import", "--state", other)).toMatchObject({ code: 1 });
    expect((await readdir(tmpdir())).filter((name) => name.startsWith("phasegate-import-"))).toEqual(before);
  });

  it("keep HMAC chains, which need their key on both sides", async () => {
    const root = await temporaryFolder();
    const [state, file, keyFile] = ["state", "sessions.jsonl", "key"].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(keyFile, `${HASH_KEY}\n`, { mode: 0o600 });
    await livedIn(await FileStorage.open(state), { hashKey: HASH_KEY });
    const blind = await run("export", "--state", state, "--out", join(root, "blind"));
    expect(blind).toMatchObject({ code: 1, stderr: expect.stringContaining("exported 0 sessions, 0 commits") });
    expect(blind.stderr.match(/was skipped: commit 1 of session .* was changed/g)).toHaveLength(4);
    expect(blind.stderr).toContain("If these logs are bound with a key, give it with --hash-key-file.");
    const args = ["--hash-key-file", keyFile];
    expect(await run("export", "--state", state, "--out", file, ...args)).toMatchObject({ code: 0 });
    const unkeyed = await run("import", file, "--state", join(root, "other"));
    expect(unkeyed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^line 2: session \S+ is refused: /) });
    expect(unkeyed.stdout).toContain("If these logs are bound with a key, give it with --hash-key-file.");
    expect(await run("import", file, "--state", join(root, "other"), ...args)).toMatchObject({ code: 0 });
  });

  it("wait for a slow reader without piling up listeners, and end quietly if the reader has gone", async () => {
    const { state, lines } = await exported();
    let [written, left] = ["", 0];
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, _, done) {
        written += String(chunk);
        left = Math.max(left, slow.listenerCount("close"), slow.listenerCount("error"));
        setImmediate(done);
      },
    });
    expect(await exportTo(slow, state)).toMatchObject({ code: 0, stderr: "exported 4 sessions, 14 commits\n" });
    expect([written, left]).toEqual([`${lines.join("\n")}\n`, 0]);
    // As stdout is, which no error destroys.
    const gone = new Writable({
      autoDestroy: false,
      highWaterMark: 1,
      write: (_chunk, _, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
    });
    gone.on("error", () => {});
    expect(await exportTo(gone, state)).toEqual({ code: 0, stderr: "" });
    const full = new Writable({
      highWaterMark: 1,
      write: (_chunk, _, done) => done(Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" })),
    });
    full.on("error", () => {});
    expect(await exportTo(full, state)).toMatchObject({ code: 3, stderr: expect.stringContaining("write ENOSPC") });
  });

  const hasFull = existsSync("/dev/full");
  const reason = hasFull ? "" : " (skipped: this system has no /dev/full)";
  it.skipIf(!hasFull)(`end with the code of a failed environment where stdout's disk is full${reason}`, async () => {
    const { state } = await exported();
    const full = 'exec 1>/dev/full; exec node "$@"';
    for (const command of ["sessions", "export"]) {
      const { status, stderr } = spawnSync("sh", ["-c", full, "sh", BIN, command, "--state", state], {
        encoding: "utf8",
      });
      expect([command, status]).toEqual([command, 3]);
      expect(stderr).toMatch(/^phasegate: error: [^\n]*ENOSPC[^\n]*\n/);
      expect(stderr).not.toContain("    at ");
    }
  });

  it("take a pipe in place of a file, which can be read only once", async () => {
    const { file, other, storage, ids } = await exported();
    const script = 'cat "$0" | node "$1" import --state "$2" /dev/stdin';
    const { status, stdout } = spawnSync("sh", ["-c", script, file, BIN, other], { encoding: "utf8" });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/imported 4 sessions/i)]);
    await expectSame(storage, await FileStorage.open(other), Object.values(ids));
  });

  it("report the failure of a session in its turn, also if sessions before it take longer", async () => {
    const { file } = await exported();
    const blocks = await checkLines(file, undefined);
    const memory = new MemoryStorage();
    const failing = wrapStorage(memory, {
      append: async (commit) => {
        if (commit.sessionId !== blocks[0]?.sessionId) throw new Error("the disk is full");
        await delay(50);
        await memory.append(commit);
      },
    });
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const imported: string[] = [];
    const importing = async () => {
      for await (const { block } of importAll(file, blocks, failing, undefined)) imported.push(block.sessionId);
    };
    await expect(importing()).rejects.toThrow("the disk is full");
    process.off("unhandledRejection", note);
    expect([imported, unhandled]).toEqual([[blocks[0]?.sessionId], []]);
  });

  it("copy only the selected sessions", async () => {
    const { state, file, ids, root } = await exported();
    const count = async (...args: string[]) => {
      const { stderr } = await piped("", "export", "--state", state, ...args);
      return stderr.trim();
    };
    expect(await count("--session", ids.odd, "--session", ids.done)).toBe("exported 2 sessions, 7 commits");
    expect(await count("--status", "paused", "--status", "failed")).toBe("exported 2 sessions, 8 commits");
    expect(await count("--workflow", "two_phases", "--target", "done")).toBe("exported 1 session, 3 commits");
    expect(await count("--session", "nobody")).toMatch(/^session nobody was skipped: there is no such session/);
    const into = async (...args: string[]) =>
      run("import", file, "--state", join(root, `into-${args.join("").replace(/\W/g, "")}`), ...args);
    expect((await into("--status", "paused")).stdout).toBe("imported 1 session, 4 commits\n");
    expect((await into("--session", ids.done)).stdout).toBe("imported 1 session, 3 commits\n");
    expect(await into("--session", "nobody")).toMatchObject({ code: 1, stdout: expect.stringContaining("not in the") });
    expect(await into("--status", "gone")).toMatchObject({ code: 2 });
  });

  it("check a file without importing it with --check", async () => {
    const { file, other } = await exported();
    for (const more of [[], ["--state", other]]) {
      const checked = await run("import", file, "--check", ...more);
      expect(checked).toMatchObject({ code: 0, stdout: "checked 4 sessions, 14 commits\n" });
    }
    expect(await run("import", file)).toMatchObject({ code: 2, stderr: expect.stringContaining("--state") });
    await expect(stat(other)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("an altered export file", () => {
  it("is refused as a whole if it is truncated anywhere", async () => {
    const { lines, other } = await exported("--status", "completed");
    const whole = ended(lines.slice(0, -1));
    expect(`${lines.join("\n")}\n`).toBe(whole);
    for (let at = 0; at < whole.length; at += at < 60 || at > whole.length - 130 ? 1 : 397) {
      const cut = await piped(whole.slice(0, at), "import", "--state", other);
      expect([at, cut.code, cut.stdout]).toEqual([at, 1, ""]);
      expect(cut.stderr).toMatch(/line \d+: .*; nothing was imported/);
    }
    await expect(stat(other)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("is refused as a whole if it was changed in transit or extended", async () => {
    const { lines, other } = await exported();
    const whole = `${lines.join("\n")}\n`;
    const changes: readonly string[] = [
      whole.replaceAll("\n", "\r\n"),
      whole.replace("added the parser", "added the lexer."),
      `${whole}${lines[1]}\n`,
      `${whole}\n`,
      whole.replace(/\n.*\n/, "\n"),
      ended(lines.slice(0, -1), { sessions: 5, commits: 14 }),
      ended(lines.slice(0, -1), { sessions: 4, commits: 13 }),
      `${lines[0]}\n{}\n`,
    ];
    for (const change of changes) {
      const refused = await piped(change, "import", "--state", other);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("the file was cut off or changed on the way; nothing was imported");
    }
    for (const other_ of ["hello\n", '{"a":1}\n', "[]\n"]) {
      const refused = await piped(other_, "import", "--state", other);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("this is not a file of sessions") });
    }
  });

  it("with a newer format is refused", async () => {
    const { lines, other } = await exported();
    const newer = ended([(lines[0] ?? "").replace('"format":1', '"format":2'), ...lines.slice(1, -1)]);
    const refused = await piped(newer, "import", "--state", other);
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("format 2, and 1 is supported") });
  });

  it("has invalid sessions refused, with their lines, and the others imported", async () => {
    const { lines, root, storage, ids } = await exported("--status", "completed", "--status", "failed");
    const forge = (index: number, change: (commit: Commit) => Commit) =>
      lines.slice(0, -1).map((line, at) => (at === index ? JSON.stringify(change(JSON.parse(line))) : line));
    const rehashed = (commit: Commit): Commit => {
      const body = commit.body.replace('"events"', ' "events"');
      return { ...commit, body, hash: commitHash(commit.previousHash, body) };
    };
    // Lines 2 to 5 belong to the failed session, 6 to 8 to the completed one.
    const forgeries: readonly [string, string[], number][] = [
      ["an edited body", forge(3, (commit) => ({ ...commit, body: commit.body.replace("1", "2") })), 4],
      ["a commit with a recomputed hash", forge(3, rehashed), 5],
      ["a wrong summary", forge(2, (one) => ({ ...one, summary: { ...one.summary, status: "completed" } })), 3],
      ["a summary in another phase", forge(2, (one) => ({ ...one, summary: { ...one.summary, current: 2 } })), 3],
      ["a summary of more phases", forge(2, (one) => ({ ...one, summary: { ...one.summary, total: 9 } })), 3],
      ["a beginning that is missing", lines.slice(0, -1).filter((_, at) => at !== 1), 2],
      ["a commit that is missing", lines.slice(0, -1).filter((_, at) => at !== 2), 3],
      ["a commit twice", lines.slice(0, -1).flatMap((line, at) => (at === 2 ? [line, line] : [line])), 4],
    ];
    for (const [index, [name, forged, line]] of forgeries.entries()) {
      const state = join(root, `forged-${index}`);
      const counts = { sessions: 2, commits: forged.length - 1 };
      const imported = await piped(ended(forged, counts), "import", "--state", state);
      expect([name, imported.code]).toEqual([name, 1]);
      expect([name, imported.stdout.split("\n")[0]]).toEqual([
        name,
        expect.stringMatching(new RegExp(`^line ${line}: session ${ids.failed} is refused: `)),
      ]);
      expect(imported.stdout).toContain("imported 1 session, 3 commits");
      const there = await FileStorage.open(state);
      expect(await there.read(parseSessionId(ids.failed))).toBeUndefined();
      expect(await logOf(there, ids.done)).toEqual(await logOf(storage, ids.done));
    }
  });

  it("has a session with a missing or wrong payload refused", async () => {
    const { lines, root } = await exported("--target", "large");
    for (const payloads of [[], [{ hash: "0".repeat(64), body: "x" }], undefined]) {
      const forged = lines
        .slice(0, -1)
        .map((line, at) => (at === 2 ? JSON.stringify({ ...JSON.parse(line), payloads }) : line));
      const imported = await piped(ended(forged), "import", "--state", join(root, "forged"));
      expect(imported.stdout).toMatch(/^line 3: session \S+ is refused: .*payload/);
      expect(imported.code).toBe(1);
    }
  });

  it("has a session that the state refuses left out, before any of it is written", async () => {
    const { file, ids, root } = await exported("--target", "large");
    const [block] = await checkLines(file, undefined);
    if (block === undefined) throw new Error("there is one");
    const small = await FileStorage.open(join(root, "small"), { maxCommitBytes: 90_000 });
    expect(await importBlock(file, block, small, undefined)).toMatchObject({ reason: "not_taken" });
    expect(await small.read(parseSessionId(ids.large))).toBeUndefined();
  });

  it("imports nothing but commits", async () => {
    const { lines, file, ids } = await exported("--target", "done");
    const more = lines
      .slice(0, -1)
      .map((line, at) =>
        at === 1 ? line.replace("{", '{"__proto__":{"x":1},"payloads":[{"hash":"h","body":"b"}],"more":1,') : line,
      );
    await writeFile(file, ended(more));
    const memory = new MemoryStorage();
    for (const block of await checkLines(file, undefined)) await importBlock(file, block, memory, undefined);
    expect(Object.keys((await logOf(memory, ids.done))[0] ?? {})).not.toContain("more");
    expect(await memory.payload(parseSessionId(ids.done), "h")).toBeUndefined();
  });
});

describe("an import into a state with sessions", () => {
  it("counts a session once if the file contains it twice", async () => {
    const { lines, other } = await exported("--target", "done");
    const [header = "", ...commits] = lines.slice(0, -1);
    const imported = await piped(ended([header, ...commits, ...commits]), "import", "--state", other);
    expect(imported).toMatchObject({ code: 0, stdout: "imported 1 session, 3 commits\n" });
  });

  it("completes a partial session, and refuses one that differs, has progressed or was removed", async () => {
    const { file, ids, other, storage } = await exported();
    const there = await FileStorage.open(other);
    const { engine } = makeEngine({ storage: there });
    await copySessions(storage, there);
    await engine.session(ids.odd).resume();
    await engine.session(ids.done).delete();
    const again = await run("import", file, "--state", other);
    expect(again.code).toBe(1);
    expect(again.stdout.split("\n").map((line) => line.replace(/^line \d+: session /, ""))).toEqual([
      `${ids.done} is refused: the target had a session of this id, which was removed`,
      `${ids.odd} is refused: the target has all of it, and has gone on with it`,
      "imported 2 sessions, 0 commits",
      "",
    ]);
  });

  it("detects a file that changes during the import", async () => {
    const { file } = await exported("--target", "done");
    const [block] = await checkLines(file, undefined);
    if (block === undefined) throw new Error("there is one");
    await writeFile(file, "x".repeat(10_000));
    expect(await importBlock(file, block, new MemoryStorage(), undefined)).toMatchObject({ reason: "unreadable" });
  });
});

describe("an export", () => {
  it("leaves out a damaged session, before any of it is written", async () => {
    const { state, ids, root } = await exported();
    const [shelf] = (await readdir(state, { recursive: true })).filter((name) => name.endsWith(`${ids.odd}/2.json`));
    const path = join(state, shelf ?? "");
    await writeFile(path, (await readFile(path, "utf8")).replace("ok", "no").replace("summary", "sumary"));
    const { code, stderr } = await run("export", "--state", state, "--out", join(root, "second"));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`session ${ids.odd} was skipped: `)]);
    expect(stderr).toContain("exported 3 sessions, 10 commits");
    expect(await readFile(join(root, "second"), "utf8")).not.toContain(ids.odd);
  });

  it.each([0, 2])("reports a session that is removed after %i of its commits, and can be imported", async (left) => {
    const { storage, ids, root, other } = await exported();
    let reads = 0;
    const removing = wrapStorage(storage, {
      // The rest of the second read, which writes the lines.
      log: (id, { limit, ...rest } = {}) => {
        const isSecond = id === ids.odd && ++reads === 2;
        return storage.log(id, { ...rest, ...(isSecond ? { limit: left } : limit === undefined ? {} : { limit }) });
      },
    });
    const told: string[] = [];
    let counts = {};
    const lines = exportLines(removing, {
      query: {},
      onRefused: (id, { reason, message }) => told.push(`${id} ${reason} ${message}`),
      onEnd: (all) => {
        counts = all;
      },
    });
    const file = join(root, "removing");
    await writeToFile(lines, file);
    const sessions = left === 0 ? 3 : 4;
    expect(counts).toEqual({ sessions, commits: 10 + left });
    const there = left === 0 ? "" : "; the export has its first 2 commits";
    expect(told).toEqual([`${ids.odd} not_found it was removed during the export${there}`]);
    expect(await run("import", file, "--state", other)).toMatchObject({
      code: 0,
      stdout: `imported ${sessions} sessions, ${10 + left} commits\n`,
    });
  });

  it("reports a session whose newest commit is damaged, which is in no list", async () => {
    const { state, ids, root } = await exported();
    const [newest = ""] = (await readdir(state, { recursive: true })).filter((name) =>
      name.endsWith(`${ids.odd}/4.json`),
    );
    await writeFile(join(state, newest), "");
    const { code, stderr } = await run("export", "--state", state, "--out", join(root, "second"));
    expect(code).toBe(1);
    expect(stderr).toContain(`session ${ids.odd} was skipped: its newest commit can't be read`);
    expect(stderr).toContain("exported 3 sessions, 10 commits");
    const copied = await copySessions(await FileStorage.open(state), new MemoryStorage());
    expect(copied).toMatchObject({
      sessions: 3,
      refused: [{ sessionId: ids.odd, reason: "unreadable" }],
      caughtUp: true,
    });
    const named = await copySessions(await FileStorage.open(state), new MemoryStorage(), { sessionIds: [ids.done] });
    expect(named).toMatchObject({ sessions: 1, refused: [] });
  });

  it("overwrites no file, and leaves no partial file", async () => {
    const { state, file, root } = await exported();
    expect(await run("export", "--state", state, "--out", file)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("already exists, and was not changed"),
    });
    const cut = join(root, "cut");
    const failing = exportLines(new MemoryStorage(), {
      query: {},
      onRefused: () => undefined,
      onEnd: () => {
        throw new Error("the disk is gone");
      },
    });
    await expect(writeToFile(failing, cut)).rejects.toThrow("the disk is gone");
    await expect(stat(cut)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("names files that cannot be read", async () => {
    const root = await temporaryFolder();
    const state = join(root, "state");
    expect(await run("import", join(root, "nothing"), "--state", state)).toMatchObject({ code: 3 });
    expect(await run("import", root, "--state", state)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("is a folder"),
    });
  });
});

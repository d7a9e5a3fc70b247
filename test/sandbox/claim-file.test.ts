import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { claimName, sweepTemporary, temporaryName, whileClaimed } from "../../src/sandbox/replace.js";
import { temporaryFolder } from "./temporary-folder.js";

let file: string;
let claim: string;

beforeEach(async () => {
  file = join(await temporaryFolder(), "tasks.md");
  claim = claimName(file);
  await writeFile(file, "text");
});

const beside = () => readdirSync(dirname(file)).filter((name) => name !== "tasks.md");

it("whileClaimed runs a step with the claim next to the file, and deletes the claim even if the step throws", async () => {
  expect(await whileClaimed(file, beside)).toEqual([".tasks.md.phasegate.claim"]);
  const failing = whileClaimed(file, () => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(beside()).toEqual([]);
});

it("whileClaimed waits until another claim is released", async () => {
  await writeFile(claim, "");
  let looks = 0;
  const letGo = () => {
    looks += 1;
    if (looks === 3) rmSync(claim);
    return true;
  };
  // Both times begin with the call: a process may be older than they are long.
  const age = Math.max(performance.now(), 1000);
  expect(await whileClaimed(file, () => looks, letGo, age, age)).toBe(3);
});

it("whileClaimed stops waiting if the step is no longer wanted, and keeps the other claim", async () => {
  await writeFile(claim, "");
  expect(
    await whileClaimed(
      file,
      () => "done",
      () => false,
    ),
  ).toBeUndefined();
  expect(beside()).toHaveLength(1);
});

it("whileClaimed deletes an old claim, but not a new one in its place", async () => {
  await writeFile(claim, "");
  expect(await whileClaimed(file, () => "done", undefined, 30)).toBe("done");
  let others = 0;
  const renewed = () => {
    others += 1;
    // Another claim at each check: each belongs to a running process.
    rmSync(claim, { force: true });
    if (others < 40) writeFileSync(claim, `${others}`);
    return true;
  };
  await writeFile(claim, "");
  expect(await whileClaimed(file, () => others, renewed, 30)).toBe(40);
  expect(beside()).toEqual([]);
});

it("whileClaimed leaves an old claim to the process that has the right to delete it", async () => {
  await writeFile(claim, "");
  const { ino, mtimeNs } = await stat(claim, { bigint: true });
  const right = temporaryName(file, `${ino.toString(16)}${mtimeNs.toString(16)}`);
  await writeFile(right, "");
  let looks = 0;
  const wanted = () => {
    looks += 1;
    return looks < 20;
  };
  expect(await whileClaimed(file, () => "done", wanted, 0)).toBeUndefined();
  expect(beside()).toHaveLength(2);
  await sweepTemporary(file, Date.now() + 3_600_000);
  expect(await whileClaimed(file, () => "done", undefined, 0)).toBe("done");
});

it("whileClaimed keeps a claim that was replaced by another one, and throws errors of the file system", async () => {
  const exchange = () => {
    rmSync(claim);
    writeFileSync(join(dirname(file), "x"), "");
    writeFileSync(claim, "another's");
  };
  await whileClaimed(file, exchange);
  expect(await readdir(dirname(file))).toContain(".tasks.md.phasegate.claim");
  await expect(whileClaimed(join(file, "none", "x"), exchange)).rejects.toMatchObject({ code: "ENOTDIR" });
  const nowhere = whileClaimed(join(dirname(file), "none", "x"), exchange, undefined, 0, 0);
  await expect(nowhere).rejects.toMatchObject({ code: "ENOENT" });
});

it("whileClaimed uses names within the length limit", async () => {
  const long = join(dirname(file), "🌱".repeat(63));
  await writeFile(long, "text");
  expect(await whileClaimed(long, () => "done")).toBe("done");
});

it.each([
  ["a folder", () => mkdirSync(claim)],
  ["a folder that is not empty", () => mkdirSync(join(claim, "more"), { recursive: true })],
  ["a link to nothing", () => symlinkSync("nowhere", claim)],
  ["a link to a file", () => symlinkSync(file, claim)],
  ["a FIFO", () => execFileSync("mkfifo", [claim])],
])("whileClaimed fails at once for %s under the claim's name, and names it", async (_kind, make) => {
  make();
  for (let call = 0; call < 3; call += 1) {
    await expect(whileClaimed(file, () => "done")).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      message: expect.stringContaining(".tasks.md.phasegate.claim"),
      remedy: expect.stringContaining("Remove"),
    });
  }
  expect(beside()).toEqual([".tasks.md.phasegate.claim"]);
});

it("whileClaimed waits up to a limit for claims that others create all the time", async () => {
  const others = () => {
    rmSync(claim, { force: true });
    writeFileSync(claim, `${performance.now()}`);
    return true;
  };
  others();
  await expect(whileClaimed(file, () => "done", others, 5000, 50)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
});

it("sweepTemporary deletes what is older than a minute", async () => {
  const left = temporaryName(file, "0a1b");
  await writeFile(left, "");
  await utimes(left, 1000, 1000);
  await sweepTemporary(file, 1_060_000);
  expect(beside()).toHaveLength(1);
  await sweepTemporary(file, 1_060_001);
  expect(beside()).toEqual([]);
});

it("whileClaimed deletes an old claim even if an old right to delete it exists", async () => {
  await writeFile(claim, "");
  const { ino, mtimeNs } = await stat(claim, { bigint: true });
  const right = temporaryName(file, `${ino.toString(16)}${mtimeNs.toString(16)}`);
  await writeFile(right, "");
  const before = new Date(Date.now() - 3_600_000);
  await utimes(right, before, before);
  expect(await whileClaimed(file, () => "done", undefined, 0)).toBe("done");
  expect(beside()).toEqual([]);
});

import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLogger, openLogs } from "../../src/cli/log.js";
import { RotatingFile } from "../../src/cli/rotating-file.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

async function logIn(maxBytes: number, kept: number) {
  const folder = join(await temporaryFolder(), "logs");
  const path = join(folder, "main.log");
  const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const open = () => new RotatingFile(path, createLogger("info", terminal), { maxBytes, kept });
  const text = (name = "main.log") => readFileSync(join(folder, name), "utf8");
  const said = () => messagesIn(terminal.stderr);
  return { folder, open, text, said };
}

function messagesIn(stderr: PassThrough): unknown[] {
  const lines = String(stderr.read() ?? "").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line).msg);
}

describe("a log file that rotates", () => {
  it("is renamed when a line does not fit, and the oldest one is deleted", async () => {
    const { folder, open, text } = await logIn(10, 2);
    const file = open();
    for (const line of ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n"]) file.write(line);
    file.close();
    expect((await readdir(folder)).sort()).toEqual(["main.log", "main.log.1", "main.log.2"]);
    expect([text("main.log.2"), text("main.log.1"), text()]).toEqual(["three\n", "four\nfive\n", "six\n"]);
  });

  it("is continued by the next process, from its length in bytes", async () => {
    const { open, text } = await logIn(10, 2);
    const first = open();
    first.write("äöü\n");
    first.close();
    const second = open();
    second.write("abc\n");
    expect(text()).toBe("abc\n");
    expect(text("main.log.1")).toBe("äöü\n");
    second.close();
  });

  it("drops lines while it can't be renamed, closes no other file, and says when this begins and ends", async () => {
    const { folder, open, said } = await logIn(10, 1);
    const file = open();
    file.write("a full file\n");
    mkdirSync(join(folder, "main.log.1"));
    file.write("lost\n");
    expect(said()).toEqual(["the log file can't be written"]);
    const other = openSync(join(folder, "other"), "w");
    file.write("lost\n");
    expect(fstatSync(other).size).toBe(0);
    closeSync(other);
    expect(said()).toEqual([]);
    rmdirSync(join(folder, "main.log.1"));
    file.write("next\n");
    expect(said()).toEqual(["the log file is written again; some lines are missing"]);
    expect(readFileSync(join(folder, "main.log"), "utf8")).toBe("next\n");
    file.close();
  });

  it("does not make whoever logs fail when the disk is full", async ({ skip }) => {
    skip(process.platform !== "linux", "only Linux has /dev/full");
    const folder = await temporaryFolder();
    symlinkSync("/dev/full", join(folder, "main.log"));
    const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const { log, close } = openLogs("info", terminal, { folder, main: "main.log", ai: "ai.log" });
    log.info("one");
    log.info("two");
    expect(messagesIn(terminal.stderr).toSorted()).toEqual(["one", "the log file can't be written", "two"].toSorted());
    close();
  });

  it("is not written through a link to a file", async () => {
    const { folder, open } = await logIn(10, 1);
    mkdirSync(folder);
    writeFileSync(join(folder, "theirs"), "theirs\n");
    for (const target of ["theirs", "not there yet"]) {
      symlinkSync(target, join(folder, "main.log"));
      expect(open).toThrow("main.log is a link, through which nothing is written");
      rmSync(join(folder, "main.log"));
    }
    expect((await readdir(folder)).sort()).toEqual(["theirs"]);
  });

  it("accepts a line that is longer than the limit, and only its owner can read it", async () => {
    const { folder, open, text } = await logIn(10, 1);
    const file = open();
    file.write("a line that is far too long\n");
    file.write("next\n");
    file.close();
    expect(text()).toBe("next\n");
    expect(statSync(join(folder, "main.log")).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });
});

import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RotatingFile } from "../../src/cli/log.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

async function logIn(maxBytes: number, kept: number) {
  const folder = join(await temporaryFolder(), "logs");
  const path = join(folder, "main.log");
  const open = () => new RotatingFile(path, { maxBytes, kept });
  const text = (name = "main.log") => readFileSync(join(folder, name), "utf8");
  return { folder, open, text };
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

  it("closes no other file if it could not be renamed", async () => {
    const { folder, open } = await logIn(10, 1);
    const file = open();
    file.write("a full file\n");
    mkdirSync(join(folder, "main.log.1"));
    expect(() => file.write("next\n")).toThrow("EISDIR");
    const other = openSync(join(folder, "other"), "w");
    expect(() => file.write("next\n")).toThrow("EISDIR");
    expect(fstatSync(other).size).toBe(0);
    closeSync(other);
    rmdirSync(join(folder, "main.log.1"));
    file.write("next\n");
    expect(readFileSync(join(folder, "main.log"), "utf8")).toBe("next\n");
    file.close();
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

import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";

describe("phasegate keygen", () => {
  it("writes the private key for its owner alone, and prints the public one", async () => {
    const out = join(await temporaryFolder(), "ann.pem");
    const { code, stdout } = await run("keygen", "--out", out);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ed25519:[A-Za-z0-9_-]{43}\n$/);
    const text = await readFile(out, "utf8");
    expect(text).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    if (process.platform !== "win32") expect((await stat(out)).mode & 0o777).toBe(0o600);
    const again = await run("keygen", "--out", out);
    expect(again).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("already exists") });
    expect(await readFile(out, "utf8")).toBe(text);
    const below = await run("keygen", "--out", join(out, "below"));
    expect(below).toMatchObject({ code: 3, stderr: expect.stringContaining(`the folder ${out} can't be created`) });
  });

  it("creates a missing folder for its owner alone", async () => {
    const folder = join(await temporaryFolder(), "keys");
    expect((await run("keygen", "--out", join(folder, "ann.pem"))).code).toBe(0);
    expect(await readFile(join(folder, "ann.pem"), "utf8")).toContain("PRIVATE KEY");
    if (process.platform !== "win32") expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const taken = await run("keygen", "--out", folder);
    expect(taken).toMatchObject({ code: 3, stderr: expect.stringContaining("already exists") });
  });

  it.skipIf(process.platform === "win32")("leaves no file without a key if the disk is full", async () => {
    const out = join(await temporaryFolder(), "ann.pem");
    // No file may have a byte.
    const limited = `trap "" XFSZ; ulimit -f 0; exec "${process.execPath}" "${BIN}" keygen --out "${out}"`;
    await expect(promisify(execFile)("sh", ["-c", limited])).rejects.toMatchObject({
      stderr: expect.stringContaining("EFBIG"),
    });
    await expect(stat(out)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

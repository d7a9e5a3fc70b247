import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTokenLogin } from "phasegate/login";
import { describe, expect, it } from "vitest";
import { TokensFile } from "../../src/cli/tokens.js";
import { bearer, refusal } from "../login/issuer.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { howOften } from "../support/how-often.js";
import { runBin } from "./bin.js";
import { run } from "./run-cli.js";

async function aFile(text?: string) {
  const folder = await temporaryFolder();
  const file = join(folder, "tokens.json");
  if (text !== undefined) await writeFile(file, text);
  const tokens = (...args: string[]) => run("tokens", ...args, "--tokens", file);
  return { folder, file, tokens, text: () => readFile(file, "utf8") };
}

const fail = (error: unknown) => expect.fail(String(error));

describe("phasegate tokens", () => {
  it("prints a token once, whose owner is then let in, lists it without its secret, and revokes it", async () => {
    const { file, tokens, text } = await aFile();
    const added = await tokens(
      "add",
      "ann",
      "--role",
      "viewer",
      "--role",
      "approver",
      "--team",
      "web",
      "--expires",
      "90d",
    );
    const [token = "", ...rest] = added.stdout.split("\n");
    expect(rest).toEqual([""]);
    const id = token.slice(4, 20);
    expect(added.stderr).toMatch(
      new RegExp(`^ann  ${id}  viewer, approver  team web  since .*Z  until .*Z\\. It is not shown again\\.\n$`),
    );
    expect(await text()).not.toContain(token.slice(21));
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const login = createTokenLogin({ read: () => new TokensFile(file).current(fail) });
    expect(await login.authenticate(bearer(token))).toEqual({
      name: "ann",
      roles: ["viewer", "approver"],
      team: "web",
    });

    expect((await tokens("list")).stdout).toMatch(new RegExp(`^ann  ${id}  viewer, approver  team web .*Z\n$`));
    const listed = await tokens("list", "--json");
    const [entry] = JSON.parse(listed.stdout).tokens;
    expect(entry).toMatchObject({ id, name: "ann", roles: ["viewer", "approver"], team: "web", state: "valid" });
    expect(Date.parse(entry.expires) - Date.parse(entry.created)).toBeCloseTo(90 * 86_400_000, -4);
    expect(Object.keys(entry)).not.toContain("hash");
    expect(listed.stdout).not.toContain(JSON.parse(await text()).tokens[0].salt);

    expect((await tokens("revoke", "ann")).stdout).toBe("Revoked 1 token of ann.\n");
    expect(refusal(await login.authenticate(bearer(token))).status).toBe(401);
    expect((await tokens("revoke", "ann")).stdout).toBe("Revoked 0 tokens of ann.\n");
    expect((await tokens("list")).stdout).toMatch(/ revoked .*Z\n$/);
    expect(await tokens("revoke", "bob")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("bob has no token"),
    });
  });

  it("revokes one token of an actor by its id, and leaves the others", async () => {
    const { file, tokens } = await aFile();
    const [one, two] = [await tokens("add", "ann", "--role", "agent"), await tokens("add", "ann", "--role", "agent")];
    expect((await tokens("revoke", one.stdout.slice(4, 20))).stdout).toMatch(/^Revoked 1 token of [0-9a-f]{16}\.\n$/);
    const login = createTokenLogin({ read: () => new TokensFile(file).current(fail) });
    expect(refusal(await login.authenticate(bearer(one.stdout.trim()))).status).toBe(401);
    expect(await login.authenticate(bearer(two.stdout.trim()))).toEqual({ name: "ann", roles: ["agent"] });
    expect((await tokens("revoke", "ann")).stdout).toBe("Revoked 1 token of ann.\n");
  });

  it("keeps the file for its owner, and a link a link", async () => {
    const { folder, file, tokens } = await aFile('{"tokens": []}');
    expect((await tokens("list")).stdout).toBe("No tokens.\n");
    await chmod(file, 0o644);
    const link = join(folder, "link.json");
    await symlink(file, link);
    expect(await run("tokens", "add", "ann", "--role", "agent", "--tokens", link)).toMatchObject({ code: 0 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(new TokensFile(file).list()).toMatchObject([{ name: "ann" }]);
    expect((await readdir(folder)).sort()).toEqual(["link.json", "tokens.json"]);
  });

  it("loses nothing when several processes write at once", async () => {
    const { file } = await aFile();
    const names = ["a", "b", "c", "d", "e", "f"].slice(0, howOften(4, 6));
    const [some, others] = [names.slice(0, 2), names.slice(2)];
    const all = await Promise.all(
      names.map((name) => runBin(["tokens", "add", name, "--role", "agent", "--tokens", file])),
    );
    const login = createTokenLogin({ read: () => new TokensFile(file).current(fail) });
    const found = await Promise.all(all.map(({ stdout }) => login.authenticate(bearer(stdout.trim()))));
    expect(found).toEqual(names.map((name) => ({ name, roles: ["agent"] })));
    await Promise.all([
      ...some.map((name) => runBin(["tokens", "revoke", name, "--tokens", file])),
      ...others.map((name) => runBin(["tokens", "add", name, "--role", "viewer", "--tokens", file])),
    ]);
    const left = new TokensFile(file).list();
    expect(left).toHaveLength(names.length + others.length);
    expect(left.flatMap(({ name, revoked }) => (revoked === undefined ? [] : [name])).sort()).toEqual(some);
  });

  it("explains what is wrong, and changes no file that is not one of tokens", async () => {
    const { tokens, text, file } = await aFile('{"tokens": [{}]}');
    for (const args of [["list"], ["add", "ann", "--role", "agent"], ["revoke", "ann"]]) {
      const failed = await tokens(...args);
      expect(failed).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("tokens.json is wrong at tokens[0].id"),
      });
    }
    expect(await text()).toBe('{"tokens": [{}]}');
    for (const args of [
      ...[["ann"], ["ann", "--role", "admin"], ["", "--role", "agent"], ["https://a#ann", "--role", "agent"]],
      ...[
        ["ann", "--role", "agent", "--expires", "0d"],
        ["ann", "--role", "agent", "--expires", "soon"],
      ],
      ...[["ann", "--role", "agent", "--team", " "]],
    ]) {
      expect(await tokens("add", ...args), args.join(" ")).toMatchObject({ code: 2, stdout: "" });
    }
    const nowhere = join(`${file}.none`, "tokens.json");
    const unwritable = await run("tokens", "add", "ann", "--role", "agent", "--tokens", nowhere);
    expect(unwritable).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("can't be written") });
    expect(await run("tokens", "list", "--tokens", nowhere)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("the tokens file can't be read"),
    });
  });
});

describe("a running server", () => {
  it("keeps its tokens if their file can't be read any more, and reports it once", async () => {
    const { file, tokens, text } = await aFile();
    const { stdout } = await tokens("add", "ann", "--role", "agent");
    const reported: string[] = [];
    const kept = new TokensFile(file);
    const login = createTokenLogin({ read: () => kept.current((error) => void reported.push(String(error))) });
    const isIn = async () => !((await login.authenticate(bearer(stdout.trim()))) instanceof Response);
    expect(await isIn()).toBe(true);
    const before = await text();
    await writeFile(file, before.slice(0, -20));
    expect([await isIn(), await isIn()]).toEqual([true, true]);
    expect(reported).toEqual([expect.stringContaining("tokens.json is not JSON")]);
    await writeFile(file, before);
    await tokens("revoke", "ann");
    expect(await isIn()).toBe(false);
    expect(reported).toHaveLength(1);
  });

  it("keeps its tokens while their file can't even be looked at", async () => {
    const { file, tokens, text } = await aFile();
    await tokens("add", "ann", "--role", "agent");
    const before = await text();
    const reported: string[] = [];
    const kept = new TokensFile(file);
    const current = () => kept.current((error) => void reported.push(String(error)));
    current();
    await rm(file);
    await symlink(file, file);
    expect([current(), current()]).toEqual([before, before]);
    expect(reported).toEqual([expect.stringContaining("the tokens file can't be read")]);
    await rm(file);
    await writeFile(file, before.trimEnd());
    expect(current()).toBe(before.trimEnd());
    expect(reported).toHaveLength(1);
  });

  it("does not start with a file that can't be read", async () => {
    const { file } = await aFile();
    expect(() => new TokensFile(file).current(fail)).toThrow("the tokens file can't be read");
    await writeFile(file, "{}");
    expect(() => new TokensFile(file).current(fail)).toThrow("is wrong at tokens");
  });
});

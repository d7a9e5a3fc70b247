import { chmod, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { keyIdOf } from "../../src/approval/keys.js";
import { ApproversFile } from "../../src/cli/approvers.js";
import { readCurrentTrust } from "../../src/cli/trust.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { makeAsking } from "../support/approvals.js";
import { Authenticator } from "../support/authenticator.js";
import { failure } from "../support/failure.js";
import { howOften } from "../support/how-often.js";
import { runBin } from "./bin.js";
import { run } from "./run-cli.js";
import { waitingSession } from "./waiting-session.js";

const KEY = `ed25519:${"A".repeat(43)}`;

async function aFile(text?: string) {
  const folder = await temporaryFolder();
  const file = join(folder, "approvers.json");
  if (text !== undefined) await writeFile(file, text);
  const approvers = (...args: string[]) => run("approvers", ...args, "--approvers", file);
  return { folder, file, approvers, text: () => readFile(file, "utf8") };
}

/** Returns the secret in the output of `phasegate approvers invite`. */
function secretIn(stdout: string): string {
  const [, secret = ""] = /#invite=([A-Za-z0-9_-]{43})\n/.exec(stdout) ?? [];
  return secret;
}

describe("phasegate approvers", () => {
  it("invites a person, whose passkey is then in the file, and lists and removes it", async () => {
    const { file, approvers, text } = await aFile();
    const invited = await approvers("invite", "ann", "--url", "https://gates.example.com/in/");
    expect(invited.stdout).toMatch(
      /^https:\/\/gates\.example\.com\/in\/#invite=[\w-]{43}\nIt registers one passkey for ann, until .*Z\.\n$/,
    );
    expect(await text()).toBe("{}\n");
    expect((await approvers("list")).stdout).toMatch(/^ann {2}invited until /);
    const device = await Authenticator.make();
    await new ApproversFile(file).accept(secretIn(invited.stdout), device.passkey());
    const id = keyIdOf(device.passkey());
    expect((await approvers("list")).stdout).toBe(`ann  passkey  ${id}  for gates.example.com\n`);
    expect(JSON.parse((await approvers("list", "--json")).stdout)).toEqual({
      approvers: [{ name: "ann", keys: [{ kind: "passkey", id, rpId: "gates.example.com" }] }],
      invitations: [],
    });
    expect((await approvers("remove", "ann")).stdout).toBe("Removed 1 key and 0 invitations of ann.\n");
    expect(JSON.parse(await text())).toEqual({});
    expect(await approvers("remove", "ann")).toMatchObject({ code: 1 });
    expect((await approvers("list")).stdout).toBe("No approvers, and no open invitations.\n");
  });

  it("adds a key to those that a person has, and removes one of them", async () => {
    const { file, approvers, text } = await aFile(JSON.stringify({ ann: KEY }));
    const devices = [await Authenticator.make(), await Authenticator.make("Ed25519")];
    for (const device of devices) {
      const { stdout } = await approvers("invite", "ann");
      expect(stdout).toMatch(/^#invite=/);
      await new ApproversFile(file).accept(secretIn(stdout), device.passkey());
    }
    const ids = devices.map((device) => keyIdOf(device.passkey()));
    expect(JSON.parse(await text()).ann).toHaveLength(3);
    expect(await approvers("remove", "ann", "--key", "0")).toMatchObject({ code: 1 });
    for (const id of ids) await approvers("remove", "ann", "--key", id);
    expect(JSON.parse(await text())).toEqual({ ann: KEY });
  });

  it("keeps the rest of the file as it is: order, indentation, mode, and a link", async () => {
    const before = `{\n\t"zoe": "${KEY}",\n\n\t"ann": "${KEY}"\n}\n`;
    const { folder, file, text } = await aFile(before);
    await chmod(file, 0o640);
    const link = join(folder, "link.json");
    await symlink(file, link);
    const { stdout } = await run("approvers", "invite", "bob", "--approvers", link);
    await new ApproversFile(link).accept(secretIn(stdout), (await Authenticator.make()).passkey());
    expect(await text()).toMatch(new RegExp(`^${before.slice(0, -3).replaceAll("[", "\\[")},\n\t"bob": \\{`));
    expect(Object.keys(JSON.parse(await text()))).toEqual(["zoe", "ann", "bob"]);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect((await stat(`${file}.invitations`)).mode & 0o777).toBe(0o600);
    expect(await new ApproversFile(link).remove("bob")).toEqual({ keys: 1, invitations: 0 });
    expect(await text()).toBe(before);
    expect((await readdir(folder)).sort()).toEqual(["approvers.json", "approvers.json.invitations", "link.json"]);
  });

  it("changes no file in which a name is there twice, or that is none", async () => {
    const twice = `{"ann": "${KEY}", "ann": "${KEY}"}`;
    const { file, approvers, text } = await aFile(twice);
    const { stdout } = await approvers("invite", "ann");
    const device = await Authenticator.make();
    await expect(new ApproversFile(file).accept(secretIn(stdout), device.passkey())).rejects.toThrow("there twice");
    expect(await text()).toBe(twice);
    expect(await new ApproversFile(file).find(secretIn(stdout))).toMatchObject({ state: "open" });
    for (const other of ["[]", "{", '{"ann": {"kind": "passkey"}}']) {
      await writeFile(file, other);
      expect(await approvers("invite", "bob"), other).toMatchObject({ code: 2 });
      expect(await text()).toBe(other);
    }
    await writeFile(file, "{}");
    await writeFile(`${file}.invitations`, "{}");
    const broken = await approvers("list");
    expect(broken).toMatchObject({ code: 3, stderr: expect.stringContaining("is not a file of invitations") });
  });

  it("loses nothing when several processes write at once", async () => {
    const { file, approvers } = await aFile("{}");
    const names = ["a", "b", "c", "d", "e", "f"].slice(0, howOften(3, 6));
    const invite = (name: string) => runBin(["approvers", "invite", name, "--approvers", file]);
    const invited = await Promise.all(names.map(invite));
    const accept = async ({ stdout }: { stdout: string }) =>
      new ApproversFile(file).accept(secretIn(stdout), (await Authenticator.make()).passkey());
    await Promise.all([...invited.map(accept), ...names.map((name) => invite(`${name}2`))]);
    const { approvers: people, invitations } = JSON.parse((await approvers("list", "--json")).stdout);
    expect(people.map(({ name }: { name: string }) => name).sort()).toEqual(names);
    expect(invitations.map(({ name }: { name: string }) => name).sort()).toEqual(names.map((name) => `${name}2`));
  });

  it("takes a file that is not there for a mistake, except to invite the first person", async () => {
    const file = join(await temporaryFolder(), "approvers.json");
    for (const args of [["list"], ["remove", "ann"]]) {
      const refused = await run("approvers", ...args, "--approvers", file);
      expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("can't be read") });
    }
    expect((await run("approvers", "invite", "ann", "--approvers", file)).code).toBe(0);
  });

  it("explains wrong names, addresses and times", async () => {
    const { approvers, file } = await aFile();
    expect(await approvers("invite", " ")).toMatchObject({ code: 2 });
    expect(await approvers("invite", "x".repeat(201))).toMatchObject({ code: 2 });
    for (const url of [
      "http://gates.example.com",
      "https://127.0.0.1",
      "https://[::1]",
      "https://a.example/?x=1",
      "gates",
    ]) {
      const refused = await approvers("invite", "ann", "--url", url);
      expect(refused, url).toMatchObject({ code: 2, stderr: expect.stringContaining("https://gates.example.com") });
    }
    expect((await approvers("invite", "ann", "--url", "http://localhost:4000")).stdout).toMatch(
      /^http:\/\/localhost:4000\/#invite=/,
    );
    for (const expires of ["0s", "31d", "soon"]) {
      expect(await approvers("invite", "ann", "--expires", expires), expires).toMatchObject({ code: 2 });
    }
    const nowhere = await run("approvers", "invite", "ann", "--approvers", join(`${file}.none`, "approvers.json"));
    expect(nowhere).toMatchObject({ code: 3, stderr: expect.stringContaining("can't be written") });
  });
});

describe("a running server", () => {
  it("accepts an approver who was added, and no longer one who was removed, without a restart", async () => {
    const { file } = await aFile("{}");
    const trust = await readCurrentTrust({ approvers: file }, (error) => expect.fail(String(error)));
    const made = await makeAsking(trust);
    const { engine } = made;
    const { sessionId, question } = await made.waiting();
    const device = await Authenticator.make();
    const sign = () => device.sign(question, { decision: "approve", by: "ann" });
    const word = async () => ({ by: "ann", evidenceHash: question.evidenceHash, signature: await sign() });
    expect(await failure(engine.session(sessionId).approve(await word()))).toMatchObject({
      details: { reason: "unknown_approver" },
    });
    const approvers = new ApproversFile(file);
    const { secret } = await approvers.invite("ann", 60_000);
    await approvers.accept(secret, device.passkey());
    expect(await engine.session(sessionId).approve(await word())).toMatchObject({ passed: true, authenticated: true });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
    const { secret: bobs } = await approvers.invite("bob", 60_000);
    await approvers.accept(bobs, (await Authenticator.make()).passkey());
    await approvers.remove("ann");
    expect(await failure(engine.session(sessionId).phase())).toMatchObject({ details: { reason: "unknown_approver" } });
    expect((await engine.session(sessionId).state()).head.phase).toBe(1);
  });

  it("keeps its approvers if their file can't be read any more, and reports it once", async () => {
    const { file } = await aFile(JSON.stringify({ ann: KEY }));
    const reported: string[] = [];
    const { approvers } = await readCurrentTrust(
      { approvers: file, approver: { bob: KEY } },
      (error) => void reported.push(String(error)),
    );
    expect(approvers()).toEqual({ ann: KEY, bob: KEY });
    expect(approvers()).toBe(approvers());
    await writeFile(file, '{"ann": ');
    expect(approvers()).toEqual({ ann: KEY, bob: KEY });
    expect(approvers()).toEqual({ ann: KEY, bob: KEY });
    expect(reported).toEqual([expect.stringContaining("is not a file of approvers")]);
    await writeFile(file, JSON.stringify({ eve: KEY }));
    expect(approvers()).toEqual({ eve: KEY, bob: KEY });
    expect(reported).toHaveLength(1);
  });

  it("does not start with approvers that can't be read", async () => {
    const { file } = await aFile();
    await expect(readCurrentTrust({ approvers: file }, () => {})).rejects.toThrow("can't be read");
    await writeFile(file, '{"ann": {"kind": "passkey"}}');
    await expect(readCurrentTrust({ approvers: file }, () => {})).rejects.toThrow("is a passkey with a wrong");
    await expect(readCurrentTrust({ approver: { ann: "x" } }, () => {})).rejects.toThrow("no Ed25519 public key");
  });
});

describe("an approval by passkey", () => {
  it("is shown and checked at a terminal, also after export and import, with a warning for a copied passkey", async () => {
    const made = await waitingSession();
    const { root, state, sessionId, approvers } = made;
    const device = await Authenticator.make();
    await writeFile(approvers, JSON.stringify({ ann: device.passkey() }));
    const { approvers: current } = await readCurrentTrust({ approvers }, () => {});
    const { engine } = await makeAskingOn(state, current);
    const approve = async (counter: number) => {
      const question = await engine.session(sessionId).approval();
      if (question === undefined) throw new Error("nothing waits");
      const signature = await device.sign(question, { decision: "approve", by: "ann" }, { counter });
      await engine.session(sessionId).approve({ by: "ann", evidenceHash: question.evidenceHash, signature });
    };
    await approve(7);
    await engine.session(sessionId).completePhase(2, { tests_pass: true });
    await approve(3);
    const other = join(root, "other");
    const file = join(root, "sessions.jsonl");
    expect(await run("export", "--state", state, "--out", file)).toMatchObject({ code: 0 });
    expect(await run("import", file, "--state", other)).toMatchObject({ code: 0 });
    for (const where of [state, other]) {
      const { code, stdout } = await run("audit", sessionId, "--state", where, "--approvers", approvers);
      expect(stdout).toMatch(/phase 1 approved by ann, .*: signed with a passkey, accepted\n/);
      expect(stdout).toMatch(
        /\nwarning: the counter of a passkey of ann \([0-9a-f]{32}\) did not go up: 3 in commit 5, 7 in commit 3\. /,
      );
      expect(code).toBe(0);
      const shown = await run("show", sessionId, "--state", where, "--approvers", approvers);
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("approved by ann") });
    }
    await writeFile(approvers, JSON.stringify({ ann: (await Authenticator.make()).passkey() }));
    const foreign = await run("audit", sessionId, "--state", state, "--approvers", approvers);
    expect(foreign).toMatchObject({ code: 1, stdout: expect.stringContaining("NOT accepted: signature") });
  });
});

async function makeAskingOn(state: string, approvers: Awaited<ReturnType<typeof readCurrentTrust>>["approvers"]) {
  return makeAsking({ storage: await FileStorage.open(state), approvers });
}

/** A person who has never approved anything copies the commands that inbox, show and the refusals print, one after the other. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { userName } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { stubHome } from "./own-home.js";
import { answering, atTerminal, run } from "./run-cli.js";
import { waitingSession } from "./waiting-session.js";

beforeEach(() => {
  for (const name of ["PHASEGATE_STATE", "PHASEGATE_APPROVERS", "PHASEGATE_HASH_KEY_FILE"]) vi.stubEnv(name, undefined);
  return () => vi.unstubAllEnvs();
});

/** Enters a project without an approver, as a user with a home of their own, in which a session waits for an approval. */
async function newProject(files: Record<string, string> = {}) {
  const [home, root] = [await stubHome(), await temporaryFolder()];
  const before = process.cwd();
  process.chdir(root);
  onTestFinished(() => process.chdir(before));
  const storage = await FileStorage.open(join(root, ".phasegate"));
  const content = new MemoryContent({ sources: { asking: { ...askingFiles, ...files } } });
  /** The server: it knows the approvers of the file, if it is given one. */
  const serve = async () => {
    const approvers = JSON.parse(await readFile(join(home, ".keys/approvers.json"), "utf8").catch(() => "{}"));
    const engine = createEngine({ storage, content, approvers });
    onTestFinished(() => engine.close());
    return engine;
  };
  const { sessionId } = await (await serve()).start({ workflowType: "asking", target: "src/a.ts" });
  await (await serve()).session(sessionId).completePhase(1, { tests_pass: true });
  /** Runs what is printed as a shell does, at a terminal where a person says yes. */
  const paste = (line: string) =>
    answering(
      wordsOf(line).map((word) => word.replace(/^~/, home)),
      ["y"],
    );
  return { home, serve, sessionId, paste, short: sessionId.slice(-8) };
}

function wordsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^phasegate /, "")
    .split(" ");
}

function commandsIn(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) =>
      /^\s+(?:\w+\s+)?phasegate (?:keygen|approvers|approve|waive|deny) /.test(line)
        ? [line.slice(line.indexOf("phasegate "))]
        : [],
    );
}

const ANYBODY = {
  "phases/1/gate-definition.yaml": "evidence_schema: {tests_pass: {type: boolean}}\napproval: {prompt: May it go?}\n",
};

describe("the commands that are printed for somebody without a key", () => {
  it.each(["inbox", "show", "approve"])(
    "work as %s prints them, in their order, and the server accepts the answer",
    async (command) => {
      const { home, serve, sessionId, paste, short } = await newProject();
      const { stdout, stderr } = await atTerminal(
        80,
        command,
        ...(command === "inbox" ? [] : [short]),
        "--state",
        ".phasegate",
      );
      const text = command === "approve" ? stderr : stdout;
      const commands = commandsIn(text).filter((line) => !line.startsWith("phasegate deny"));
      expect(commands).toEqual([
        "phasegate keygen --out ~/.keys/ann.pem",
        "phasegate approvers add ann --key ~/.keys/ann.pem --approvers ~/.keys/approvers.json",
        `phasegate approve ${short} --state .phasegate --approvers ~/.keys/approvers.json --key ~/.keys/ann.pem`,
      ]);
      expect(text.replace(/\s+/g, " ")).toContain(
        `The server accepts the answer if it is started with the same approvers: --approvers ${join(home, ".keys/approvers.json")}`,
      );
      for (const line of commands) expect(await paste(line)).toMatchObject({ code: 0 });
      const state = await (await serve()).session(sessionId).state();
      expect(state).toMatchObject({ completedPhases: [1] });
      expect(state.unapproved).toBeUndefined();
    },
  );

  it("name the user of the machine where the gate names nobody", async () => {
    const { paste } = await newProject(ANYBODY);
    const commands = commandsIn((await atTerminal(80, "inbox", "--state", ".phasegate")).stdout);
    expect(commands[1]).toContain(`phasegate approvers add ${userName()} --key ~/.keys/${userName()}.pem `);
    for (const line of commands) expect(await paste(line)).toMatchObject({ code: 0 });
    expect((await run("inbox", "--state", ".phasegate")).stdout).toBe("nothing waits for a person\n");
  });

  it("name somebody who has no key yet, of those whom the gate names", async () => {
    const { home, paste } = await newProject();
    await mkdir(join(home, ".keys"));
    await writeFile(join(home, ".keys/approvers.json"), JSON.stringify({ ann: `ed25519:${"A".repeat(43)}` }));
    const [keygen = "", add = "", ...answers] = commandsIn((await run("inbox", "--state", ".phasegate")).stdout);
    expect(keygen).toBe("phasegate keygen --out ~/.keys/bob.pem");
    await paste(keygen);
    const lines = commandsIn((await run("inbox", "--state", ".phasegate")).stdout);
    expect(lines[0]).toBe(add);
    expect(lines).toHaveLength(1 + answers.length);
  });

  it("are not printed to a person with a key, who gets the one that works", async () => {
    const { sessionId, paste, short } = await newProject();
    for (const line of commandsIn((await run("inbox", "--state", ".phasegate")).stdout).slice(0, 2)) await paste(line);
    const expected = `phasegate approve ${short} --state .phasegate --approvers ~/.keys/approvers.json --key ~/.keys/ann.pem`;
    expect(commandsIn((await atTerminal(80, "inbox", "--state", ".phasegate")).stdout)).toEqual([expected]);
    const shown = (await atTerminal(80, "show", short, "--state", ".phasegate")).stdout;
    expect(shown).not.toMatch(/keygen|approvers add/);
    expect(commandsIn(shown)[0]).toBe(expected);
    const refused = await atTerminal(80, "approve", short, "--state", ".phasegate");
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("hint: Run this command:\n") });
    expect(commandsIn(refused.stderr)).toEqual([expected]);
    const [item] = JSON.parse((await run("inbox", "--state", ".phasegate", "--json")).stdout).items;
    expect(item.answer).toBe(expected.replace(short, sessionId));
    expect(item).not.toHaveProperty("first");
  });

  it("let a session be retried that has failed behind an approval", async () => {
    const { serve, sessionId, paste } = await newProject();
    const asked = commandsIn((await run("show", sessionId, "--state", ".phasegate")).stdout);
    for (const line of asked.filter((one) => !one.startsWith("phasegate deny"))) await paste(line);
    const session = (await serve()).session(sessionId);
    for (let time = 0; time < 3; time += 1) await session.completePhase(2, { tests_pass: "no" });
    const { stdout } = await run("show", sessionId, "--state", ".phasegate");
    const [, retry = ""] = /(phasegate retry .*)/.exec(stdout) ?? [];
    expect(retry).toContain("--approvers ~/.keys/approvers.json");
    expect(await paste(retry)).toMatchObject({ code: 0, text: expect.stringContaining("may be tried again") });
  });

  it("say what is missing to a key that is nobody's, or is not there", async () => {
    const { home, sessionId, paste } = await newProject();
    const key = join(home, "mine.pem");
    const absent = await run("approve", sessionId, "--state", ".phasegate", "--key", key);
    expect(absent).toMatchObject({ code: 3, stderr: expect.stringContaining(`there is no private key in ${key}`) });
    expect(commandsIn(absent.stderr)).toEqual([
      `phasegate keygen --out ${key}`,
      `phasegate approvers add ann --key ${key} --approvers ~/.keys/approvers.json`,
      `phasegate approve ${sessionId} --state .phasegate --approvers ~/.keys/approvers.json --key ${key}`,
    ]);
    await paste(`phasegate keygen --out ${key}`);
    const unknown = await run("approve", sessionId, "--state", ".phasegate", "--key", key);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("not one of the approvers' keys") });
    const commands = commandsIn(unknown.stderr);
    expect(commands).toEqual(commandsIn(absent.stderr).slice(1));
    for (const line of commands) expect(await paste(line)).toMatchObject({ code: 0 });
  });

  it("are of a file that can't be used, which the command for it explains", async () => {
    const { home, paste } = await newProject();
    await mkdir(join(home, ".keys"));
    await writeFile(join(home, ".keys", "ann.pem"), "no key", { mode: 0o600 });
    await writeFile(join(home, ".keys/approvers.json"), "[]");
    const [add = ""] = commandsIn((await run("inbox", "--state", ".phasegate")).stdout);
    expect(add).toMatch(/^phasegate approvers add ann --key/);
    expect(await paste(add)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not an Ed25519 private key"),
    });
  });

  it("never lead out of the folder of keys by a name that a gate's author has chosen", async () => {
    const { paste, home } = await newProject({
      "phases/1/gate-definition.yaml":
        "evidence_schema: {tests_pass: {type: boolean}}\napproval: {prompt: May it go?, approvers: [../../etc/x]}\n",
    });
    const [keygen = ""] = commandsIn((await run("inbox", "--state", ".phasegate")).stdout);
    expect(keygen).toBe("phasegate keygen --out ~/.keys/.._.._etc_x.pem");
    expect(await paste(keygen)).toMatchObject({ code: 0 });
    expect(await readFile(join(home, ".keys", ".._.._etc_x.pem"), "utf8")).toContain("PRIVATE KEY");
  });
});

it("a waiver without approvers is granted by name, which the command has", async () => {
  const { serve, paste } = await newProject(ANYBODY);
  const { sessionId } = await (await serve()).start({ workflowType: "asking", target: "src/b.ts" });
  await (await serve()).session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner" });
  const { stdout } = await run("show", sessionId, "--state", ".phasegate");
  const waive = `phasegate waive ${sessionId} --state .phasegate --by ${userName()}`;
  expect(commandsIn(stdout)).toEqual([waive, waive.replace("waive", "deny")]);
  const refused = await run("waive", sessionId, "--state", ".phasegate");
  expect([refused.code, commandsIn(refused.stderr)]).toEqual([2, [waive]]);
  expect(await paste(waive)).toMatchObject({ code: 0 });
});

describe("phasegate approvers add", () => {
  it("adds the key of a file or a public key, once, beside those that are there", async () => {
    const { approvers: file, keyFile, keys } = await waitingSession();
    const add = (...args: string[]) => run("approvers", "add", ...args, "--approvers", file);
    expect(await add("eve", "--key", await keyFile("eve"))).toMatchObject({
      code: 0,
      stdout: `Added a key of eve. A server with --approvers ${file} accepts it from now on.\n`,
    });
    const again = { code: 0, stdout: "This key of eve is there already.\n" };
    expect(await add("eve", "--public-key", keys.eve.publicKey)).toMatchObject(again);
    const other = `ed25519:${"A".repeat(43)}`;
    expect(await add("eve", "--public-key", other)).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
      ann: keys.ann.publicKey,
      bob: keys.bob.publicKey,
      eve: [keys.eve.publicKey, other],
    });
  });

  it("refuses a key of somebody else, a wrong key, and none", async () => {
    const { approvers: file, keys } = await waitingSession();
    const add = (...args: string[]) => run("approvers", "add", ...args, "--approvers", file);
    const before = await readFile(file, "utf8");
    const taken = await add("eve", "--public-key", keys.ann.publicKey);
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("this key is one of ann") });
    expect(await add("eve", "--public-key", "ed25519:short")).toMatchObject({ code: 2 });
    expect(await add("eve")).toMatchObject({ code: 2, stderr: expect.stringContaining("no key is given") });
    expect(await readFile(file, "utf8")).toBe(before);
  });
});

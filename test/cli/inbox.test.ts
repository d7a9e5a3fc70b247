import { readdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { widthOf } from "../../src/cli/layout.js";
import { userName } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { stubHome } from "./own-home.js";
import { atTerminal, run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";
import { waitingSession } from "./waiting-session.js";

beforeEach(async () => {
  await stubHome();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function allKinds() {
  const state = await temporaryFolder();
  const made = await sessionsOfAllKinds(state);
  onTestFinished(made.close);
  return { ...made, state };
}

describe("phasegate inbox", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-04T07:20:00.000Z") }));
  afterEach(() => void vi.useRealTimers());

  it("lists what waits for a person, the oldest first, each with its answer", async () => {
    const { state, ids } = await allKinds();
    const { code, stdout } = await run("inbox", "--state", state);
    expect(code).toBe(0);
    const key = (name: string) => `--key ~/.keys/${name}.pem`;
    const approver = "--approvers ~/.keys/approvers.json";
    const firstFor = (name: string) => [
      `|phasegate keygen --out ~/.keys/${name}.pem`,
      `|phasegate approvers add ${name} ${key(name)} ${approver}`,
    ];
    const user = userName();
    expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, "|"))).toEqual([
      "Once, make a key, and add it to the approvers:",
      ...firstFor(user),
      "If you are ann, once:",
      ...firstFor("ann"),
      `|The server accepts the answer if it is started with the same approvers: --approvers ${join(homedir(), ".keys/approvers.json")}`,
      "",
      "ASKED|WAITS FOR|PHASE|TARGET|QUESTION|ANSWER",
      `2026-03-04 05:09:07Z|approval|1 Plan|文档/支付网关设计说明书.md|Is this plan good enough to build on it for a whole month, with all of its risks?|phasegate approve ${ids.approval} --state ${state} ${approver} ${key(user)}`,
      `2026-03-04 05:10:07Z|waiver|2 Build and measure|src/legacy.c|no tool for this language|phasegate waive ${ids.waiver} --state ${state} --by ${user}`,
      `2026-03-04 05:14:07Z|approval by ann|Dig|GARDEN|Deep enough?|phasegate approve id-8 --state ${state} ${approver} ${key("ann")}`,
      "",
    ]);
    const json = JSON.parse((await run("inbox", "--state", state, "--json")).stdout);
    expect(json).toMatchObject({
      count: 3,
      items: [
        { what: "approval", sessionId: ids.approval, askedAt: "2026-03-04T05:09:07.000Z" },
        { what: "waiver", answer: `phasegate waive ${ids.waiver} --state ${state} --by ${user}` },
        { kind: "routed", approvers: ["ann"], first: firstFor("ann").map((line) => line.slice(1)) },
      ],
    });
  });

  it("fits the width of a terminal; an answer is never cut", async () => {
    const { state, ids } = await allKinds();
    vi.stubEnv("PHASEGATE_STATE", state);
    vi.stubEnv("PHASEGATE_APPROVERS", undefined);
    const table = (text: string) => text.slice(text.indexOf("ASKED")).split("\n");
    const narrow = table((await atTerminal(80, "inbox")).stdout);
    expect(narrow[0]).toMatch(/^ASKED +WAITS FOR +PHASE +TARGET +QUESTION$/);
    expect(narrow[1]).toMatch(/^2h ago +approval +1 Plan +文档…/);
    expect(narrow[4]).toBe(`  phasegate waive ${ids.waiver.slice(-8)} --by ${userName()}`);
    for (const line of narrow.filter((text) => !text.startsWith("  "))) expect(widthOf(line)).toBeLessThanOrEqual(80);
    const wide = table((await atTerminal(200, "inbox")).stdout);
    expect(wide[2]).toMatch(
      new RegExp(`no tool for this language +phasegate waive ${ids.waiver.slice(-8)} --by ${userName()}$`),
    );
    expect(wide).toHaveLength(5);
  });

  it("says that nothing waits", async () => {
    const { state, engine, ids } = await allKinds();
    await engine.session(ids.approval).pause();
    await engine.session(ids.waiver).delete({ by: "me" });
    await run("suspend", ids.garden, "--state", state, "--by", "me");
    expect(await run("inbox", "--state", state)).toMatchObject({ code: 0, stdout: "nothing waits for a person\n" });
  });
});

it("names sessions that can't be shown: they may wait, too", async () => {
  const { state, sessionId, evidenceHash, keyFile, keys, approvers, engine } = await waitingSession();
  const other = await engine.start({ workflowType: "asking", target: "src/b.ts" });
  await engine.session(other.sessionId).completePhase(1, { tests_pass: true });
  const files = await readdir(state, { recursive: true });
  for (const name of files.filter((one) => one.includes(other.sessionId) && /\d\.json$/.test(one))) {
    const file = join(state, name);
    await writeFile(file, (await readFile(file, "utf8")).replaceAll("tests_pass", "tests_pazz"));
  }
  const { code, stdout } = await run("inbox", "--state", state);
  expect([code, stdout]).toEqual([1, expect.stringContaining("approval by ann or bob")]);
  expect(stdout).toContain("\n\n1 session can't be shown:\n");
  expect(stdout).toContain(`  ${other.sessionId}: `);
  const json = await run("inbox", "--state", state, "--json");
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ count: 1, items: [{ sessionId }] },
    broken: [{ sessionId: other.sessionId, code: "TAMPERED" }],
  });
  for (const name of files.filter((one) => one.includes(other.sessionId) && /\d\.json$/.test(one))) {
    await writeFile(join(state, name), "garbage");
  }
  expect((await run("inbox", "--state", state)).stdout).toContain("\n1 session can't be shown:\n");
  const eve = ["--key", await keyFile("eve"), "--approver", `ann=${keys.eve.publicKey}`];
  await run("approve", sessionId, "--state", state, ...eve, "--yes", "--evidence-hash", evidenceHash);
  const trusting = await run("inbox", "--state", state, "--approvers", approvers, "--json");
  expect(JSON.parse(trusting.stdout).broken).toMatchObject([
    { sessionId, code: "APPROVAL_REFUSED" },
    { sessionId: other.sessionId, code: "TAMPERED" },
  ]);
});

it("the answers are commands that work", async () => {
  const { state, sessionId, keyFile, approvers, standing } = await waitingSession();
  const { stdout } = await run("inbox", "--state", state, "--approvers", approvers);
  const [, line = ""] = /phasegate (approve .*)$/m.exec(stdout) ?? [];
  expect(line).toBe(`approve ${sessionId} --state ${state} --approvers ${approvers} --key ~/.keys/ann.pem`);
  const [first] = JSON.parse((await run("inbox", "--state", state, "--json")).stdout).items;
  const { evidenceHash = "" } = (await standing()).awaiting ?? {};
  const args = line.replace("~/.keys/ann.pem", await keyFile("ann")).split(" ");
  expect(await run(...args, "--yes", "--evidence-hash", evidenceHash)).toMatchObject({ code: 0 });
  expect(first).toMatchObject({ approvers: ["ann", "bob"] });
  expect((await run("inbox", "--state", state)).stdout).toBe("nothing waits for a person\n");
});

describe("phasegate inbox --watch", () => {
  it("prints what waits and what comes, each once, until it is ended", async () => {
    const { state, ids, start } = await allKinds();
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let text = "";
    stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const ended = runCli(["inbox", "--state", state, "--watch", "--json"], { stdin, stdout, stderr });
    const lines = () => text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    await vi.waitFor(() => expect(lines()).toHaveLength(3), { timeout: 10_000 });
    const session = await start("src/new.ts", 1);
    await session.completePhase(1, { plan: "a plan that is long enough" });
    await vi.waitFor(() => expect(lines()).toHaveLength(4), { timeout: 10_000 });
    await session.pause();
    await session.resume();
    const other = await start("src/newer.ts", 1);
    await other.completePhase(1, { plan: "a plan that is long enough" });
    await vi.waitFor(() => expect(lines()).toHaveLength(5), { timeout: 10_000 });
    process.emit("SIGTERM", "SIGTERM");
    expect(await ended).toBe(0);
    expect(lines().map(({ sessionId }) => sessionId)).toEqual([
      ...[ids.approval, ids.waiver, ids.garden],
      ...[session.id, other.id],
    ]);
    expect(String(stderr.read() ?? "")).toBe("");
  });
});

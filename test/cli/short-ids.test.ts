import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { sessionAmong, shortIds, shortIdsIn } from "../../src/cli/session-id.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { impatientClock } from "../support/make-engine.js";
import { twoPhases } from "../support/workflows.js";
import { atTerminal, run } from "./run-cli.js";

/** A state with two sessions. */
async function twoSessions() {
  const folder = await temporaryFolder();
  const content = new MemoryContent({ workflows: [twoPhases] });
  const engine = createEngine({ storage: await FileStorage.open(folder), content, clock: impatientClock() });
  const ids: string[] = [];
  for (const target of ["a", "b"]) ids.push((await engine.start({ workflowType: "two_phases", target })).sessionId);
  await engine.close();
  const [first = "", second = ""] = ids;
  const command = (name: string, ...more: string[]) => run(name, "--state", folder, ...more);
  return { folder, first, second, short: first.slice(-8), command };
}

/** A state with a session, and with two whose ids have the same end, of which the second may wait for an approval. */
async function sameEnds({ waiting = false } = {}) {
  const folder = await temporaryFolder();
  const content = new MemoryContent({ workflows: [twoPhases], sources: { asking: askingFiles } });
  const engine = createEngine({ storage: await FileStorage.open(folder), content });
  const workflowType = waiting ? "asking" : "two_phases";
  const start = async (target: string, idempotencyKey?: string) =>
    (await engine.start({ workflowType, target, ...(idempotencyKey && { idempotencyKey }) })).sessionId;
  const first = await start("first");
  // The same key gives ids with the same end.
  const [one, other] = [await start("c", "one"), await start("d", "one")];
  if (waiting) await engine.session(other).completePhase(1, { tests_pass: true });
  await engine.close();
  return { folder, first, ids: [one, other] as const };
}

describe("the end of a session's id", () => {
  it("is as long as it must be to be the only one", () => {
    const ids = ["x_12345678", "y_12345678", "z_87654321", "45678"];
    expect([...shortIds(ids)]).toEqual([
      ["x_12345678", "x_12345678"],
      ["y_12345678", "y_12345678"],
      ["z_87654321", "87654321"],
      ["45678", "45678"],
    ]);
  });

  it("is not looked for in a state of too many sessions, of which one page is read", async () => {
    let pages = 0;
    const list = async () => {
      pages += 1;
      return {
        items: [],
        damaged: Array.from({ length: 1000 }, (_, index) => `s_${pages}_${index}_abcdefgh`),
        cursor: "next",
      };
    };
    const short = await shortIdsIn({ list }, ["x_12345678"], 1000);
    expect([short("x_12345678"), pages]).toEqual(["x_12345678", 1]);
  });

  it("names a session, unless it is shorter than four characters; a whole id wins", () => {
    const ids = ["a_12345678", "12345678", "b_abcdefgh"];
    expect(sessionAmong(ids, "12345678")).toBe("12345678");
    expect(sessionAmong(ids, "efgh")).toBe("b_abcdefgh");
    expect(sessionAmong(ids, "fgh")).toBeUndefined();
    expect(sessionAmong(ids, "nowhere")).toBeUndefined();
    expect(() => sessionAmong(ids, "5678")).toThrow("2 sessions have an id that ends with 5678");
  });

  it("is taken by each command that takes a session", async () => {
    const { first, short, command, folder } = await twoSessions();
    const by = ["--by", "ann"];
    expect((await command("show", short)).stdout).toContain(first);
    expect(await command("audit", short)).toMatchObject({ code: 0, stdout: expect.stringContaining("intact") });
    expect(await command("suspend", short, ...by)).toMatchObject({ stdout: `${first}: paused in phase 1\n` });
    expect(await command("resume", short, first, ...by)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${first}: active in phase 1.*\n$`)),
    });
    expect(await command("graph", short)).toMatchObject({ code: 0, stdout: expect.stringContaining("Build") });
    expect(await command("compact", short)).toMatchObject({ stdout: expect.stringContaining("compacted 1 session") });
    const exported = await command("export", "--session", short, "--out", `${folder}.jsonl`);
    expect(exported.stderr).toContain("exported 1 session");
    const args = ["--state", `${folder}-copy`, "--session", short, `${folder}.jsonl`];
    expect(await run("import", ...args)).toMatchObject({ code: 0, stdout: expect.stringContaining("1 session") });
    expect((await command("deny", short, ...by, "--note", "no")).stderr).toContain(`session ${first} waits for no`);
    expect(await command("delete", short, ...by)).toMatchObject({ code: 0, stdout: `${first}: deleted\n` });
  });

  it("that several sessions have, or none, lets a command do nothing at all", async () => {
    const { folder, first, ids } = await sameEnds();
    const [one, other] = ids;
    const end = one.slice(-8);
    for (const command of ["delete", "suspend"]) {
      const refused = await run(command, one, end, "--state", folder, "--by", "ann");
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain(`2 sessions have an id that ends with ${end}`);
    }
    const none = await run("delete", first, "zzzzzzzz", "--state", folder, "--by", "ann");
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain("there is no session zzzzzzzz");
    expect((await run("sessions", "--state", folder, "--ids")).stdout).toContain(first);
    // A whole id may be of a session that was deleted meanwhile.
    const gone = "two_phases_gone_20260101_000000_abcdefgh";
    const rest = await run("delete", gone, one, "--state", folder, "--by", "ann");
    expect(rest).toMatchObject({ code: 1, stdout: `${one}: deleted\n` });
    expect((await run("sessions", "--state", folder, "--ids")).stdout).toContain(other);
  });

  it("is printed as far as it is the only one in the state", async () => {
    const { folder, ids } = await sameEnds({ waiting: true });
    const [one, other] = ids;
    const end = other.slice(-19);
    for (const args of [["show", other], ["inbox"], ["sessions", "--waiting"]]) {
      const { stdout } = await atTerminal(200, ...args, "--state", folder);
      expect(stdout).toContain(end);
      expect(stdout.replaceAll(one, "")).not.toMatch(new RegExp(`\\s${other.slice(-8)}\\s`));
    }
    expect((await run("show", end, "--state", folder)).stdout).toContain(other);
  });

  it("is refused if several sessions have it, which are named, and if none has it", async () => {
    const { folder } = await twoSessions();
    const content = new MemoryContent({ workflows: [twoPhases] });
    const engine = createEngine({ storage: await FileStorage.open(folder), content });
    // The same key gives ids with the same end.
    for (const target of ["c", "d"]) await engine.start({ workflowType: "two_phases", target, idempotencyKey: "one" });
    const ids = (await engine.listSessions()).items.map(({ sessionId }) => sessionId);
    await engine.close();
    const [one = "", other = ""] = ids.filter((id) => /_k\w{16}$/.test(id));
    const end = one.slice(-8);
    const refused = await run("show", end, "--state", folder);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`2 sessions have an id that ends with ${end}`);
    expect(refused.stderr).toMatch(new RegExp(`These end so: (${one}, ${other}|${other}, ${one})\\.`));
    expect((await run("show", shortIds(ids).get(one) ?? "", "--state", folder)).stdout).toContain(one);
    const none = await run("show", "zzzzzzzz", "--state", folder);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no session zzzzzzzz") });
  });
});

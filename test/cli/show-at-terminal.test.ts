import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { evidenceLines } from "../../src/cli/attempts.js";
import { widthOf, wrapped } from "../../src/cli/layout.js";
import { userName } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { stubHome } from "./own-home.js";
import { atTerminal, run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";
import { waitingSession } from "./waiting-session.js";

async function allKinds() {
  const state = await temporaryFolder();
  const made = await sessionsOfAllKinds(state);
  onTestFinished(made.close);
  const show = async (id: string, ...more: string[]) => {
    const { stdout } = await atTerminal(80, "show", id.slice(-8), "--state", state, ...more);
    // Ids and commands are copied as a whole.
    const broken = stdout.split("\n").filter((line) => /\s/.test(line.trim()) && !line.includes("phasegate "));
    for (const line of broken) expect(widthOf(line)).toBeLessThanOrEqual(80);
    return stdout;
  };
  return { ...made, state, show };
}

beforeEach(async () => {
  await stubHome();
  return () => void vi.unstubAllEnvs();
});

describe("phasegate show at a terminal", () => {
  it("begins with how the session stands and why", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-04T05:30:00.000Z") });
    onTestFinished(() => void vi.useRealTimers());
    const { ids, show } = await allKinds();
    expect(await show(ids.refused)).toContain(
      `${ids.refused}
  status    Refused at 2 Build and measure: 'coverage': Too small: expected
            number to be >=80. 2 of 3 attempts
  phase     2 of 3: Build and measure
  workflow `,
    );
    expect(await show(ids.failed)).toMatch(
      /status {4}Failed at 2 Build and measure: [^\n]*\n[^\n]*3 of 3 attempts\n {2}phase {5}2 of 3/,
    );
    expect(await show(ids.working)).toMatch(/status {4}Works on 1 Plan\n {2}phase {5}1 of 3: Plan\n {2}workflow/);
    vi.setSystemTime("2026-03-08T08:07:30.000Z");
    expect((await show(ids.refused)).replace(/\s+/g, " ")).toContain("2 of 3 attempts; no change for 4d 2h phase");
    expect(await show(ids.failed)).not.toContain("no change");
    expect(await show(ids.done)).toMatch(/status {4}Done\n {2}workflow/);
  });

  it("has the question, broken between words, and the command that answers", async () => {
    const { ids, show, state } = await allKinds();
    const text = await show(ids.approval);
    expect(text).toContain(
      "  question  Is this plan good enough to build on it for a whole month, with all\n" +
        "            of its risks?\n",
    );
    const key = `--key ~/.keys/${userName()}.pem`;
    const options = `${ids.approval.slice(-8)} --state ${state} --approvers ~/.keys/approvers.json ${key}`;
    expect(text).toMatch(
      /\n {2}first {5}Once, make a key, and add it to the approvers:\n {12}phasegate keygen .*\n {12}phasegate approvers add .*\n {12}The server accepts the answer if it is started with\s+the\s+same\s+approvers:\s+--approvers\s+\S+\n {2}answer /,
    );
    expect(text).toContain(`  answer    phasegate approve ${options}\n            phasegate deny ${options}\n`);
    expect(await show(ids.garden)).toMatch(
      /status {4}Waits for ann to approve Dig\n {2}step {6}Dig\n {2}question {2}Deep enough\?\n/,
    );
    const waiver = `${ids.waiver.slice(-8)} --state ${state} --by ${userName()}`;
    expect(await show(ids.waiver)).toMatch(
      new RegExp(
        " {2}reason {4}no tool for this language\\n {2}asked .*\\n {2}request .*\\n" +
          ` {2}answer {4}phasegate waive ${waiver}\\n {12}phasegate deny ${waiver}\\n`,
      ),
    );
  });

  it("says what the host must do once the attempts are used up", async () => {
    const { ids, engine, state, show } = await allKinds();
    const session = engine.session(ids.failed);
    for (let round = 0; round < 3; round += 1) {
      await session.retryPhase(2, { as: "agent" });
      for (let time = 0; time < 3; time += 1) await session.completePhase(2, { built: true, coverage: round + time });
    }
    const retry = (id: string) => `  next      phasegate retry ${id} --state ${state} --by ${userName()}\n`;
    expect(await show(ids.failed)).toContain(retry(ids.failed.slice(-8)));
    expect((await run("show", ids.failed, "--state", state)).stdout).toContain(retry(ids.failed));
  });

  it("has texts as blocks, and the newest attempt first", async () => {
    const { ids, show } = await allKinds();
    expect(await show(ids.approval)).toContain(
      "    │ plan: |\n    │   First the schema.\n    │   Then the service.\n    │   At last the page, with its tests.\n",
    );
    const attempts = [...(await show(ids.refused)).matchAll(/^ {2}attempt (\d) +(\w+)/gm)];
    expect(attempts.map(([, number, status]) => `${number} ${status}`)).toEqual([
      ...["3 next", "2 refused", "1 refused", "1 skipped"],
    ]);
  });
});

describe("evidence", () => {
  it("has one line for each value that begins like one, in show and approve, at any width", async () => {
    const blanks = " ".repeat(400);
    const summary = `Done${blanks}coverage: 97${blanks}reviewed_by_security: true`;
    const { state, sessionId, evidenceHash, keyFile, approvers } = await waitingSession({ summary });
    const keysIn = (stdout: string) => stdout.split("\n").flatMap((line) => /^ +│ (\w+):/.exec(line)?.[1] ?? []);
    const widths = [20, 40, 80, 200];
    for (const columns of widths) {
      const { stdout } = await atTerminal(columns, "show", sessionId, "--state", state, "--full");
      expect(keysIn(stdout)).toEqual(["tests_pass", "summary"]);
    }
    const decide = ["--key", await keyFile("ann"), "--approvers", approvers, "--yes", "--evidence-hash", evidenceHash];
    const { stdout } = await atTerminal(80, "approve", sessionId, "--state", state, ...decide);
    expect(keysIn(stdout)).toEqual(["tests_pass", "summary"]);
    expect(stdout).toContain("  │   ↳ reviewed_by_security: true");
  });

  it("is shown so that no value can be taken for another", () => {
    const evidence = {
      plain: "all of it",
      ...{ yes: true, no: "true", number: 1, text: "1", none: null, empty: "", blank: " a", list: ["a", ["b"], {}] },
      ...{ "a key: ": { deep: "x\\u0041" }, block: "one\n  two: 2\n\nthree" },
    };
    expect(evidenceLines(evidence, 1000, false)).toEqual(
      [
        ...["plain: all of it", "yes: true", 'no: "true"', "number: 1", 'text: "1"', "none: null", 'empty: ""'],
        ...['blank: " a"', "list:", "  - a", "  -", "    - b", "  - {}", '"a key: ":', '  deep: "x\\\\u0041"'],
        ...["block: |", "  one", "    two: 2", "", "  three"],
      ].map((line) => `  │ ${line}`),
    );
  });

  it("can't pass for other values by blanks that a terminal breaks its lines at", () => {
    const blanks = " ".repeat(400);
    const summary = `Done${blanks}coverage: 97${blanks}reviewed_by_security: true`;
    const [line = ""] = evidenceLines({ summary }, 8000, true);
    expect(line).toBe(`  │ summary: ${JSON.stringify(summary)}`);
    for (const width of [20, 40, 80, 200]) {
      const [first = "", ...others] = wrapped(line, width);
      expect(first).toBe('  │ summary: "Done');
      expect(others.map((one) => one.slice(0, 8))).toEqual(others.map(() => "  │   ↳ "));
    }
    expect(evidenceLines({ a: "x  y", b: "x\u00a0y", c: "x\ty", d: "x\ry" }, 1000, true)).toEqual(
      ['a: "x  y"', 'b: "x\u00a0y"', 'c: "x\\ty"', 'd: "x\\ry"'].map((text) => `  │ ${text}`),
    );
    // A block shows no blanks at the end of a line, and no CR.
    expect(evidenceLines({ a: "one \ntwo", b: "one\r\ntwo" }, 1000, true)).toEqual([
      ...['  │ a: "one \\ntwo"', '  │ b: "one\\r\\ntwo"'],
    ]);
  });

  it("is JSON where it is nested too deep for a terminal", () => {
    const nested = (depth: number): object => (depth === 0 ? { end: 1 } : { in: nested(depth - 1) });
    const lines = evidenceLines(nested(20), 1000, true);
    expect(lines.at(-1)).toMatch(/^ {2}│ {17}in: \{"in":.*\{"end":1\}/);
  });

  it("is cut at its characters and lines, unless all is wanted", () => {
    const evidence = { a: "x".repeat(30), b: 1, c: 2 };
    expect(evidenceLines(evidence, 10, false)).toEqual(["  │ a: xxxxxxx", "  … --full shows all 50 characters"]);
    expect(evidenceLines(evidence, 100, false, 2)).toEqual([
      ...[`  │ a: ${"x".repeat(30)}`, "  │ b: 1", "  … --full shows all 50 characters"],
    ]);
    expect(evidenceLines(evidence, 10, true, 2)).toHaveLength(3);
  });
});

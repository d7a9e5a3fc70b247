import { describe, expect, it, onTestFinished } from "vitest";
import { evidenceLines } from "../../src/cli/attempts.js";
import { widthOf } from "../../src/cli/layout.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { atTerminal, run } from "./run-cli.js";
import { sessionsOfAllKinds } from "./sessions-of-all-kinds.js";

async function allKinds() {
  const state = await temporaryFolder();
  const made = await sessionsOfAllKinds(state);
  onTestFinished(made.close);
  const show = async (id: string, ...more: string[]) => {
    const { stdout } = await atTerminal(80, "show", id.slice(-8), "--state", state, ...more);
    // Ids and commands are copied as a whole.
    const broken = stdout.split("\n").filter((line) => /\s/.test(line.trim()) && !line.includes("phasegate approve"));
    for (const line of broken) expect(widthOf(line)).toBeLessThanOrEqual(80);
    return stdout;
  };
  return { ...made, state, show };
}

describe("phasegate show at a terminal", () => {
  it("begins with how the session stands and why", async () => {
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
    expect(await show(ids.done)).toMatch(/status {4}Done\n {2}workflow/);
  });

  it("has the question, broken between words, and the command that answers", async () => {
    const { ids, show, state } = await allKinds();
    const text = await show(ids.approval);
    expect(text).toContain(
      "  waits     for an approver: Is this plan good enough to build on it for a whole\n" +
        "            month, with all of its risks?\n",
    );
    expect(text).toContain(
      `  answer    phasegate approve ${ids.approval.slice(-8)} --state ${state} --key KEY.pem --approvers approvers.json\n`,
    );
    expect(await show(ids.garden)).toMatch(
      /status {4}Waits for ann to approve Dig\n {2}step {6}Dig\n {2}waits {5}for ann: Deep enough\?/,
    );
  });

  it("says what the host must do once the attempts are used up", async () => {
    const { ids, engine, state, show } = await allKinds();
    const session = engine.session(ids.failed);
    for (let round = 0; round < 3; round += 1) {
      await session.retryPhase(2, { as: "agent" });
      for (let time = 0; time < 3; time += 1) await session.completePhase(2, { built: true, coverage: round + time });
    }
    expect(await show(ids.failed)).toContain("waits     for the host: its attempts are used up. phasegate retry ");
    expect((await run("show", ids.failed, "--state", state)).stdout).toContain(
      `phasegate retry ${ids.failed} --by NAME`,
    );
  });

  it("has texts as blocks, and the newest attempt first", async () => {
    const { ids, show } = await allKinds();
    expect(await show(ids.approval)).toContain(
      "    │ plan: |\n    │   First the schema.\n    │   Then the service.\n    │   At last the page, with its tests.\n",
    );
    const attempts = [...(await show(ids.refused)).matchAll(/^ {2}attempt (\d) +(\w+)/gm)];
    expect(attempts.map(([, number, status]) => `${number} ${status}`)).toEqual([
      ...["3 active", "2 failed", "1 failed", "1 skipped"],
    ]);
  });
});

describe("evidence", () => {
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

  it("is cut at its characters and lines, unless all is wanted", () => {
    const evidence = { a: "x".repeat(30), b: 1, c: 2 };
    expect(evidenceLines(evidence, 10, false)).toEqual(["  │ a: xxxxxxx", "  … --full shows all 50 characters"]);
    expect(evidenceLines(evidence, 100, false, 2)).toEqual([
      ...[`  │ a: ${"x".repeat(30)}`, "  │ b: 1", "  … --full shows all 50 characters"],
    ]);
    expect(evidenceLines(evidence, 10, true, 2)).toHaveLength(3);
  });
});

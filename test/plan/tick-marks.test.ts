import { describe, expect, it } from "vitest";
import { type ParsePlanOptions, parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";

/** Returns a text with task 1.1 ticked, and that text with the tick taken back. */
function tickedAndBack(text: string, words?: ParsePlanOptions["words"]): readonly [string, string] {
  const options = words === undefined ? {} : { words };
  const tick = (from: string, done: boolean) => {
    const { plan } = parsePlan(from, options);
    return tickTask(from, plan, "1.1", { ...options, criteria: true, done });
  };
  const ticked = tick(text, true);
  const state = (from: string) => parsePlan(from, options).plan.phases[0]?.tasks[0]?.state;
  const back = tick(ticked, false);
  expect([state(ticked), state(back)]).toEqual(["done", "pending"]);
  return [ticked, back];
}

describe("the tick of a task whose state is a status line", () => {
  const withStatus = (line: string) => `## Phase 1: A\r\n\r\n### Task 1.1: Lexer\r\n\t${line}\t \r\n\r\nText.\r\n`;

  it.each([
    ["**Status:** Pending", "**Status:** Done"],
    ["**Status**: pending (waits for Ann)", "**Status**: done (waits for Ann)"],
    ["- Status: PENDING", "- Status: DONE"],
    ["**Status:** `pending`", "**Status:** `done`"],
    ["**Status:** ⏳ Pending", "**Status:** ✅ Done"],
    ["**Status:** Offen", "**Status:** Fertig"],
    ["**Statut :** à faire", "**Statut :** terminé"],
    ["**Статус:** Не начато", "**Статус:** Готово"],
    ["**状态：** 待办", "**状态：** 已完成"],
    ["**상태:** 대기", "**상태:** 완료"],
  ])("changes the word of %j, and back", (before, after) => {
    expect(tickedAndBack(withStatus(before))).toEqual([withStatus(after), withStatus(before)]);
  });

  it("writes the first word for pending where another one stood", () => {
    const [ticked, back] = tickedAndBack(withStatus("**Status:** Not Started"));
    expect(ticked).toBe(withStatus("**Status:** Done"));
    expect(back).toBe(withStatus("**Status:** Pending"));
  });

  it("changes the word also if its criteria have boxes, and those too", () => {
    const text = `${withStatus("**Status:** Pending")}\r\n- [ ] all samples are read\r\n`;
    const [ticked, back] = tickedAndBack(text);
    expect(ticked).toBe(text.replace("Pending", "Done").replace("[ ]", "[x]"));
    expect(back).toBe(text);
  });

  it("changes the words of the status line, also below a title that says done", () => {
    const text = "### ✅ Task 1.5: Marked\n- **Status:** [ ] pending\n";
    const ticked = tickTask(text, parsePlan(text).plan, "1.5");
    expect(ticked).toBe("### ✅ Task 1.5: Marked\n- **Status:** [x] done\n");
    expect(tickTask(ticked, parsePlan(ticked).plan, "1.5", { done: false })).toBe(text);
  });

  it("changes the words beside a checkbox in the status line with it", () => {
    const text = withStatus("**Status:** [ ] pending");
    expect(tickedAndBack(text)).toEqual([withStatus("**Status:** [x] done"), text]);
  });

  it("leaves a word that says the same", () => {
    const done = withStatus("**Status:** Completed");
    const { plan } = parsePlan(done);
    expect(tickTask(done, plan, "1.1")).toBe(done);
    const open = withStatus("**Status:** In Progress");
    expect(tickTask(open, parsePlan(open).plan, "1.1", { done: false })).toBe(open);
  });

  it("uses the words of the host", () => {
    const words = { status: ["tila"], done: ["valmis"], pending: ["avoin"] };
    const text = withStatus("**Tila:** Avoin");
    expect(tickedAndBack(text, words)).toEqual([withStatus("**Tila:** Valmis"), text]);
  });

  it("refuses a text in which the word is not there", () => {
    const text = withStatus("**Status:** Pending");
    const { plan } = parsePlan(text);
    expect(() => tickTask(text.replace("Pending", "Started"), plan, "1.1")).toThrowError(
      expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining("line 4") }),
    );
  });
});

describe("the tick of a checkbox in another spelling", () => {
  const task = (line: string) => `\uFEFF## Phase 1: A\n\n${line}  \n- [ ] Task 1.2: Other\n`;

  it.each([
    ["- ☐ Task 1.1: Lexer", "- ☑ Task 1.1: Lexer"],
    ["- ［ ］ Task 1.1: Lexer", "- ［x］ Task 1.1: Lexer"],
    ["- 🗆 Task 1.1: Lexer", "- 🗹 Task 1.1: Lexer"],
    ["- [☐] Task 1.1: Lexer", "- [☑] Task 1.1: Lexer"],
    [String.raw`- \[ \] Task 1.1: Lexer`, String.raw`- \[x\] Task 1.1: Lexer`],
    ["- **[ ] Task 1.1**: Lexer", "- **[x] Task 1.1**: Lexer"],
    ["1. [ ] Task 1.1: Lexer", "1. [x] Task 1.1: Lexer"],
    ["### [ ] Task 1.1: Lexer", "### [x] Task 1.1: Lexer"],
    ["> - [ ] Task 1.1: Lexer", "> - [x] Task 1.1: Lexer"],
  ])("changes %j, and back", (before, after) => {
    expect(tickedAndBack(task(before))).toEqual([task(after), task(before)]);
  });

  it.each([
    [String.raw`- \[\] Task 1.1: Lexer`, String.raw`- \[x\] Task 1.1: Lexer`, String.raw`- \[ \] Task 1.1: Lexer`],
    [String.raw`- [\~] Task 1.1: Lexer`, "- [x] Task 1.1: Lexer", "- [ ] Task 1.1: Lexer"],
    ["- □ Task 1.1: Lexer", "- ☑ Task 1.1: Lexer", "- ☐ Task 1.1: Lexer"],
    ["- 【】 Task 1.1: Lexer", "- 【x】 Task 1.1: Lexer", "- 【 】 Task 1.1: Lexer"],
    ["- [\u3000] Task 1.1: Lexer", "- [x] Task 1.1: Lexer", "- [ ] Task 1.1: Lexer"],
    ["- [х] Task 1.1: Lexer", "- [x] Task 1.1: Lexer", "- [ ] Task 1.1: Lexer"],
  ])("changes the mark in %j", (before, after, back) => {
    expect(tickedAndBack(task(before))).toEqual([task(after), task(back)]);
  });

  it("ticks the checklist of a task that has no other checkbox", () => {
    const text = "## Phase 1: A\n\n### Task 1.1: Lexer\n\nText.\n\n## Progress\n\n- [ ] Task 1.1: Lexer\n";
    expect(tickedAndBack(text)).toEqual([text.replace("[ ]", "[x]"), text]);
  });
});

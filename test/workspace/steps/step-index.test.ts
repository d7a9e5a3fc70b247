import { describe, expect, it } from "vitest";
import {
  entryOf,
  firstSteps,
  isStepFolder,
  stepIndex,
  stepsAfter,
  stepsBetween,
} from "../../../src/workspace/steps/step-index.js";

const index = stepIndex([
  "steps/step-10-end.md",
  "steps/step-02-vision.md",
  "steps/step-01b-continue.md",
  "steps/step-01-init.md",
  "steps/step-oneshot.md",
  "steps/notes.md",
  "SKILL.md",
]);
const step = (name: string) => {
  const entry = entryOf(index, name, "steps");
  if (entry === undefined) throw new Error(`the test names no step: ${name}`);
  return entry;
};
const names = (entries: readonly { readonly step: string }[]) => entries.map((entry) => entry.step.slice(6));

describe("the index of steps", () => {
  it("is ordered by number, then letter; branches without a number are last", () => {
    expect(index).toEqual([
      { step: "steps/step-01-init", number: 1, title: "init" },
      { step: "steps/step-01b-continue", number: 1, title: "continue" },
      { step: "steps/step-02-vision", number: 2, title: "vision" },
      { step: "steps/step-10-end", number: 10, title: "end" },
      { step: "steps/step-oneshot", title: "oneshot" },
    ]);
  });

  it.each([
    ["steps", true],
    ["steps-c", true],
    ["market-steps", true],
    ["footsteps", false],
    ["templates", false],
  ])("is read from the folder %s: %s", (folder, is) => {
    expect(isStepFolder(folder)).toBe(is);
  });

  it("finds a step by path, by name and by folder", () => {
    const two = stepIndex(["a-steps/step-01-x.md", "b-steps/step-01-x.md"]);
    expect(entryOf(two, "b-steps/step-01-x.md", ".")?.step).toBe("b-steps/step-01-x");
    expect(entryOf(two, "./step-01-x.md", "b-steps")?.step).toBe("b-steps/step-01-x");
    expect(entryOf(two, "step-01-x", ".")).toBeUndefined();
    expect(entryOf(two, "step-02", ".")).toBeUndefined();
  });
});

describe("the first step", () => {
  it("is the one that the skill's text names", () => {
    expect(names(firstSteps(index, "begin with `./steps/step-01b-continue.md`"))).toEqual(["step-01b-continue"]);
  });
  it("has no letter, if the text also lists those without one", () => {
    const table = "| 1 | `step-01-init.md` |\n| 1b | `step-01b-continue.md` |\n| 2 | `step-02-vision.md` |";
    expect(names(firstSteps(index, table))).toEqual(["step-01-init"]);
  });
  it("is the first one without a letter, if the text names none", () => {
    expect(names(firstSteps(index, "go through the steps, e.g. steps/step-10-end.md"))).toEqual(["step-01-init"]);
  });
  it("may be one of several", () => {
    const two = stepIndex(["a-steps/step-01-x.md", "b-steps/step-01-y.md"]);
    expect(firstSteps(two, "")).toHaveLength(2);
  });
});

describe("the next step", () => {
  it("is the one in the front matter", () => {
    expect(names(stepsAfter(index, step("step-01-init"), "or step-oneshot.md", "./step-10-end.md").choices)).toEqual([
      "step-10-end",
      "step-oneshot",
    ]);
  });
  it("is the only later one that the text names", () => {
    expect(names(stepsAfter(index, step("step-01-init"), "then `./step-10-end.md`", undefined).choices)).toEqual([
      "step-10-end",
    ]);
  });
  it("is the next number if the text names none or several", () => {
    expect(names(stepsAfter(index, step("step-01-init"), "", undefined).choices)).toEqual(["step-02-vision"]);
    const text = "[R] step-10-end.md, [B] step-02-vision.md";
    expect(names(stepsAfter(index, step("step-01-init"), text, undefined).choices)).toEqual([
      "step-02-vision",
      "step-10-end",
    ]);
  });
  it("may be an earlier one that the text names, but only on request", () => {
    expect(names(stepsAfter(index, step("step-02-vision"), "back to step-01-init.md", undefined).choices)).toEqual([
      "step-10-end",
      "step-01-init",
    ]);
  });
  it("does not exist after the last", () => {
    expect(stepsAfter(index, step("step-10-end"), "", undefined)).toEqual({ choices: [] });
  });
  it("does not exist after the last one, also if that leads back: to go back is a choice", () => {
    for (const [text, file] of [
      ["Loop back to `./step-01-init.md` if the user wants more.", undefined],
      ["", "./step-01-init.md"],
      ["[R] step-02-vision.md", "step-01-init.md"],
    ] as const) {
      const { follows, choices } = stepsAfter(index, step("step-10-end"), text, file);
      expect(follows).toBeUndefined();
      expect(names(choices)).toContain(text.startsWith("[R]") ? "step-02-vision" : "step-01-init");
    }
  });
  it("is the earlier one in the front matter, if later steps are left", () => {
    expect(stepsAfter(index, step("step-02-vision"), "", "step-01-init.md").follows?.step).toBe("steps/step-01-init");
  });
  it("of a branch without a number is only what its text leads to", () => {
    const branch = step("step-oneshot");
    expect(stepsAfter(index, branch, "Use the same convention as `step-10-end.md`.", undefined)).toEqual({
      choices: [],
    });
    expect(stepsAfter(index, branch, "Then follow `step-10-end.md`.", undefined).follows?.step).toBe(
      "steps/step-10-end",
    );
  });
  it.each([
    "Use the same convention as `[[snapshot:step-10-end.md]]` § Order.",
    "As described in step-10-end.md, keep notes.",
    "Write it like `./steps/step-10-end.md` does.",
    "Keep the list from step-10-end.md.",
    "See `step-10-end.md`.",
    "Go on. For the form, see e.g. step-10-end.md",
    "Bare paths (e.g. `steps/step-10-end.md`) are relative.",
    "Read `step-10-end.md`'s table.",
    "Do NOT load `step-10-end.md`.",
    "Never proceed to `step-10-end.md`: it is",
  ])("is none that a text only cites: %s", (text) => {
    expect(names(stepsAfter(index, step("step-01-init"), text, undefined).choices)).toEqual(["step-02-vision"]);
  });
  it.each([
    "Read fully and follow: `./step-10-end.md`",
    "`./step-10-end.md`",
    "If `draft` → `[[snapshot:step-10-end.md]]`",
    "| done | [E] | step-10-end.md |",
    "If not done as described in the plan, go to step-10-end.md.",
    "See the notes. Load step-10-end.md",
    "EARLY EXIT: continue from `step-10-end.md`",
    "If you like it, proceed to step-10-end.md",
  ])("is one that a text leads to: %s", (text) => {
    expect(names(stepsAfter(index, step("step-01-init"), text, undefined).choices)).toContain("step-10-end");
  });
  it("requires the steps between, within one folder", () => {
    expect(names(stepsBetween(index, step("step-01-init"), step("step-10-end")))).toEqual(["step-02-vision"]);
    expect(stepsBetween(index, step("step-02-vision"), step("step-01-init"))).toEqual([]);
    expect(stepsBetween(index, step("step-01-init"), step("step-oneshot"))).toEqual([]);
  });
});

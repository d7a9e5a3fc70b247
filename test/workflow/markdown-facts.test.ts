import { describe, expect, it } from "vitest";
import { readMarkdownFacts, readTitle } from "../../src/workflow/markdown-facts.js";
import { howOften } from "../support/how-often.js";

const TASK = `# Task 2: Dig the \`bed\`

**Phase:** 1 (Soil)
**Purpose:** Loosen the soil
**Estimated Time:** 5-10 minutes

---

## 🎯 Objective

Turn the **whole** bed over,
see [the plan](plan.md).

And rake it.

## Steps

### Step 1: Mark the bed

\`\`\`bash
mark --bed
\`\`\`

\`\`\`bash
never seen
\`\`\`

**Expected output:** four pegs
in the ground

### Step 2 — Dig

#### In clay

\`\`\`python
dig()
\`\`\`

\`\`\`console
$ dig
\`\`\`

Expected output:

\`\`\`
# Step 9: not a heading
\`\`\`

### Step 3

Look at it.

## Artifacts to Produce

- ✅ A bed
- \`bed.md\` with [a sketch](x)

## Completion Criteria

🛑 Before going on:
- [ ] Soil is loose ✅/❌
- [x] \`bed.md\` is in src/ 
- a remark

**Time:** 1 hour
`;

describe("readMarkdownFacts", () => {
  it("reads a task", () => {
    expect(readMarkdownFacts(TASK)).toEqual({
      title: "Dig the bed",
      description: "Turn the whole bed over, see the plan.\n\nAnd rake it.",
      estimatedDuration: "5-10 minutes",
      executionSteps: [
        {
          step: 1,
          description: "Mark the bed",
          command: "mark --bed",
          expectedOutput: "four pegs in the ground",
        },
        { step: 2, description: "Dig", command: "$ dig", expectedOutput: "# Step 9: not a heading" },
        { step: 3, description: "Look at it." },
      ],
      artifactsToProduce: ["A bed", "bed.md with a sketch"],
      validation: ["Soil is loose", "bed.md is in src/"],
    });
  });

  it("returns nothing that is not in the text", () => {
    expect(readMarkdownFacts("")).toEqual({});
    expect(readMarkdownFacts("```\n# Not a title\n```\n\n**Label:** x\n\n## Steps\n\n- not numbered\n")).toEqual({});
    expect(readMarkdownFacts("## Checkpoint\n\nNothing to tick.\n\n## Step 1\n")).toEqual({
      description: "Nothing to tick.",
    });
  });

  it("takes the description from an objective, else a purpose, else the first words", () => {
    expect(readMarkdownFacts("Intro\n\n## Goal\n\nThe goal.\n").description).toBe("The goal.");
    expect(readMarkdownFacts("# X\n\n**Purpose:** The purpose.  \n**Time:** 5\n\nIntro").description).toBe(
      "The purpose.",
    );
    expect(readMarkdownFacts("# X\n\n__Owner__: me\n\nIntro\nhere.\n\nMore").description).toBe("Intro here.");
    expect(readMarkdownFacts("## Objective\n\n- only a list\n").description).toBeUndefined();
  });

  it.each([
    ["**Estimated Duration:** 1 hour", "1 hour"],
    ["**Duration**: 2 days", "2 days"],
    ["Time: a while", "a while"],
    ["**Timeless:** ever", undefined],
    ["## Part\n\n**Time:** of a part", undefined],
  ])("reads the duration of %j", (line, expected) => {
    expect(readMarkdownFacts(`# X\n\n${line}\n`).estimatedDuration).toBe(expected);
  });

  it("takes steps from a numbered list if no heading is a step", () => {
    const text = "## Execution Steps\n\n3. Dig\n\n   ```sh\n   dig\n   ```\n4. **Sow** seeds\n5.\n\n- aside\n";
    expect(readMarkdownFacts(text).executionSteps).toEqual([
      { step: 3, description: "Dig", command: "dig" },
      { step: 4, description: "Sow seeds" },
    ]);
  });

  it("omits long commands, and an expected output without content", () => {
    const text = `### Step 1: Run\n\n\`\`\`bash\n${"x".repeat(241)}\n\`\`\`\n\nA word.\n\nExpected output:\n`;
    expect(readMarkdownFacts(text).executionSteps).toEqual([{ step: 1, description: "Run" }]);
  });

  it("takes plain items of a gate without checkboxes, and the first gate that has any", () => {
    const text = "## Checkpoint\n\nSee below.\n\n## 🛑 Validation Gate: Phase 1\n\n- All is well ✔\n- And more\n";
    expect(readMarkdownFacts(text).validation).toEqual(["All is well", "And more"]);
  });

  it("continues after lists whose items are not plain text", () => {
    const steps = "## Steps\n\n1. ```sh\n   dig\n   ```\n2. Sow\n\n   Expected output: seeds\n\n";
    const text = `${steps}## Outputs\n\n- > quoted\n- 🌱️ A bed\n`;
    expect(readMarkdownFacts(text)).toMatchObject({
      executionSteps: [{ step: 2, description: "Sow", expectedOutput: "seeds" }],
      artifactsToProduce: ["A bed"],
    });
  });

  it("keeps a slash at the end of a path, and removes marks of all kinds", () => {
    const text = "## Checkpoint\n\n- [ ] src/\n- [ ] Done ✅ / ❌\n- [ ] ✅\n- [ ] Fine ✔️\n";
    expect(readMarkdownFacts(text).validation).toEqual(["src/", "Done", "", "Fine"]);
  });

  it("does not read text after a step as its content", () => {
    const text = "## Step 1: A\n\n## Step 2: B\n\n```sh\nb\n```\n\n# End\n\n```sh\nc\n```\n";
    expect(readMarkdownFacts(text).executionSteps).toEqual([
      { step: 1, description: "A" },
      { step: 2, description: "B", command: "b" },
    ]);
  });

  it.each([
    ["# Phase 1: Requirements Gathering", "Requirements Gathering"],
    ["# 🎯 Task 1.3 - Do it", "Do it"],
    ["Setext\n======", "Setext"],
    ["# Phases: three", "Phases: three"],
    ["# Use `__init__.py` and **now**", "Use __init__.py and now"],
    ["# Odd ` tick", "Odd  tick"],
    ["# Phase 2:", undefined],
    ["## Second", undefined],
  ])("reads the title of %j", (text, expected) => {
    expect(readTitle(text)).toBe(expected);
  });

  it.each([
    "*a_",
    "[",
    "![",
    "](<b",
    "> ",
    "- ",
    "`a``",
    "<a ",
    "- a\n",
    "# a\n",
    "1. ",
    "  - b\n",
    "[a]: x\n",
    "\u0000",
  ])("neither fails nor hangs on repeated %j", { timeout: 60_000 }, (piece) => {
    expect(readMarkdownFacts(piece.repeat(Math.ceil(howOften(200_000, 1_000_000) / piece.length)))).toBeDefined();
  });
});

import { describe, expect, it } from "vitest";
import { aStarter } from "./a-starter.js";

const REQUIREMENTS = `# Parser

## R1: Words

- WHEN a text has blanks, THE SYSTEM SHALL split it there

## R2: Numbers

- WHEN a word is a number, THE SYSTEM SHALL read it as one
`;
const DESIGN = `# Design

## Overview

Two steps: words (R1), then numbers (R2).

## Components

## Errors

## Tests
`;
const TASKS = `# Parser

## Phase 1: Read

- [ ] **Task 1.1**: Split the text (R1)
- [ ] **Task 1.2**: Read numbers (R2)

**Validation Gate:**
- [ ] All tests pass
`;
const IDS = { requirement_ids: ["R1", "R2"] };
const SUMMARY = { summary: "Two requirements, one phase of two tasks; decide whether 1e3 is a number." };

describe("spec_creation", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { start, pass, lie, submit, write, remove, decide } = await aStarter("spec_creation", { files: {} });
    expect(await start({}, { target_file: "specs/parser" })).toMatchObject({ status: "success" });

    await lie(1, IDS, /requirements.md/);
    await write("specs/parser/requirements.md", "R1 and R2\n");
    await lie(1, IDS, /has 0 matching lines/);
    await write("specs/parser/requirements.md", REQUIREMENTS.replaceAll("SHALL", "may"));
    await lie(1, IDS, /has 0 matching lines for.*SHALL/);
    await write("specs/parser/requirements.md", REQUIREMENTS);
    await lie(1, { requirement_ids: ["R1", "R2", "R3"] }, /does not contain R3/);
    await lie(1, { requirement_ids: ["all"] }, /an id is R and a number/);
    await pass(1, IDS);

    await lie(2, IDS, /design.md/);
    await write("specs/parser/design.md", DESIGN.replace("(R2)", "(R20)"));
    await lie(2, IDS, /does not contain R2/);
    await lie(2, { requirement_ids: ["R1"] }, /lacks an id of phase 1/);
    await write("specs/parser/design.md", DESIGN.replace("## Errors", "Errors"));
    await lie(2, IDS, /Errors/);
    await write("specs/parser/design.md", DESIGN);
    // Requirements that don't suit the design are not taken back.
    await write("specs/parser/requirements.md", REQUIREMENTS.replace("read it as one", "keep it"));
    await lie(2, IDS, /requirements.md was changed since phase 1/);
    await write("specs/parser/requirements.md", REQUIREMENTS);
    await pass(2, IDS);

    await lie(3, IDS, /tasks.md/);
    await write("specs/parser/tasks.md", "# Parser\n\nR1 and R2 will be done.\n");
    await lie(3, IDS, /plan_parses/);
    await write("specs/parser/tasks.md", TASKS.replace("Task 1.2", "Task 1.1"));
    await lie(3, IDS, /plan_parses.*1\.1/);
    await write("specs/parser/tasks.md", TASKS.replace("(R2)", ""));
    await lie(3, IDS, /does not contain R2/);
    await write("specs/parser/tasks.md", TASKS);
    await pass(3, IDS);

    expect(await submit(4, { ...SUMMARY, approved: true })).toMatchObject({ awaiting_approval: true });
    await decide("deny", "--note", "no: 1e3 is none");
    await lie(4, { summary: "approved" }, /40/);
    await write("specs/parser/tasks.md", TASKS.replace("- [ ] **Task 1.2**: Read numbers (R2)\n", ""));
    await lie(4, SUMMARY, /tasks.md was changed since phase 3/);
    await write("specs/parser/tasks.md", TASKS);
    await remove("specs/parser/design.md");
    await lie(4, SUMMARY, /design.md was deleted/);
    await write("specs/parser/design.md", DESIGN);
    expect(await submit(4, SUMMARY)).toMatchObject({ awaiting_approval: true });
    await decide("approve");
    expect(await submit(4, SUMMARY)).toMatchObject({ session_status: "completed" });
  });
});

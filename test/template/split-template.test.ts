import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitTemplate } from "../../src/template/template.js";

const RULES = "Query the standards, then write the code and its tests. ".repeat(6).trim();
const TASK = `# Task [TASK_ID]: [TASK_NAME]

**Phase:** [PHASE_NUMBER]
**Dependencies:** [DEPENDENCIES]

---

## Objective

[TASK_DESCRIPTION]

## Rules

${RULES}

\`\`\`python
# Heading in code

get_task([PHASE_NUMBER], [NEXT_TASK_NUMBER])
\`\`\`

## Done when

All of these hold:

[ACCEPTANCE_CRITERIA]

Mark [TASK_ID] then.
`;

describe("a template that is split", () => {
  it("returns the blocks of one task, and the blocks that all tasks share", () => {
    const { own, shared } = splitTemplate(TASK, "task") ?? { own: "", shared: "" };
    expect(own).toBe(
      [
        "# Task [TASK_ID]: [TASK_NAME]",
        "**Phase:** [PHASE_NUMBER]\n**Dependencies:** [DEPENDENCIES]",
        "## Objective",
        "[TASK_DESCRIPTION]",
        "## Done when",
        "[ACCEPTANCE_CRITERIA]",
      ].join("\n\n"),
    );
    expect(shared).toBe(
      [
        "## Rules",
        RULES,
        "```python\n# Heading in code\n\nget_task([PHASE_NUMBER], [NEXT_TASK_NUMBER])\n```",
        "## Done when",
        "All of these hold:",
        "Mark [TASK_ID] then.",
      ].join("\n\n"),
    );
  });

  it("is not split if little is shared", () => {
    expect(splitTemplate("# [TASK_NAME]\n\n[TASK_DESCRIPTION]\n\nShort.\n", "task")).toBeUndefined();
  });

  it("loses no line, in any order of blocks", () => {
    const block = fc.constantFrom(
      "# A",
      "## B [TASK_ID]",
      "text",
      "[TASK_NAME] x",
      "- one\n- two",
      RULES,
      "```\na\n\nb\n```",
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), (blocks) => {
        const split = splitTemplate(blocks.join("\n\n"), "task");
        if (split === undefined) return;
        const lines = `${split.own}\n${split.shared}`.split("\n");
        // A heading with nothing below it has nothing to say.
        for (const line of blocks.filter((text) => text !== "# A").flatMap((text) => text.split("\n"))) {
          expect(lines).toContain(line);
        }
      }),
    );
  });
});

import { describe, expect, it } from "vitest";
import { workflowInstructions } from "../../src/workspace/instructions.js";
import { WORKSPACE_TOOLS } from "../../src/workspace/tools/sessions.js";

const tokens = (text: string) => Math.ceil(text.length / 4);

describe("instructions for running workflows", () => {
  it("take less than 900 tokens", () => {
    expect(tokens(workflowInstructions())).toBeLessThan(900);
  });

  it("take less than 900 tokens for any number of workflows, and count those that they do not name", () => {
    const workflows = Array.from({ length: 200 }, (_, index) => ({
      name: `flow-${index}`,
      description: "does much ".repeat(50),
    }));
    for (const count of [1, 2, 3, 5, 200]) {
      const text = workflowInstructions({ workflows: workflows.slice(0, count) });
      expect(tokens(text)).toBeLessThan(900);
      expect(text).toContain("- flow-0: does much");
    }
    expect(workflowInstructions({ workflows })).toMatch(/- and \d+ more: list_files shows them$/);
    expect(workflowInstructions({ workflows: [{ name: "a" }, { name: "b", description: "does\n b" }] })).toMatch(
      /### Workflows\n- a\n- b: does b$/,
    );
  });

  it("name exactly the existing tools", () => {
    const named = workflowInstructions().match(/\b[a-z]+_(?:workflow|file|files|session|step|output)\b/g) ?? [];
    const known = WORKSPACE_TOOLS.map(({ name }) => name);
    expect([...new Set(named)].sort()).toEqual([...known].sort());
  });

  it("have sections that a host can remove, replace or add", () => {
    const text = workflowInstructions({
      sections: { steps: false, errors: "Ask Ada. $& stays.", workflows: "Only intake." },
      workflows: [{ name: "other" }],
    });
    expect(text.match(/^###? .*$/gm)).toEqual([
      "## Running workflows",
      "### You are in control",
      "### Load",
      "### Follow",
      "### Sessions and outputs",
      "### Variables",
      "### When a call fails",
      "### Workflows",
    ]);
    expect(text).toContain("Ask Ada. $& stays.");
    expect(text).toContain("Only intake.");
    expect(text).not.toContain("other");
    expect(text).not.toContain("next_step");
  });

  it("name the variables of the workspace", () => {
    expect(workflowInstructions({ variables: ["bundle-root", "docs"] })).toContain(
      "begin with {bundle-root} or {docs},",
    );
    expect(workflowInstructions({ variables: ["docs"] })).toContain("begin with {docs},");
    expect(workflowInstructions()).toContain("{bundle-root}, {core-root} or {output-root}");
  });
});

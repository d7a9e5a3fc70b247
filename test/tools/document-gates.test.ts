import { MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";

const TEXT = `# Phase 1: Count

## Checkpoint

You must provide \`function_count\` (integer, greater than 0) and \`functions_list\` (a list that must contain names).

\`\`\`json
{"function_count": 21, "functions_list": ["compile", "parse"]}
\`\`\`
`;

describe("a gate that is defined in the text of a phase", () => {
  it("is shown with the author's example before and after a refusal, and refuses it as copied", async () => {
    const metadata = {
      workflow_type: "counted",
      name: "Counted",
      description: "Counts",
      version: "1.0.0",
      phases: [{ phase_number: 1, phase_name: "Count" }],
    };
    const sources = { counted: { "metadata.json": JSON.stringify(metadata), "phases/1/phase.md": TEXT } };
    const { engine } = makeEngine({ content: new MemoryContent({ sources }) });
    const { sessionId } = await engine.start({ workflowType: "counted", target: "src/a.ts" });
    const tool = workflowTool(engine);
    const example = { function_count: 21, functions_list: ["compile", "parse"] };
    const shown = await tool.dispatch({ action: "get_phase", session_id: sessionId });
    expect(JSON.stringify(shown)).toContain('"examples":[["compile","parse"]]');
    const complete = (evidence: Record<string, unknown>) =>
      tool.dispatch({ action: "complete_phase", session_id: sessionId, phase: 1, evidence });
    const refused = await complete({ function_count: 0 });
    expect(refused).toMatchObject({
      code: "GATE_FAILED",
      required_format: { properties: { functions_list: { examples: [["compile", "parse"]] } } },
    });
    const copied = await complete({ ...example, function_count: 20 });
    expect(copied).toMatchObject({ problems: [{ field: "functions_list", problem: "copied" }] });
    expect(await complete({ ...example, functions_list: ["main"] })).toMatchObject({ checkpoint_passed: true });
  });
});

import { describe, expect, it } from "vitest";
import { readStep } from "../../../src/workspace/steps/next-step.js";

const read = (text: string) => readStep("skill", "{bundle-root}/s/step-01.md", text);

describe("a step's front matter", () => {
  it("may be missing, empty, not a mapping, or without known keys", async () => {
    for (const text of ["# Step", "---\n---\n# Step", "---\n- a\n---\n", "---\nname: x\ndate: 2026-01-01\n---\n"]) {
      expect(await read(text)).toEqual({ text });
    }
  });

  it("contains the next step, and a gate in the format of gate files", async () => {
    const text = "---\nnextStepFile: './step-02.md'\ngate:\n  evidence_schema:\n    done: {type: boolean}\n---\n# Step";
    const step = await read(text);
    expect(step.nextStepFile).toBe("./step-02.md");
    expect(step.gate?.fields.map(({ name, type, required }) => [name, type, required])).toEqual([
      ["done", "boolean", true],
    ]);
  });

  it("that is not YAML is ignored if it cannot contain a gate", async () => {
    const text = "---\nname: {{ name }\n---\n# Step";
    expect(await read(text)).toEqual({ text });
  });

  it.each([
    ["not YAML", "---\ngate:\n  evidence_schema: {a: [\n---\n", "step-01.md:3"],
    ["misspelt", "---\ngates:\n  evidence_schema: {a: {type: bool}}\n---\n", "step-01.md:2:1: error: the key"],
    ["empty", "---\ngate:\n---\n", "step-01.md:2:1"],
    ["not an object", "---\ngate: yes\n---\n", "step-01.md:2:1"],
    ["without evidence", "---\ngate: {evidence_schema: {}}\n---\n", "asks for no evidence"],
    [
      "with a verifier",
      "---\ngate:\n  evidence_schema: {f: {type: string, verify: file_exists}}\n---\n",
      "requires verifiers",
    ],
    [
      "with an approval",
      "---\ngate:\n  approval: {prompt: Sure?}\n  evidence_schema: {f: {type: string}}\n---\n",
      "approval",
    ],
  ])("never opens a gate that is %s", async (_, text, problem) => {
    await expect(read(`${text}# Step`)).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      message: expect.stringContaining(problem),
    });
  });
});

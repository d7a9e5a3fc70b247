import { describe, expect, it } from "vitest";
import { decisionJsonSchema, readDecision, readDecisionText } from "../../../src/routed/decision/request.js";

const ANSWER = {
  next_step_name: "Sow",
  updated_context: [{ key: "depth", value: 20 }],
  status_suggestion: null,
  reasoning: "It was dug.",
};
const READ = { ok: true, answer: { nextStep: "Sow", contextUpdates: { depth: 20 }, reasoning: "It was dug." } };

describe("an answer of a decider", () => {
  it("is read from JSON, with or without a code fence", () => {
    const json = JSON.stringify(ANSWER, undefined, 2);
    expect(readDecisionText(json)).toEqual(READ);
    expect(readDecisionText(`\n${json}\n`)).toEqual(READ);
    expect(readDecisionText(`\`\`\`json\n${json}\n\`\`\``)).toEqual(READ);
    expect(readDecisionText(`\`\`\`\n${json}\`\`\`\n`)).toEqual(READ);
  });

  it.each([
    ["", "empty"],
    ["   \n", "empty"],
    ["I would sow now.", "no JSON"],
    [JSON.stringify(ANSWER).slice(0, 40), "cut off"],
    ["[]", "the answer"],
    ["null", "the answer"],
    ['{"next_step_name": ""}', "next_step_name"],
    ['{"next_step_name": 3}', "next_step_name"],
    ['{"next_step_name": "Sow", "updated_context": "none"}', "updated_context"],
    ['{"next_step_name": "Sow", "updated_context": [{"key": 1, "value": 2}]}', "updated_context"],
    ['{"next_step_name": "Sow", "status_suggestion": 7}', "status_suggestion"],
  ])("%j is refused", (text, problem) => {
    const read = readDecisionText(text);
    expect(read).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  it("is not quoted if it is not JSON", () => {
    expect(JSON.stringify(readDecisionText('{"key": "s3cret'))).not.toContain("s3cret");
  });

  it("requires only a step", () => {
    expect(readDecision({ next_step_name: "Sow" })).toEqual({
      ok: true,
      answer: { nextStep: "Sow", contextUpdates: {} },
    });
  });

  it("may contain a status suggestion", () => {
    const read = readDecision({ ...ANSWER, status_suggestion: "SUSPENDED" });
    expect(read).toMatchObject({ answer: { statusSuggestion: "SUSPENDED" } });
  });

  it("may contain its updates as an object", () => {
    const read = readDecision({ ...ANSWER, updated_context: { depth: 20 } });
    expect(read).toEqual(READ);
  });

  it("keeps the last value of a key, and treats a prototype's name as an ordinary key", () => {
    const updated_context = [
      { key: "depth", value: 10 },
      { key: "depth", value: 20 },
      { key: "__proto__", value: "x" },
    ];
    const read = readDecision({ ...ANSWER, updated_context });
    const updates = read.ok ? read.answer.contextUpdates : {};
    expect(Object.entries(updates)).toEqual([
      ["depth", 20],
      ["__proto__", "x"],
    ]);
    expect(Object.getPrototypeOf(updates)).toBe(Object.prototype);
  });
});

describe("the JSON Schema of an answer", () => {
  it("allows only the possible next steps, and requires every key", () => {
    const schema = decisionJsonSchema(["Sow", "FINISH"]);
    expect(schema).toMatchObject({
      properties: { next_step_name: { enum: ["Sow", "FINISH"] } },
      required: ["next_step_name", "updated_context", "status_suggestion", "reasoning"],
      additionalProperties: false,
    });
  });
});

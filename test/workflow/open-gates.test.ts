import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { metadata, phase, read } from "./workflow-texts.js";

/** A workflow whose first phase has no gate but that of its text. */
const METADATA = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });

const reading = (text: string, more: Record<string, string> = {}) =>
  read({ "metadata.json": METADATA, "phases/1/phase.md": text, ...more });

describe("a text that speaks of a gate, and of which nothing is read", () => {
  it.each([
    ["# Dig\n\nHand in your evidence when it is done.", 3],
    ["# Dig\n\nEvidence: see the report", 3],
    ["# Dig\n\nThis is a checkpoint.", 3],
    ["# Validation gate\n\nAll is well.", 1],
    ["# Dig\n\nThe spade is required.", 3],
    ["# Dig\n\nYou must provide a good reason.", 3],
    ["# Dig\n\n    Evidence: `x`", 3],
    ["# Dig\n\n<p>Evidence: x</p>", 3],
    ["# Dig\n\n```\nEvidence: `x`", 4],
    ["# Dig\n\nNo evidence is required. But evidence helps.", 3],
    ["# Dig\n\n| Proof | Evidence of |\n|---|---|\n| a | b |", 3],
    [`# Dig\n\nEvidence: \`x\` ${"word ".repeat(1000)}`, 3],
  ])("is an error at its line: %s", async (text, line) => {
    const { structure, diagnostics } = await reading(text);
    expect(structure).toBeUndefined();
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ code: "REQUIREMENT_UNREAD", file: "phases/1/phase.md", line }]);
  });

  it("is an error in the text of a task, too", async () => {
    const { diagnostics } = await reading("# Dig\n", { "phases/1/task-1-dig.md": "# Dig over\n\nEvidence: `x`\n" });
    const error = diagnostics.find(({ severity }) => severity === "error");
    expect(error).toMatchObject({ code: "REQUIREMENT_UNREAD", file: "phases/1/task-1-dig.md", line: 3 });
  });

  it.each([
    "# Dig\n\nNo evidence is required.",
    "# Dig\n\nThis phase has no checkpoint.",
    "# Dig\n\nEvidence: none",
    "# Dig\n\n```sh\nparser.add(required=True)\n```",
    "# Dig\n\n<!-- evidence -->\nDig.",
    "---\nevidence: x\n---\n# Dig",
  ])("is none if it denies that it requires something: %j", async (text) => {
    expect((await reading(text)).codes).toEqual(["warning GATE_OPEN"]);
  });

  it("is none beside a gate that requires something", async () => {
    const { codes } = await reading("# Dig\n\nEvidence is good.\n\nEvidence: `x` (integer)\n");
    expect(codes).toEqual([]);
  });

  it("is found in linear time", async () => {
    const text = "Evidence, or not: `x ".repeat(40_000);
    const started = performance.now();
    await reading(`# Dig\n\n${text}`);
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it("never lets a phase require nothing: what has one of the words is read, denied, or an error", async () => {
    const word = fc.constantFrom(
      "Evidence:",
      "Checkpoint:",
      "must provide",
      "Required:",
      "evidence",
      "validation gate",
    );
    const part = fc.constantFrom(
      "`x`",
      "dep_count",
      "**y**",
      "(number)",
      "as a list",
      "at least 1",
      "Report the",
      "\n",
    );
    const text = fc.tuple(fc.array(part, { maxLength: 4 }), word, fc.array(part, { maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(text, async ([before, said, after]) => {
        const { structure, codes } = await reading(`# Dig\n\n${[...before, said, ...after].join(" ")}`);
        const isOpen = structure?.phases[0]?.gate.kind === "open";
        expect(isOpen, codes.join()).toBe(false);
      }),
    );
  });
});

describe("gate: none in a gate file", () => {
  const noGate = (text: string, file = "gate: none\n") => reading(text, { "phases/1/gate-definition.yaml": file });

  it("says that the phase is meant to require nothing", async () => {
    const { structure, codes } = await noGate("# Dig\n\nEvidence is a word.");
    expect(structure?.phases[0]?.gate).toEqual({ kind: "open" });
    expect(codes).toEqual([]);
  });

  it("is compared with what the text asks for", async () => {
    expect((await noGate("# Dig\n\nEvidence: `x`")).codes).toEqual(["warning GATE_DIFFERS"]);
  });

  it.each([
    ["another value", "gate: open\n", "error VALUE_WRONG"],
    ["fields", "gate: none\nevidence_schema:\n  x: {type: string}\n", "error KEY_UNKNOWN"],
    ["a check", "gate: none\nverify: git_clean\n", "error KEY_UNKNOWN"],
  ])("is refused with %s", async (_, file, code) => {
    expect((await noGate("# Dig", file)).codes).toEqual([code]);
  });
});

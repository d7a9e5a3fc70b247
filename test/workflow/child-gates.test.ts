import { readFile } from "node:fs/promises";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { extendWorkflow, workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { gateChanges } from "../../src/workflow/gate-change.js";
import { EACH, parentOf, review } from "../support/children.js";
import { failure } from "../support/failure.js";
import { metadata, phase, read } from "./workflow-texts.js";

const FILE = "phases/2/gate-definition.yaml";
const PHASES = metadata({ phases: [phase(1), phase(2, { required_evidence: undefined })] });

/** Returns the second gate of a folder, and what is said of it. */
async function gateOf(text: string) {
  const { structure, lines } = await read({ "metadata.json": PHASES, [FILE]: text });
  return { gate: structure?.phases[1]?.gate, lines: lines.filter((line) => line.includes(FILE)) };
}

describe("the gate file of a phase that is a workflow", () => {
  it("is read as the same gate in code", async () => {
    const text =
      "workflow: review\nfor_each: artifacts.part_1.files\ntarget: {rule: item}\noptions: {depth: deep}\nallow_empty: true\ncheckpoint: {allow_override: true}\n";
    const { gate, lines } = await gateOf(text.replace("files", "done"));
    expect(lines).toEqual([]);
    const code = parentOf({
      forEach: "artifacts.build.files",
      target: { rule: "item" },
      options: { depth: "deep" },
      ...{ allowEmpty: true, allowOverride: true },
    });
    const other = JSON.parse(
      JSON.stringify(code.definition.structure.phases[1]?.gate).replaceAll("build.files", "part_1.done"),
    );
    expect(JSON.parse(JSON.stringify(gate))).toEqual(other);
  });

  it.each([
    ["workflow: no/type", "1:1: error: type must be"],
    ["workflow: review\nfor_each: artifacts.part_9.files", "2:1: error: the rule"],
    ["workflow: review\ntarget: {rule: item}", "2:1: error: the rule"],
    ["workflow: review\ntarget: {rule: ''}", '2:1: error: "target" must be a path, or an object with a rule'],
    ["workflow: review\noptions: {depth: {rule: 'artifacts.part_1.nope'}}", "2:11: error"],
    ["workflow: review\nevidence_schema: {a: {type: boolean}}", "2:1: error"],
    [
      "evidence_schema: {a: {type: boolean}}\nfor_each: x",
      '2:1: error: "for_each" belongs to a phase that is a workflow',
    ],
    ["workflow: review\nfor_eech: x", '2:1: error: the key "for_eech" has no meaning here'],
    [
      "evidence_schema: {a: {type: boolean}}\nverify: {verifier: workflow, type: review}",
      "2:1: error: a phase that is a workflow passes by that alone",
    ],
    ["verify: {verifier: workflow, typ: review}", '1:1: error: a workflow has no key "typ"'],
    ["verify: {verifier: workflow, type: review}", "1:1: error: nobody may waive"],
  ])("that is wrong is reported at its place: %s", async (text, message) => {
    const { lines } = await gateOf(`${text}\n`);
    expect(lines.join("\n")).toContain(message);
  });
});

describe("a phase that is a workflow", () => {
  it("is written as a folder that is read as the same, and loaded from it", async () => {
    const files = await workflowToFiles(parentOf(EACH));
    const texts = Object.entries(files).map(([path, text]) => ({ path, text }));
    const { definition, diagnostics } = await readWorkflow("feature", texts);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(definition?.structure.phases[1]?.gate).toEqual(parentOf(EACH).definition.structure.phases[1]?.gate);
    const loaded = await loadWorkflow("examples/parts/release");
    const written = await readFile("examples/parts/release/phases/2/gate-definition.yaml", "utf8");
    expect((await gateOf(written.replaceAll("changes.files", "part_1.done"))).lines).toEqual([]);
    expect(defineWorkflow(loaded.input).definition.structure.phases).toMatchObject(
      JSON.parse(
        JSON.stringify(loaded.definition.structure.phases, (key, value) =>
          /file|Revision|source|sample/.test(key) ? undefined : value,
        ),
      ),
    );
  });

  it("keeps its rules where an extension numbers the phases anew", async () => {
    const base = parentOf({ forEach: 'artifacts["1"].files', target: { rule: "item" } });
    const first = { name: "Plan", content: "Plan.", gate: { fields: { plan: { type: "string" } } } } as const;
    const extended = await extendWorkflow(base, {
      type: "own",
      revision: "1",
      phases: [{ before: "Build", phase: first }],
    });
    const engine = createEngine({
      storage: new MemoryStorage(),
      content: new MemoryContent({ workflows: [extended, review] }),
    });
    const { sessionId } = await engine.start({ workflowType: "own", target: "src" });
    const session = engine.session(sessionId);
    await session.completePhase(1, { plan: "p" });
    await session.completePhase(2, { files: ["a"], main: "m" });
    expect((await session.startChild()).target).toBe("a");
  });

  it("is added to by no extension, and comes into being by none: the whole gate is given", async () => {
    const problems = async (change: string, gate: object) => {
      const extension = { type: "own", revision: "1", phases: [{ change, gate }] };
      const { code, details } = await failure(extendWorkflow(parentOf(EACH), extension));
      return [code, ...Object(details).diagnostics];
    };
    const whole = "give a function that returns the whole gate";
    for (const gate of [{ approval: { prompt: "Well?" } }, { workflow: "review" }, { target: "src" }]) {
      expect(await problems("Review", gate)).toEqual([
        "DEFINITION_INVALID",
        `phases[0]: gate: the gate is a workflow, to which nothing can be added: ${whole}`,
      ]);
    }
    expect(await problems("Build", { workflow: "review", forEach: "artifacts" })).toEqual([
      "DEFINITION_INVALID",
      `phases[0]: gate: a gate that becomes a workflow is not added: ${whole}`,
    ]);
    const each = { workflow: "review", ...EACH, allowEmpty: true };
    const own = await extendWorkflow(parentOf(EACH), {
      ...{ type: "own", revision: "1" },
      phases: [{ change: "Review", gate: () => each, override: "often nothing has changed" }],
    });
    const params = { type: "review", for_each: EACH.forEach, target: EACH.target, allow_empty: true };
    expect(own.definition.structure.phases[1]?.gate).toMatchObject({ verify: [{ params }] });
  });

  it("of another workflow, or with other rules, is another gate", () => {
    const gate = (more: object) => parentOf(more).definition.structure.phases[1]?.gate ?? { kind: "open" as const };
    expect(gateChanges(gate(EACH), gate({ ...EACH, workflow: "easy" }))).toMatchObject([{ kind: "changed" }]);
    expect(gateChanges(gate(EACH), { kind: "open" })).toMatchObject([{ kind: "weaker" }]);
    expect(gateChanges(gate(EACH), gate(EACH))).toEqual([]);
  });

  it("is listed as not ready where its workflow is missing, and runs from a folder where it is there", async () => {
    const alone = createEngine({
      storage: new MemoryStorage(),
      content: new MemoryContent({ workflows: [parentOf(EACH)] }),
    });
    expect(await alone.listWorkflows()).toMatchObject([{ missingWorkflows: ["review"] }]);
    const engine = createEngine({
      storage: new MemoryStorage(),
      content: new FileContent({ roots: ["examples/parts"] }),
    });
    expect((await engine.listWorkflows()).map((one) => "missingWorkflows" in one && one.missingWorkflows)).toEqual([
      undefined,
      undefined,
    ]);
    const { sessionId } = await engine.start({ workflowType: "release", target: "src" });
    await engine.session(sessionId).completePhase(1, { files: ["src/a.ts"] });
    const child = await engine.session(sessionId).startChild();
    expect(child).toMatchObject({ target: "src/a.ts", options: { depth: "short" } });
    await engine.session(child.sessionId).completePhase(1, { approved: true });
    expect(await engine.session(sessionId).completePhase(2, {})).toMatchObject({ passed: true, nextPhase: null });
  });
});

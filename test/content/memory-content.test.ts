import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryContent } from "../../src/content/memory.js";
import { defineWorkflow } from "../../src/workflow/files/define-workflow.js";
import { revisionOf } from "../../src/workflow/json.js";
import { texts } from "../workflow/workflow-texts.js";

const TYPE = "garden_v1";
const SOURCE = Object.fromEntries(texts().map(({ path, text }) => [path, text]));

function workflow(revision: string, content: string | (() => string | Promise<string>) = `Text of ${revision}`) {
  const gate = { evidence: z.object({ done: z.boolean() }) };
  return defineWorkflow({
    type: TYPE,
    revision,
    name: "In code",
    description: "A workflow in code",
    phases: [{ number: 1, name: "One", content, gate, tasks: [{ name: "first", content: "Task" }] }],
  });
}

describe("workflows defined in code", () => {
  it("are kept per revision, the last one as the newest", async () => {
    const content = new MemoryContent({ workflows: [workflow("r1"), workflow("r2")] });
    expect((await content.definition(TYPE))?.structure.revision).toBe("r2");
    expect((await content.definition(TYPE, "r1"))?.structure.revision).toBe("r1");
    expect(await content.definition(TYPE, "r3")).toBeUndefined();
    expect(await content.definition("none")).toBeUndefined();
    expect(await content.list()).toMatchObject([{ status: "ready", type: TYPE, diagnostics: [] }]);
    expect((await content.definition(TYPE))?.schemas.has(1)).toBe(true);
  });

  it("may be given twice, of which the last counts, but not with two contents for one revision", async () => {
    const first = workflow("r1");
    const content = new MemoryContent({ workflows: [first, workflow("r2"), first, workflow("r1")] });
    expect((await content.definition(TYPE))?.structure.revision).toBe("r1");
    expect(() => new MemoryContent({ workflows: [first, workflow("r1", "Other text")] })).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });

  it("return texts, from functions too", async () => {
    const content = new MemoryContent({ workflows: [workflow("r1", async () => "Later")] });
    expect(await content.text(TYPE, { phase: 1 })).toEqual({
      text: "Later",
      revision: revisionOf("Later"),
      sources: ["garden_v1@r1"],
      tokens: 2,
    });
    expect((await content.text(TYPE, { phase: 1, task: 1 })).text).toBe("Task");
  });

  it("throw CONTENT_UNAVAILABLE if a text is missing, or its function throws", async () => {
    const failing = () => {
      throw new Error("/secret/place");
    };
    const content = new MemoryContent({ workflows: [workflow("r1", failing)] });
    for (const part of [{ phase: 1 }, { phase: 2 }, { phase: 1, task: 5 }]) {
      const error: unknown = await content.text(TYPE, part).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "CONTENT_UNAVAILABLE", details: { workflowType: TYPE, ...part } });
      expect(error instanceof Error ? error.message : "").not.toContain("secret");
    }
  });
});

describe("workflows as texts", () => {
  it("are read like the files of a folder", async () => {
    const content = new MemoryContent({ sources: { [TYPE]: { ...SOURCE, "phases/1/phase.md": "\uFEFFMarked" } } });
    const definition = await content.definition(TYPE);
    expect(definition?.structure.phases).toHaveLength(2);
    expect(await content.definition(TYPE)).toBe(definition);
    expect(await content.definition(TYPE, definition?.structure.revision)).toBe(definition);
    expect(await content.definition(TYPE, "other")).toBeUndefined();
    expect(await content.list()).toMatchObject([{ status: "ready", diagnostics: [{ code: "BOM" }] }]);
    const text = await content.text(TYPE, { phase: 1 });
    expect(text).toMatchObject({ text: "Marked", sources: ["phases/1/phase.md"] });
    expect(text.revision).toBe(definition?.structure.phases[0]?.textRevision);
    expect((await content.text(TYPE, { phase: 2, task: 1 })).text).toBe("# Task 1: Rake\n");
    for (const part of [{ phase: 3 }, { phase: 1, task: 3 }, { phase: 3, task: 1 }]) {
      await expect(content.text(TYPE, part)).rejects.toMatchObject({ code: "CONTENT_UNAVAILABLE" });
    }
    await expect(content.text("none", { phase: 1 })).rejects.toMatchObject({ code: "CONTENT_UNAVAILABLE" });
  });

  it("are listed if broken, and throw when requested", async () => {
    const content = new MemoryContent({ sources: { broken: {}, [TYPE]: SOURCE } });
    expect((await content.list()).map(({ type, status }) => [type, status])).toEqual([
      ["broken", "broken"],
      [TYPE, "ready"],
    ]);
    await expect(content.definition("broken")).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      details: { diagnostics: [expect.stringContaining("there is no metadata.json")] },
    });
  });

  it("come after code of the same type, as an older revision", async () => {
    const alone = await new MemoryContent({ sources: { [TYPE]: SOURCE } }).definition(TYPE);
    const content = new MemoryContent({ workflows: [workflow("r1")], sources: { [TYPE]: SOURCE } });
    expect((await content.definition(TYPE))?.structure.revision).toBe("r1");
    expect(await content.definition(TYPE, alone?.structure.revision)).toEqual(alone);
    expect(await content.list()).toHaveLength(1);
  });

  it("may be none", async () => {
    expect(await new MemoryContent({}).list()).toEqual([]);
  });
});

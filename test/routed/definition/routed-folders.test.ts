import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import { RoutedFolders } from "../../../src/workflow/files/routed-workflow.js";
import { FolderOfTexts, gardenTexts, stepText } from "./folder-of-texts.js";

function opened(changes: Record<string, string> = {}) {
  const source = new FolderOfTexts(gardenTexts(changes));
  return { source, folders: new RoutedFolders({ source, includeRoots: ["shared"] }) };
}

describe("routed workflows in folders", () => {
  it("are listed by name, broken ones with diagnostics", async () => {
    const { folders } = opened({ "BROKEN/index.md": "", "LOST/steps/a.md": "", "notes/a.md": "", "readme.md": "" });
    const listed = await folders.list();
    expect(listed.map(({ name, status }) => [name, status])).toEqual([
      ["BROKEN", "broken"],
      ["GARDEN", "ready"],
      ["LOST", "broken"],
    ]);
    expect(listed[2]?.diagnostics.map(({ code }) => code)).toEqual(["INDEX_MISSING"]);
  });

  it("are found by name: undefined if missing, refused if broken", async () => {
    const { folders } = opened({ "BROKEN/index.md": "" });
    expect((await folders.definition("GARDEN"))?.steps).toHaveLength(3);
    expect(await folders.definition("NONE")).toBeUndefined();
    await expect(folders.definition("BROKEN")).rejects.toSatisfy(
      (error) => isPhasegateError(error, "DEFINITION_INVALID") && error.details.diagnostics.length === 1,
    );
  });

  it("are refused with the first five of many errors", async () => {
    const links = Array.from({ length: 300 }, (_, at) => `- [Step ${at}](steps/missing_${at}.md)`).join("\n");
    const { folders } = opened({ "BROKEN/index.md": `# BROKEN\n\n${links}\n` });
    await expect(folders.definition("BROKEN")).rejects.toThrow(
      /^the workflow BROKEN is broken: (index\.md:\d+.{1,200}; ){5}and 295 more$/,
    );
  });

  it("are cached while nothing has changed", async () => {
    const { folders } = opened();
    expect(await folders.definition("GARDEN")).toBe(await folders.definition("GARDEN"));
  });

  it.each([
    ["a step", "GARDEN/steps/dig.md", stepText('Dig deeper. Proceed to "Sow".')],
    ["an included file", "shared/end.md", "Then finish at last."],
    ["a new file", "GARDEN/steps/weed.md", stepText("Go on.")],
  ])("are read again after a change of %s", async (_, path, text) => {
    const { source, folders } = opened({
      "GARDEN/steps/water.md": stepText("{{file:../../shared/end.md}}"),
      "shared/end.md": "Then finish.",
    });
    const before = await folders.read("GARDEN");
    source.texts[path] = text;
    const after = await folders.read("GARDEN");
    expect(after).not.toBe(before);
    const isOther = before.definition?.revision !== after.definition?.revision;
    expect(isOther).toBe(path !== "GARDEN/steps/weed.md");
  });

  it("are read again once a missing file exists", async () => {
    const { source, folders } = opened({ "GARDEN/steps/water.md": stepText("{{file:../../shared/end.md}}") });
    await expect(folders.definition("GARDEN")).rejects.toThrow("shared/end.md");
    source.texts["shared/end.md"] = "Then finish.";
    expect((await folders.definition("GARDEN"))?.steps[2]?.guidance).toBe("Then finish.");
  });

  it("disappear when they are deleted", async () => {
    const { source, folders } = opened();
    await folders.list();
    for (const path of Object.keys(source.texts)) delete source.texts[path];
    expect(await folders.list()).toEqual([]);
    expect(await folders.definition("GARDEN")).toBeUndefined();
  });
});

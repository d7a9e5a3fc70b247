/** The caches between calls never hide a change on the disk. */
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { writeFiles } from "../../support/write-files.js";
import { done, makeOffice } from "./office.js";

const NOTES = "bundle/workflows/meeting-notes";
const ALL = { workflow: "meeting-notes", reload: true };

/** Creates a workspace in which a workflow was loaded twice. */
async function loadedTwice() {
  const office = await makeOffice();
  const workspace = await office.open();
  const first = done(await workspace.preloadWorkflow(ALL));
  const second = done(await workspace.preloadWorkflow(ALL));
  expect(second).toEqual(first);
  const place = (path: string) => join(office.project, path);
  return { office, workspace, first, place, load: async () => done(await workspace.preloadWorkflow(ALL)) };
}

describe("a workflow that was loaded before", () => {
  it("is the same, even if a host has modified the answer", async () => {
    const { first, load } = await loadedTwice();
    const { files } = await load();
    for (const file of files) Object.assign(file, { content: "mine" });
    expect(await load()).toEqual(first);
  });

  it("uses the new configuration", async () => {
    const { load, place } = await loadedTwice();
    await writeFile(place("bundle/config.yaml"), "user_name: Grace\nproject_name: Lighthouse\n");
    expect((await load()).files[0]?.content).toContain("Notes for Grace");
  });

  it("changes its kind when a SKILL.md is added to its folder, and back when it is removed", async () => {
    const { first, load, place } = await loadedTwice();
    await writeFile(place(`${NOTES}/SKILL.md`), "---\nname: meeting-notes\ndescription: Takes notes.\n---\n# Notes\n");
    expect(await load()).toMatchObject({ shape: "skill" });
    await rm(place(`${NOTES}/SKILL.md`));
    expect(await load()).toEqual(first);
  });

  it("reports a missing file with similar names, until the file is back", async () => {
    const { first, load, place } = await loadedTwice();
    await rename(place(`${NOTES}/template.md`), place(`${NOTES}/templates.md`));
    const nearest = expect.arrayContaining([`{bundle-root}/workflows/meeting-notes/templates.md`]);
    expect((await load()).missing).toMatchObject([{ role: "template", nearest }]);
    await rename(place(`${NOTES}/templates.md`), place(`${NOTES}/template2.md`));
    const other = expect.arrayContaining([`{bundle-root}/workflows/meeting-notes/template2.md`]);
    expect((await load()).missing).toMatchObject([{ role: "template", nearest: other }]);
    await rename(place(`${NOTES}/template2.md`), place(`${NOTES}/template.md`));
    expect(await load()).toEqual(first);
  });

  it("includes a customization that was added since", async () => {
    const office = await makeOffice({
      "bundle/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies.\n---\n# Tidy\n\nTidy up what lies about.\n",
      "bundle/skills/tidy/notes.md": "Nothing to see.\n",
    });
    const workspace = await office.open();
    const load = async () => done(await workspace.preloadWorkflow({ workflow: "tidy", reload: true }));
    await load();
    const before = await load();
    expect(before.files.map(({ role }) => role)).toEqual(["skill"]);
    await writeFiles(office.project, { "bundle/skills/tidy/customize.toml": 'tone = "dry"\n' });
    expect((await load()).files.map(({ role }) => role)).toEqual(["skill", "customization"]);
  });

  it("is not read through a link that leads outside, even if it was cached long ago", async () => {
    const { office, load, place } = await loadedTwice();
    // The resolution of a file system's clock: changes within it may not be detected, so nothing is cached before.
    await wait(2100);
    const kept = await load();
    expect(await load()).toEqual(kept);
    await writeFiles(office.project, { "secret.md": "for nobody" });
    await rm(place(`${NOTES}/template.md`));
    await symlink(place("secret.md"), place(`${NOTES}/template.md`));
    const { missing, files } = await load();
    expect(missing).toMatchObject([{ role: "template", reason: expect.stringContaining("refused") }]);
    expect(JSON.stringify(files)).not.toContain("for nobody");
    await rename(place("bundle/workflows"), place("elsewhere"));
    await symlink(place("elsewhere"), place("bundle/workflows"));
    expect(await (await office.open()).preloadWorkflow(ALL)).toMatchObject({ success: false });
    expect(await load().catch(() => "refused")).toBe("refused");
  });
});

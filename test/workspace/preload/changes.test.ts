/** Each call of preload_workflow reads what is on the disk now. */
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeFiles } from "../../support/write-files.js";
import { done, makeOffice } from "./office.js";

const NOTES = "bundle/workflows/meeting-notes";
const ALL = { workflow: "meeting-notes", reload: true };

it("a workflow that was loaded before is loaded as it is now", async () => {
  const office = await makeOffice();
  const workspace = await office.open();
  const load = async () => done(await workspace.preloadWorkflow(ALL));
  const place = (path: string) => join(office.project, path);
  const first = await load();
  await writeFile(place(`${NOTES}/SKILL.md`), "---\nname: meeting-notes\ndescription: Takes notes.\n---\n# Notes\n");
  expect(await load()).toMatchObject({ shape: "skill" });
  await rm(place(`${NOTES}/SKILL.md`));
  expect(await load()).toEqual(first);
  await writeFile(place("bundle/config.yaml"), "user_name: Grace\nproject_name: Lighthouse\n");
  expect((await load()).files[0]?.content).toContain("Notes for Grace");
});

it("a workflow that was loaded before is not read through a link that leads outside", async () => {
  const office = await makeOffice();
  const workspace = await office.open();
  const place = (path: string) => join(office.project, path);
  done(await workspace.preloadWorkflow(ALL));
  await writeFiles(office.project, { "secret.md": "for nobody" });
  await rm(place(`${NOTES}/template.md`));
  await symlink(place("secret.md"), place(`${NOTES}/template.md`));
  const { missing, files } = done(await workspace.preloadWorkflow(ALL));
  expect(missing).toMatchObject([{ role: "template", reason: expect.stringContaining("refused") }]);
  expect(JSON.stringify(files)).not.toContain("for nobody");
  await rename(place("bundle/workflows"), place("elsewhere"));
  await symlink(place("elsewhere"), place("bundle/workflows"));
  expect(await workspace.preloadWorkflow(ALL)).toMatchObject({ success: false });
});

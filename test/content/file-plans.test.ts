import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { FilePlans } from "../../src/content/file-plans.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";

let base: string;
let root: string;
let plans: FilePlans;

beforeEach(async () => {
  base = await temporaryFolder();
  root = join(base, "project");
  await mkdir(join(root, "spec"), { recursive: true });
  await writeFile(join(root, "spec", "tasks.md"), "# Plan\n");
  plans = new FilePlans({ root, maxBytes: 50 });
});

it("FilePlans follows links inside the root, and writes to their targets", async () => {
  await symlink("spec", join(root, "current"));
  await symlink(join("spec", "tasks.md"), join(root, "plan.md"));
  const found = await plans.read("current");
  expect(found).toMatchObject({ path: "current/tasks.md", text: "# Plan\n" });
  expect(await plans.replace("plan.md", found?.hash ?? "", "# Ticked\n")).toBe(true);
  expect(await readFile(join(root, "spec", "tasks.md"), "utf8")).toBe("# Ticked\n");
});

it("FilePlans refuses keys and secrets, even behind a link, and accepts files in folders of specifications", async () => {
  for (const name of [".env", "server.pem.md", "id_rsa.bak"]) await writeFile(join(root, name), "- [ ] 1. hush\n");
  await symlink(".env", join(root, "plan.md"));
  for (const path of [".env", "server.pem.md", "id_rsa.bak", "plan.md", ".git/config"]) {
    expect(await failure(plans.read(path))).toMatchObject({ code: "PATH_REFUSED" });
  }
  await mkdir(join(root, ".kiro/specs/credentials"), { recursive: true });
  await writeFile(join(root, ".kiro/specs/credentials/tasks.md"), "# Plan\n");
  expect(await plans.read(".kiro/specs/credentials")).toMatchObject({ text: "# Plan\n" });
});

it("FilePlans refuses links that lead outside, folders called tasks.md, and anything but a file", async () => {
  await writeFile(join(base, "tasks.md"), "# Secret\n");
  await symlink(base, join(root, "up"));
  await symlink(join(base, "tasks.md"), join(root, "out.md"));
  await mkdir(join(root, "odd", "tasks.md"), { recursive: true });
  execFileSync("mkfifo", [join(root, "fifo")]);
  for (const path of ["up", "up/tasks.md", "out.md", "odd", "fifo"]) {
    expect(await failure(plans.read(path))).toMatchObject({ code: "PATH_REFUSED" });
    expect(await failure(plans.replace(path, "", ""))).toMatchObject({ code: "PATH_REFUSED" });
  }
  expect((await failure(plans.read("out.md"))).message).toContain('the path "out.md" is refused');
});

it("FilePlans refuses a file that is too large or not text", async () => {
  await writeFile(join(root, "spec", "tasks.md"), "x".repeat(51));
  const tooLarge = {
    code: "PLAN_PARSE",
    details: { file: "spec/tasks.md" },
    message: expect.stringContaining("over the size limit of 50"),
  };
  expect(await failure(plans.read("spec"))).toMatchObject(tooLarge);
  expect(await failure(plans.replace("spec", "", ""))).toMatchObject(tooLarge);
  await writeFile(join(root, "spec", "tasks.md"), Uint8Array.of(0x23, 0xff));
  const error = await failure(plans.read("spec"));
  expect(error).toMatchObject({
    code: "PLAN_PARSE",
    details: { file: "spec/tasks.md" },
    remedy: "Save the file as UTF-8.",
  });
});

it("FilePlans reads plans up to 5 MiB by default", async () => {
  const limit = 5 * 1024 * 1024;
  await writeFile(join(root, "large.md"), "x".repeat(limit));
  await writeFile(join(root, "larger.md"), "x".repeat(limit + 1));
  const unlimited = new FilePlans({ root });
  expect((await unlimited.read("large.md"))?.text.length).toBe(limit);
  expect(await failure(unlimited.read("larger.md"))).toMatchObject({ code: "PLAN_PARSE" });
});

it("FilePlans reports a missing root as such, not as a missing plan", async () => {
  await rm(root, { recursive: true });
  expect(await failure(plans.read("spec"))).toMatchObject({ code: "FILE_NOT_FOUND" });
  await mkdir(root);
  expect(await plans.read("spec")).toBeUndefined();
});

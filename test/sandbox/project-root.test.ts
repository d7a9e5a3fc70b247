import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TargetGuard } from "../../src/ports/clock.js";
import { createProjectRoot } from "../../src/sandbox/sandbox.js";
import { temporaryFolder } from "./temporary-folder.js";

it("createProjectRoot accepts targets that do not exist yet, and refuses links that lead outside", async () => {
  const base = await temporaryFolder();
  await mkdir(join(base, "project", "src"), { recursive: true });
  await symlink("..", join(base, "project", "up"));
  const guard: TargetGuard = await createProjectRoot(join(base, "project"));
  await expect(guard.check("src/new.ts")).resolves.toBeUndefined();
  await expect(guard.check("up/elsewhere.ts")).rejects.toMatchObject({ code: "PATH_REFUSED" });
  await expect(createProjectRoot(join(base, "none"))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
});

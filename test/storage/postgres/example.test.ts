/** examples/postgres.ts, as a user runs it: copied into a project of their own, on a database that others use as well. */
import { spawn } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../sandbox/temporary-folder.ts";
import { postgresUrl } from "../../support/postgres.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

it("examples/postgres.ts runs in a user's project, next to another host", { timeout: 60_000 }, async () => {
  const project = await temporaryFolder();
  await mkdir(join(project, "node_modules"));
  await symlink(ROOT, join(project, "node_modules/phasegate"));
  await symlink(join(ROOT, "node_modules/zod"), join(project, "node_modules/zod"));
  await writeFile(join(project, "package.json"), '{ "name": "mine", "private": true, "type": "module" }');
  await cp(join(ROOT, "examples/postgres.ts"), join(project, "postgres.ts"));
  const runs = await Promise.all([runIn(project), runIn(project)]);
  for (const { code, output } of runs) {
    expect(output).toMatch(/^handover_\S+ is completed, said by another connection$/m);
    expect(code).toBe(0);
  }
});

async function runIn(cwd: string) {
  const env = { ...process.env, DATABASE_URL: await postgresUrl() };
  // One that hangs is ended in time to show what it has said.
  const child = spawn(process.execPath, ["postgres.ts"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 40_000,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output };
}

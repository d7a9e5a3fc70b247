import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

it("serve says that open sessions keep their definition, when it starts and when a folder changes", async () => {
  const root = await temporaryFolder();
  await writeFiles(root, SMALL);
  const state = await temporaryFolder();
  const [path, text] = Object.entries(SMALL).find(([name]) => name.endsWith("gate-definition.yaml")) ?? ["", ""];
  const type = path.split("/")[0];
  const started = { action: "start", workflow_type: type, target_file: "a.ts" };
  const older = (log: readonly object[]) => log.filter((line) => JSON.stringify(line).includes("older revision"));
  const first = await connectToServe(["--workflows", root, "--state", state, "--poll", "1"]);
  expect(await first.ask(started)).toMatchObject({ status: "success" });
  expect(older(first.log)).toEqual([]);
  let changes = 0;
  // The server may not watch the folder yet: what it sees first is no change.
  await vi.waitFor(
    async () => {
      changes += 1;
      await writeFile(join(root, path), text.replace("all tests", `all ${changes} tests`));
      await delay(1500);
      expect(older(first.log)[0]).toMatchObject({ sessions: 1 });
    },
    { timeout: 30_000 },
  );
  await first.ask(started);
  await first.client.close();
  const second = await connectToServe(["--workflows", root, "--state", state]);
  await vi.waitFor(() => expect(older(second.log)).toMatchObject([{ sessions: 1 }]), { timeout: 10_000 });
  await second.client.close();
});

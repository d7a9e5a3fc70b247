import { expect, it } from "vitest";
import { openSandbox } from "../../src/sandbox/sandbox.js";
import { checkedOutput } from "../../src/workspace/session/folders.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

const ID = "2026-01-02-030405";
const output = (path: string) => ({ path, bytes: 1, sha256: "", saved_at: "" });

it("refuses a name that differs from an existing one only in case, even if the file system treats both as one", async () => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { [`${ID}/Report.md`]: "x" });
  const sandbox = await openSandbox(folder);
  // As on macOS: the file is found with any case.
  const folding = { ...sandbox, signature: () => sandbox.signature(`${ID}/Report.md`) };
  const checked = (path: string) => checkedOutput(folding, ID, path, { outputs: [output("Report.md")] });
  await expect(checked("report.md")).rejects.toThrow("report.md is the same name as Report.md");
  expect(await checked("Report.md")).toBe("Report.md");
});

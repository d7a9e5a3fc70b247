import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../walls/temporary-folder.js";
import { BIN } from "./bin.js";
import { SMALL, writeFiles } from "./workflow-folders.js";

/** The inspector's command, as a file for Node. */
function inspector(): string {
  const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), bin["mcp-inspector"]);
}

describe("the MCP inspector's command line", () => {
  it("lists the tool and calls it", async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, SMALL);
    const server = [process.execPath, BIN, "serve", "--workflows", folder, "--state", join(folder, "state")];
    const inspect = (...args: string[]) => {
      const run = spawnSync(process.execPath, [inspector(), "--cli", ...server, ...args], {
        encoding: "utf8",
        env: { ...process.env, HOME: folder, USERPROFILE: folder },
      });
      return run.status === 0 ? JSON.parse(run.stdout) : { status: run.status, stderr: run.stderr };
    };
    expect(inspect("--method", "tools/list", "--strict")).toMatchObject({ tools: [{ name: "pos_workflow" }] });
    const call = ["--method", "tools/call", "--tool-name", "pos_workflow", "--tool-arg"];
    const started = inspect(...call, "action=start", "workflow_type=small", "target_file=src/a.ts");
    expect(started).toMatchObject({ structuredContent: { status: "success", current_phase: 1 } });
    const id = started.structuredContent.session_id;
    expect(inspect("--method", "resources/read", "--uri", `phasegate://session/${id}`)).toMatchObject({
      contents: [{ mimeType: "application/json" }],
    });
  }, 60_000);
});

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { GARDENS } from "./routed-folders.js";
import { SMALL } from "./workflow-folders.js";

/** Returns the path of the inspector's command. */
function inspector(): string {
  const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), bin["mcp-inspector"]);
}

/** Returns a function that calls a served bin through the inspector. */
function inspecting(folder: string, ...flags: string[]) {
  const server = [process.execPath, BIN, "serve", ...flags, "--state", join(folder, "state")];
  return (...args: string[]) => {
    const run = spawnSync(process.execPath, [inspector(), "--cli", ...server, ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: folder, USERPROFILE: folder },
    });
    return run.status === 0 ? JSON.parse(run.stdout) : { status: run.status, stderr: run.stderr };
  };
}

describe("the MCP inspector's command line", () => {
  it("lists the tools of phased and routed workflows and calls them", async () => {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, "phased"), SMALL);
    await writeFiles(join(folder, "routed"), GARDENS);
    const flags = ["--workflows", join(folder, "phased"), "--routed", join(folder, "routed"), "--decider", "linear"];
    const inspect = inspecting(folder, ...flags);
    const call = (name: string, ...args: string[]) =>
      inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", ...args);
    const { tools } = inspect("--method", "tools/list", "--strict");
    expect(tools).toHaveLength(10);
    expect(tools).toContainEqual(expect.objectContaining({ name: "pos_workflow" }));

    const phased = call("pos_workflow", "action=start", "workflow_type=small", "target_file=src/a.ts");
    expect(phased).toMatchObject({ structuredContent: { status: "success", current_phase: 1 } });
    const uri = `phasegate://session/${phased.structuredContent.session_id}`;
    expect(inspect("--method", "resources/read", "--uri", uri)).toMatchObject({
      contents: [{ mimeType: "application/json" }],
    });

    const routed = call("start_workflow", "workflow_name=GARDEN");
    expect(routed).toMatchObject({ structuredContent: { next_step: { step_name: "Dig" } } });
    const id = `instance_id=${routed.structuredContent.instance_id}`;
    expect(call("advance_workflow", id, 'report={"status":"success"}')).toMatchObject({
      structuredContent: { next_step: { step_name: "Sow" } },
    });
  }, 60_000);
});

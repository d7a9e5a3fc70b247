import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { BIN } from "./bin.js";
import { GARDENS } from "./routed-folders.js";
import { SMALL, writeFiles } from "./workflow-folders.js";

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
  it("lists the tools of routed workflows and calls them", async () => {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, "routed"), GARDENS);
    const inspect = inspecting(folder, "--routed", join(folder, "routed"), "--decider", "linear");
    const { tools } = inspect("--method", "tools/list", "--strict");
    expect(tools).toHaveLength(9);
    const call = (name: string, ...args: string[]) =>
      inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", ...args);
    const started = call("start_workflow", "workflow_name=GARDEN");
    expect(started).toMatchObject({ structuredContent: { next_step: { step_name: "Dig" } } });
    const id = `instance_id=${started.structuredContent.instance_id}`;
    expect(call("advance_workflow", id, 'report={"status":"success"}')).toMatchObject({
      structuredContent: { next_step: { step_name: "Sow" } },
    });
  }, 60_000);

  it("lists the tool and calls it", async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, SMALL);
    const inspect = inspecting(folder, "--workflows", folder);
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

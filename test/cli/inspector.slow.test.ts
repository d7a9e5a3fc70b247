import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { GARDENS } from "./routed-folders.js";
import { SMALL } from "./workflow-folders.js";

/** Installs the inspector, and returns the path of its command. It brings eighty packages, more than any other client. */
async function installInspector(): Promise<string> {
  const folder = await temporaryFolder();
  const flags = ["--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", ["install", ...flags, "@modelcontextprotocol/inspector@2.12.0"]);
  const home = join(folder, "node_modules", "@modelcontextprotocol", "inspector");
  const { bin } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return join(home, bin["mcp-inspector"]);
}

/** Several servers start at once. */
const PATIENT = ["--connect-timeout", "60000"];

/** Returns a function that calls a served bin through the inspector. */
async function inspecting(folder: string, ...flags: string[]) {
  const inspector = await installInspector();
  const server = [process.execPath, BIN, "serve", ...flags, "--state", join(folder, "state")];
  const env = { ...process.env, HOME: folder, USERPROFILE: folder };
  return async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [inspector, "--cli", ...server, ...args, ...PATIENT],
      { env },
    );
    return JSON.parse(stdout);
  };
}

describe("the MCP inspector's command line", () => {
  it.runIf(process.env.PHASEGATE_LONG === "1")(
    "lists the tools of phased and routed workflows and calls them",
    async () => {
      const folder = await temporaryFolder();
      await writeFiles(join(folder, "phased"), SMALL);
      await writeFiles(join(folder, "routed"), GARDENS);
      const flags = ["--workflows", join(folder, "phased"), "--routed", join(folder, "routed"), "--decider", "linear"];
      const inspect = await inspecting(folder, ...flags);
      const call = (name: string, ...args: string[]) =>
        inspect("--method", "tools/call", "--tool-name", name, "--tool-arg", ...args);
      const [{ tools }, phased, routed] = await Promise.all([
        inspect("--method", "tools/list", "--strict"),
        call("pos_workflow", "action=start", "workflow_type=small", "target_file=src/a.ts"),
        call("start_workflow", "workflow_name=GARDEN"),
      ]);
      expect(tools).toHaveLength(10);
      expect(tools).toContainEqual(expect.objectContaining({ name: "pos_workflow" }));
      expect(phased).toMatchObject({ structuredContent: { status: "success", current_phase: 1 } });
      expect(routed).toMatchObject({ structuredContent: { next_step: { step_name: "Dig" } } });

      const uri = `phasegate://session/${phased.structuredContent.session_id}`;
      const id = `instance_id=${routed.structuredContent.instance_id}`;
      const [read, advanced] = await Promise.all([
        inspect("--method", "resources/read", "--uri", uri),
        call("advance_workflow", id, 'report={"status":"success"}'),
      ]);
      expect(read).toMatchObject({ contents: [{ mimeType: "application/json" }] });
      expect(advanced).toMatchObject({ structuredContent: { next_step: { step_name: "Sow" } } });
    },
    120_000,
  );
});

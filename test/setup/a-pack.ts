import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { answering, run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { writeFiles } from "../support/write-files.js";
import { aProject } from "./a-project.js";

/** Files of a pack as a package manager has installed them, by their paths in it. */
export type PackFiles = Readonly<Record<string, string>>;

/** The gate file of the pack that {@link aPack} makes. */
export const GATE = `checkpoint: {strict: true}
evidence_schema:
  report: {type: string, validator: value.size() > 3}
  tested: {type: boolean}
verify: {verifier: command, line: npm test}
`;

/** A pack with the workflow `write_report`, whose gate is this; other files come on top. */
export function aPack({
  gate = GATE,
  version = "1.0.0",
  type = "write_report",
  files = {} as PackFiles,
} = {}): PackFiles {
  const metadata = {
    ...{ workflow_type: type, name: "Report", description: "Writes a report", version: "1.0.0", category: "docs" },
    ...{ estimated_duration: "an hour", target: "none", phases: [{ phase_number: 1, phase_name: "Write" }] },
  };
  return {
    "package.json": JSON.stringify({ name: "acme", version, phasegate: { workflows: "./workflows" } }),
    [`workflows/${type}/metadata.json`]: JSON.stringify(metadata),
    [`workflows/${type}/phases/1/phase.md`]: "# Phase 1: Write\n\nWrite it.\n",
    [`workflows/${type}/phases/1/gate-definition.yaml`]: gate,
    ...files,
  };
}

/** A project that init has set up, in which the package `acme` with these files is installed. */
export async function aProjectWithPack(files: PackFiles) {
  const manifest = { name: "app", private: true, devDependencies: { acme: "^1.0.0" } };
  const project = await aProject({ "package.json": JSON.stringify(manifest) });
  const install = (changed: PackFiles) => writeFiles(join(project.root, "node_modules/acme"), changed);
  await install(files);
  await project.init("--client", "claude", "--starters", "bug_fix");
  return {
    ...project,
    install,
    /** Runs a command in the project. */
    run: (...args: string[]) => run(...args, "--project", project.root),
    answering: (args: readonly string[], answers: readonly string[]) =>
      answering([...args, "--project", project.root], answers),
    /** Connects to `serve` as the configuration of the client starts it. */
    serve: async () => connectToServe(await servedWith(project.root)),
    /** Runs `serve` where it is expected to end at once. */
    refused: async () => run("serve", ...(await servedWith(project.root))),
  };
}

/** Returns the arguments of `serve` in the configuration of Claude Code, with absolute paths. */
async function servedWith(root: string): Promise<string[]> {
  const { mcpServers } = JSON.parse(await readFile(join(root, ".mcp.json"), "utf8"));
  const { args }: { args: string[] } = mcpServers.phasegate;
  const places = ["--workflows", "--state", "--project"];
  const given = args.slice(args.indexOf("serve") + 1);
  return given.map((word, index) => (places.includes(given[index - 1] ?? "") ? join(root, word) : word));
}

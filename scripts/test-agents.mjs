/**
 * `npm run test:agents -- [framework…]`: installs the packed package beside the oldest and the newest version of each framework
 * for agents that it is said to work with, as a user would, checks the types of the framework's example, and runs it; then
 * cancels a call (test/agents/cancel). Prints the versions that docs/agents.md has. Needs a build, and the registry.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parse } from "jsonc-parser";
import { chosen, install, pack, run, runAll } from "./packed.mjs";

/** For each framework: the example, and for each version what is installed. */
const FRAMEWORKS = {
  "ai-sdk": {
    example: "agent-ai-sdk.ts",
    versions: [["ai@6.0.0"], ["ai@6"], ["ai@7.0.100"], ["ai@7"]],
  },
  mastra: {
    example: "agents/mastra.ts",
    versions: [["@mastra/core@1.20.0"], ["@mastra/core@1"]],
  },
  "openai-agents": {
    example: "agents/openai-agents.ts",
    // Versions up to 0.12.0 at least do not hand the signal of a run to its tools.
    versions: [["@openai/agents@0"]],
  },
  langchain: {
    example: "agents/langchain.ts",
    versions: [
      ["langchain@1.4.0", "@langchain/core@1.2.0", "@langchain/openai@1.4.0"],
      ["langchain@1", "@langchain/core@1", "@langchain/openai@1"],
    ],
  },
  "claude-agent-sdk": {
    example: "agents/claude-agent-sdk.ts",
    versions: [["@anthropic-ai/claude-agent-sdk@0.2.0"], ["@anthropic-ai/claude-agent-sdk@0"]],
  },
};

const { root, tarball } = pack("agents");

async function tryOut(example, packages) {
  const { folder, ...installed } = await install(root, [tarball, "zod@4", ...packages]);
  if (!installed.ok) return installed;
  const file = join(folder, "examples", example);
  mkdirSync(join(folder, "examples/agents"), { recursive: true });
  cpSync(resolve("examples/agents/release.ts"), join(folder, "examples/agents/release.ts"));
  writeFileSync(file, asOf(packages[0], readFileSync(resolve("examples", example), "utf8")));
  const { include: _, compilerOptions } = parse(readFileSync("tsconfig.json", "utf8"));
  const { paths: __, ...options } = compilerOptions;
  const config = { compilerOptions: { ...options, typeRoots: [resolve("node_modules/@types")] }, files: [file] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const checked = await run(process.execPath, [resolve("node_modules/typescript-7/bin/tsc"), "-p", folder], {});
  if (!checked.ok) return checked;
  const used = await run(process.execPath, [file], { cwd: folder });
  if (!used.ok) return used;
  cpSync(resolve("test/agents/cancel"), folder, { recursive: true });
  const cancelled = await run(process.execPath, [`${basename(example, ".ts")}.mjs`], { cwd: folder });
  rmSync(folder, { recursive: true, force: true });
  return cancelled;
}

/** Returns an example as it is with an older version. */
function asOf(version, text) {
  return version.startsWith("ai@6") ? text.replace(".responseMessages", ".response.messages") : text;
}

const jobs = chosen(Object.keys(FRAMEWORKS)).flatMap((name) => {
  const { example, versions } = FRAMEWORKS[name];
  return versions.map((packages) => ({ name: packages.join(" "), run: () => tryOut(example, packages) }));
});
await runAll(jobs);
rmSync(root, { recursive: true, force: true });

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { beforeAll, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { artifacts, readSource, type Source, serverJson } from "../../scripts/artifacts.js";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

const packageJson: unknown = JSON.parse(readFileSync("package.json", "utf8"));
let source: Source;
let files: ReadonlyMap<string, string>;
beforeAll(async () => {
  source = await readSource(packageJson, "starters");
  files = artifacts(source);
});

const textAt = (path: string) => files.get(path) ?? expect.fail(`there is no ${path}`);
const jsonAt = (path: string) => JSON.parse(textAt(path));

/** The commands that start the server, by what has them, with the settings that clients put in. */
function commands(): Record<string, string[]> {
  const flat = ({ command, args }: { command: string; args: string[] }) => [command, ...args];
  const codex = JSON.parse(JSON.stringify(parseToml(textAt("codex/.codex/config.toml"))));
  const found = {
    claude: flat(jsonAt("claude/phasegate/.mcp.json").mcpServers.phasegate),
    gemini: flat(jsonAt("gemini/gemini-extension.json").mcpServers.phasegate),
    codex: flat(codex.mcp_servers.phasegate),
    opencode: jsonAt("opencode/opencode.json").mcp.phasegate.command,
    mcpb: flat(jsonAt("mcpb/manifest.json").server.mcp_config),
  };
  const filled = (word: string) =>
    word
      .replace(`\${user_config.test_command}`, "npm test")
      .replace(`\${PHASEGATE_TEST_COMMAND:-npm test}`, "npm test")
      .replace(/\$?\{(?:user_config\.)?project\}/, "PROJECT");
  return Object.fromEntries(Object.entries(found).map(([name, words]) => [name, words.map(filled)]));
}

describe("what registries and clients install", () => {
  it("starts the server with options that it takes: it has the starters, and lets gates run the test command", async () => {
    const started = commands();
    const served = new Set(
      Object.values(started).map((words) => JSON.stringify(words.slice(words.indexOf("serve") + 1))),
    );
    expect(Object.values(started).every((words) => words.includes("serve"))).toBe(true);
    for (const options of served) {
      const project = await temporaryFolder();
      const inProject = (word: string) =>
        ({ PROJECT: project, ".": project, ".phasegate": join(project, ".phasegate") })[word] ??
        word.replace("PROJECT", project);
      const given: string[] = JSON.parse(options);
      expect(given.slice(-2)).toEqual(["--allow-command", "npm test"]);
      const { client } = await connectToServe(given.map(inProject));
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toContain("start_bug_fix");
    }
  });

  it("has a hook in the clients that ask before an agent ends", () => {
    const claude = jsonAt("claude/phasegate/hooks/hooks.json").hooks.Stop;
    expect(claude).toMatchObject([{ hooks: [{ command: expect.stringContaining("hook stop --client claude") }] }]);
    expect(textAt("codex/.codex/hooks.json")).toContain("hook stop --client codex");
    const gemini = jsonAt("gemini/hooks/hooks.json").hooks.AfterAgent;
    expect(gemini).toMatchObject([{ hooks: [{ command: expect.stringContaining("hook stop --client gemini") }] }]);
  });

  it("has a command for each prompt of the server, with its text", () => {
    expect(source.prompts.length).toBe(source.starters.length + 2);
    for (const { name, text, description } of source.prompts) {
      const [, facts = "", body] = textAt(`claude/phasegate/commands/${name}.md`).split("---\n");
      expect(parseYaml(facts)).toEqual({ description, "disable-model-invocation": true });
      expect(body).toContain(text);
      const toml = parseToml(textAt(`gemini/commands/phasegate/${name}.toml`));
      expect(toml).toEqual({ description, prompt: `${text}\n\nI also say: {{args}}` });
    }
  });

  it("tells agents which work goes through a workflow", () => {
    const [, facts = ""] = textAt("claude/phasegate/skills/phasegate/SKILL.md").split("---\n");
    // Agents have the description all the time.
    const { description }: { description: string } = parseYaml(facts);
    expect(description.length).toBeLessThan(300);
    expect(description).toContain("Fix a bug");
    for (const path of [
      "claude/phasegate/skills/phasegate/SKILL.md",
      "gemini/GEMINI.md",
      "codex/AGENTS.md",
      "opencode/AGENTS.md",
    ])
      for (const { name } of source.starters) expect(textAt(path)).toContain(`\`${name}\``);
  });

  it("has one version, one name in the MCP registry, and no more words than it takes", async () => {
    const { version, description } = source.manifest;
    const server = JSON.parse(serverJson(source, "ab".repeat(32)));
    expect(server).toMatchObject({
      name: "io.github.OWNER/phasegate",
      version,
      packages: [{ registryType: "mcpb", version, fileSha256: "ab".repeat(32) }],
    });
    for (const path of [
      "claude/phasegate/.claude-plugin/plugin.json",
      "gemini/gemini-extension.json",
      "mcpb/manifest.json",
    ])
      expect(jsonAt(path)).toMatchObject({ name: "phasegate", version, description });
    const tooLong = { ...Object(packageJson), description: "x".repeat(101) };
    await expect(readSource(tooLong, "starters")).rejects.toThrow("the MCP registry takes 100 characters");
  });
});

/**
 * The files that registries and clients install phasegate by. They say what `phasegate init` writes and the server's prompts
 * say: entries of the server, hooks and instructions come from src/setup, commands from src/mcp/prompts.ts.
 */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { applyEdits } from "jsonc-parser";
import { createEngine, MemoryStorage } from "phasegate";
import { FileContent } from "phasegate/fs";
import { registerWorkflowTool } from "phasegate/mcp";
import { stringify } from "smol-toml";
import * as z from "zod";
import { CLIENTS, type ClientId } from "../src/setup/clients.ts";
import { formOf, type Piece } from "../src/setup/pieces.ts";
import { readStarters } from "../src/setup/project.ts";
import { type Starter, wantedPieces } from "../src/setup/wanted.ts";

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string().max(100, "the MCP registry takes 100 characters"),
  license: z.string(),
  homepage: z.url(),
  repository: z.object({ url: z.string().startsWith("git+https://").endsWith(".git") }),
  engines: z.object({ node: z.string() }),
  keywords: z.array(z.string()),
});

export type Manifest = z.infer<typeof packageSchema>;

interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly text: string;
}

/** Everything that the artifacts are made of. */
export interface Source {
  readonly manifest: Manifest;
  readonly starters: readonly Starter[];
  readonly prompts: readonly Prompt[];
}

/** Reads the sources: package.json, the starters, and the prompts as a server with the starters has them. */
export async function readSource(packageJson: unknown, startersFolder: string): Promise<Source> {
  const content = new FileContent({ roots: [startersFolder] });
  const server = new McpServer({ name: "phasegate", version: "0.0.0" });
  registerWorkflowTool(server, createEngine({ storage: new MemoryStorage(), content }), { resources: false });
  const client = new Client({ name: "release", version: "0.0.0" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  const listed = await client.listPrompts();
  const prompts = await Promise.all(
    listed.prompts.map(async ({ name, title = name, description = "" }) => {
      const { messages } = await client.getPrompt({ name });
      const [text = ""] = messages.map(({ content: part }) => (part.type === "text" ? part.text : ""));
      return { name, title, description, text };
    }),
  );
  await client.close();
  return { manifest: packageSchema.parse(packageJson), starters: await readStarters(startersFolder), prompts };
}

/** The command that checks a project, which gates may run. A person can change it where a client asks for settings. */
const TEST_COMMAND = {
  name: "test_command",
  title: "Test command",
  description: "The command that checks your project, which gates may run, such as: npm test",
  standard: "npm test",
};

const PROJECT = { title: "Project", description: "The folder of the project that agents work on" };

/** Returns what `phasegate init` would write for a client into an empty project, with the starters of the package. */
function piecesFor({ manifest, starters }: Source, client: ClientId, testCommand: string) {
  const launcher = {
    from: "npx",
    modules: "node_modules",
    version: manifest.version,
    windows: false,
    root: "",
  } as const;
  const wanted = {
    clients: [client],
    hooks: true,
    testCommand,
    launcher,
    files: new Map(),
    folders: new Set<string>(),
  };
  const pieces = wantedPieces({ ...wanted, starters: [] });
  const isAt = (path: string | undefined) => (piece: Piece) => piece.path === path;
  const { configs, hook, instructions } = CLIENTS[client];
  return {
    server: pieces.filter((piece) => piece.kind !== "item" && configs.includes(piece.path)),
    hook: pieces.filter((piece) => piece.kind === "item" && isAt(hook?.path)(piece)),
    // With the starters by name: no client has copies of them.
    instructions: wantedPieces({ ...wanted, starters }).filter(
      (piece) => piece.kind === "block" && isAt(instructions)(piece),
    ),
  };
}

/** Returns a file that has nothing but some pieces. */
function fileOf(pieces: readonly Piece[]): string {
  return pieces.reduce((text, piece) => applyEdits(text, [...formOf(piece).add(text, piece, piece.value).edits]), "");
}

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;
const textOf = (pieces: readonly Piece[]) => `${pieces.map(({ value }) => String(value)).join("\n\n")}\n`;

/** Returns the text of a Markdown file with facts about it before. */
function withFacts(facts: Readonly<Record<string, string | boolean>>, text: string): string {
  const lines = Object.entries(facts).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return ["---", ...lines, "---", "", text].join("\n");
}

const webAddress = ({ repository }: Manifest) => repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
const authorOf = ({ name }: Manifest) => ({ name: `The ${name} authors` });

/** Returns all files but server.json, by their paths. */
export function artifacts(source: Source): ReadonlyMap<string, string> {
  const folders = {
    claude: claudePlugin(source),
    gemini: geminiExtension(source),
    codex: configuration(source, "codex"),
    opencode: configuration(source, "opencode"),
    mcpb: bundleFiles(source),
  };
  const all = Object.entries(folders).flatMap(([folder, files]) =>
    Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text] as const),
  );
  return new Map(all);
}

/** An agent has the skill: a command costs it no tokens. */
const ONLY_BY_PEOPLE = { "disable-model-invocation": true };

/** A marketplace with the one plugin: `claude plugin marketplace add` takes the folder, or a repository with it. */
function claudePlugin(source: Source): Record<string, string> {
  const { manifest, prompts } = source;
  const { name, version, description, license, homepage, keywords } = manifest;
  const { server, hook, instructions } = piecesFor(source, "claude", setting(TEST_COMMAND.name));
  const { title, standard } = TEST_COMMAND;
  const plugin = {
    ...{
      name,
      version,
      description,
      author: authorOf(manifest),
      homepage,
      repository: webAddress(manifest),
      license,
      keywords,
    },
    userConfig: {
      [TEST_COMMAND.name]: { type: "string", title, description: TEST_COMMAND.description, default: standard },
    },
  };
  const kinds = prompts.filter(({ name: prompt }) => prompt.startsWith("start_")).map(({ title: kind }) => kind);
  const skill = { name, description: `Use before work of these kinds, and to go on with it: ${kinds.join("; ")}.` };
  const files = {
    ".claude-plugin/plugin.json": json(plugin),
    ".mcp.json": fileOf(server),
    "hooks/hooks.json": fileOf(hook),
    [`skills/${name}/SKILL.md`]: withFacts(skill, textOf(instructions)),
    "README.md": `# ${name}\n\n${description}. [More about it](${homepage}).\n`,
    ...Object.fromEntries(
      prompts.map((prompt) => [
        `commands/${prompt.name}.md`,
        withFacts({ description: prompt.description, ...ONLY_BY_PEOPLE }, `${prompt.text}\n\nI also say: $ARGUMENTS\n`),
      ]),
    ),
  };
  const plugins = [{ name, description, source: `./${name}` }];
  return {
    ".claude-plugin/marketplace.json": json({ name, description, owner: authorOf(manifest), plugins }),
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text])),
  };
}

const GEMINI_VARIABLE = "PHASEGATE_TEST_COMMAND";

function geminiExtension(source: Source): Record<string, string> {
  const { name, version, description } = source.manifest;
  const { title, standard } = TEST_COMMAND;
  const { server, hook, instructions } = piecesFor(source, "gemini", `\${${GEMINI_VARIABLE}:-${standard}}`);
  const { mcpServers }: { mcpServers: object } = JSON.parse(fileOf(server));
  const settings = [{ name: title, description: TEST_COMMAND.description, envVar: GEMINI_VARIABLE, sensitive: false }];
  return {
    "gemini-extension.json": json({ name, version, description, mcpServers, contextFileName: "GEMINI.md", settings }),
    "GEMINI.md": textOf(instructions),
    "hooks/hooks.json": fileOf(hook),
    ...Object.fromEntries(
      source.prompts.map(({ name: command, description: about, text }) => [
        `commands/${name}/${command}.toml`,
        `${stringify({ description: about, prompt: `${text}\n\nI also say: {{args}}` })}\n`,
      ]),
    ),
  };
}

/** A client without plugins: the files to copy into a project, with what its agents read. */
function configuration(source: Source, client: ClientId): Record<string, string> {
  const { server, hook, instructions } = piecesFor(source, client, TEST_COMMAND.standard);
  const pieces = [...server, ...hook];
  const files = pieces.map(({ path }) => [path, fileOf(pieces.filter((piece) => piece.path === path))]);
  return { ...Object.fromEntries(files), [CLIENTS[client].instructions]: textOf(instructions) };
}

/** The bundle brings the SDK that the server needs. */
function bundleFiles(source: Source): Record<string, string> {
  const { name, version } = source.manifest;
  const dependencies = { "@modelcontextprotocol/server": "^2.0.0", [name]: version };
  return {
    "package.json": json({ name: `${name}-bundle`, version, private: true, type: "module", dependencies }),
    "main.mjs": `await import(new URL("dist/cli/main.js", import.meta.resolve("${name}/package.json")).href);\n`,
    "manifest.json": bundleManifest(source),
  };
}

/** Returns a setting as Claude's programs replace it. */
const setting = (name: string) => `\${user_config.${name}}`;

function bundleManifest({ manifest }: Source): string {
  const { name, version, description, license, homepage, engines, keywords } = manifest;
  const { title, standard } = TEST_COMMAND;
  const project = setting("project");
  const places = ["--state", `${project}/.phasegate`, "--project", project];
  const allowed = ["--allow-command", setting(TEST_COMMAND.name)];
  return json({
    manifest_version: "0.3",
    ...{ name, display_name: name, version, description, author: authorOf(manifest), license, homepage, keywords },
    repository: { type: "git", url: webAddress(manifest) },
    server: {
      type: "node",
      entry_point: "main.mjs",
      mcp_config: {
        command: "node",
        args: [`\${__dirname}/main.mjs`, "serve", "--starters", ...places, ...allowed],
      },
    },
    tools_generated: true,
    prompts_generated: true,
    compatibility: { runtimes: { node: engines.node } },
    user_config: {
      project: { type: "directory", ...PROJECT, required: true },
      [TEST_COMMAND.name]: {
        ...{ type: "string", title, description: TEST_COMMAND.description, default: standard, required: true },
      },
    },
  });
}

/** The name of the packed bundle, which a release on GitHub has. */
export const bundleName = ({ name, version }: Manifest) => `${name}-${version}.mcpb`;

export const SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/**
 * Returns server.json of the MCP registry. It names the bundle alone: npx installs no optional peers, such as the SDK that the
 * server needs. A client checks the bundle that it downloads by the digest.
 */
export function serverJson({ manifest }: Source, bundleSha256: string): string {
  const { name, version, description, homepage } = manifest;
  const address = webAddress(manifest);
  return json({
    $schema: SERVER_SCHEMA,
    ...{ name: address.replace("https://github.com/", "io.github."), title: name, description, version },
    ...{ websiteUrl: homepage, repository: { url: address, source: "github" } },
    packages: [
      {
        ...{ registryType: "mcpb", version, fileSha256: bundleSha256, transport: { type: "stdio" } },
        identifier: `${address}/releases/download/v${version}/${bundleName(manifest)}`,
      },
    ],
  });
}

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { expect, test } from "vitest";
import { howOften } from "../support/how-often.js";
import { aProject } from "./a-project.js";
import { CONFIGURATIONS, type Configuration } from "./configurations.js";

/** Returns the configuration in a text that may have comments, trailing commas and a byte order mark. */
function parsed(path: string, text: string): never {
  const plain = text.replace(/^\ufeff/, "");
  return (path.endsWith(".toml") ? parseToml(plain) : parseJsonc(plain, [], { allowTrailingComma: true })) as never;
}

const INSTALLED = {
  "node_modules/phasegate/package.json": "{}",
  "node_modules/@modelcontextprotocol/server/package.json": "{}",
};
const SERVE = ["serve", "--workflows", "workflows", "--state", ".phasegate", "--project", "."];
const MAIN = "node_modules/phasegate/dist/cli/main.js";
const WORKSPACE = "$" + "{workspaceFolder}";
const IN_WORKSPACE = [
  ...["serve", "--workflows", `${WORKSPACE}/workflows`],
  ...["--state", `${WORKSPACE}/.phasegate`, "--project", WORKSPACE],
];

/** What each client should find, in a project that has phasegate installed. */
const ENTRIES: Readonly<Record<string, unknown>> = {
  claude: { command: "node", args: [MAIN, ...SERVE] },
  cursor: { command: "node", args: [`\${workspaceFolder}/${MAIN}`, ...IN_WORKSPACE] },
  vscode: { type: "stdio", command: "node", args: [`\${workspaceFolder}/${MAIN}`, ...IN_WORKSPACE] },
  codex: { command: "node", args: [MAIN, ...SERVE] },
  gemini: { command: "node", args: [MAIN, ...SERVE] },
  qwen: { command: "node", args: [MAIN, ...SERVE] },
  copilot: { command: "node", args: [MAIN, ...SERVE] },
  opencode: { type: "local", command: ["node", MAIN, ...SERVE], enabled: true },
};

const STYLES: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "with CRLF": (text) => text.replaceAll("\n", "\r\n"),
  "with a byte order mark": (text) => `\ufeff${text}`,
  "without a last line end": (text) => text.trimEnd(),
};

async function projectWith({ path, text }: Configuration, style: (text: string) => string) {
  const project = await aProject(INSTALLED);
  const file = path.startsWith("~/") ? join(project.home, path.slice(2)) : join(project.root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, style(text));
  return { ...project, readConfig: () => readFile(file, "utf8") };
}

for (const [index, configuration] of CONFIGURATIONS.entries()) {
  const { client, path, text, servers } = configuration;
  // In the short form each has one style, and each style has some of them.
  test.each(Object.keys(STYLES).filter((_, at) => (at + index) % howOften(4, 1) === 0))(
    `${client}: a configuration %s keeps all that it has, and gets it back`,
    async (name) => {
      const style = STYLES[name] ?? String;
      const project = await projectWith(configuration, style);
      const before = await project.everything();
      expect(await project.init("--client", client, "--hooks")).toMatchObject({ code: 0, stderr: "" });

      const after = await project.readConfig();
      const { phasegate, ...others } = servers(parsed(path, after));
      expect(others).toEqual(servers(parsed(path, text)));
      const { root } = project;
      const entry = client === "windsurf" ? inRoot(root) : ENTRIES[client];
      expect(phasegate).toEqual(entry);
      // Every line that was there is still there, in its order, but for a comma at its end.
      const kept = after.split("\n").map((line) => line.replaceAll(",", ""));
      for (const line of style(text).split("\n")) {
        const at = kept.indexOf(line.replaceAll(",", ""));
        expect([at >= 0, line]).toEqual([true, line]);
        kept.splice(0, at + 1);
      }
      if (name === "with CRLF") expect(after.replaceAll("\r\n", "")).not.toContain("\n");

      const written = await project.everything();
      expect(await project.init()).toMatchObject({ code: 0, stdout: "Nothing to change.\n" });
      expect(await project.init("--update")).toMatchObject({ code: 0, stdout: "Nothing to change.\n" });
      expect(await project.everything()).toEqual(written);
      expect(await project.init("--remove")).toMatchObject({ code: 0 });
      expect(await project.everything()).toEqual(before);
    },
  );

  test(`${client}: a broken configuration stays as it is, and the answer says what to add by hand`, async () => {
    const broken = (whole: string) => whole.slice(0, whole.lastIndexOf(path.endsWith(".toml") ? '"""' : "}"));
    const project = await projectWith(configuration, broken);
    const { code, stdout } = await project.init("--client", client);
    expect([code, await project.readConfig()]).toEqual([1, broken(text)]);
    expect(stdout).toMatch(/not changed: \S+: it is not (JSON|TOML): /);
    expect(stdout).toContain("add this by hand:");
    expect(stdout).toContain(path.endsWith(".toml") ? "[mcp_servers.phasegate]" : '"phasegate": {');
    // The rest is set up all the same.
    expect(await project.read("workflows/bug_fix/phases/1/phase.md")).toContain("Fix it.");
  });

  test(`${client}: a server of that name that is somebody else's is not touched`, async () => {
    const theirs = path.endsWith(".toml")
      ? '[mcp_servers.phasegate]\ncommand = "other"\n'
      : JSON.stringify(
          client === "opencode"
            ? { mcp: { phasegate: { type: "local", command: ["other"] } } }
            : { [client === "vscode" ? "servers" : "mcpServers"]: { phasegate: { command: "other" } } },
        );
    const project = await projectWith(configuration, () => theirs);
    const { code, stdout } = await project.init("--client", client);
    expect([code, await project.readConfig()]).toEqual([1, theirs]);
    expect(stdout).toMatch(/it has an entry \S+phasegate that init did not write/);
    expect(await project.init("--remove")).toMatchObject({ code: 0 });
    expect(await project.readConfig()).toBe(theirs);
  });
}

function inRoot(root: string): unknown {
  const args = [join(root, MAIN), "serve", "--workflows", join(root, "workflows"), "--state", join(root, ".phasegate")];
  return { command: "node", args: [...args, "--project", root] };
}

test.each([
  ['{ "mcp": { "servers": {} } }', { mcp: { servers: { phasegate: { type: "local" } } } }],
  ['{ "mcp": { "servers": { "type": "remote", "url": "x" } } }', { mcp: { phasegate: { type: "local" } } }],
])("opencode 2 has its servers one level deeper: in %s they stay together", async (text, expected) => {
  const project = await aProject({ "opencode.json": text });
  await project.init("--client", "opencode");
  expect(await project.json("opencode.json")).toMatchObject(expected);
});

test("a table of servers that TOML doesn't let anybody add to is left alone", async () => {
  const text = 'mcp_servers = { docs = { url = "https://docs.example.com" } }\n';
  const project = await aProject({ ".codex/config.toml": text });
  expect(await project.init()).toMatchObject({ code: 1, stdout: expect.stringContaining("can't be changed safely") });
  expect(await project.read(".codex/config.toml")).toBe(text);
});

test("a project without phasegate gets a command that downloads this version and what its server needs", async () => {
  const project = await aProject({ "package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": "" });
  await project.init("--client", "claude");
  const args = ["-y", "-p", "phasegate@0.1.0", "-p", "@modelcontextprotocol/server@2", "phasegate", ...SERVE];
  expect(await project.json(".mcp.json")).toEqual({
    mcpServers: {
      phasegate: { command: "npx", args: [...args, "--allow-command", "pnpm test", "--allow-env", "HOME"] },
    },
  });
});

test("no file in the project names the machine", async () => {
  const project = await aProject();
  await project.init("--client", "claude,cursor,vscode,codex,gemini,qwen,copilot,opencode,windsurf", "--hooks");
  const texts = Object.entries(await project.everything()).filter(([path]) => !path.startsWith(".codeium"));
  expect(texts.length).toBeGreaterThan(20);
  for (const [path, bytes] of texts) {
    expect([path, Buffer.from(bytes, "base64").toString().includes(project.root)]).toEqual([path, false]);
  }
});

import { expect, test } from "vitest";
import type { ClientId } from "../../src/setup/clients.js";
import { type Launcher, wantedPieces } from "../../src/setup/wanted.js";

const INSTALLED: Launcher = {
  from: "module",
  modules: "node_modules",
  version: "1.2.3",
  windows: false,
  root: "/home/ann/my project",
};

function pieceOf(client: ClientId, launcher: Launcher, hooks = false): unknown {
  const pieces = wantedPieces({
    clients: [client],
    starters: [],
    hooks,
    launcher,
    files: new Map(),
    folders: new Set(["workflows"]),
  });
  const kinds = hooks ? ["item"] : ["property", "table"];
  const piece = pieces.find(({ kind }) => kinds.includes(kind));
  return piece?.value;
}

test("on Windows npx is started by cmd, and what is installed by node as everywhere", () => {
  const npx = pieceOf("claude", { ...INSTALLED, from: "npx", windows: true });
  expect(npx).toMatchObject({ command: "cmd", args: expect.arrayContaining(["/c", "npx", "phasegate@1.2.3"]) });
  expect(pieceOf("claude", { ...INSTALLED, windows: true })).toEqual(pieceOf("claude", INSTALLED));
});

test("a configuration outside of the project has the project's path as the system writes it", () => {
  const windows = pieceOf("windsurf", { ...INSTALLED, windows: true, root: "C:\\Users\\Ann Lee\\project" });
  expect(windows).toMatchObject({
    command: "node",
    args: expect.arrayContaining([
      "C:\\Users\\Ann Lee\\project\\node_modules\\phasegate\\dist\\cli\\main.js",
      "C:\\Users\\Ann Lee\\project\\.phasegate",
      "C:\\Users\\Ann Lee\\project",
    ]),
  });
  expect(pieceOf("windsurf", INSTALLED)).toMatchObject({
    args: expect.arrayContaining(["/home/ann/my project/workflows"]),
  });
});

test("where yarn keeps packages without node_modules, yarn starts it", () => {
  expect(pieceOf("claude", { ...INSTALLED, from: "pnp" })).toMatchObject({
    command: "yarn",
    args: expect.arrayContaining(["phasegate", "serve"]),
  });
});

test("hooks run without the package that only the server needs, from the project's folder", () => {
  const npx: Launcher = { ...INSTALLED, from: "npx", windows: true };
  expect(pieceOf("cursor", npx, true)).toMatchObject({
    command: "npx -y -p phasegate@1.2.3 phasegate hook stop --client cursor",
  });
  const main = "node node_modules/phasegate/dist/cli/main.js hook stop --client claude";
  expect(pieceOf("claude", INSTALLED, true)).toMatchObject({
    hooks: [{ command: `cd "$CLAUDE_PROJECT_DIR" && ${main}` }],
  });
  expect(pieceOf("codex", INSTALLED, true)).toEqual({
    hooks: [{ type: "command", command: main.replace("claude", "codex"), timeout: 15 }],
  });
});

test.each(["vscode", "opencode", "windsurf"] as const)("%s has no hook", (client) => {
  expect(pieceOf(client, INSTALLED, true)).toBeUndefined();
});

const METADATA = `{
  // kept
  "options_schema": {
    "properties": {
      "test_command": { "type": "string", "default": "make" },
      "check_command": {
        "type": "array"
      }
    }
  }
}`;

test.each([
  [
    METADATA,
    METADATA.replace('"make"', '"npm test"').replace('"array"', '"array",\n        "default": ["npm", "test"]'),
  ],
  ['{"options_schema": {"properties": {"test_command": true}}}', undefined],
  ["{ broken", undefined],
  ["{}", undefined],
])("the command is the default of options that want one, as a text or a list: %#", (metadata, expected) => {
  const starter = { name: "work", description: "", files: { "metadata.json": metadata, "a.md": "test_command" } };
  const [first, second] = wantedPieces({
    ...{ clients: [], starters: [starter], hooks: false, testCommand: "npm test", launcher: INSTALLED },
    files: new Map(),
    folders: new Set(["workflows"]),
  });
  expect(first).toMatchObject({ path: "workflows/work/metadata.json", value: expected ?? metadata });
  expect(second).toMatchObject({ path: "workflows/work/a.md", value: "test_command" });
});

test("a starter's files name their schemas where the package is, or by the address of its version", () => {
  const files = {
    "metadata.json": '{\n  "$schema": "../../schemas/metadata.json",\n  "name": "A"\n}\n',
    "phases/1/gate-definition.yaml": "# yaml-language-server: $schema=../../../../schemas/gate-definition.json\n",
    "phases/1/phase.md": "See ../../schemas/metadata.json\n",
  };
  const textsFor = (launcher: Launcher) => {
    const starters = [{ name: "a", description: "", files }];
    const pieces = wantedPieces({
      ...{ clients: [], starters, hooks: false, launcher, files: new Map(), folders: new Set<string>() },
    });
    return pieces.flatMap((piece) => (piece.kind === "file" ? [piece.value] : []));
  };
  expect(textsFor({ ...INSTALLED, modules: "../node_modules" })).toEqual([
    '{\n  "$schema": "../../../node_modules/phasegate/schemas/metadata.json",\n  "name": "A"\n}\n',
    "# yaml-language-server: $schema=../../../../../node_modules/phasegate/schemas/gate-definition.json\n",
    "See ../../schemas/metadata.json\n",
  ]);
  const [metadata] = textsFor({ ...INSTALLED, from: "npx" });
  expect(metadata).toContain('"$schema": "https://unpkg.com/phasegate@1.2.3/schemas/metadata.json"');
});

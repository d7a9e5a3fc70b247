/**
 * The agents' clients that `phasegate init` knows: the files that show that a project uses one, where it reads MCP servers
 * from and in which form, which file it gives its agents to read, and the hook by which it asks before an agent ends.
 */
import { isJsonObject, type JsonObject } from "../workflow/json.js";
import { findJson, jsonProblem } from "./json-text.js";
import type { Piece } from "./pieces.js";

/** The name of the server in every configuration. */
const SERVER_NAME = "phasegate";

export type Command = readonly [executable: string, ...args: string[]];

/** Returns the server's entry in a configuration that has the text. */
type ServerEntry = (path: string, command: Command, text: string) => Piece;

export interface Client {
  readonly title: string;
  /** Files and folders that show that a project uses the client. None if it is never assumed. */
  readonly signs: readonly string[];
  /** The path of its configuration. The first of the paths that exists counts, else the first. */
  readonly configs: readonly string[];
  /** The variable that it replaces by the project's folder. Without one, arguments are relative to that folder. */
  readonly projectVariable?: string;
  /** The file with instructions that its agents read. */
  readonly instructions: "AGENTS.md" | "CLAUDE.md" | "GEMINI.md";
  readonly server: ServerEntry;
  /** The hook by which it asks before an agent ends; `command` is for a shell. */
  readonly hook?: {
    readonly path: string;
    readonly keys: readonly string[];
    readonly value: (command: string) => JsonObject;
  };
  /** What a person still has to do. */
  readonly next: string;
}

export const CLIENT_IDS = [
  "claude",
  "cursor",
  "vscode",
  "codex",
  "gemini",
  "qwen",
  "copilot",
  "opencode",
  "windsurf",
] as const;
export type ClientId = (typeof CLIENT_IDS)[number];

export function isClientId(id: string): id is ClientId {
  return CLIENT_IDS.some((one) => one === id);
}

/** Such as `{"mcpServers": {"phasegate": {"command": …, "args": […]}}}`. */
function entryUnder(kind: "property" | "table", key: string, type?: JsonObject): ServerEntry {
  return (path, [command, ...args]) => ({ kind, path, keys: [key, SERVER_NAME], value: { ...type, command, args } });
}

const underMcpServers = entryUnder("property", "mcpServers");

/** opencode 2 has servers one level deeper than opencode 1, and reads both. A file that has them there keeps its form. */
const underMcp: ServerEntry = (path, command, text) => {
  const place = { keys: ["mcp", "servers"] };
  const servers = jsonProblem(text, place) === undefined ? findJson(text, place) : undefined;
  // A server may have the name "servers", too.
  const isNested = isJsonObject(servers) && typeof servers.type !== "string";
  const keys = isNested ? [...place.keys, SERVER_NAME] : ["mcp", SERVER_NAME];
  return { kind: "property", path, keys, value: { type: "local", command: [...command], enabled: true } };
};

/** Seconds after which a client stops waiting for the hook. It takes a fraction of one. */
const HOOK_SECONDS = 15;

/** The form of Gemini CLI, which Qwen Code has taken over; it counts in milliseconds. */
const namedHook = (command: string) => ({
  hooks: [{ name: "phasegate", type: "command", command, timeout: HOOK_SECONDS * 1000 }],
});

export const CLIENTS: Readonly<Record<ClientId, Client>> = {
  claude: {
    title: "Claude Code",
    next: "Start `claude` in the project, and approve the server when it asks.",
    signs: [".mcp.json", ".claude", "CLAUDE.md"],
    configs: [".mcp.json"],
    instructions: "CLAUDE.md",
    server: underMcpServers,
    hook: {
      path: ".claude/settings.json",
      keys: ["hooks", "Stop"],
      value: (command) => ({
        hooks: [{ type: "command", command: `cd "$CLAUDE_PROJECT_DIR" && ${command}`, timeout: HOOK_SECONDS }],
      }),
    },
  },
  cursor: {
    title: "Cursor",
    next: "Switch the server on in Settings, MCP.",
    signs: [".cursor", ".cursorrules"],
    configs: [".cursor/mcp.json"],
    // It may start a server in another folder.
    projectVariable: "workspaceFolder",
    instructions: "AGENTS.md",
    server: underMcpServers,
    hook: {
      path: ".cursor/hooks.json",
      keys: ["hooks", "stop"],
      value: (command) => ({ command, timeout: HOOK_SECONDS, loop_limit: 1 }),
    },
  },
  vscode: {
    title: "VS Code",
    next: "Start the server from the line above its entry in .vscode/mcp.json.",
    signs: [".vscode"],
    configs: [".vscode/mcp.json"],
    projectVariable: "workspaceFolder",
    instructions: "AGENTS.md",
    server: entryUnder("property", "servers", { type: "stdio" }),
  },
  codex: {
    title: "Codex",
    next: "Codex reads its files only in a project that it trusts: start `codex` in its root, and trust it; a hook, too, in /hooks.",
    signs: [".codex"],
    configs: [".codex/config.toml"],
    instructions: "AGENTS.md",
    server: entryUnder("table", "mcp_servers"),
    hook: {
      path: ".codex/hooks.json",
      keys: ["hooks", "Stop"],
      value: (command) => ({ hooks: [{ type: "command", command, timeout: HOOK_SECONDS }] }),
    },
  },
  gemini: {
    title: "Gemini CLI",
    next: "Start `gemini` in the project, and trust the folder when it asks.",
    signs: [".gemini", "GEMINI.md"],
    configs: [".gemini/settings.json"],
    instructions: "GEMINI.md",
    server: underMcpServers,
    hook: {
      path: ".gemini/settings.json",
      keys: ["hooks", "AfterAgent"],
      value: namedHook,
    },
  },
  qwen: {
    title: "Qwen Code",
    next: "Start `qwen` in the project, and approve the server when it asks.",
    signs: [".qwen", "QWEN.md"],
    configs: [".qwen/settings.json"],
    instructions: "AGENTS.md",
    server: underMcpServers,
    hook: {
      path: ".qwen/settings.json",
      keys: ["hooks", "Stop"],
      value: namedHook,
    },
  },
  copilot: {
    title: "Copilot CLI",
    next: "Start `copilot` in the project, and trust the folder when it asks.",
    signs: [".github/mcp.json", ".github/hooks"],
    configs: [".github/mcp.json"],
    instructions: "AGENTS.md",
    server: underMcpServers,
    hook: {
      path: ".github/hooks/phasegate.json",
      // Under its own name for the event, agentStop, it sends other fields.
      keys: ["hooks", "Stop"],
      value: (command) => ({ type: "command", bash: command, powershell: command, timeoutSec: HOOK_SECONDS }),
    },
  },
  opencode: {
    title: "opencode",
    next: "Start `opencode` in the project.",
    signs: ["opencode.json", "opencode.jsonc", ".opencode"],
    configs: ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
    instructions: "AGENTS.md",
    server: underMcp,
  },
  windsurf: {
    title: "Windsurf",
    next: "Refresh the servers in the MCP panel of Cascade. The entry is for this project alone.",
    // Its only configuration is outside of the project.
    signs: [],
    configs: ["~/.codeium/windsurf/mcp_config.json"],
    instructions: "AGENTS.md",
    server: underMcpServers,
  },
};

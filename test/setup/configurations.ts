/** Configurations of the clients, in the shape that real ones have: with other servers, comments, settings. */

export interface Configuration {
  readonly client: string;
  readonly path: string;
  readonly text: string;
  /** Returns the servers of a parsed configuration. */
  readonly servers: (config: never) => Record<string, unknown>;
}

const CLAUDE = `{
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" }
    },
    "files": { "command": "npx", "args": ["-y", "a-server-for-files", "."], "env": {} }
  }
}
`;

const CURSOR = `{
    // Servers of this project. Ask Ann before you add one.
    "mcpServers": {
        "docs": { "url": "https://docs.example.com/sse" }, /* read only */
    },
}
`;

const VSCODE = `{
\t"inputs": [
\t\t// Asked for once
\t\t{ "type": "promptString", "id": "key", "description": "API key", "password": true }
\t],
\t"servers": {
\t\t"search": {
\t\t\t"type": "stdio",
\t\t\t"command": "\${workspaceFolder}/.venv/bin/search",
\t\t\t"env": { "KEY": "\${input:key}" } // from above
\t\t}
\t}
}
`;

const CODEX = `# Settings of the team
model = "a-model" # not the largest one
approval_policy = "on-request"

[mcp_servers.docs]
url = "https://docs.example.com/mcp"

  [mcp_servers.docs.tools.search]
  approval_mode = "approve"

[[hooks.SessionStart]]
matcher = "startup"
notes = """
[mcp_servers.not-a-table]
"""
`;

const GEMINI = `{
  "context": { "fileName": ["AGENTS.md", "GEMINI.md"] },
  "mcpServers": {
    "db": { "command": "db-server", "args": ["--read-only"], "cwd": "./server", "timeout": 30000, "trust": false }
  },
  "hooks": {
    "AfterAgent": [
      { "hooks": [{ "type": "command", "command": "./check.sh" }] }
    ],
    "enabled": true
  }
}
`;

const QWEN = `{
  "mcpServers": {
    "db": { "command": "db-server", "args": ["--read-only"], "cwd": "./server", "trust": false }
  },
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "./check.sh" }] }
    ]
  },
  "$version": 4
}
`;

const OPENCODE = `{
  "$schema": "https://opencode.ai/config.json",
  // Servers
  "mcp": {
    "remote": { "type": "remote", "url": "https://example.com/mcp", "enabled": false },
  },
  "permission": { "edit": "ask" },
}
`;

const WINDSURF = `{
  "mcpServers": {
    "zapier": { "serverUrl": "https://example.com/mcp/sse" }
  }
}
`;

const underMcpServers = ({ mcpServers }: { mcpServers: Record<string, unknown> }) => mcpServers;

export const CONFIGURATIONS: readonly Configuration[] = [
  { client: "claude", path: ".mcp.json", text: CLAUDE, servers: underMcpServers },
  { client: "cursor", path: ".cursor/mcp.json", text: CURSOR, servers: underMcpServers },
  {
    client: "vscode",
    path: ".vscode/mcp.json",
    text: VSCODE,
    servers: ({ servers }: { servers: Record<string, unknown> }) => servers,
  },
  {
    client: "codex",
    path: ".codex/config.toml",
    text: CODEX,
    servers: (config: { mcp_servers: Record<string, unknown> }) => config.mcp_servers,
  },
  { client: "gemini", path: ".gemini/settings.json", text: GEMINI, servers: underMcpServers },
  { client: "qwen", path: ".qwen/settings.json", text: QWEN, servers: underMcpServers },
  { client: "copilot", path: ".github/mcp.json", text: CLAUDE, servers: underMcpServers },
  {
    client: "opencode",
    path: "opencode.jsonc",
    text: OPENCODE,
    servers: ({ mcp }: { mcp: Record<string, unknown> }) => mcp,
  },
  { client: "windsurf", path: "~/.codeium/windsurf/mcp_config.json", text: WINDSURF, servers: underMcpServers },
];

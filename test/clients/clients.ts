/** The clients that are walked: how each is told of the model's server, started without a terminal, and runs a command. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Shell } from "./script.ts";

/** Where a client works. */
export interface Place {
  readonly home: string;
  readonly project: string;
  /** The model's server. */
  readonly url: string;
}

export interface Client {
  readonly title: string;
  readonly package: string;
  readonly bin: string;
  /** The name of the client in `phasegate init --client`. */
  readonly id: string;
  readonly shell: Shell;
  /** Whether it runs the hook of `phasegate init --hooks`. */
  readonly hooks: boolean;
  /** Its files in the home folder: what a person has set and confirmed. */
  readonly files: (place: Place) => Readonly<Record<string, string>>;
  readonly env: (place: Place) => Readonly<Record<string, string>>;
  readonly args: (prompt: string) => readonly string[];
}

const described = (text: string) => ({ command: text, description: "Runs a command" });

export const CLIENTS: readonly Client[] = [
  {
    title: "Claude Code",
    package: "@anthropic-ai/claude-code",
    bin: "claude",
    id: "claude",
    shell: { tool: "Bash", input: described, search: "ToolSearch" },
    hooks: true,
    files: () => ({
      ".claude/settings.json": JSON.stringify({
        enableAllProjectMcpServers: true,
        permissions: { allow: ["Bash", "mcp__phasegate"] },
      }),
    }),
    env: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "none",
      // As with Anthropic's own server: tools are found by a search.
      ENABLE_TOOL_SEARCH: "true",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    args: (prompt) => ["-p", prompt],
  },
  {
    title: "Codex",
    package: "@openai/codex",
    bin: "codex",
    id: "codex",
    shell: { tool: "exec_command", input: (cmd) => ({ cmd }) },
    hooks: true,
    files: ({ project, url }) => ({
      ".codex/config.toml": [
        'model = "gpt-5.4"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "[model_providers.scripted]",
        'name = "scripted"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        `[projects."${project}"]`,
        'trust_level = "trusted"',
        "",
      ].join("\n"),
    }),
    env: () => ({}),
    args: (prompt) => ["exec", "--dangerously-bypass-hook-trust", prompt],
  },
  {
    title: "Gemini CLI",
    package: "@google/gemini-cli",
    bin: "gemini",
    id: "gemini",
    shell: { tool: "run_shell_command", input: described },
    hooks: true,
    files: () => ({ ".gemini/settings.json": JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }) }),
    // With --skip-trust instead, the servers and hooks of the project are not loaded.
    env: ({ url }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "none", GEMINI_CLI_TRUST_WORKSPACE: "true" }),
    args: (prompt) => ["--yolo", "--model", "gemini-2.5-pro", "-p", prompt],
  },
  {
    title: "opencode",
    package: "opencode-ai",
    bin: "opencode",
    id: "opencode",
    shell: { tool: "bash", input: described },
    hooks: false,
    files: ({ url }) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        model: "scripted/scripted",
        autoupdate: false,
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "none" },
            models: { scripted: { tool_call: true, limit: { context: 200000, output: 8000 } } },
          },
        },
      }),
    }),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1" }),
    args: (prompt) => ["run", "--auto", prompt],
  },
];

/** Writes the files of a client into its home. */
export function furnish(client: Client, place: Place): void {
  for (const [path, text] of Object.entries(client.files(place))) {
    const file = join(place.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** The clients that are walked: how each is told of the model's server, started without a terminal, and runs a command. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ClientId } from "../../src/setup/clients.ts";
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
  /** The client in `phasegate init --client` whose files it reads. */
  readonly init: ClientId;
  readonly shell: Shell;
  /** Whether it runs the hook of `phasegate init --hooks`. */
  readonly hooks: boolean;
  /** How often the text of a refusal stands in what its model gets; once if not given. */
  readonly copies?: number;
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
    init: "claude",
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
    init: "codex",
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
    init: "gemini",
    shell: { tool: "run_shell_command", input: described },
    hooks: true,
    files: () => ({
      ".gemini/settings.json": JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }),
    }),
    // With --skip-trust instead, the servers and hooks of the project are not loaded.
    env: ({ url }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "none", GEMINI_CLI_TRUST_WORKSPACE: "true" }),
    args: (prompt) => ["--yolo", "--model", "gemini-2.5-pro", "-p", prompt],
  },
  {
    title: "Qwen Code",
    package: "@qwen-code/qwen-code",
    bin: "qwen",
    init: "qwen",
    // It puts the content of a failed call into its result twice.
    copies: 2,
    shell: {
      tool: "run_shell_command",
      input: (command) => ({ command, is_background: false }),
      search: "tool_search",
      through: "tool_call",
    },
    hooks: true,
    files: () => ({}),
    env: ({ url }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "none", OPENAI_MODEL: "scripted" }),
    args: (prompt) => ["--auth-type", "openai", "--yolo", "-p", prompt],
  },
  {
    title: "Copilot CLI",
    package: "@github/copilot",
    bin: "copilot",
    init: "copilot",
    shell: { tool: "bash", input: described },
    hooks: true,
    files: () => ({}),
    env: ({ url }) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_MODEL: "scripted",
      COPILOT_OFFLINE: "true",
      COPILOT_AUTO_UPDATE: "false",
    }),
    args: (prompt) => ["--allow-all-tools", "--trust-folder", "-p", prompt],
  },
  {
    title: "opencode",
    package: "opencode-ai",
    bin: "opencode",
    init: "opencode",
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

/** Clients that can't be walked, with the reason that was seen. */
export const OTHERS: readonly (readonly [title: string, reason: string])[] = [
  ["Crush 0.96.1 (`@charmland/crush`)", "its package fetches the program from GitHub"],
  ["Kilo Code 7.8.1 (`@kilocode/cli`)", "the package with its program for Linux is not in npm in this version"],
  ["Amp 0.0.1790142911 (`@sourcegraph/amp`)", "it needs its server at ampcode.com"],
  ["Cline 3.0.65 (`cline`)", "it reads no servers of a project, and leaves a process in the background"],
  ["Continue 1.5.47 (`@continuedev/cli`)", "it reads no servers of a project"],
];

/** Writes the files of a client into its home. */
export function furnish(client: Client, place: Place): void {
  for (const [path, text] of Object.entries(client.files(place))) {
    const file = join(place.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

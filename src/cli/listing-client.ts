/** Asks clients themselves whether they have the server, by the command with which each lists its MCP servers. */
import process from "node:process";
import { stripVTControlCharacters } from "node:util";
import type { ClientId } from "../setup/clients.js";
import { runProcess } from "../verifiers/run-process.js";
import { defined } from "../workflow/json.js";
import { messageOf } from "./exit-codes.js";
import { findProgram } from "./programs.js";
import { counted } from "./terminal.js";

/** The clients that list their servers, by their programs: true for those that start each server, and say how that went. */
const CONNECTS = {
  claude: true,
  codex: false,
  gemini: true,
  qwen: true,
  copilot: false,
  opencode: true,
} as const satisfies Partial<Record<ClientId, boolean>>;

export type ListingClient = keyof typeof CONNECTS;
export const LISTING_CLIENTS = Object.keys(CONNECTS).filter((id): id is ListingClient => id in CONNECTS);

/** What a client has said of the server. */
export type Listed =
  | { readonly state: "connected" | "listed" | "unlisted"; readonly command: string }
  /** It has the server, and says in `reason` how it stands. */
  | { readonly state: "unconnected" | "failed"; readonly command: string; readonly reason: string }
  /** It is not on the PATH, or only in the project. */
  | { readonly state: "absent"; readonly command: string };

/** The most that is read of a client, in bytes. */
const OUTPUT_MAX = 1024 * 1024;

/** Starts a client in a project. The caller has made sure that the project is the user's own. Never rejects. */
export async function askClient(client: ListingClient, project: string, timeoutMs: number): Promise<Listed> {
  const command = `${client} mcp list`;
  const executable = await findProgram(client, project);
  if (executable === undefined) return { state: "absent", command };
  const failed = (reason: string) => ({ state: "failed", command, reason }) as const;
  try {
    const { exit, killedBy, stopped, output } = await runProcess({
      ...{ executable, args: ["mcp", "list"], cwd: project, timeoutMs, maxOutputBytes: OUTPUT_MAX },
      env: { ...defined(process.env), NO_COLOR: "1" },
      signal: new AbortController().signal,
    });
    if (stopped === "timeout") return failed(`it did not answer within ${counted(timeoutMs / 1000, "second")}`);
    if (stopped === "output") return failed("it writes without end");
    const lines = stripVTControlCharacters(output.toString("utf8")).split("\n");
    if (exit !== 0)
      return failed(`it ended with ${killedBy ?? `exit code ${exit}`}: ${lines.join(" ").trim().slice(-300)}`);
    const line = lines.find((one) => ENTRY.test(one));
    if (line === undefined) return { state: "unlisted", command };
    if (!CONNECTS[client]) return { state: "listed", command };
    if (CONNECTED.test(line)) return { state: "connected", command };
    const [status = ""] = line.split(" - ").slice(-1);
    return { state: "unconnected", command, reason: status.trim().slice(0, 300) };
  } catch (error) {
    return failed(messageOf(error));
  }
}

/** The line of the server, whose name stands before a colon, its state or its command. */
const ENTRY = /^\W*phasegate(?::|\s|$)/;
const CONNECTED = /(?<!not )\bconnected\b/i;

/**
 * The options of `phasegate serve`, one by one: names, help, variables and defaults; and which options of `--listen`, by which
 * MCP is served over HTTP, must be given together. serve.ts says which others belong together.
 */
import { InvalidArgumentError } from "commander";
import type { QuotaLimits } from "../login/quotas.js";
import { LIVING, type LivingStatus, type Retention } from "../phased/options.js";
import { ACTION_NAMES } from "../tools/phased/actions.js";
import {
  accepting,
  age,
  bare,
  choice,
  flag,
  type Given,
  knownWords,
  logLevelOption,
  nameList,
  notEmpty,
  parsed,
  preset,
  presetChoice,
  repeated,
  text,
  type Values,
} from "./command.js";
import { usage } from "./exit-codes.js";
import {
  attemptOptions,
  includeRootOption,
  limit,
  port,
  routedOption,
  startersOption,
  stateOption,
  workflowsOption,
} from "./options.js";
import { packOption } from "./packs.js";
import { projectOption, trustOptions, verifierOptions } from "./trust.js";

/** Returns the options in the order in which the help lists them. */
export function serveOptions() {
  return {
    workflows: workflowsOption("folders of phased workflows; of two with the same name, the first counts"),
    pack: packOption(),
    starters: startersOption(),
    rag: text(
      "--rag <dir>",
      "read the texts of phased workflows through a search, whose index is kept in this folder",
    ).env("PHASEGATE_RAG"),
    standards: parsed(
      "--standards <dir...>",
      "folders of Markdown files that agents may search, by the tool search_standards",
      repeated,
    ).env("PHASEGATE_STANDARDS"),
    state: stateOption(),
    project: projectOption(),
    logLevel: logLevelOption(),
    ...routedOptions(),
    http: parsed(
      "--http <port>",
      "serve phased or routed workflows over plain HTTP on 127.0.0.1, instead of MCP",
      port,
    ),
    inspector: bare(
      parsed(
        "--inspector [port]",
        "serve a page for people as well: on a port of 127.0.0.1, or without one at /inspector of --listen, behind its login",
        port,
      ),
    ),
    inspectorUrl: text(
      "--inspector-url <url>",
      "where people see a page as --inspector serves it: what waits for a person then has a link to it",
    ).env("PHASEGATE_INSPECTOR_URL"),
    notify: parsed(
      "--notify <url>",
      "tell this address what waits for a person, which session has failed and which log is damaged; may be repeated",
      (value: string, before: readonly string[] = []): readonly string[] => [
        ...before,
        ...notEmpty(value).trim().split(/\s+/),
      ],
    ).env("PHASEGATE_NOTIFY"),
    notifyCommand: text("--notify-command <command>", "tell a program, too: JSON on its standard input").env(
      "PHASEGATE_NOTIFY_COMMAND",
    ),
    logDir: text("--log-dir <dir>", "folder for log files, which are written in addition to stderr").env(
      "ORCHESTRATOR_LOG_DIR",
    ),
    ...listenOptions(),
    bundle: text("--bundle <dir>", "folder of workflows that the client's model reads and follows by itself").env(
      "PHASEGATE_BUNDLE",
    ),
    core: text("--core <dir>", "folder of files that the workflows in --bundle share").env("PHASEGATE_CORE"),
    output: text("--output <dir>", "folder that the workflows in --bundle save to, with a folder for each session").env(
      "PHASEGATE_OUTPUT",
    ),
    readRoot: parsed(
      "--read-root <name=dir...>",
      "more folders that the workflows in --bundle may read, as {name}/…; for files that they find in {project-root}",
      repeated,
    ).env("PHASEGATE_READ_ROOTS"),
    ...verifierOptions(),
    toolName: preset(
      parsed("--tool-name <name>", "name of the MCP tool for phased workflows", toolName).env("PHASEGATE_TOOL_NAME"),
      "pos_workflow",
    ),
    actions: parsed(
      "--actions <list>",
      "actions that agents may use, joined by ','; all but delete_session if not given",
      (value: string) => knownWords(nameList(value), ACTION_NAMES),
    ).env("PHASEGATE_ACTIONS"),
    enforcement: presetChoice(
      "--enforcement <how>",
      "in gates with strict: false, what only warns: rules (strict), or also wrong types and false claims (as-defined)",
      ["strict", "as-defined"],
    ).env("PHASEGATE_ENFORCEMENT"),
    agentSync: presetChoice(
      "--agent-sync <what>",
      "plan syncs that agents may request: those that remove nothing from gates and tasks, or any",
      ["keeps-gates", "any"],
    ).env("PHASEGATE_AGENT_SYNC"),
    claims: presetChoice(
      "--claims <how>",
      "how agents claim what no verifier or approval backs: as true, or with a proof that says where it can be seen",
      ["plain", "backed"],
    ).env("PHASEGATE_CLAIMS"),
    poll: limit("--poll <seconds>", "interval of the checks for changed workflows; 0 for never", 5, 0),
    ...trustOptions(),
    // Not from the environment: a variable with the value "false" would count as set.
    allowUnsignedApprovals: flag(
      "--allow-unsigned-approvals",
      "let the MCP client's user approve without a signature; recorded as unsigned",
    ),
    ...attemptOptions(),
    maxCheckTime: limit("--max-check-time <seconds>", "time for all checks of one gate together", 120),
    answerWithin: limit(
      "--answer-within <seconds>",
      "time until agents are told that the checks of a gate still run, and how to wait for them; 0 to answer when they have ended",
      45,
      0,
    ),
    maxSessions: limit("--max-sessions <n>", "active sessions at the same time; 0 for no limit", 100, 0),
    maxEvidence: limit("--max-evidence <bytes>", "maximum size of one submission, in bytes of JSON", 10 * 1024 * 1024),
    cleanupAfter: parsed(
      "--cleanup-after <ages>",
      "delete phased sessions without a commit for this long: 7d, or by status: completed=7d,failed=30d; never if not given",
      retention,
    ).env("PHASEGATE_CLEANUP_AFTER"),
    maxTokens: limit("--max-tokens <n>", "maximum size of an answer, in tokens of 4 characters", 6000, 1000),
  };
}
export type GivenOptions = Values<ReturnType<typeof serveOptions>>;

/** Reads one age for sessions of every status, or ages by status. */
function retention(value: string): Retention {
  const parts = value.includes("=") ? value.split(",") : LIVING.map((status) => `${status}=${value}`);
  const ages = new Map<LivingStatus, number>();
  for (const part of parts) {
    const [name = "", given = "", ...more] = part.split("=");
    const status = LIVING.find((known) => known === name.trim());
    if (status === undefined || more.length > 0 || ages.has(status)) {
      throw new InvalidArgumentError(`Write STATUS=AGE once for each of ${LIVING.join(", ")}, or a single age.`);
    }
    ages.set(status, age(given));
  }
  if (ages.get("active") === 0 || ages.get("paused") === 0) {
    throw new InvalidArgumentError("Of age 0 are also sessions at work. Leave the option out to delete none.");
  }
  return Object.fromEntries(ages);
}

function routedOptions() {
  return {
    routed: routedOption(),
    includeRoot: includeRootOption(),
    decider: choice(
      "--decider <who>",
      "what picks the next step; if not given, gemini if GEMINI_API_KEY is set, else sampling (the client's model)",
      ["gemini", "sampling", "linear"],
    ),
    firstStep: presetChoice(
      "--first-step <how>",
      "how an instance starts: with the first step, or with the decider's choice",
      ["first", "decider"],
    ),
    routedTools: presetChoice("--routed-tools <how>", "one MCP tool per call, or a single one for all calls", [
      "separate",
      "single",
    ]),
  };
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The options of `serve --listen` as given. Without an address, MCP is served on stdio. */
export type ListenOptions = Values<ReturnType<typeof listenOptions>> & Pick<GivenOptions, "inspector">;

function listenOptions() {
  return {
    listen: parsed(
      "--listen <host:port>",
      "serve MCP over HTTP at /mcp, instead of on stdio: 127.0.0.1:8080",
      address,
    ).env("PHASEGATE_LISTEN"),
    tokens: text("--tokens <file>", "file of the clients' tokens; see `phasegate tokens`").env("PHASEGATE_TOKENS"),
    oauthIssuer: parsed("--oauth-issuer <url>", "OAuth issuer whose tokens are accepted", url).env(
      "PHASEGATE_OAUTH_ISSUER",
    ),
    oauthResource: parsed(
      "--oauth-resource <url>",
      "URL of this server's /mcp, for which these tokens must be issued",
      url,
    ).env("PHASEGATE_OAUTH_RESOURCE"),
    hostName: parsed(
      "--host-name <name...>",
      "names that the server is called by, apart from those of this machine",
      repeated,
    ),
    allowOrigin: parsed(
      "--allow-origin <name...>",
      "host names of web pages that may call, apart from this machine's",
      repeated,
    ),
    // Not from the environment: a variable with the value "false" would count as set.
    stateless: flag(
      "--stateless",
      "give clients of protocol 2025 no connections, as behind a balancer: then nothing is asked of them or told to them",
    ),
    grace: preset(
      parsed("--grace <time>", "time for calls under way when the server ends, such as 10s", age),
      10_000,
      "10s",
    ),
    quota: parsed(
      "--quota <limits>",
      "limits of each actor, such as calls=600,bytes=100000000,sessions=20,verifiers=4",
      quotaOf,
    ).env("PHASEGATE_QUOTA"),
  };
}

const QUOTA = "Write some of calls=N, bytes=N, sessions=N, verifiers=N, joined by commas; N is a whole number above 0.";

/** Reads the limits: calls a minute, bytes an hour, sessions that are not ended, verifiers at once. */
function quotaOf(value: string): QuotaLimits {
  const given = new Map(value.split(",").map((part): [string, number] => [part.split("=")[0] ?? "", limitIn(part)]));
  const { calls, bytes, sessions, verifiers, ...unknown } = Object.fromEntries(given);
  if (Object.keys(unknown).length > 0) throw new InvalidArgumentError(QUOTA);
  return { callsPerMinute: calls, bytesPerHour: bytes, sessions, verifiersAtOnce: verifiers };
}

function limitIn(part: string): number {
  const digits = /^[a-z]+=([1-9]\d{0,14})$/.exec(part)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new InvalidArgumentError(QUOTA);
}

function address(value: string): Address {
  const [, ipv6, name, digits] = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const [host, port] = [ipv6 ?? name, Number(digits)];
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new InvalidArgumentError("Write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080; port 0 is any free one.");
}

const url = accepting(
  (value) => URL.canParse(value) && /^https?:/.test(value),
  "Write a URL, such as https://login.example.",
);

/** A name of an MCP tool that clients and models accept. */
const toolName = accepting(
  (value) => /^[A-Za-z0-9_.-]{1,64}$/.test(value),
  "It must be 1 to 64 letters, digits, '_', '-' and '.'.",
);

/** Checks for a host that only this machine can reach. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Throws if options are missing or have no effect. A variable may be set for other servers than this one. */
export function requireComplete(
  given: Partial<Pick<GivenOptions, keyof ListenOptions | "http" | "routed">>,
  sourceOf: (option: string) => string | undefined,
): void {
  const { listen, tokens, oauthIssuer, oauthResource, quota, inspector, http, routed } = given;
  const unused = (options: Readonly<Record<string, Given<unknown>>>, partner: string, example: string) => {
    const without = Object.values(options).filter((option) => sourceOf(option.attributeName()) === "cli");
    if (without.length === 0) return;
    const flags = without.map(({ long }) => long).join(", ");
    throw usage(
      `without ${partner} there is no use for ${flags}`,
      `Give ${partner} ${example}, or leave out ${flags}.`,
    );
  };
  if (routed === undefined) unused(routedOptions(), "--routed", "with a folder of routed workflows");
  const hasLogin = tokens !== undefined || oauthIssuer !== undefined;
  if (inspector === true && (listen === undefined || !hasLogin)) {
    throw usage(
      "--inspector without a port needs --listen and a login",
      "Give a port: --inspector 0 takes any free one.",
    );
  }
  if (listen === undefined) return unused(listenOptions(), "--listen", "HOST:PORT");
  if (http !== undefined) throw usage("--listen and --http exclude each other", "Serve them from two processes.");
  if ((oauthIssuer === undefined) !== (oauthResource === undefined)) {
    throw usage("--oauth-issuer and --oauth-resource belong together", "Give both.");
  }
  if (!hasLogin && (quota?.sessions ?? quota?.verifiersAtOnce) !== undefined) {
    throw usage(
      "without a login the sessions have no owners to count them for",
      "Give --tokens, or leave these quotas out.",
    );
  }
  if (!hasLogin && !isLoopback(listen.host)) {
    throw usage(
      `without a login only this machine may reach the server, and ${listen.host} is more`,
      "Listen on 127.0.0.1, or give --tokens, or --oauth-issuer and --oauth-resource.",
    );
  }
}

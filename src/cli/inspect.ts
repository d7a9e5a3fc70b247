/** `phasegate inspect`: serves the page for people on this machine. `phasegate graph`: the same pictures, printed. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Logger } from "pino";
import { FilePlans, FileTexts } from "../content/file-plans.js";
import { isPhasegateError } from "../errors.js";
import { draw, type Graph, phasedGraph, routedGraph, toMermaid, toSvg } from "../graph/graph.js";
import { createInspector, type Inspector } from "../inspector/inspector.js";
import type { InspectorOptions } from "../inspector/options.js";
import { HOST_ACTIONS } from "../inspector/requests.js";
import type { EngineOptions } from "../phased/options.js";
import type { Verifier } from "../ports/verifier.js";
import { findIn } from "../read/lists.js";
import { phasedPath, routedPath } from "../read/session.js";
import { RoutedFolders } from "../workflow/files/routed-workflow.js";
import { ApproversFile } from "./approvers.js";
import { argument, command, flag, type LogLevel, parsed, preset, required, type Values } from "./command.js";
import { contentIn } from "./content-in.js";
import { codeFrame, sourceLines } from "./diagnostics.js";
import { CommandFailure, EXIT, type ExitCode, endOnSignals, usage } from "./exit-codes.js";
import { pathOf } from "./find-workflows.js";
import type { HttpServing } from "./http-server.js";
import { openLogs } from "./log.js";
import { type OpenedState, openAll } from "./opened.js";
import {
  attemptOptions,
  includeRootOption,
  port,
  requireFolder,
  routedOption,
  startersOption,
  stateOption,
  workflowFolders,
  workflowsOption,
} from "./options.js";
import { packOption, withPacks } from "./packs.js";
import { findProgram } from "./programs.js";
import { sessionMeant } from "./session-id.js";
import { NoSessions } from "./state.js";
import { isTty, print, type Terminal, withoutPasswords } from "./terminal.js";
import { openVerifiers, projectOption, readCurrentTrust, readTrust, trustOptions } from "./trust.js";

const workflowOptions = () => ({
  workflows: workflowsOption(),
  pack: packOption(),
  starters: startersOption(),
  routed: routedOption(),
  includeRoot: includeRootOption(),
  project: projectOption(),
});
type WorkflowPlaces = Values<ReturnType<typeof workflowOptions>>;

const HELP = `
Prints one URL. The secret in it lets whoever opens it see everything and answer what waits; keep it to yourself. It
changes with every start, unless the variable PHASEGATE_INSPECTOR_TOKEN sets one of 32 characters or more.

The page can be reached from this machine only. It changes nothing but the answers that people give, unless
--allow-actions is given.`;

/** Time for the requests under way after the server was told to end, in milliseconds. */
const DRAIN_MS = 2000;

const inspectOptions = () => ({
  state: required(stateOption()),
  ...workflowOptions(),
  ...trustOptions(),
  ...attemptOptions(),
  port: preset(parsed("--port <n>", "the port; 0 for any free one", port), 0),
  open: flag("--open", "open the page in the browser"),
  allowActions: flag("--allow-actions", "let people retry, skip, override, pause, resume and delete from the page"),
  allowUnsignedApprovals: flag(
    "--allow-unsigned-approvals",
    "let people approve without a signature; recorded as unsigned",
  ),
});
type InspectOptions = Values<ReturnType<typeof inspectOptions>> & { readonly logLevel: LogLevel };

export const inspectCommand = command({
  name: "inspect",
  description: "Serves a page for people: sessions as they go on, workflows, figures, and an inbox of what waits.",
  options: inspectOptions(),
  help: HELP,
  run: (options, terminal) =>
    withPacks(options, ({ workflows, verifiers }) => inspect({ ...options, workflows }, verifiers, terminal)),
});

async function inspect(
  options: InspectOptions,
  ofPacks: Readonly<Record<string, Verifier>>,
  terminal: Terminal,
): Promise<ExitCode> {
  // A person reads the URL; that the server listens would be said twice.
  const isRead = isTty(terminal.stdout) && options.logLevel === "info";
  const logs = openLogs(isRead ? "warn" : options.logLevel, terminal, undefined);
  const report = (err: unknown) => logs.log.warn({ err }, "approvers");
  const trust = await readCurrentTrust(options, report);
  const { maxAttempts, maxAttemptsTotal, project } = options;
  const verifiers = { ...(await openVerifiers({ project }, {})), ...ofPacks };
  const unsigned = options.allowUnsignedApprovals === true;
  const opened = await openAll(options.state, {
    ...trust,
    ...(await sourcesIn(options)),
    verifiers,
    limits: { maxAttempts, maxAttemptsTotal },
    allowUnsignedApprovals: unsigned,
  });
  let redirect: string | undefined;
  try {
    const page = {
      ...{ ...opened, ...trust, unsigned, log: logs.log, approversFile: options.approvers },
      actions: options.allowActions ? HOST_ACTIONS : [],
      title: withoutPasswords(options.state),
      codeFrame: framesIn(options),
    };
    const serving = await serveInspector(page, "--port", options.port);
    print(terminal, isTty(terminal.stdout) ? `Inspector: ${serving.url} (Ctrl+C ends it)` : serving.url);
    const release = endOnSignals(serving, logs.log);
    if (options.open) {
      redirect = await openBrowser(serving.url).catch((err: unknown) => void logs.log.warn({ err }, "no browser"));
    }
    await serving.ended;
    release();
    return EXIT.ok;
  } finally {
    if (redirect !== undefined) await rm(redirect, { recursive: true, force: true });
    logs.close();
    await opened.engine.close();
  }
}

export interface Page
  extends Pick<OpenedState, "storage">,
    Partial<Pick<OpenedState, "engine" | "routed">>,
    Pick<InspectorOptions, "actions" | "approvers" | "codeFrame">,
    Pick<EngineOptions, "hashKey"> {
  readonly log: Logger;
  /** The file that invited approvers are added to; nobody can be added if it is missing. */
  readonly approversFile: string | undefined;
  readonly unsigned: boolean;
  readonly title: string;
}

export function inspectorOver(
  { log, approversFile, storage, hashKey, ...page }: Page,
  place: Pick<InspectorOptions, "access" | "basePath" | "hosts">,
): Inspector {
  return createInspector({
    ...page,
    ...place,
    recorded: { storage, hashKey },
    invitations: approversFile === undefined ? undefined : new ApproversFile(approversFile),
    onError: (err: unknown) => log.warn({ err }, "inspector"),
  });
}

/** The URL has the secret, and is meant for people alone. */
export interface ServedInspector extends HttpServing {
  /** The URL for a log, which an agent may be able to read: without the secret, if a variable has it. */
  readonly logged: string;
}

export async function serveInspector(page: Page, option: string, port: number): Promise<ServedInspector> {
  const { listen } = await import("./http-server.js");
  const { PHASEGATE_INSPECTOR_TOKEN: given = "" } = process.env;
  if (given !== "" && given.length < 32) {
    const hint = "Make it of 32 random bytes, such as with: openssl rand -base64 32";
    throw usage("PHASEGATE_INSPECTOR_TOKEN has fewer than 32 characters", hint);
  }
  const token = given === "" ? randomBytes(32).toString("base64url") : given;
  const inspector = inspectorOver(page, { access: { token } });
  const answer = (request: Request) => inspector.fetch(request);
  const serving = await listen(answer, option, port, page.log, { drain: DRAIN_MS }, { isLocalhost: true });
  const close = () => {
    inspector.close();
    serving.close();
  };
  const url = `${serving.url}/#token=${token}`;
  const logged = given === "" ? url : `${serving.url}/#token=$PHASEGATE_INSPECTOR_TOKEN`;
  return { url, logged, ended: serving.ended, close };
}

async function sourcesIn({ routed, includeRoot: includeRoots = [], project, ...phased }: WorkflowPlaces) {
  const roots = workflowFolders(phased);
  for (const root of phased.workflows ?? []) await requireFolder(root, "the folder of workflows");
  const folder = routed === undefined ? undefined : await requireFolder(routed, "the folder of routed workflows");
  const source = folder === undefined ? undefined : new FileTexts({ root: folder });
  return {
    content: roots.length === 0 ? undefined : contentIn(roots),
    workflows: source && new RoutedFolders({ source, includeRoots }),
    plans: project === undefined ? undefined : new FilePlans({ root: project }),
  };
}

/** Returns what reads the lines of a workflow's file around a diagnostic; of several folders the first counts. */
export function framesIn({ routed, ...phased }: WorkflowPlaces): NonNullable<InspectorOptions["codeFrame"]> {
  const places = [...workflowFolders(phased), ...(routed === undefined ? [] : [routed])];
  return async ({ file, line, column }, workflow) => {
    if (line === undefined) return undefined;
    for (const root of places) {
      const texts = new FileTexts({ root });
      if ((await texts.list(workflow)).length === 0) continue;
      const text = await texts.read(pathOf(workflow, file));
      return text === undefined ? undefined : codeFrame(sourceLines(text), line, column).join("\n");
    }
    return undefined;
  };
}

/**
 * Opens a URL as the desktop does. All users can see the arguments of a process, and the URL has a secret: the argument is a
 * file that only this user can read, and that leads to the URL. Returns its folder.
 */
async function openBrowser(url: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-inspect-"));
  const file = join(folder, "open.html");
  const address = url.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  await writeFile(file, `<!doctype html>\n<meta http-equiv="refresh" content="0; url=${address}">\n`, { mode: 0o600 });
  const [command, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const executable = await findProgram(command ?? "", process.cwd());
  if (executable === undefined) return folder;
  const child = spawn(executable, [...args, file], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
  return folder;
}

const graphOptions = () => ({ state: stateOption(), ...workflowOptions(), ...trustOptions() });
type GraphOptions = Values<ReturnType<typeof graphOptions>>;

export const graphCommand = command({
  name: "graph",
  description: "Prints the graph of a workflow or of a session: Mermaid, or an SVG file.",
  arguments: [argument("<name>", "the type of a workflow, or the id of a session or the end of it")],
  options: {
    ...graphOptions(),
    mermaid: flag("--mermaid", "as Mermaid; the default"),
    svg: flag("--svg", "as an SVG file").conflicts("mermaid"),
  },
  async run(options, terminal, name) {
    const graph = await withPacks(options, ({ workflows }) => graphOf(name, { ...options, workflows }));
    terminal.stdout.write(options.svg ? toSvg(draw(graph)) : toMermaid(graph));
    return EXIT.ok;
  },
});

async function graphOf(name: string, options: GraphOptions): Promise<Graph> {
  const sources = await sourcesIn(options);
  const phased = (await sources.content?.list())?.find(({ type }) => type === name);
  if (phased?.status === "ready") return phasedGraph(phased.definition.structure);
  const routed = (await sources.workflows?.list())?.find((one) => one.name === name);
  if (routed?.status === "ready") return routedGraph(routed.definition);
  if (phased !== undefined || routed !== undefined) {
    throw new CommandFailure(`the workflow ${name} has errors`, EXIT.problems, "See `phasegate validate`.");
  }
  const hint = "Give the folder with --workflows, --starters or --routed, or a session's id with --state.";
  if (options.state === undefined) throw new CommandFailure(`there is no workflow ${name}`, EXIT.problems, hint);
  const opened = await openAll(options.state, { ...(await readTrust(options)), ...sources }).catch((cause: unknown) => {
    if (!(cause instanceof NoSessions) || sources.content === undefined) throw cause;
    throw new CommandFailure(`there is no workflow ${name}, and no session yet`, EXIT.problems, hint, { cause });
  });
  try {
    const sessionId = await sessionMeant(opened.storage, name);
    const { summary } = await findIn((query) => opened.routed.listSessions(query), sessionId);
    if (summary !== undefined) return await routedPath(opened.routed, sessionId);
    return phasedPath(await opened.engine.session(sessionId).state());
  } catch (cause) {
    const isNone = isPhasegateError(cause, "SESSION_NOT_FOUND") || isPhasegateError(cause, "INVALID_INPUT");
    if (!isNone) throw cause;
    throw new CommandFailure(`there is no workflow and no session ${name}`, EXIT.problems, hint, { cause });
  } finally {
    await opened.engine.close();
  }
}

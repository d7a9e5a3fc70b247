/** The checks of `phasegate doctor`: Node, the MCP SDK, the record of init, clients, the state, workflows, approvers and Chromium. */
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { relative } from "node:path";
import process from "node:process";
import { keysOf } from "../approval/approvers.js";
import { loadWebAuthn } from "../approval/passkey.js";
import { checksOf } from "../gate/check-gate.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { isMissing } from "../sandbox/refusals.js";
import { CLIENTS } from "../setup/clients.js";
import { isUnignored } from "../setup/ignored.js";
import { openProject, readRecord } from "../setup/project.js";
import { RECORD_PATH, RECORD_REMEDY } from "../setup/record.js";
import type { GateDefinition } from "../workflow/structure.js";
import type { ConfiguredServer, FoundClients, ServedOptions } from "./doctor-clients.js";
import { CommandFailure, EXIT, hintOf, messageOf } from "./exit-codes.js";
import { basesIn, type FoundFiles, findRouted, findWorkflows } from "./find-workflows.js";
import { askClient, type Listed, type ListingClient } from "./listing-client.js";
import { probeServer, type ServerFacts } from "./mcp-probe.js";
import { requireFolder } from "./options.js";
import { openPacks } from "./packs.js";
import { findProgram } from "./programs.js";
import { openState, parseState, requireNoLink } from "./state.js";
import { counted, inShell, sizeText, withoutPasswords } from "./terminal.js";
import { openVerifiers, readTrust } from "./trust.js";

export interface Finding {
  readonly check: "node" | "sdk" | "setup" | "clients" | "state" | "workflows" | "approvers" | "chromium";
  /** `problem`: it does not work. `warning`: it works, but not as it should. */
  readonly status: "ok" | "warning" | "problem";
  readonly message: string;
  readonly fix?: string;
  readonly server?: ServerFacts;
}

type Check = Finding["check"];

const ok = (check: Check, message: string): Finding => finding(check, "ok", message);
const warning = (check: Check, message: string, fix: string): Finding => finding(check, "warning", message, fix);
const problem = (check: Check, message: string, fix: string): Finding => finding(check, "problem", message, fix);

/** The texts may quote a configuration, in which passwords are. */
function finding(check: Check, status: Finding["status"], message: string, fix?: string): Finding {
  return { check, status, message: withoutPasswords(message), fix: fix && withoutPasswords(fix) };
}

/** Returns a path for a command that is run in the current folder. */
function fromHere(path: string): string {
  return relative(process.cwd(), path) || ".";
}

function failed(check: Check, what: string, error: unknown): Finding {
  return problem(check, `${what}${messageOf(error)}`, hintOf(error) ?? "Correct that, and run it again.");
}

/** An older version than the package needs has been refused before anything was loaded. */
export function checkNode(): Finding {
  return ok("node", `Node ${process.versions.node}`);
}

export async function checkSdk(): Promise<Finding> {
  try {
    await import("@modelcontextprotocol/server");
    return ok("sdk", "@modelcontextprotocol/server is installed");
  } catch {
    const fix = "Run npm install @modelcontextprotocol/server, next to phasegate.";
    return problem("sdk", "@modelcontextprotocol/server is not installed, so nothing can be served over MCP", fix);
  }
}

export async function checkRecord(project: string): Promise<Finding[]> {
  const { problem: reason } = await readRecord(await openProject(project));
  return reason === undefined ? [] : [problem("setup", `${RECORD_PATH} can't be used: ${reason}`, RECORD_REMEDY)];
}

/** With a timeout, each server is started and asked for its tools. */
export async function checkClients(found: FoundClients, timeoutMs: number | undefined): Promise<Finding[]> {
  const findings = found.broken.map(({ place, reason }) =>
    problem("clients", `${place} can't be read: ${reason}`, "Correct the file, or let its client write it again."),
  );
  for (const server of found.servers) findings.push(await checkServer(server, timeoutMs));
  if (findings.length > 0) return findings;
  return [warning("clients", "no client of this project starts phasegate", "Run phasegate init.")];
}

/** Asks each client about the server that it is configured to start, if that is the user's own. */
export async function checkListings(
  clients: readonly ListingClient[],
  { servers }: FoundClients,
  project: string,
  timeoutMs: number,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const client of clients) {
    const { title, next } = CLIENTS[client];
    const own = servers.filter((server) => server.client === client);
    if (own.length === 0) {
      const fix = `Run phasegate init --client ${client}`;
      findings.push(problem("clients", `${title}: no file in the project names phasegate for it`, fix));
    } else if (own.some(({ start }) => "unconfirmed" in start)) {
      const message = `${title}: not asked: it would start servers that your init did not write`;
      findings.push(warning("clients", message, "If the project is yours, run it again with --trust."));
    } else {
      findings.push(listing(title, next, await askClient(client, project, timeoutMs)));
    }
  }
  return findings;
}

function listing(title: string, next: string, listed: Listed): Finding {
  const { state, command } = listed;
  const by = `${title}, ${command}:`;
  if (state === "connected") return ok("clients", `${by} connected to phasegate`);
  if (state === "listed") return ok("clients", `${by} has phasegate; it does not say whether it connects`);
  if (state === "unlisted") return problem("clients", `${by} does not have phasegate`, next);
  if (state === "unconnected") return problem("clients", `${by} not connected: ${listed.reason}`, next);
  if (state === "failed") return problem("clients", `${by} ${listed.reason}`, `Run it by hand: ${command}`);
  return problem("clients", `${by} there is no such program on the PATH outside of the project`, `Install ${title}.`);
}

async function checkServer({ place, start }: ConfiguredServer, timeoutMs: number | undefined): Promise<Finding> {
  if ("reason" in start) return warning("clients", `${place}: not started: ${start.reason}`, "Try it in the client.");
  if ("unconfirmed" in start) {
    const message = `${place}: not started: your init did not write it: ${start.unconfirmed}`;
    return warning("clients", message, "If the project is yours and this is right, run it again with --trust.");
  }
  if (timeoutMs === undefined) return ok("clients", `${place}: not started, by --no-start`);
  const probe = await probeServer(start, timeoutMs);
  const command = [start.command, ...start.args].map(inShell).join(" ");
  if (!probe.ok) return problem("clients", `${place}: ${probe.reason}`, `Run it by hand: ${command}`);
  const { ok: _, ...server } = probe;
  if (server.name !== SERVER_NAME) {
    const message = `${place}: starts ${server.name}, which is not phasegate`;
    return problem("clients", message, `Look at its command: ${command}`);
  }
  const started = `${place}: starts ${server.name} ${server.version} in ${server.seconds.toFixed(1)} s`;
  if (server.tools.length === 0) return problem("clients", `${started}, but it has no tools`, "Give --workflows.");
  const tools = `${counted(server.tools.length, "tool")} (${server.tools.join(", ")})`;
  return { ...ok("clients", `${started}, with ${tools} in ${counted(server.tokens, "token")}`), server };
}

/** The name that `serve` gives to its server. */
const SERVER_NAME = "phasegate";

const FREE_MIN = 200 * 1000 * 1000;

export async function checkState(state: string, project: string): Promise<Finding[]> {
  const { kind, path } = parseState(state);
  const from = (folder: string) => {
    if (path === undefined) return state;
    return `${kind === undefined ? "" : `${kind}:`}${relative(folder, path) || "."}`;
  };
  const shown = from(project);
  try {
    requireNoLink(state, project);
    if (path !== undefined && (await isAbsent(path))) {
      return [ok("state", `${shown}: does not exist yet; the first start makes it`)];
    }
    // A database in memory has no sessions before it is opened.
    const storage = await openState(state, { create: kind === "sqlite" && path === undefined });
    try {
      await requireWritable(state);
      const { total, damaged = [] } = await storage.list({ limit: 1 });
      const sessions = total === undefined ? "" : `, ${counted(total, "session")}`;
      const fix = `Run phasegate repair --state ${inShell(from(process.cwd()))}, which names them.`;
      return [
        ...survival(shown, sessions, storage),
        ...(damaged.length === 0 ? [] : [problem("state", `${shown}: some sessions are damaged`, fix)]),
        ...(path === undefined ? [] : await folderFindings(shown, path, project)),
      ];
    } finally {
      await storage.close?.();
    }
  } catch (error) {
    return [failed("state", `${shown}: `, error)];
  }
}

/** Returns true if there is nothing at a path, or an empty folder. */
async function isAbsent(path: string): Promise<boolean> {
  const found = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return found === undefined || (found.isDirectory() && (await readdir(path)).length === 0);
}

function survival(shown: string, sessions: string, { capabilities }: StorageAdapter): Finding[] {
  const { durability, multiProcess } = capabilities;
  const shared = multiProcess ? "" : "; only one process can use it";
  if (durability === "power") return [ok("state", `${shown}: opens, survives a power failure${shared}${sessions}`)];
  const fix =
    durability === "memory"
      ? "Give --state a folder, sqlite:FILE or postgres://…"
      : "Set fsync and synchronous_commit to on in PostgreSQL.";
  const what = durability === "memory" ? "is lost with its process" : "may lose its last commits in a power failure";
  return [warning("state", `${shown}: opens, but ${what}${shared}${sessions}`, fix)];
}

/** Throws if the state can't be written now: by its rights, or since another process holds the lock of a database. */
async function requireWritable(state: string): Promise<void> {
  const { kind, path } = parseState(state);
  if (path === undefined) return;
  await access(path, constants.W_OK);
  if (kind === undefined) return;
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${LOCK_MS}; BEGIN IMMEDIATE; ROLLBACK`);
  } catch (cause) {
    const hint = "End the program that holds it. A server holds it only for the time of a commit.";
    throw new CommandFailure("the database is locked by another program", EXIT.environment, hint, { cause });
  } finally {
    database.close();
  }
}

/** How long another program may hold the lock of a database, in milliseconds. */
const LOCK_MS = 1000;

async function folderFindings(shown: string, path: string, project: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const [{ mode }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const fix = `Run chmod -R go-rwx ${inShell(fromHere(path))}`;
    findings.push(warning("state", `${shown}: other users can read it`, fix));
  }
  const free = bavail * bsize;
  if (free < FREE_MIN) {
    findings.push(warning("state", `${shown}: ${sizeText(free)} are left on its disk`, "Free some space."));
  }
  if (!relative(project, path).startsWith("..") && (await isUnignored(path, project))) {
    const line = relative(project, path).replaceAll("\\", "/");
    findings.push(warning("state", `${shown}: git does not ignore it`, `Write ${line} into .gitignore.`));
  }
  return findings;
}

export async function checkWorkflows(options: ServedOptions, project: string): Promise<Finding[]> {
  const { workflows = [], routed, includeRoot = [] } = options;
  const findings: Finding[] = [];
  const packs = await openPacks(options.project ?? project, options.pack).catch((error: unknown) => {
    findings.push(failed("workflows", "", error));
    return undefined;
  });
  try {
    const host = async () => ({ verifiers: await verifiersOf(options), packs: packs?.verifiers });
    const inProject = (folder: string) => ({ folder, shown: relative(project, folder) || "." });
    const ofPacks = (packs?.workflows ?? []).map(({ pack, folder }) => ({ folder, shown: pack, pack }));
    const places = [...workflows.map(inProject), ...ofPacks];
    const find = async (path: string) => findWorkflows(path, { ...(await host()), bases: await basesIn(places) });
    for (const place of places) findings.push(...(await checkFolder(place, find, options)));
    if (routed !== undefined) {
      const findThere = async (path: string) => findRouted(path, includeRoot, new Set(), await host());
      findings.push(...(await checkFolder(inProject(routed), findThere, options)));
    }
    return findings;
  } finally {
    await packs?.close();
  }
}

async function verifiersOf({ project, allowCommand = {}, allowHost = [], allowEnv = [] }: ServedOptions) {
  if (project === undefined) return undefined;
  return openVerifiers({ project, allowCommand, allowHost, allowEnv }, process.env);
}

/** A folder of workflows, and how it is named; `pack` if it is of one. */
interface Place {
  readonly folder: string;
  readonly shown: string;
  readonly pack?: string;
}

type Find = (path: string) => Promise<readonly FoundFiles[]>;

async function checkFolder(place: Place, find: Find, options: ServedOptions): Promise<Finding[]> {
  const { folder, shown } = place;
  const fix = `Run phasegate new NAME --in ${inShell(fromHere(folder))}`;
  if ((await stat(folder).catch(() => undefined)) === undefined) {
    return [problem("workflows", `${shown}: there is no such folder`, fix)];
  }
  try {
    const found = await find(await requireFolder(folder, "the folder of workflows"));
    if (found.length > 0) return found.map((workflow) => checkWorkflow(workflow, place, options));
    return [warning("workflows", `${shown}: there is no workflow in it`, fix)];
  } catch (error) {
    return [failed("workflows", `${shown}: `, error)];
  }
}

function checkWorkflow(
  { type, read, gates = [] }: FoundFiles,
  { folder, shown, pack }: Place,
  options: ServedOptions,
): Finding {
  const errors = read.diagnostics.filter(({ severity }) => severity === "error");
  const warnings = read.diagnostics.length - errors.length;
  const [first] = [...errors, ...read.diagnostics];
  const place = `${shown}/${type}`;
  const allowsNoCommand = options.project !== undefined && Object.keys(options.allowCommand ?? {}).length === 0;
  if (errors.length === 0 && allowsNoCommand && gates.some(({ gate }) => runsCommand(gate))) {
    const message = `${place}: can't be completed: its gates run a command of your choice, and the server allows none`;
    const fix = "Run phasegate init --update --test-command COMMAND, or give the server --allow-command COMMAND.";
    return problem("workflows", message, fix);
  }
  if (first === undefined) return ok("workflows", `${place}: can be started`);
  const checked = pack === undefined ? inShell(fromHere(folder)) : `--pack ${pack}`;
  const fix = `Run phasegate validate ${checked}: ${first.message}`;
  if (errors.length === 0)
    return warning("workflows", `${place}: can be started, with ${counted(warnings, "warning")}`, fix);
  return problem("workflows", `${place}: can't be started: ${counted(errors.length, "error")}`, fix);
}

/** Returns true if a gate runs a command that is an option of the session: only what the server allows can be chosen. */
function runsCommand(gate: GateDefinition): boolean {
  return checksOf(gate).some(({ verifier, params }) => {
    return verifier === "command" && typeof params.line === "string" && hasPlaceholder(params.line);
  });
}

export async function checkApprovers(options: ServedOptions, project: string): Promise<Finding[]> {
  const { workflows = [], allowUnsignedApprovals } = options;
  // Packs that can't be opened are reported by the check of the workflows.
  const packs = await openPacks(options.project ?? project, options.pack).catch(() => undefined);
  const ofPacks = (packs?.workflows ?? []).map(({ folder }) => folder);
  try {
    const { approvers } = await readTrust(options);
    const names = Object.keys(approvers);
    if (names.some((name) => keysOf(approvers, name).some((key) => typeof key !== "string"))) await loadWebAuthn();
    const asked = (await Promise.all([...workflows, ...ofPacks].map((folder) => approvalsIn(folder)))).flat();
    const nobody = asked.find(({ who }) =>
      who === undefined ? names.length === 0 : !who.some((name) => names.includes(name)),
    );
    if (nobody !== undefined && !(allowUnsignedApprovals && nobody.who === undefined)) {
      const who = nobody.who === undefined ? "" : `: it asks for ${nobody.who.join(" or ")}`;
      const fix =
        "Run phasegate keygen, and give the public key with --approvers FILE or --approver NAME=KEY; or phasegate approvers invite.";
      return [warning("approvers", `${nobody.place} needs an approval that nobody can give${who}`, fix)];
    }
    if (names.length === 0 && asked.length === 0) return [ok("approvers", "none, and no gate needs one")];
    return [ok("approvers", names.length === 0 ? "the client's user approves, unsigned" : names.join(", "))];
  } catch (error) {
    const file = options.approvers === undefined ? "" : `${relative(project, options.approvers)}: `;
    return [failed("approvers", file, error)];
  } finally {
    await packs?.close();
  }
}

/** Workflows that can't be read are reported by their own check. */
async function approvalsIn(
  folder: string,
): Promise<{ readonly place: string; readonly who: readonly string[] | undefined }[]> {
  const found = await findWorkflows(folder).catch(() => []);
  return found.flatMap(({ type, gates = [] }) =>
    gates.flatMap(({ gate, where }) => {
      const approval = "approval" in gate ? gate.approval : undefined;
      return approval === undefined ? [] : [{ place: `${type}, ${where}`, who: approval.approvers }];
    }),
  );
}

const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome.exe", "msedge.exe"];

/** This is only information: nothing that is served needs Chromium. */
export async function checkChromium(project: string): Promise<Finding> {
  for (const name of BROWSERS) {
    const file = await findProgram(name, project);
    if (file !== undefined) return ok("chromium", file);
  }
  return ok("chromium", "none on the PATH; phasegate does without it");
}

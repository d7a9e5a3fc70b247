/**
 * Opens what `--state` names: a folder, an SQLite file, a PostgreSQL database or a storage from a module of the user. For one session it opens an engine, or
 * a reader for recorded sessions, without any workflows: the log of a session has what it was started on.
 */
import { constants, existsSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { ListedSession, LookAt } from "../engine/lists.js";
import { errnoOf, PhasegateError } from "../errors.js";
import type { AttemptLimits } from "../gate/judge.js";
import { createEngine, type Engine } from "../phased/engine.js";
import { lookAtSession } from "../phased/lists.js";
import { Notifications } from "../phased/notifications.js";
import { type EngineOptions, resolveOptions } from "../phased/options.js";
import { createContext } from "../phased/phased.js";
import type { ContentProvider } from "../ports/content-provider.js";
import { type StorageAdapter, storageCheck } from "../ports/storage-adapter.js";
import { RecordedReader } from "../read/sources.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine.js";
import { RoutedNotifications } from "../routed/notifications.js";
import { createRoutedContext, type RoutedEngineOptions, resolveRoutedOptions } from "../routed/options.js";
import { routedMachine } from "../routed/state/machine.js";
import { lookAtInstance } from "../routed/views.js";
import { isMissing } from "../sandbox/refusals.js";
import { isInside } from "../sandbox/resolve.js";
import { parseSessionId, type SessionId, shown } from "../workflow/names.js";
import { recordedMachine } from "../workspace/session/machine.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { importModule } from "./module-file.js";
import { refuseLinkedState, requireFolder } from "./options.js";
import { withoutPasswords } from "./terminal.js";

interface OpenOptions {
  readonly create?: boolean;
}

/** Opens one kind of state: `state` is the value of `--state`, and `rest` the part after the colon. */
type OpenKind = (rest: string, state: string, options: OpenOptions) => Promise<StorageAdapter>;

/** The kinds of state by the part before the colon. An adapter is loaded when it is needed. */
const KINDS: Readonly<Record<string, OpenKind>> = {
  sqlite: openSqlite,
  postgres: openPostgres,
  postgresql: openPostgres,
  module: openModule,
};

const MEMORY = ":memory:";

/** A kind has at least two letters: `C:\…` is a folder. */
const KIND = /^([a-z][a-z0-9+.-]+):(.*)$/is;

interface StateName {
  /** The part before the colon, in small letters; missing for a folder. */
  readonly kind?: string;
  readonly rest: string;
  /** Where it is on this machine: a folder or an SQLite file; missing for everything else. */
  readonly path?: string;
}

export function parseState(state: string): StateName {
  const [, name, rest = ""] = KIND.exec(state) ?? [];
  if (name === undefined) return { rest: state, path: state };
  const kind = name.toLowerCase();
  return kind === "sqlite" && rest !== "" && rest !== MEMORY ? { kind, rest, path: rest } : { kind, rest };
}

/** Refuses a state, or what another option names, that is in a project, and goes through a link in it. Throws `CommandFailure`. */
export function requireNoLink(state: string, project: string, option?: string): void {
  const { path } = parseState(state);
  if (path === undefined) return;
  const [root, place] = [resolve(project), resolve(path)];
  if (isInside(root, place)) refuseLinkedState(root, relative(root, place).split(sep).join("/"), option);
}

/** Opens what `--state` names. Without `create`, a place without sessions is refused and not changed. */
export async function openState(state: string, options: OpenOptions = {}): Promise<StorageAdapter> {
  const { kind, rest } = parseState(state);
  if (kind === undefined) return openFolder(state, options);
  const open = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (open !== undefined) return open(rest, state, options);
  const known = ["a folder", ...Object.keys(KINDS).map((name) => `${name}:…`)].join(", ");
  const hint = `The kinds are: ${known}. Write a folder of this name as ./${kind}:….`;
  throw new CommandFailure(`unknown kind of state ${kind}: ${withoutPasswords(state)}`, EXIT.usage, hint);
}

async function openFolder(path: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  await refuseFile(path, create);
  const { FileStorage } = await import("../storage/files/storage.js");
  if (create) return FileStorage.open(resolve(path));
  const folder = resolve(path);
  if (existsSync(folder)) await requireFolder(path, "the state folder");
  await requireSessions(join(folder, "format.json"), folder);
  return FileStorage.open(folder);
}

/** Refuses the path of a file: without `sqlite:`, the path of a database would be taken for a folder. */
async function refuseFile(path: string, create: boolean): Promise<void> {
  const found = await stat(resolve(path)).catch(() => undefined); // opening it reports what is wrong
  const isMeant = found === undefined ? !create && /\.(?:db|sqlite3?)$/i.test(path) : found.isFile();
  if (!isMeant) return;
  const message = found === undefined ? `there is no folder ${path}` : `${path} is a file, not a folder of sessions`;
  throw new CommandFailure(message, EXIT.environment, `Write an SQLite database as sqlite:${path}`);
}

async function openSqlite(name: string, state: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  if (name === "") throw new CommandFailure(`${state} names no file`, EXIT.usage, "Write sqlite:FILE.");
  const { SqliteStorage } = await import("../storage/sqlite/storage.js");
  // SQLite's name for a database in memory, not a file.
  const file = name === MEMORY ? name : resolve(name);
  if (!create) await requireSessions(file, file);
  return SqliteStorage.open(file, { migrate: create });
}

/** Opens a URL as PostgreSQL's own tools accept it, or one after `postgres:`. Commands that only read create no tables. */
async function openPostgres(rest: string, state: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  const { url, schema } = withoutSchema(rest.startsWith("//") ? state : rest);
  if (!/^postgres(?:ql)?:\/\/./i.test(url)) {
    const hint = "Write postgres://USER@HOST/DATABASE; set a password in PGPASSWORD or PHASEGATE_STATE.";
    throw new CommandFailure(`${withoutPasswords(state)} is not the URL of a database`, EXIT.usage, hint);
  }
  const { PostgresStorage } = await import("../storage/postgres/storage.js");
  return PostgresStorage.open({ url, migrate: create, schema });
}

/** Opens `module:./redis.mjs?url=…`: its `openWith` or default export gets the parameters, and `create`. */
async function openModule(rest: string, state: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  const [file = "", ...query] = rest.split("?");
  if (file === "") throw new CommandFailure(`${state} names no file`, EXIT.usage, "Write module:./FILE.mjs.");
  const exported = await importModule(file);
  const open = exported.get("openWith") ?? exported.get("default");
  if (typeof open !== "function") {
    const hint = "Export a function openWith({ create }) that returns a storage; see docs/storage/own.md.";
    throw new CommandFailure(`${file} exports no function openWith`, EXIT.usage, hint);
  }
  const parameters = Object.fromEntries(new URLSearchParams(query.join("?")));
  const storage: unknown = await open({ ...parameters, create });
  if (isStorage(storage)) return storage;
  const hint = `Return ${storageCheck.expected}; \`phasegate test-storage\` checks the rest.`;
  throw new CommandFailure(`openWith of ${file} returns no storage`, EXIT.usage, hint);
}

function isStorage(value: unknown): value is StorageAdapter {
  return storageCheck.accepts(value);
}

/** Takes the parameter `schema` out of a URL. It is ours: the schema of the tables. The driver gets the others. */
function withoutSchema(address: string): { readonly url: string; readonly schema?: string } {
  const [found, before = "", schema, after] = /([?&])schema=([^&#]*)(&)?/.exec(address) ?? [];
  if (found === undefined || schema === undefined) return { url: address };
  return { url: address.replace(found, () => (after === undefined ? "" : before)), schema };
}

export async function using<S extends { close?(): Promise<void> }, T>(
  opened: S,
  use: (opened: S) => Promise<T>,
): Promise<T> {
  try {
    return await use(opened);
  } finally {
    await opened.close?.();
  }
}

export async function withState<T>(state: string, use: (storage: StorageAdapter) => Promise<T>): Promise<T> {
  return using(await openState(state), use);
}

/** The failure of a command on sessions where there are none. */
export class NoSessions extends CommandFailure {}

async function requireSessions(file: string, where: string): Promise<void> {
  await access(file, constants.R_OK).catch((cause: unknown) => {
    if (!isMissing(cause)) {
      const why = errnoOf(cause) === "EACCES" ? "you may not read it" : (errnoOf(cause) ?? "it fails");
      const hint = "Run the command as the user whose server has it, or ask them.";
      throw new CommandFailure(`${where} can't be read: ${why}`, EXIT.environment, hint, { cause });
    }
    const hint = "An agent makes the first one. If there is one, give the value that `phasegate serve --state` has.";
    throw new NoSessions(`there are no sessions in ${where}`, EXIT.environment, hint, { cause });
  });
}

/** What a command gives its engines: whom it trusts, limits of attempts, and what it can show besides the logs. */
type Setup = Partial<Pick<EngineOptions, "approvers" | "hashKey" | "verifiers" | "allowUnsignedApprovals">> &
  Partial<Pick<EngineOptions, "content" | "plans">> &
  Partial<Pick<RoutedEngineOptions, "workflows">> & { readonly limits?: Partial<AttemptLimits> };

/** Returns the options of engines that start nothing, and decide on no steps. */
function optionsOver(
  storage: StorageAdapter,
  { content = NO_WORKFLOWS, plans, workflows = NO_ROUTED, limits, ...trust }: Setup,
): { readonly phased: EngineOptions; readonly routed: RoutedEngineOptions } {
  // The operator is the host: a server's limit of active sessions is not theirs.
  const shared = { storage, limits: { maxActiveSessions: Number.POSITIVE_INFINITY, ...limits }, ...trust };
  return {
    phased: { ...shared, content, plans },
    routed: { ...shared, workflows, decider: NO_DECIDER },
  };
}

/** An engine for one session, by the kind of session that it is. */
export type OpenedSession =
  | { readonly kind: "phased"; readonly engine: Engine }
  | { readonly kind: "routed"; readonly engine: RoutedEngine }
  | { readonly kind: "recorded"; readonly engine: RecordedReader };

/** Engines of all kinds over one state, for a host that looks at all of it. */
export interface OpenedState {
  readonly storage: StorageAdapter;
  readonly engine: Engine;
  readonly routed: RoutedEngine;
}

/** Opens engines over all sessions of a state. */
export async function openAll(state: string, setup: Setup): Promise<OpenedState> {
  const storage = await openState(state);
  return orClosed(storage, () => {
    const { phased, routed } = optionsOver(storage, setup);
    return { storage, engine: createEngine(phased), routed: createRoutedEngine(routed) };
  });
}

/** Opens an engine that shows a session, or passes a decision to it. It decides on no steps, and starts nothing. */
export async function openSession(state: string, sessionId: string, setup: Setup): Promise<OpenedSession> {
  parseSessionId(sessionId);
  const storage = await openState(state);
  return orClosed(storage, () => sessionIn(storage, sessionId, setup));
}

/** Closes a storage if what is to use it can't be opened: open connections would keep the process alive. */
async function orClosed<T>(storage: StorageAdapter, open: () => Promise<T> | T): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await storage.close?.();
    throw error;
  }
}

/** Returns an engine for a session in an open storage, by the kind of session that it is. */
export async function sessionIn(storage: StorageAdapter, sessionId: string, setup: Setup): Promise<OpenedSession> {
  const id = parseSessionId(sessionId);
  // The summary is not covered by a hash. If its kind was changed, the log fails its check under the wrong machine.
  const kind = (await storage.read(id))?.summary.kind;
  if (kind === recordedMachine.kind) return { kind: "recorded", engine: recordedIn(storage, setup.hashKey) };
  const { phased, routed } = optionsOver(storage, setup);
  return kind === routedMachine.kind
    ? { kind: "routed", engine: createRoutedEngine(routed) }
    : { kind: "phased", engine: createEngine(phased) };
}

/** Returns a function that reads the entry of a session in a list from its log, up to the first unaccepted approval. */
export function createLooker(storage: StorageAdapter, setup: Setup): LookAt {
  const options = optionsOver(storage, setup);
  const phased = createContext(resolveOptions(options.phased), new Notifications());
  const routed = createRoutedContext(resolveRoutedOptions(options.routed), new RoutedNotifications());
  const recorded = recordedIn(storage, setup.hashKey);
  const looks: Readonly<Record<string, (id: SessionId) => Promise<ListedSession | undefined>>> = {
    phased: (id) => lookAtSession(phased, id),
    [routedMachine.kind]: (id) => lookAtInstance(routed, id),
    [recordedMachine.kind]: (id) => recorded.lookAt(id),
  };
  return async (id, listed) => {
    // As in openSession: a changed kind makes the log fail its check.
    const kind = (listed ?? (await storage.read(id))?.summary)?.kind;
    if (kind === undefined) return undefined;
    const look = Object.hasOwn(looks, kind) ? looks[kind] : undefined;
    if (look === undefined) throw unknownKind(kind);
    return look(id);
  };
}

function unknownKind(kind: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `sessions of the kind ${shown(kind)} can't be read here`, {
    remedy: "Use the program that made the session.",
    details: { operation: "list" },
  });
}

/** Moving a session returns its phase with its text, which no command shows. */
const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => ({ text: "", revision: "", sources: [], tokens: 0 }),
};

const NO_ROUTED = { list: async () => [], definition: async () => undefined };

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "this command decides on no steps", {
      remedy: "Continue the instance on its server.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};

function recordedIn(storage: StorageAdapter, hashKey: EngineOptions["hashKey"]): RecordedReader {
  return new RecordedReader({ storage, hashKey });
}

import { access, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { contentUnavailable } from "../content/answers.js";
import { PhasegateError } from "../errors.js";
import type { Receipt } from "../log/commit.js";
import type { SessionAudit } from "../phased/approval/ledger.js";
import { createEngine, type Engine } from "../phased/engine.js";
import { type LookAt, lookAtSession } from "../phased/lists.js";
import { Notifications } from "../phased/notifications.js";
import { type EngineOptions, resolveOptions } from "../phased/options.js";
import { createContext } from "../phased/phased.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine.js";
import { RoutedNotifications } from "../routed/notifications.js";
import { createRoutedContext, resolveRoutedOptions } from "../routed/options.js";
import { routedMachine } from "../routed/state/machine.js";
import { lookAtInstance } from "../routed/views.js";
import { parseSessionId, type SessionId, shown } from "../workflow/names.js";
import { type RecordedHead, recordedMachine } from "../workspace/session/machine.js";
import { type RecordedEntry, Recorder, recordedEntries } from "../workspace/session/recorder.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { requireFolder } from "./options.js";
import { withoutPasswords } from "./terminal.js";

/** Whether a place that holds no sessions yet is made one. */
interface OpenOptions {
  readonly create?: boolean;
}

/** Opens one kind of state: `rest` is what stands behind the colon, `state` all of it. */
type OpenKind = (rest: string, state: string, options: OpenOptions) => Promise<StorageAdapter>;

/** How each kind of state is opened, by what stands before the colon; its adapter is loaded when it is. */
const KINDS: Readonly<Record<string, OpenKind>> = {
  sqlite: openSqlite,
  postgres: openPostgres,
  postgresql: openPostgres,
};

const MEMORY = ":memory:";

/** `C:\…` is a folder, so a kind has two letters at least. */
const KIND = /^([a-z][a-z0-9+.-]+):(.*)$/is;

/**
 * Opens the sessions that `--state` names: `sqlite:FILE`, `postgres:URL`, or a folder. Unless they are to be created, a
 * place that holds no sessions is refused and left as it is.
 */
export async function openState(state: string, options: OpenOptions = {}): Promise<StorageAdapter> {
  const [, kind, rest = ""] = KIND.exec(state) ?? [];
  if (kind === undefined) return openFolder(state, options);
  const open = Object.hasOwn(KINDS, kind.toLowerCase()) ? KINDS[kind.toLowerCase()] : undefined;
  if (open !== undefined) return open(rest, state, options);
  const known = ["a folder", ...Object.keys(KINDS).map((name) => `${name}:…`)].join(", ");
  const hint = `There are: ${known}. A folder of such a name is written ./${kind}:….`;
  throw new CommandFailure(`there is no kind of state ${kind}: ${withoutPasswords(state)}`, EXIT.usage, hint);
}

async function openFolder(path: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  await refuseFile(path, create);
  const { FileStorage } = await import("../storage/files/storage.js");
  if (create) return FileStorage.open(resolve(path));
  const folder = await requireFolder(path, "the state folder");
  await requireSessions(join(folder, "format.json"), folder);
  return FileStorage.open(folder);
}

/** A database is a file; what names one without saying of which kind it is would be taken for a folder. */
async function refuseFile(path: string, create: boolean): Promise<void> {
  const found = await stat(resolve(path)).catch(() => undefined); // whatever is wrong with it, its opening tells
  const isMeant = found === undefined ? !create && /\.(?:db|sqlite3?)$/i.test(path) : found.isFile();
  if (!isMeant) return;
  const message = found === undefined ? `there is no folder ${path}` : `${path} is a file, and no folder of sessions`;
  throw new CommandFailure(message, EXIT.environment, `An SQLite database is named by its kind: sqlite:${path}`);
}

async function openSqlite(name: string, state: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  if (name === "") throw new CommandFailure(`${state} names no file`, EXIT.usage, "Write sqlite:FILE.");
  const { SqliteStorage } = await import("../storage/sqlite/storage.js");
  // SQLite's own name for a database that goes with the process, and no file of that name.
  const file = name === MEMORY ? name : resolve(name);
  if (!create) await requireSessions(file, file);
  return SqliteStorage.open(file, { migrate: create });
}

/** A URL as PostgreSQL's own tools take it, or one behind `postgres:`. Read commands make no tables. */
async function openPostgres(rest: string, state: string, { create = false }: OpenOptions): Promise<StorageAdapter> {
  const { url, schema } = withoutSchema(rest.startsWith("//") ? state : rest);
  if (!/^postgres(?:ql)?:\/\/./i.test(url)) {
    const hint = "Write postgres://USER@HOST/DATABASE; a password may stand in PGPASSWORD or in PHASEGATE_STATE.";
    throw new CommandFailure(`${withoutPasswords(state)} is no address of a database`, EXIT.usage, hint);
  }
  const { PostgresStorage } = await import("../storage/postgres/storage.js");
  return PostgresStorage.open({ url, migrate: create, ...(schema === undefined ? {} : { schema }) });
}

/** The schema that holds the tables, as a parameter of our own in an address: the driver gets the others. */
function withoutSchema(address: string): { readonly url: string; readonly schema?: string } {
  const [found, before = "", schema, after] = /([?&])schema=([^&#]*)(&)?/.exec(address) ?? [];
  if (found === undefined || schema === undefined) return { url: address };
  return { url: address.replace(found, () => (after === undefined ? "" : before)), schema };
}

async function requireSessions(file: string, where: string): Promise<void> {
  await access(file).catch((cause: unknown) => {
    const hint = "Name the state that `phasegate serve --state` was given.";
    throw new CommandFailure(`there are no sessions in ${where}`, EXIT.environment, hint, { cause });
  });
}

/** What says whose approvals count, and what looks at what a phase begins with. */
type Trust = Pick<EngineOptions, "approvers" | "hashKey" | "verifiers">;

/** An engine for one session, by the kind of session that it is. */
export type OpenedSession =
  | { readonly kind: "phased"; readonly engine: Engine }
  | { readonly kind: "routed"; readonly engine: RoutedEngine }
  | { readonly kind: "recorded"; readonly engine: RecordedReader };

/**
 * An engine that looks at a session, or says a person's word: it needs no workflows, since what a session was started on
 * is in its log.
 */
export async function openSession(state: string, sessionId: string, trust: Trust = {}): Promise<OpenedSession> {
  const id = parseSessionId(sessionId);
  const storage = await openState(state);
  // Which kind it is stands where no hash covers it: under another kind's machine, a log is none that holds together.
  const kind = (await storage.read(id))?.summary.kind;
  if (kind === recordedMachine.kind) return { kind: "recorded", engine: new RecordedReader(storage, trust.hashKey) };
  if (kind !== routedMachine.kind) {
    return { kind: "phased", engine: createEngine({ storage, content: NO_WORKFLOWS, ...trust }) };
  }
  return {
    kind: "routed",
    engine: createRoutedEngine({ storage, workflows: NO_ROUTED, decider: NO_DECIDER, ...trust }),
  };
}

/** Looks at sessions of any kind for a list, each out of its log, as far as it is believed. */
export function createLooker(storage: StorageAdapter, trust: Trust): LookAt {
  const { hashKey } = trust;
  const phased = createContext(resolveOptions({ storage, content: NO_WORKFLOWS, ...trust }), new Notifications());
  const resolved = resolveRoutedOptions({ storage, workflows: NO_ROUTED, decider: NO_DECIDER, ...trust });
  const routed = createRoutedContext(resolved, new RoutedNotifications());
  const recorded = new RecordedReader(storage, hashKey);
  const looks: Readonly<Record<string, (id: SessionId) => Promise<SessionSummary | undefined>>> = {
    phased: (id) => lookAtSession(phased, id),
    [routedMachine.kind]: (id) => lookAtInstance(routed, id),
    [recordedMachine.kind]: (id) => recorded.lookAt(id),
  };
  return async (id, listed) => {
    // Which kind it is is told where no hash covers it: under another kind's machine, a log is none that holds together.
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

const NO_WORKFLOWS: ContentProvider = {
  list: async () => [],
  definition: async () => undefined,
  text: async (type, part) => {
    throw contentUnavailable(type, part, "texts are not shown here");
  },
};

const NO_ROUTED = { list: async () => [], definition: async () => undefined };

const NO_DECIDER = {
  decide: async () => {
    throw new PhasegateError("DECIDER_FAILED", "nothing is decided here", {
      remedy: "Let the server go on with it.",
      details: { reason: "unavailable", retryable: false },
    });
  },
};

/** A recorded session: where it stands, and what was done in it, oldest first. */
export type RecordedReport = { readonly sessionId: string } & Partial<RecordedHead> & {
    readonly entries: readonly RecordedEntry[];
  };

/** Recorded sessions, looked at without the workspace that records them. */
class RecordedReader {
  readonly #storage: StorageAdapter;
  readonly #recorder: Recorder;

  constructor(storage: StorageAdapter, hashKey?: string | Uint8Array) {
    this.#storage = storage;
    const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
    const clock = { now: () => Date.now() };
    this.#recorder = new Recorder({ storage, clock, ...(key === undefined ? {} : { hashKey: key }) });
  }

  async report(sessionId: string): Promise<RecordedReport> {
    const entries: RecordedEntry[] = [];
    let head: RecordedHead | undefined;
    for await (const commit of this.#recorder.log(sessionId)) {
      entries.push(...recordedEntries(commit));
      head = commit.head;
    }
    return { sessionId, ...head, entries };
  }

  /** How a session stands, for a list; undefined if it is gone. */
  lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return this.#recorder.lookAt(id);
  }

  /** Nobody approves anything in a recorded session. */
  async audit(sessionId: string, receipt?: Receipt): Promise<SessionAudit> {
    return { ...(await this.#recorder.audit(sessionId, receipt)), approvals: [] };
  }

  async close(): Promise<void> {
    await this.#storage.close?.();
  }
}

import { access, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { withoutPasswords } from "./passwords.js";
import { requireFolder } from "./require-folder.js";

/** Whether a place that holds no sessions yet is made one. */
export interface OpenOptions {
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
  const { FileStorage } = await import("../adapters/fs/storage/file-storage.js");
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
  const { SqliteStorage } = await import("../adapters/sqlite/sqlite-storage.js");
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
  const { PostgresStorage } = await import("../adapters/postgres/postgres-storage.js");
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

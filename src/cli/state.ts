/** Opens what `--state` names: a folder, an SQLite file, a PostgreSQL database or a storage from a module of the user. */
import { constants, existsSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { errnoOf } from "../errors.js";
import { type StorageAdapter, storageCheck } from "../ports/storage-adapter.js";
import { isMissing } from "../sandbox/refusals.js";
import { isInside } from "../sandbox/resolve.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { importModule } from "./module-file.js";
import { refuseLinkedState, requireFolder } from "./options.js";
import { withoutPasswords } from "./terminal.js";

/** Opens one kind of state: `state` is the value of `--state`, and `rest` the part after the colon. */
type OpenKind = (rest: string, state: string, create: boolean) => Promise<StorageAdapter>;

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

/** Throws `CommandFailure` for a state in a project that goes through a link there. `option` is the one that names it. */
export function requireNoLink(state: string, project: string, option?: string): void {
  const { path } = parseState(state);
  if (path === undefined) return;
  const [root, place] = [resolve(project), resolve(path)];
  if (isInside(root, place)) refuseLinkedState(root, relative(root, place).split(sep).join("/"), option);
}

/** Opens what `--state` names. Without `create`, a place without sessions is refused and not changed. */
export async function openState(state: string, { create = false } = {}): Promise<StorageAdapter> {
  const { kind, rest } = parseState(state);
  if (kind === undefined) return openFolder(state, create);
  const open = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (open !== undefined) return open(rest, state, create);
  const known = ["a folder", ...Object.keys(KINDS).map((name) => `${name}:…`)].join(", ");
  const hint = `The kinds are: ${known}. Write a folder of this name as ./${kind}:….`;
  throw new CommandFailure(`unknown kind of state ${kind}: ${withoutPasswords(state)}`, EXIT.usage, hint);
}

async function openFolder(path: string, create: boolean): Promise<StorageAdapter> {
  await refuseFile(path, create);
  const { FileStorage } = await import("../storage/files/storage.js");
  if (create) return FileStorage.open(resolve(path));
  const folder = resolve(path);
  if (existsSync(folder)) await requireFolder(path, "the state folder");
  await requireSessions(join(folder, "format.json"), folder);
  return FileStorage.open(folder, { readOnly: !(await isWritable(folder)) });
}

/** What can't be written can still be shown: commands that change it then fail with the system's reason. */
function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** Refuses the path of a file: without `sqlite:`, the path of a database would be taken for a folder. */
async function refuseFile(path: string, create: boolean): Promise<void> {
  const found = await stat(resolve(path)).catch(() => undefined); // opening it reports what is wrong
  const isMeant = found === undefined ? !create && /\.(?:db|sqlite3?)$/i.test(path) : found.isFile();
  if (!isMeant) return;
  const message = found === undefined ? `there is no folder ${path}` : `${path} is a file, not a folder of sessions`;
  throw new CommandFailure(message, EXIT.environment, `Write an SQLite database as sqlite:${path}`);
}

async function openSqlite(name: string, state: string, create: boolean): Promise<StorageAdapter> {
  if (name === "") throw new CommandFailure(`${state} names no file`, EXIT.usage, "Write sqlite:FILE.");
  const { SqliteStorage } = await import("../storage/sqlite/storage.js");
  // SQLite's name for a database in memory, not a file.
  const file = name === MEMORY ? name : resolve(name);
  if (!create) await requireSessions(file, file);
  const readOnly = !create && file !== MEMORY && !(await isWritable(dirname(file)));
  return SqliteStorage.open(file, { migrate: create, readOnly });
}

/** Opens a URL as PostgreSQL's own tools accept it, or one after `postgres:`. Commands that only read create no tables. */
async function openPostgres(rest: string, state: string, create: boolean): Promise<StorageAdapter> {
  const { url, schema } = withoutSchema(rest.startsWith("//") ? state : rest);
  if (!/^postgres(?:ql)?:\/\/./i.test(url)) {
    const hint = "Write postgres://USER@HOST/DATABASE; set a password in PGPASSWORD or PHASEGATE_STATE.";
    throw new CommandFailure(`${withoutPasswords(state)} is not the URL of a database`, EXIT.usage, hint);
  }
  const { PostgresStorage } = await import("../storage/postgres/storage.js");
  return PostgresStorage.open({ url, migrate: create, schema });
}

/** Opens `module:./redis.mjs?url=…`: its `openWith` or default export gets the parameters, and `create`. */
async function openModule(rest: string, state: string, create: boolean): Promise<StorageAdapter> {
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

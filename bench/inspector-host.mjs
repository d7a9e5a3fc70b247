/**
 * An inspector on a storage of any kind, and its server. Run by itself, `inspector-host.mjs KIND FOLDER SESSIONS`, it serves them in
 * a process of its own, as `phasegate inspect` does, and sends its origin.
 */
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { MemoryStorage } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { createInspector } from "phasegate/inspector";
import { SqliteStorage } from "phasegate/sqlite";
import { atOnce } from "./measure.mjs";
import { benchTool } from "./workflow.mjs";

export const TOKEN = "a-token-of-more-than-thirty-two-characters";
export const KINDS = ["memory", "files", "SQLite"];
/** So many sessions are started at the same time: their commits share transactions. */
const AT_ONCE = 100;

async function storageOf(kind, folder) {
  if (kind === "memory") return { storage: new MemoryStorage(), close: () => {} };
  if (kind === "files") {
    const storage = await FileStorage.open(join(folder, "files"));
    return { storage, close: () => storage.close() };
  }
  const database = new DatabaseSync(join(folder, "sessions.db"));
  // A sync for each commit would take minutes, and nothing here is about disks.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const storage = await SqliteStorage.open(database);
  const close = async () => {
    await storage.close();
    database.close();
  };
  return { storage, close };
}

/** Opens a storage in a folder, starts sessions until it has so many, and opens an inspector on it. */
export async function opened(kind, folder, sessions) {
  const { storage, close } = await storageOf(kind, folder);
  const { engine, type } = benchTool(6, storage);
  const { total } = await engine.listSessions({ limit: 1 });
  const start = async (target) => (await engine.start({ workflowType: type, target })).sessionId;
  await atOnce(AT_ONCE, total, sessions, (index) => start(`src/part-${index % 40}/file-${index}.ts`));
  const inspector = createInspector({ engine, access: { token: TOKEN } });
  const end = async () => {
    inspector.close();
    await close();
  };
  return { engine, start, inspector, close: end };
}

export async function serve(inspector) {
  const server = createServer(async (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const chunks = await incoming.toArray();
    const end = new AbortController();
    outgoing.once("close", () => end.abort());
    const body = method === "POST" ? { body: Buffer.concat(chunks) } : {};
    const request = new Request(`http://${headers.host}${url}`, { method, headers, signal: end.signal, ...body });
    const response = await inspector.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    await pipeline(response.body ?? [], outgoing).catch(() => outgoing.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, close };
}

if (import.meta.main) {
  const [kind, folder, sessions] = process.argv.slice(2);
  const { inspector } = await opened(kind, folder, Number(sessions));
  const { origin } = await serve(inspector);
  process.send(origin);
}

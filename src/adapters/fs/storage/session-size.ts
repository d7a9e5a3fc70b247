import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { SessionSize } from "../../../ports/storage-adapter.js";
import { payloadFolder } from "./payload-files.js";
import { TEMPORARY } from "./publisher.js";
import type { SessionPlace } from "./store-layout.js";
import type { StoreParts } from "./store-parts.js";

const AT_ONCE = 64;

/** How much a session's files take, without those that are about to be deleted. Only the newest commit's header is read. */
export async function sizeOf(parts: StoreParts, id: SessionId): Promise<SessionSize | undefined> {
  const newest = await parts.newest.header(id);
  if (newest === undefined) return undefined;
  const paths = await filesOf(parts, parts.layout.place(id), newest.version);
  let bytes = 0;
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const stats = await Promise.all(paths.slice(from, from + AT_ONCE).map((path) => parts.disk.stat(path)));
    bytes += stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
  }
  return { commits: newest.version, bytes };
}

async function filesOf({ disk, reader }: StoreParts, at: SessionPlace, newest: number): Promise<string[]> {
  const packed = await reader.packed(at);
  const versions = (await reader.versions(at)).filter((version) => version > packed && version <= newest);
  const payloads = (await disk.names(payloadFolder(at))).filter((name) => !name.startsWith(TEMPORARY));
  return [
    ...(packed > 0 ? [reader.pack(at)] : []),
    ...versions.map((version) => reader.path(at, version)),
    ...payloads.map((name) => join(payloadFolder(at), name)),
  ];
}

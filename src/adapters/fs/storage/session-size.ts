import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { SessionSize } from "../../../ports/storage-adapter.js";
import type { Generation } from "./generations.js";
import { packedLogPath } from "./packed-log.js";
import { payloadFolder } from "./payload-files.js";
import { TEMPORARY } from "./publisher.js";
import type { StoreParts } from "./store-parts.js";

const AT_ONCE = 64;

/** How much a session's files take. No commit is read but the header of the newest one. */
export async function sizeOf(parts: StoreParts, id: SessionId): Promise<SessionSize | undefined> {
  for (;;) {
    const newest = await parts.newest.header(id);
    if (newest === undefined) return undefined;
    const at = parts.generations.current(id);
    const paths = await filesOf(parts, at, newest.version);
    let bytes = 0;
    for (let from = 0; from < paths.length; from += AT_ONCE) {
      const stats = await Promise.all(paths.slice(from, from + AT_ONCE).map((path) => parts.disk.stat(path)));
      bytes += stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
    }
    if (!(await parts.generations.haveMoved(at))) return { commits: newest.version, bytes };
  }
}

async function filesOf(parts: StoreParts, at: Generation, newest: number): Promise<string[]> {
  const { disk, publisher, reader } = parts;
  const payloads = (await disk.names(payloadFolder(at))).filter((name) => !name.startsWith(TEMPORARY));
  const versions = (await disk.names(at.folder)).map((name) => publisher.versionOf(name));
  return [
    ...versions.filter((version) => version > 0 && version <= newest).map((version) => reader.path(at, version)),
    ...payloads.map((name) => join(payloadFolder(at), name)),
    ...(at.number > 0 ? [packedLogPath(at.folder)] : []),
  ];
}

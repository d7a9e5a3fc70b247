import { isSessionId, type SessionId } from "../../../definition/names.js";
import type { SessionSummary } from "../../../ports/storage-adapter.js";
import { isIsoTime, type ListPosition } from "../../session-query.js";

/** The two indexes: of all sessions, and of those that are active. */
export type Tree = "all" | "active";

/** An empty file whose name says where in a list a session stands. */
export interface Marker {
  readonly tree: Tree;
  /** The folder: the day of creation. */
  readonly day: string;
  /** `<HHMMSSmmm>~<id>`, and `~<activeSince>` in the tree of the active ones. */
  readonly name: string;
}

/** What a marker says. */
export interface MarkerEntry extends ListPosition {
  readonly sessionId: SessionId;
  readonly marker: Marker;
  /** The version that made the session active; 1 in the tree of all. */
  readonly version: number;
}

/** The marker of a session among all. */
export function allMarker({ createdAt, sessionId }: ListPosition): Marker {
  const time = createdAt.slice(11, 23).replace(/[:.]/g, "");
  return { tree: "all", day: createdAt.slice(0, 10), name: `${time}~${sessionId}` };
}

/** The marker of a session among the active ones. */
export function activeMarker(summary: Pick<SessionSummary, "createdAt" | "sessionId" | "activeSince">): Marker {
  const { day, name } = allMarker(summary);
  return { tree: "active", day, name: `${name}~${summary.activeSince}` };
}

/** Whether a name may be a day's folder. */
export function isDay(name: string): boolean {
  return isIsoTime(`${name}T00:00:00.000Z`);
}

/** Reads a marker; undefined if something else lies in its place. */
export function parseMarker(tree: Tree, day: string, name: string): MarkerEntry | undefined {
  const [time = "", sessionId, version = "1"] = name.split("~");
  const createdAt = `${day}T${time.replace(/^(..)(..)(..)(...)$/, "$1:$2:$3.$4")}Z`;
  if (!isSessionId(sessionId) || !isIsoTime(createdAt) || !/^[1-9]\d{0,15}$/.test(version)) return undefined;
  return { sessionId, createdAt, version: Number(version), marker: { tree, day, name } };
}

/**
 * Which sessions stand on an older revision than their workflow has now. They keep what they have pinned; a host may move
 * them, by `phasegate migrate`. Sessions that are over are not among them, nor those whose workflow can't be read.
 */
import type { ListedSession } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import { pagesOf } from "../ports/storage-adapter.js";
import { defined } from "../workflow/json.js";
import type { Engine } from "./engine.js";
import { LIVING } from "./options.js";

/** How many open sessions are on an older revision; `more` if not all sessions were looked at. */
export interface OlderSessions {
  readonly count: number;
  readonly more?: true;
}

/** The newest revision of each phased workflow that can be read. */
export type Revisions = ReadonlyMap<string, string>;

/** Returns the newest revisions of the workflows of an engine; none if they can't be listed, which hides no session. */
export async function newestRevisions(engine: Pick<Engine, "listWorkflows">): Promise<Revisions> {
  const listings = await engine.listWorkflows().catch((error: unknown) => {
    if (isPhasegateError(error)) return [];
    throw error;
  });
  return new Map(
    listings.flatMap((one) => (one.status === "ready" ? [[one.type, one.definition.structure.revision] as const] : [])),
  );
}

/** Returns true if a session is not over, and on another revision than its workflow has now. */
export function isOnOlder(
  { status, workflowType, revision }: Pick<ListedSession, "status" | "workflowType" | "revision">,
  newest: Revisions,
): boolean {
  const now = newest.get(workflowType);
  return status !== "completed" && revision !== undefined && now !== undefined && revision !== now;
}

const OPEN = LIVING.filter((status) => status !== "completed");
/** Limits how many sessions are counted: each is read. */
const COUNTED = 1000;
const PAGE = 200;

/** Counts the open sessions on an older revision, on one workflow or on all. */
export async function countOlder(
  engine: Pick<Engine, "listWorkflows" | "listSessions">,
  workflowType?: string,
): Promise<OlderSessions> {
  const newest = await newestRevisions(engine);
  let [count, looked] = [0, 0];
  const query = defined({ status: OPEN, workflowType, limit: PAGE });
  for await (const { items, cursor } of pagesOf((one) => engine.listSessions(one), query)) {
    count += items.filter((session) => isOnOlder(session, newest)).length;
    looked += items.length;
    if (cursor !== undefined && looked >= COUNTED) return { count, more: true };
  }
  return { count };
}

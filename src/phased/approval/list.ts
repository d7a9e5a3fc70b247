import { isPhasegateError } from "../../errors.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { reportFailure } from "../announce.js";
import { believed } from "../context.js";
import type { EngineContext } from "../engine-context.js";
import type { AwaitedApproval } from "./awaited.js";
import { notBelieved } from "./ledger.js";
import { viewAwaited } from "./views.js";

/** How many sessions are asked for at once. */
const PAGE = 100;

/** What all sessions wait for, those that were started last first. Reads the head of every active session. */
export async function listApprovals(context: EngineContext): Promise<readonly AwaitedApproval[]> {
  const { options } = context;
  const found: AwaitedApproval[] = [];
  let cursor: string | undefined;
  do {
    const query = {
      kind: "phased",
      status: ["active"],
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    } as const;
    const page = await options.storage.list(query);
    for (const id of [...page.items.map(({ sessionId }) => sessionId), ...(page.damaged ?? [])]) {
      const awaited = isSessionId(id) ? await awaitedIn(context, id) : undefined;
      if (awaited !== undefined) found.push(awaited);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/**
 * A session whose log was changed, or that got where it is on an approval that this host does not believe, waits for
 * nobody's word, and hides nobody else's: the host is told of it.
 */
async function awaitedIn(context: EngineContext, sessionId: SessionId): Promise<AwaitedApproval | undefined> {
  try {
    const session = await context.kernel.find(sessionId);
    if (session?.head.awaiting === undefined) return undefined;
    const { unapproved } = await believed(context, session);
    if (unapproved !== undefined) throw notBelieved(unapproved);
    return await viewAwaited(context, session);
  } catch (error) {
    if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "APPROVAL_REFUSED")) throw error;
    reportFailure(context.notifications, "approvals", error);
    return undefined;
  }
}

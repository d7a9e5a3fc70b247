/** Lists the approvals that all sessions wait for. */

import { isPhasegateError } from "../../errors.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { believed } from "../context.js";
import type { EngineContext } from "../engine-context.js";
import type { AwaitedApproval } from "./awaited.js";
import { notBelieved } from "./ledger.js";
import { viewAwaited } from "./views.js";

/** The number of sessions that are listed at once. */
const PAGE = 100;

/** Lists the approvals that all active sessions wait for, newest session first. Reads the head of each. */
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
 * Reports a tampered session, or one with an approval that this host does not accept, to the host and omits
 * it, so that it does not hide the others.
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
    context.notifications.report("approvals", error);
    return undefined;
  }
}

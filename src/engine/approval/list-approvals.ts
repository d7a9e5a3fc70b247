import type { SessionId } from "../../definition/names.js";
import { isPhasegateError } from "../../errors.js";
import type { EngineContext } from "../engine-context.js";
import type { AwaitedApproval } from "./awaited.js";
import { viewAwaited } from "./view-awaited.js";

/** How many sessions are asked for at once. */
const PAGE = 100;

/** What all sessions wait for, those that were started last first. Reads the head of every active session. */
export async function listApprovals(context: EngineContext): Promise<readonly AwaitedApproval[]> {
  const { options } = context;
  const found: AwaitedApproval[] = [];
  let cursor: string | undefined;
  do {
    const query = { status: ["active"], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) } as const;
    const page = await options.storage.list(query);
    for (const { sessionId, kind } of page.items) {
      const awaited = kind === "phased" ? await awaitedIn(context, sessionId) : undefined;
      if (awaited !== undefined) found.push(awaited);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** A session whose log was changed waits for nobody's word, and hides nobody else's: the host is told of it. */
async function awaitedIn(context: EngineContext, sessionId: SessionId): Promise<AwaitedApproval | undefined> {
  try {
    const session = await context.kernel.find(sessionId);
    if (session?.head.awaiting === undefined) return undefined;
    return await viewAwaited(context, session);
  } catch (error) {
    if (!isPhasegateError(error, "TAMPERED")) throw error;
    const { code, message } = error;
    context.notifications.notify("security", { operation: "approvals", code, message });
    return undefined;
  }
}

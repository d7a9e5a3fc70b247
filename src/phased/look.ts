/** How a session is read for a list: its newest commit, the names in its structure, and whether the approvals in it count. */
import { ApprovalGuard } from "../approval/guard.js";
import { type ListedSession, waitingAs } from "../engine/lists.js";
import { Kernel } from "../log/log.js";
import { defined } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import { hasPassedNothing, notAccepted, PHASED_APPROVALS } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import type { ResolvedOptions } from "./options.js";
import { Pinned } from "./pinned.js";
import { exhausted, isWaiverOpen } from "./state/commands.js";
import { isRefused } from "./state/head.js";
import { type PhasedSession, phasedMachine } from "./state/machine.js";

/** What a look at a session needs of an engine. */
export interface LookContext extends Pick<EngineContext, "kernel" | "pinned" | "approvalGuard"> {
  readonly options: Pick<ResolvedOptions, "limits">;
}

/** Returns what looks at sessions without an engine, which takes several times as long to load. */
export function createLookContext(options: ResolvedOptions): LookContext {
  const kernel = new Kernel({ ...options, machine: phasedMachine });
  return {
    options,
    kernel,
    pinned: new Pinned(kernel, options.content),
    approvalGuard: new ApprovalGuard(kernel, options.approvals, PHASED_APPROVALS),
  };
}

/** Returns a session's summary from its log; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtSession(context: LookContext, id: SessionId): Promise<ListedSession | undefined> {
  const looked = await context.kernel.look(id);
  if (looked === undefined) return undefined;
  const { newest: session, events = [] } = looked;
  context.pinned.rememberFrom(session, events);
  await requireAccepted(context, session);
  const { head, summary } = session;
  const isOpen = head.status === "active" || head.status === "failed";
  const waits = {
    approval: head.status === "active" && head.awaiting !== undefined,
    waiver: isWaiverOpen(head),
    host: isOpen && exhausted(head, context.options.limits) !== undefined,
  };
  const { waived = [], withWaivers = [] } = head;
  // Stored heads may lack the mark `asked` of a submission that waits for an approval.
  const wasRefused = isOpen && !waits.approval && isRefused(head);
  return {
    ...waitingAs(summary, waits),
    revision: head.revision,
    ...(await namesOf(context, session)),
    ...(waived.length + withWaivers.length > 0 && { waived: true }),
    ...(wasRefused && { refused: { attempts: head.attempts, limit: context.options.limits.maxAttempts } }),
  };
}

/** Returns the names of a session's workflow and current phase. Of a deleted session, the commit that has them may be gone. */
async function namesOf(
  { pinned }: LookContext,
  session: PhasedSession,
): Promise<Pick<ListedSession, "workflowName" | "phaseName">> {
  const { head } = session;
  if (head.status === "deleted") return {};
  const { name, phases } = await pinned.structure(session);
  return defined({ workflowName: name, phaseName: phases[head.position]?.name });
}

/** Throws `APPROVAL_REFUSED` for a session behind an approval that this host does not accept. */
export async function requireAccepted({ pinned, approvalGuard }: LookContext, session: PhasedSession): Promise<void> {
  // A deleted session shows nothing.
  if (session.head.status === "deleted" || hasPassedNothing(session.head) || !approvalGuard.knowsApprovers) return;
  const unapproved = await approvalGuard.unapproved(session, await pinned.structure(session));
  if (unapproved !== undefined) throw notAccepted(unapproved);
}

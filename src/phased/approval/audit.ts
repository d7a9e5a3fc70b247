/** Audits a session: its log, and every approval in it. */

import type { AuditReport, Receipt } from "../../log/commit.js";
import type { SessionId } from "../../workflow/names.js";
import type { EngineContext } from "../engine-context.js";
import { type ApprovedPass, addToLedger, type Ledger } from "./ledger.js";

/** The result of an audit: whether the log is intact, and which approvals this host accepts. */
export type SessionAudit = AuditReport & {
  /** Every gate that passed with an approval, including those rolled back since; empty if the log is not intact. */
  readonly approvals: readonly ApprovedPass[];
};

/** Checks a whole log, against a receipt if one is given, and each approval in it. */
export async function auditSession(
  { kernel, options }: EngineContext,
  sessionId: SessionId,
  receipt?: Receipt,
): Promise<SessionAudit> {
  const report = await kernel.audit(sessionId, receipt);
  const approvals = new Map<number, ApprovedPass>();
  if (!report.intact) return { ...report, approvals: [] };
  let ledger: Ledger = { passes: new Map() };
  for await (const commit of kernel.log(sessionId)) {
    ledger = await addToLedger(ledger, commit, options.approvals);
    for (const pass of ledger.passes.values()) approvals.set(pass.version, pass);
  }
  return { ...report, approvals: [...approvals.values()] };
}

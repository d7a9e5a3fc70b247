import type { ApprovalOptions } from "../../engine/options.js";
import { PhasegateError } from "../../errors.js";
import type { AuditReport, Receipt } from "../../kernel/audit.js";
import { LogFold } from "../../kernel/log-fold.js";
import type { RoutedEvent } from "../session/events.js";
import type { RoutedHead } from "../session/head.js";
import type { RoutedStructure } from "../session/structure.js";
import { NO_LEDGER, passed, type RoutedLedger, type RoutedPass, withApprovals } from "./approval-ledger.js";
import type { RoutedCommit, RoutedKernel, RoutedSession } from "./routed-session.js";

/** What an audit of an instance found: whether its log holds together, and whose approvals this host believes. */
export type RoutedAudit = AuditReport & {
  /** Every step that was left, or may be, on a person's yes; empty where the log is not intact. */
  readonly approvals: readonly RoutedPass[];
};

/**
 * Lets nobody past a gate on an approval that this host does not believe: a store may be written by a process with other
 * keys. Where no gate asks a person, nothing is read.
 */
export class RoutedApprovals {
  readonly #kernel: RoutedKernel;
  readonly #add: (ledger: RoutedLedger, commit: RoutedCommit) => Promise<RoutedLedger>;
  readonly #ledgers: LogFold<RoutedEvent, RoutedHead, RoutedLedger>;

  constructor(kernel: RoutedKernel, options: ApprovalOptions) {
    this.#kernel = kernel;
    this.#add = (ledger, commit) => withApprovals(ledger, commit, options);
    this.#ledgers = new LogFold(kernel, NO_LEDGER, this.#add);
  }

  /** Throws `APPROVAL_REFUSED` if a step was not rightly left, or if the current one may not be left yet. */
  async check(session: RoutedSession, structure: RoutedStructure): Promise<void> {
    if (structure.steps.every(({ gate }) => gate?.approval === undefined)) return;
    for (const pass of passesOf(await this.#ledgers.at(session), session)) {
      if (pass.distrust !== undefined) throw notBelieved(pass, structure);
    }
  }

  /** Checks a whole log, against a receipt kept elsewhere if there is one, and each approval in it. */
  async audit(sessionId: RoutedSession["sessionId"], receipt?: Receipt): Promise<RoutedAudit> {
    const report = await this.#kernel.audit(sessionId, receipt);
    if (!report.intact) return { ...report, approvals: [] };
    let ledger = NO_LEDGER;
    for await (const commit of this.#kernel.log(sessionId)) ledger = await this.#add(ledger, commit);
    return { ...report, approvals: [...ledger.passes, ...(ledger.yes === undefined ? [] : [ledger.yes])] };
  }
}

/** What was left so far, and what a pending report would be left on. */
function passesOf(ledger: RoutedLedger, { version, at, head }: RoutedSession): readonly RoutedPass[] {
  const next = head.pending === undefined ? undefined : passed(ledger, head.step, { version, at });
  return next === undefined ? ledger.passes : [...ledger.passes, next];
}

function notBelieved(
  { step, by, distrust = "unsigned" }: RoutedPass,
  { steps }: RoutedStructure,
): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  const message = `the gate of ${step} was passed ${whose} that this host does not believe (${distrust})`;
  return new PhasegateError("APPROVAL_REFUSED", message, {
    remedy: `Ask the person who runs this: the host must know the approver's key. To have a person asked again, resume with the details that ${step} asks for.`,
    details: { phase: steps.findIndex(({ name }) => name === step) + 1, reason: distrust },
  });
}

import type { ApprovalOptions } from "../../engine/options.js";
import { PhasegateError } from "../../errors.js";
import type { AuditReport, Receipt } from "../../kernel/audit.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { RoutedStructure } from "../session/structure.js";
import { NO_LEDGER, passed, type RoutedLedger, type RoutedPass, withApprovals } from "./approval-ledger.js";
import type { RoutedKernel, RoutedSession } from "./routed-session.js";

/** What an audit of an instance found: whether its log holds together, and whose approvals this host believes. */
export type RoutedAudit = AuditReport & {
  /** Every step that was left, or may be, on a person's yes; empty where the log is not intact. */
  readonly approvals: readonly RoutedPass[];
};

interface Known {
  readonly upTo: Receipt;
  readonly ledger: RoutedLedger;
}

/** For how many sessions ledgers are kept. */
const KEPT = 256;

/**
 * Lets nobody past a gate on an approval that this host does not believe: a store may be written by a process with other
 * keys. Only the commits since the last look are read, and none where no gate asks a person.
 */
export class RoutedApprovals {
  readonly #kernel: RoutedKernel;
  readonly #options: ApprovalOptions;
  readonly #known = new RecentMap<string, Known>(KEPT);

  constructor(kernel: RoutedKernel, options: ApprovalOptions) {
    this.#kernel = kernel;
    this.#options = options;
  }

  /** Throws `APPROVAL_REFUSED` if a step was not rightly left, or if the current one may not be left yet. */
  async check(session: RoutedSession, structure: RoutedStructure): Promise<void> {
    if (structure.steps.every(({ gate }) => gate?.approval === undefined)) return;
    for (const pass of passesOf(await this.#ledger(session), session)) {
      if (pass.distrust !== undefined) throw notBelieved(pass, structure);
    }
  }

  /** Checks a whole log, against a receipt kept elsewhere if there is one, and each approval in it. */
  async audit(sessionId: RoutedSession["sessionId"], receipt?: Receipt): Promise<RoutedAudit> {
    const report = await this.#kernel.audit(sessionId, receipt);
    if (!report.intact) return { ...report, approvals: [] };
    let ledger = NO_LEDGER;
    for await (const commit of this.#kernel.log(sessionId)) ledger = await withApprovals(ledger, commit, this.#options);
    return { ...report, approvals: [...ledger.passes, ...(ledger.yes === undefined ? [] : [ledger.yes])] };
  }

  async #ledger({ sessionId, version, hash }: RoutedSession): Promise<RoutedLedger> {
    const known = this.#known.get(sessionId);
    if (known?.upTo.hash === hash) return known.ledger;
    const from = known !== undefined && known.upTo.version < version ? known : undefined;
    let ledger = from?.ledger ?? NO_LEDGER;
    let upTo = from?.upTo ?? { version: 0, hash: "" };
    for await (const commit of this.#kernel.log(sessionId, from?.upTo)) {
      if (commit.version > version) break;
      ledger = await withApprovals(ledger, commit, this.#options);
      upTo = { version: commit.version, hash: commit.hash };
    }
    this.#known.set(sessionId, { upTo, ledger });
    return ledger;
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

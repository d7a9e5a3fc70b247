/**
 * The guard against approvals that this host does not accept. A process with other keys may have written to
 * the store (`phasegate approve` takes keys on its command line); its approvals do not count here. Logs are
 * read only where a gate requires an approval.
 */
import type { PhasegateError } from "../errors.js";
import { type AuditReport, type Current, LogFold, type Receipt, type Recorded } from "../log/commit.js";
import type { Kernel } from "../log/log.js";
import type { SessionId } from "../workflow/names.js";
import {
  type ApprovalOptions,
  type AskedApproval,
  checkDecision,
  type Distrust,
  type GivenDecision,
} from "./decision.js";

/** A gate that passed with a person's word, and whether this host accepts it. */
export interface ApprovalPass {
  /**
   * The version of the commit with the approval; of the one that passed the gate, if the log has no
   * approval.
   */
  readonly version: number;
  /** The time of that commit: ISO 8601, UTC. */
  readonly at: string;
  /** The name of the approver; missing if the log has no approval. */
  readonly by?: string;
  /** True if the log says that it was signed. */
  readonly authenticated: boolean;
  /** Why this host does not accept it; missing if it does. */
  readonly distrust?: Distrust;
}

/** A pass that this host does not accept: what follows it in the log does not count here. */
export type Unapproved<P extends ApprovalPass> = P & { readonly distrust: Distrust };

/** Reads the approvals of one kind of session from its log. */
export interface ApprovalReading<Event, Head, Structure, Ledger, P extends ApprovalPass> {
  /** The ledger before the first commit. */
  readonly beginning: Ledger;
  /** Returns the ledger after one more commit. */
  add(ledger: Ledger, commit: Recorded<Event, Head>, options: ApprovalOptions): Promise<Ledger>;
  /** Returns true if some gate of the structure requires an approval. */
  asks(structure: Structure): boolean;
  /** Returns true if the session has passed a gate with something that a person had waived. */
  hasWaivers?(head: Head): boolean;
  /** Returns true if the session has passed no gate yet. */
  isNew(head: Head): boolean;
  /** Returns the gates that have passed up to this commit; an audit collects them, by version. */
  audited(ledger: Ledger): Iterable<P>;
  /** Returns an approval at the end of the log whose gate was not left yet. */
  open?(ledger: Ledger): P | undefined;
  /** Returns the gates that count as passed in this state. */
  passes(ledger: Ledger, session: Current<Head>): Iterable<P>;
  /** Returns the error for continuing behind such a gate. */
  refusal(pass: Unapproved<P>, structure: Structure): PhasegateError<"APPROVAL_REFUSED">;
}

/** Finds approvals in a log that this host does not accept. */
export class ApprovalGuard<Event, Head, Structure extends object, Ledger, P extends ApprovalPass> {
  /** True if this host has approvers' keys, without which it can't tell an approval from a forged one. */
  readonly knowsApprovers: boolean;
  readonly #kernel: Pick<Kernel<never, Event, Head>, "log" | "audit">;
  readonly #options: ApprovalOptions;
  readonly #reading: ApprovalReading<Event, Head, Structure, Ledger, P>;
  readonly #ledgers: LogFold<Event, Head, Ledger>;
  readonly #asking = new WeakMap<Structure, boolean>();

  constructor(
    kernel: Pick<Kernel<never, Event, Head>, "log" | "audit">,
    options: ApprovalOptions,
    reading: ApprovalReading<Event, Head, Structure, Ledger, P>,
  ) {
    this.#kernel = kernel;
    this.#options = options;
    this.#reading = reading;
    this.knowsApprovers = options.approvers.size > 0;
    this.#ledgers = new LogFold(kernel, reading.beginning, (ledger, commit) => reading.add(ledger, commit, options));
  }

  /**
   * Throws `APPROVAL_REFUSED` if the session passed a gate with an approval that this host does not accept;
   * with `counts`, only for the passes that it selects. Call it before work continues behind a gate.
   * Undefined, with nothing to await, if there is nothing to check.
   */
  check(session: Current<Head>, structure: Structure, counts?: (pass: P) => boolean): Promise<void> | undefined {
    if (!this.#mayHavePassed(session, structure)) return undefined;
    return this.#first(session, counts).then((pass) => {
      if (pass !== undefined) throw this.#reading.refusal(pass, structure);
    });
  }

  /**
   * Returns the first gate that the session passed with an approval that this host does not accept. Call it
   * before anything of a session is shown. A host without approvers can't tell, and shows the log as it is.
   * Undefined, with nothing to await, if there is nothing to check.
   */
  unapproved(session: Current<Head>, structure: Structure): Promise<Unapproved<P> | undefined> | undefined {
    return this.knowsApprovers && this.#mayHavePassed(session, structure) ? this.#first(session) : undefined;
  }

  /** Checks a whole log, against a receipt if one is given, and each approval in it. */
  async audit(
    sessionId: SessionId,
    receipt?: Receipt,
  ): Promise<AuditReport & { /** Empty if the log is not intact. */ readonly approvals: readonly P[] }> {
    const report = await this.#kernel.audit(sessionId, receipt);
    if (!report.intact) return { ...report, approvals: [] };
    const { add, beginning, audited, open } = this.#reading;
    const approvals = new Map<number, P>();
    let ledger = beginning;
    for await (const commit of this.#kernel.log(sessionId)) {
      ledger = await add(ledger, commit, this.#options);
      for (const pass of audited(ledger)) approvals.set(pass.version, pass);
    }
    const last = open?.(ledger);
    if (last !== undefined) approvals.set(last.version, last);
    return { ...report, approvals: [...approvals.values()] };
  }

  #mayHavePassed({ head }: Current<Head>, structure: Structure): boolean {
    let asks = this.#asking.get(structure);
    if (asks === undefined) {
      asks = this.#reading.asks(structure);
      this.#asking.set(structure, asks);
    }
    return (asks || this.#reading.hasWaivers?.(head) === true) && !this.#reading.isNew(head);
  }

  async #first(session: Current<Head>, counts?: (pass: P) => boolean): Promise<Unapproved<P> | undefined> {
    let first: Unapproved<P> | undefined;
    for (const pass of this.#reading.passes(await this.#ledgers.at(session), session)) {
      if (!isUnapproved(pass) || counts?.(pass) === false) continue;
      if (first === undefined || pass.version < first.version) first = pass;
    }
    return first;
  }
}

/** Returns why an approval in a log does not count; undefined if it does. */
export async function distrustOf(
  options: ApprovalOptions,
  question: AskedApproval,
  approved: Omit<GivenDecision, "decision">,
): Promise<Distrust | undefined> {
  const { by, note, signature } = approved;
  const checked = await checkDecision(options, question, { decision: "approve", by, note, signature });
  return "refusal" in checked ? checked.refusal.details.reason : undefined;
}

/** Returns a pass with the approver of the log, if it has one. */
export function passOf(
  { version, at }: { readonly version: number; readonly at: string },
  approved: { readonly by: string; readonly authenticated: boolean } | undefined,
  distrust: Distrust | undefined,
): ApprovalPass {
  const by = approved === undefined ? {} : { by: approved.by };
  const pass = { version, at, ...by, authenticated: approved?.authenticated === true };
  return distrust === undefined ? pass : { ...pass, distrust };
}

function isUnapproved<P extends ApprovalPass>(pass: P): pass is Unapproved<P> {
  return pass.distrust !== undefined;
}

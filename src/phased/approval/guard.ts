/**
 * The guard against approvals that this host does not accept. A process with other keys may have written to
 * the store (`phasegate approve` takes keys on its command line); its approvals do not count here. Logs are
 * read only where a gate requires an approval.
 */

import type { ErrorDetails, PhasegateError } from "../../errors.js";
import type { Current, Recorded } from "../../log/commit.js";
import { LogFold } from "../../log/fold.js";
import type { Kernel } from "../../log/log.js";
import type { ApprovalOptions } from "../options.js";

/** Why a host does not accept an approval. */
type Distrust = ErrorDetails["APPROVAL_REFUSED"]["reason"];

/** A gate that passed with a person's approval. */
interface Pass {
  /**
   * The version of the commit with the approval; of the one that passed the gate, if the log has no
   * approval.
   */
  readonly version: number;
  readonly distrust?: Distrust;
}

/** A pass that this host does not accept: what follows it in the log does not count here. */
export type Unapproved<P extends Pass> = P & { readonly distrust: Distrust };

/** Reads the approvals of one kind of session from its log. */
export interface ApprovalReading<Event, Head, Structure, Ledger, P extends Pass> {
  /** The ledger before the first commit. */
  readonly beginning: Ledger;
  /** Returns the ledger after one more commit. */
  add(ledger: Ledger, commit: Recorded<Event, Head>, options: ApprovalOptions): Promise<Ledger>;
  /** Returns true if some gate of the structure requires an approval. */
  asks(structure: Structure): boolean;
  /** Returns true if the session has passed no gate yet. */
  isNew(head: Head): boolean;
  /** Returns the gates that count as passed in this state. */
  passes(ledger: Ledger, session: Current<Head>): Iterable<P>;
  /** Returns the error for continuing behind such a gate. */
  refusal(pass: Unapproved<P>, structure: Structure): PhasegateError<"APPROVAL_REFUSED">;
}

/** Finds approvals in a log that this host does not accept. */
export class ApprovalGuard<Event, Head, Structure extends object, Ledger, P extends Pass> {
  /** True if this host has approvers' keys, without which it can't tell an approval from a forged one. */
  readonly knowsApprovers: boolean;
  readonly #reading: ApprovalReading<Event, Head, Structure, Ledger, P>;
  readonly #ledgers: LogFold<Event, Head, Ledger>;
  readonly #asking = new WeakMap<Structure, boolean>();

  constructor(
    kernel: Pick<Kernel<never, Event, Head>, "log">,
    options: ApprovalOptions,
    reading: ApprovalReading<Event, Head, Structure, Ledger, P>,
  ) {
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

  #mayHavePassed({ head }: Current<Head>, structure: Structure): boolean {
    if (this.#reading.isNew(head)) return false;
    const known = this.#asking.get(structure);
    if (known !== undefined) return known;
    const asks = this.#reading.asks(structure);
    this.#asking.set(structure, asks);
    return asks;
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

function isUnapproved<P extends Pass>(pass: P): pass is Unapproved<P> {
  return pass.distrust !== undefined;
}

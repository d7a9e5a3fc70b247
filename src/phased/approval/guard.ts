import type { ErrorDetails, PhasegateError } from "../../errors.js";
import type { Current, Recorded } from "../../log/commit.js";
import { LogFold } from "../../log/fold.js";
import type { Kernel } from "../../log/log.js";
import type { ApprovalOptions } from "../options.js";

/** Why a host does not believe an approval. */
type Distrust = ErrorDetails["APPROVAL_REFUSED"]["reason"];

/** A gate that passed on a person's approval, as far as a guard looks at it. */
interface Pass {
  /** The version of the commit that has the approval; of the one that passed the gate, where the log has none. */
  readonly version: number;
  readonly distrust?: Distrust;
}

/** One that this host does not believe: what comes after it in the log does not count here. */
export type Unapproved<P extends Pass> = P & { readonly distrust: Distrust };

/** How the approvals of one kind of session are read out of its log. */
export interface ApprovalReading<Event, Head, Structure, Ledger, P extends Pass> {
  /** What is known before the first commit. */
  readonly beginning: Ledger;
  /** What is known after one more commit. */
  add(ledger: Ledger, commit: Recorded<Event, Head>, options: ApprovalOptions): Promise<Ledger>;
  /** Whether some gate of the structure asks a person. */
  asks(structure: Structure): boolean;
  /** Whether a session that stands so has passed no gate yet. */
  isNew(head: Head): boolean;
  /** The gates that count as passed where the session stands so. */
  passes(ledger: Ledger, session: Current<Head>): Iterable<P>;
  /** The refusal to go on behind such a gate. */
  refusal(pass: Unapproved<P>, structure: Structure): PhasegateError<"APPROVAL_REFUSED">;
}

/**
 * Finds the approvals in a log that this host does not believe. A store may be written by a process with other keys
 * (`phasegate approve` takes them on its command line): what such a process wrote is an approval to it, and none to this
 * host. Where no gate asks a person, no log is read.
 */
export class ApprovalGuard<Event, Head, Structure extends object, Ledger, P extends Pass> {
  /** Whether this host can tell an approval from a forged one at all. */
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
   * Throws `APPROVAL_REFUSED` if the session passed a gate on an approval that this host does not believe; of those that
   * count, where it is said which ones do. To be asked before work goes on behind a gate. Undefined, with nothing to wait
   * for, where there is nothing to check.
   */
  check(session: Current<Head>, structure: Structure, counts?: (pass: P) => boolean): Promise<void> | undefined {
    if (!this.#mayHavePassed(session, structure)) return undefined;
    return this.#first(session, counts).then((pass) => {
      if (pass !== undefined) throw this.#reading.refusal(pass, structure);
    });
  }

  /**
   * The first gate that the session passed on an approval that this host does not believe. To be asked before anything of
   * a session is shown. A host that knows no approvers can't tell, and shows the log as it is. Undefined, with nothing to
   * wait for, where there is nothing to check.
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

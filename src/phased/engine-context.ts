import { isPhasegateError } from "../errors.js";
import type { Executed } from "../log/commit.js";
import type { ContentProvider, WorkflowListing } from "../ports/content-provider.js";
import { type Diagnostic, unreadable } from "../workflow/diagnostic.js";
import { TimedReads } from "../workflow/files/workflow-files.js";
import { structureSchema, type WorkflowStructure } from "../workflow/structure.js";
import type { PhasedGuard, UnapprovedPass } from "./approval/ledger.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import type { ArtifactNames, PhasedKernel, PhasedSession, Pinned } from "./pinned.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import type { VerifyContext } from "./verify/verify-context.js";
/** What the parts of an engine share. */
export interface EngineContext {
  readonly options: ResolvedOptions;
  readonly kernel: PhasedKernel;
  readonly workflows: WorkflowList;
  readonly pinned: Pinned;
  readonly artifactNames: ArtifactNames;
  readonly beginnings: VerifyContext["beginnings"];
  /** Asked before anything is shown of a session, or done in it, that lies behind a gate which asks a person. */
  readonly approvalGuard: PhasedGuard;
  readonly notifications: Notifications;
  /** The workflow that sessions must be on, where the host has said so. */
  readonly workflowType?: string;
}

/** What came of writing ticks into the source of a plan. */
export interface TickReport {
  /** Tasks that were ticked, by their ids in the source. */
  readonly ticked: readonly string[];
  /** Tasks whose ticks were taken back. */
  readonly unticked: readonly string[];
  /** Tasks that the source doesn't have any more. */
  readonly missing: readonly string[];
  /** Tasks that have nothing in the source that could be ticked: a heading without criteria, say. */
  readonly unwritable: readonly string[];
  /** Why something could not be written yet; it is tried again at the next call on the session. */
  readonly pending?: string;
}

/** What an operation led to. */
export interface PhasedOutcome extends Executed<SessionEvent, SessionHead> {
  /** What was written into the session's plan after it. */
  readonly ticks?: TickReport;
}

/**
 * A session with the structure that it is bound to, as far as this host believes its log: where it was let past a gate on
 * an approval that this host does not believe, it is the session before that, and `unapproved` says which gate it was.
 */
export interface LoadedSession {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly unapproved?: UnapprovedPass;
  /** What was written into its plan before it was loaded. */
  readonly ticks?: TickReport;
}

/** The workflows of a provider, which may be a host's own: whatever is wrong with one of them, the others are listed. */
export class WorkflowList {
  readonly #content: ContentProvider;
  readonly #timed = new TimedReads<WorkflowListing>(broken);
  /** Structures that were looked through: those of a provider that caches need it once. */
  readonly #sound = new WeakSet<WorkflowStructure>();

  constructor(content: ContentProvider) {
    this.#content = content;
  }

  /** Lists all, by type; broken ones with their diagnostics. Throws what `list` or `types` of the provider throws. */
  async all(): Promise<readonly WorkflowListing[]> {
    if (this.#content.types === undefined) {
      const listings: readonly unknown[] = await this.#content.list();
      return listings.map((listing) => this.#checked(listing));
    }
    return this.#timed.all([...new Set(await this.#content.types())].sort(), (type) => this.#read(type));
  }

  async #read(type: string): Promise<WorkflowListing | undefined> {
    try {
      const definition = await this.#content.definition(type);
      if (definition === undefined) return undefined;
      return this.#checked({ status: "ready", type, definition, diagnostics: [] });
    } catch (error) {
      if (!isPhasegateError(error, "DEFINITION_INVALID")) throw error;
      const hint = "Mend it where this says.";
      const said = error.details.diagnostics.map((message): Diagnostic => {
        return { file: ".", severity: "error", code: error.code, message, hint };
      });
      return { status: "broken", type, diagnostics: said };
    }
  }

  /** A listing as the port promises it; a broken one in place of anything else. */
  #checked(listing: unknown): WorkflowListing {
    let type = "?";
    try {
      if (isListing(listing)) {
        type = String(listing.type);
        if (listing.status === "broken") return listing;
        if (this.#sound.has(listing.definition.structure)) return listing;
        structureSchema.parse(listing.definition.structure);
        this.#sound.add(listing.definition.structure);
        return listing;
      }
      return broken(type, unreadable(new TypeError()));
    } catch (error) {
      return broken(type, unreadable(error));
    }
  }
}

function isListing(value: unknown): value is WorkflowListing {
  if (typeof value !== "object" || value === null || !("type" in value) || !("diagnostics" in value)) return false;
  return (
    typeof value.type === "string" &&
    "status" in value &&
    Array.isArray(value.diagnostics) &&
    value.diagnostics.every(isDiagnostic)
  );
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (typeof value !== "object" || value === null || !("message" in value) || !("severity" in value)) return false;
  return typeof value.message === "string" && "file" in value;
}

function broken(type: string, diagnostic: Diagnostic): WorkflowListing {
  return { status: "broken", type, diagnostics: [diagnostic] };
}

/**
 * Lists the workflows of a content provider: at once, or one by one if the provider names their types. A provider may return
 * anything, so every listing is checked.
 */
import { isPhasegateError } from "../../errors.js";
import type { FullClock } from "../../ports/clock.js";
import type { ContentProvider, WorkflowListing } from "../../ports/content-provider.js";
import { type Diagnostic, unreadable } from "../diagnostic.js";
import { structureSchema, type WorkflowStructure } from "../structure.js";
import { TimedReads } from "./workflow-files.js";

/** The workflows of a content provider. One that is broken, or not what the port says, never hides the others. */
export class WorkflowList {
  readonly #content: ContentProvider;
  readonly #timed: TimedReads<WorkflowListing>;
  /** Structures that were checked already: those of a caching provider are checked once. */
  readonly #sound = new WeakSet<WorkflowStructure>();

  constructor(content: ContentProvider, clock: Pick<FullClock, "after">) {
    this.#content = content;
    this.#timed = new TimedReads(broken, clock);
  }

  /**
   * Lists all workflows by type; broken ones with their diagnostics. Rejects if the provider's `list` or `types` does.
   */
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
      const hint = "Fix it at this place.";
      const said = error.details.diagnostics.map((message): Diagnostic => {
        return { file: ".", severity: "error", code: error.code, message, hint };
      });
      return { status: "broken", type, diagnostics: said };
    }
  }

  /** Returns a listing that conforms to the port, or a broken one instead. */
  #checked(listing: unknown): WorkflowListing {
    let type = "?";
    try {
      if (isListing(listing)) {
        type = listing.type;
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

function broken(type: string, diagnostic: Diagnostic): WorkflowListing {
  return { status: "broken", type, diagnostics: [diagnostic] };
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

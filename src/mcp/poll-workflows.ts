import { formatDiagnostic } from "../definition/diagnostic.js";
import type { ContentProvider, WorkflowListing } from "../ports/content-provider.js";

/** Where changes are looked for, and how often. */
export interface WorkflowPoll {
  /** The engine's own provider. It is asked directly, so that the engine's figures stay those of its callers. */
  readonly content: ContentProvider;
  /** Milliseconds from one look to the next. */
  readonly everyMs: number;
}

/** Calls `onChange` when the workflows are others than at the last look; the function that comes back stops it. */
export function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  let seen: string | undefined;
  let stopped = false;
  let looking = false;
  const look = async () => {
    // A provider may take longer than from one look to the next.
    if (looking) return;
    looking = true;
    const found = await fingerprint(content);
    looking = false;
    if (stopped || found === undefined) return;
    if (seen !== undefined && seen !== found) onChange();
    seen = found;
  };
  const timer = setInterval(() => void look(), everyMs);
  letProcessEnd(timer);
  void look();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Undefined if the provider fails: that is told to whoever asks it for something. */
async function fingerprint(content: ContentProvider): Promise<string | undefined> {
  try {
    return JSON.stringify((await content.list()).map(stateOf));
  } catch {
    return undefined;
  }
}

function stateOf(listing: WorkflowListing): readonly unknown[] {
  const revision = listing.status === "ready" ? listing.definition.structure.revision : undefined;
  return [listing.type, revision, listing.diagnostics.map(formatDiagnostic)];
}

/** In Node a timer keeps its process alive; elsewhere it is a number. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

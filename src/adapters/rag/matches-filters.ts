import type { SearchQuery } from "../../ports/retriever.js";

/** What of a chunk filters look at. */
interface Filtered {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

/** What a chunk is filtered by. */
export type Filters = Pick<SearchQuery, "workflow" | "phase" | "task" | "tags">;

/** Whether the filters leave a chunk: each one that is given must hold, to the letter. */
export function matchesFilters(chunk: Filtered, { workflow, phase, task, tags = [] }: Filters): boolean {
  return (
    (workflow === undefined || chunk.workflow === workflow) &&
    (phase === undefined || chunk.phase === phase) &&
    (task === undefined || chunk.task === task) &&
    tags.every((tag) => chunk.tags.includes(tag))
  );
}

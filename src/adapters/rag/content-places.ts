import type { WorkflowStructure } from "../../definition/structure.js";
import type { ContentPart, PhasePart, TemplatePart } from "../../ports/content-provider.js";
import type { Chunk, SearchQuery } from "../../ports/retriever.js";

/** Where a text of a workflow is found. */
export interface ContentPlace {
  /** What to search for: the filters are exact, the words only order. */
  readonly query: SearchQuery;
  /** Whether a piece is part of the text. */
  readonly holds: (chunk: Chunk) => boolean;
  /** The revision of the text when the definition was read. */
  readonly revision?: string;
}

/** Where a text of a workflow is found; undefined if the definition has no such part. */
export function contentPlace(structure: WorkflowStructure, part: ContentPart): ContentPlace | undefined {
  return "template" in part ? templatePlace(structure, part) : phasePlace(structure, part);
}

/** A template belongs to no phase: only its file tells it from the other pieces of its workflow. */
function templatePlace({ type, dynamic }: WorkflowStructure, { template }: TemplatePart): ContentPlace | undefined {
  if (dynamic === undefined) return undefined;
  const revision = dynamic.templateRevisions?.[template];
  return {
    query: { query: `template of a ${template}`, workflow: type },
    holds: (chunk) => chunk.workflow === type && chunk.file === `${type}/${dynamic.templates[template]}`,
    ...(revision === undefined ? {} : { revision }),
  };
}

function phasePlace(structure: WorkflowStructure, { phase, task }: PhasePart): ContentPlace | undefined {
  const owner = structure.phases.find(({ number }) => number === phase);
  const part = task === undefined ? owner : owner?.tasks.find(({ number }) => number === task);
  if (part === undefined) return undefined;
  const { type } = structure;
  const file = part.file === undefined ? undefined : `${type}/${part.file}`;
  const heading = task === undefined ? `Phase ${phase}` : `Phase ${phase} Task ${task}`;
  return {
    query: {
      query: [`${heading}: ${part.name}`, part.purpose ?? ""].join(" ").trim(),
      workflow: type,
      phase,
      ...(task === undefined ? {} : { task }),
    },
    // Asked again here: whatever retriever it is, a phase that lies ahead must not come through.
    holds: (chunk) =>
      chunk.workflow === type &&
      chunk.phase === phase &&
      chunk.task === task &&
      (file === undefined || chunk.file === file),
    ...(part.textRevision === undefined ? {} : { revision: part.textRevision }),
  };
}

import { revisionOf } from "../../definition/digest.js";
import { type MarkdownFacts, readMarkdownFacts } from "../../definition/markdown/markdown-facts.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../../definition/structure.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { Content } from "../../ports/content-provider.js";
import { renderPhase, renderTask } from "../../template/render-phase.js";
import type { EngineContext } from "../engine-context.js";

/** A text that was made from a template. */
export interface RenderedText {
  readonly content: Content;
  readonly facts: MarkdownFacts;
  /** Whether the template is another one than when the phase was pinned. */
  readonly contentChanged: boolean;
}

/** How many texts of one structure are kept. */
const TEXTS_KEPT = 16;

interface Kept {
  /** The revision of the template. */
  readonly template: string;
  readonly content: Content;
  readonly facts: MarkdownFacts;
}

const textsOf = new WeakMap<WorkflowStructure, RecentMap<PhaseDefinition | TaskDefinition, Kept>>();

/**
 * The text of a phase out of a plan, or of one of its tasks: the template as it is now with the data that
 * is pinned. It is made once for each state of the template.
 */
export async function renderedText(
  { options }: EngineContext,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<RenderedText> {
  const part = task ?? phase;
  const template = await options.content.text(structure.type, { template: task === undefined ? "phase" : "task" });
  const texts = textsOf.get(structure) ?? new RecentMap<PhaseDefinition | TaskDefinition, Kept>(TEXTS_KEPT);
  textsOf.set(structure, texts);
  let kept = texts.get(part);
  if (kept?.template !== template.revision) {
    kept = { template: template.revision, ...render(template, structure, phase, task) };
    texts.set(part, kept);
  }
  const { content, facts } = kept;
  return { content, facts, contentChanged: part.textRevision !== template.revision };
}

function render(template: Content, structure: WorkflowStructure, phase: PhaseDefinition, task?: TaskDefinition) {
  const { plan, phases } = structure;
  // Not its number and one: a plan may leave numbers out.
  const next = phases[phases.indexOf(phase) + 1]?.number;
  const text = task === undefined ? renderPhase(template.text, phase, next) : renderTask(template.text, phase, task);
  const sources = [...template.sources, ...(plan === undefined ? [] : [plan.path])];
  const content = { text, revision: revisionOf(text), sources, tokens: Math.ceil(text.length / 4) };
  return { content, facts: readMarkdownFacts(text) };
}

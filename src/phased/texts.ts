/** The texts of phases and tasks as an agent reads them: with their placeholders filled, and the facts in them. */

import { fillOptions } from "../gate/fill-params.js";
import type { Content } from "../ports/content-provider.js";
import { RecentMap } from "../runtime/cache.js";
import { revisionOf } from "../workflow/json.js";
import { type MarkdownFacts, readMarkdownFacts } from "../workflow/markdown-facts.js";
import type { SessionId } from "../workflow/names.js";
import { fillText, type TextValues } from "../workflow/placeholders.js";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../workflow/structure.js";
import { loadPlanned } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import type { SessionHead } from "./state/head.js";

/** A text with the facts that were read from it. */
export interface TextView {
  /** The text with its revision. */
  readonly content: Content;
  /** Title, duration, steps and the like, as far as the Markdown has them. */
  readonly facts: MarkdownFacts;
  /** The placeholders of its template that nothing fills, as written: they are left out of the text. */
  readonly leftOut: readonly string[];
  /** True if the text has changed since the session was started. */
  readonly contentChanged: boolean;
  /**
   * For a task from a plan: its text without what the phase's other tasks share. For a phase: its text without what it
   * shares with the plan's first phase. Missing where little is shared.
   */
  readonly own?: string;
}

/** Limits how many texts' facts are cached, by revision. */
const FACTS_KEPT = 256;

const factsByRevision = new RecentMap<string, MarkdownFacts>(FACTS_KEPT);

/** Returns the text of a phase, or of one of its tasks, as it is now, with the session's options in it. */
export async function viewText(
  context: EngineContext,
  session: { readonly sessionId: SessionId; readonly head: Pick<SessionHead, "target"> },
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  const view = await readText(context, structure, session.head.target, phase, task);
  const content = await withOptions(context, session.sessionId, view.content);
  return content === view.content ? view : { ...view, content, facts: readMarkdownFacts(content.text) };
}

/** Returns a text with the options in it that its session was started with. */
export async function withOptions({ pinned }: EngineContext, id: SessionId, content: Content): Promise<Content> {
  if (!content.text.includes("{options.")) return content;
  return withText(content, fillOptions(content.text, await pinned.options(id)));
}

/** Returns the text of a phase, or of one of its tasks, for a session on a target. */
export async function readText(
  context: EngineContext,
  structure: WorkflowStructure,
  target: string,
  phase: PhaseDefinition,
  task?: TaskDefinition,
): Promise<TextView> {
  if (phase.plan !== undefined) {
    const { renderedText } = await loadPlanned();
    return renderedText(context, structure, target, phase, task);
  }
  const part = { phase: phase.number, ...(task === undefined ? {} : { task: task.number }) };
  const pinned = (task ?? phase).textRevision;
  const found = await context.options.content.text(structure.type, part);
  const content = filled(found, { target, plan: structure.plan?.path });
  let facts = factsByRevision.get(content.revision);
  if (facts === undefined) {
    facts = readMarkdownFacts(content.text);
    factsByRevision.set(content.revision, facts);
  }
  return { content, facts, leftOut: [], contentChanged: pinned !== undefined && pinned !== found.revision };
}

/** Fills the placeholders of a text. */
export function filled(content: Content, values: TextValues): Content {
  return withText(content, fillText(content.text, values));
}

/** Returns a content with another text; the same if the text is. */
function withText(content: Content, text: string): Content {
  if (text === content.text) return content;
  return { ...content, text, revision: revisionOf(text), tokens: Math.ceil(text.length / 4) };
}

import type { MissingFile, PreloadedFile } from "./parts.js";
import type { PreloadedSteps } from "./preloaded.js";

/** What a message is about. */
export interface MessageFacts {
  readonly workflow: string;
  readonly files: readonly PreloadedFile[];
  readonly filesLoaded: readonly string[];
  readonly missing: readonly MissingFile[];
  /** Files that were given before, and not again. */
  readonly had: readonly string[];
  readonly cursor: string | undefined;
  readonly steps: PreloadedSteps | undefined;
  /** What `{skill-root}` stands for, where a text names it. */
  readonly skillRoot: string | undefined;
}

/** What the model is told of a preloaded workflow: in few words, since every later turn carries them along. */
export function preloadMessage(facts: MessageFacts): string {
  const { missing, cursor, steps, skillRoot } = facts;
  const sentences = [
    loaded(facts),
    cursor === undefined ? "" : "There is more: call preload_workflow with the cursor before you begin.",
    missing.length === 0 ? "" : `${counted(missing.length, "file")} could not be loaded: see missing.`,
    skillRoot === undefined ? "" : `{skill-root} is ${skillRoot}.`,
    steps === undefined ? "" : stepsSentence(steps),
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

function loaded({ workflow, files, filesLoaded, had }: MessageFacts): string {
  const all = filesLoaded.length;
  if (files.length === 0 && had.length === all && all > 0) {
    return (
      `The ${counted(all, "file")} of ${workflow} are already loaded in this conversation and have not changed: ` +
      "go on with what you have. If you no longer have them, call preload_workflow with reload: true."
    );
  }
  const which = files.length === all ? `All ${counted(all, "file")}` : `${files.length} of ${counted(all, "file")}`;
  const before = had.length === 0 ? "" : ` ${had.length} were given before, unchanged: ${had.join(", ")}.`;
  return `${which} of ${workflow} are loaded here, whole: don't read them again.${before}`;
}

function stepsSentence({ current, choices, index }: PreloadedSteps): string {
  if (current === undefined) {
    return `Choose the first of its ${counted(index.length, "step")}: next_step with step: ${choices?.join(" or ")}.`;
  }
  const gate = current.gate === undefined ? "" : ", with the evidence that its gate asks for";
  return `You are at step ${current.number} of ${current.of}. Do it whole, then call next_step${gate}; read no step ahead.`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

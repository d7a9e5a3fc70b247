/** Where a text names a step to go to. */
export interface NamedStep {
  readonly name: string;
  /** From 0, in the text that was looked at. */
  readonly line: number;
  readonly column: number;
}

/** A name as people set it apart: in quotes, as code, in bold, as a link. */
const SET_APART =
  /"([^"\n]{1,120})"|“([^”\n]{1,120})”|'([^'\n]{1,120})'(?!\w)|`([^`\n]{1,120})`|\*\*([^*\n]{1,120})\*\*|\[([^\]\n]{1,120})\]\([^()\n]*\)/g;
/** What stands before a name that is the next step. */
const LEADS =
  /\b(?:proceed(?:ing)?|go(?:es)?|going|move|transition|continue|return|advance|jump|switch|skip|redirect|route|hand over|send(?: \w+)?|loop)\b[^.;:!?"“”`*[\]\n]{0,40}$|\b(?:next step(?: is| should be)?|step)[ :]*$/i;
/** What stands behind a name that is a step. */
const IS_STEP = /^\s*(?:step)\b/i;

/** The steps that a guidance names, as far as its words tell: names set apart, after words that lead somewhere. */
export function namedSteps(guidance: string): NamedStep[] {
  return guidance.split("\n").flatMap((text, line) => {
    let leading = false;
    let end = 0;
    return [...text.matchAll(SET_APART)].flatMap((match) => {
      const before = text.slice(end, match.index);
      // "go to A or B": the words that lead to the one lead to the other.
      leading = LEADS.test(before) || (leading && /^\s*(?:,|or|and|,\s*or)\s*(?:the\s*|to\s*)*$/i.test(before));
      end = match.index + match[0].length;
      if (!leading && !IS_STEP.test(text.slice(end))) return [];
      const name = match.slice(1).find((part) => part !== undefined) ?? "";
      return [{ name: name.replace(/[`*]/g, "").trim(), line, column: match.index + 1 }];
    });
  });
}

const ENDS =
  /\bfinish(?:ed|es)?\b|\bterminal\b|\bfinal step\b|\bcomplet(?:e|ed|es|ion)\b|\bend of the workflow\b|\bends? the workflow\b/i;

/** Whether a guidance speaks of the end of the workflow. */
export function namesTheEnd(guidance: string): boolean {
  return ENDS.test(guidance);
}

/** What titles and items of plans look like: phases, tasks, gates. */

/** The number or letter of a phase as it is written, and its name. */
export interface PhaseTitle {
  readonly key: string;
  readonly name: string;
}

/** The id of a task as it is written, and what follows. */
export interface TaskTitle {
  readonly id: string;
  readonly rest: string;
}

/** How a plan names its tasks. */
export type TaskIds = "task" | "T" | "number";

const PHASE =
  /^[^\p{L}\p{N}]*(?:\d+(?:\.\d+)*[.)]?\s+)?phase\s+(\d+[a-z]?|\d+\.\d+|[a-z]|[ivx]+)\s*((?:\([^()]*\)\s*)?)(?:[:.)|–—-]+(?!\d)\s*(.*)|(\(.*\)))?$/isu;
const LOOSE_PHASE = /^[^\p{L}\p{N}]*phase\s+(\d+)\s+(\p{L}.*)$/iu;
const PART_OF_PHASE =
  /\b(?:tasks?|gates?|checkpoint|criteria|deliverables?|summary|results?|status|completed?|success|dependenc(?:y|ies)|depends|risks?|notes?|overview|timeline|goals?|and|to|is|can|must)\b/i;
const NUMBERED = /^[^\p{L}\p{N}]*(\d+)[.)]\s+(\S.*)$/u;

const TASK_IDS: Readonly<Record<TaskIds, RegExp>> = {
  task: /^[*_~\s]*task(?:\s+#?|-)(\d+(?!\d)(?:\.\d+(?!\d))*[a-z]?)(?![\w–-]*\d)(?=[\s:.)*_(–—-]|$)/i,
  T: /^[*_~\s]*(T(?:\d+(?!\d)(?:\.\d+(?!\d))*[a-z]?|XXX))(?=[\s:.)*_–—-]|$)/,
  number: /^[*_~\s]*(\d+(?!\d)(?:(?:\.\d+(?!\d))+|(?=[.)])))(?=[\s:.)*_–—-]|$)/,
};

/** Spaces, a colon and what is left of a bold label; but underscores that a name begins with, `__proto__`, are its own. */
const AFTER_ID = /^(?:[\s*~]|_+(?![_\p{L}\p{N}]))*[:.)–—-]*(?:[\s*~]|_+(?![_\p{L}\p{N}]))*/u;

/** The title of a phase: `Phase 2: Name`, `Phase 2) Name`, `Phase 2 (Week 1) - Name`, `Phase 2`. */
export function phaseTitle(title: string): PhaseTitle | undefined {
  const text = title.replace(/(?:\*\*|__):?/g, "").trim();
  const [, key, remark = "", name, bracketed] = PHASE.exec(text) ?? [];
  if (key === undefined) return undefined;
  return { key: key.toLowerCase(), name: [name ?? "", remark || (bracketed ?? "")].filter(Boolean).join(" ").trim() };
}

/** `Phase 2 Name`, with nothing in between: not what is called after a part of a phase, such as `Phase 2 Tasks`. */
export function loosePhaseTitle(title: string): PhaseTitle | undefined {
  const [, key, name] = LOOSE_PHASE.exec(title.replace(/\*\*|__/g, "").trim()) ?? [];
  return key === undefined || name === undefined || PART_OF_PHASE.test(name) ? undefined : { key, name: name.trim() };
}

/** A title such as `3. Setup`. */
export function numberedTitle(title: string): PhaseTitle | undefined {
  const [, key, name] = NUMBERED.exec(title.replace(/\*\*|__/g, "")) ?? [];
  return key === undefined || name === undefined ? undefined : { key, name: name.trim() };
}

/** The title of a task, in the first of the given forms that it has. */
export function taskTitle(text: string, forms: readonly TaskIds[]): TaskTitle | undefined {
  for (const form of forms) {
    const [before = "", id] = TASK_IDS[form].exec(text) ?? [];
    if (id !== undefined) return { id, rest: text.slice(before.length).replace(AFTER_ID, "") };
  }
  return undefined;
}

/** The title of a section about gates: `Phase 2 Validation Gate`, `🛑 VALIDATION GATE: Final Checkpoint`. */
export function isGateTitle(title: string): boolean {
  return /\b(?:validation|quality|exit|phase(?:\s+\w{1,4})?)\s+gates?\b|^\W*gates?(?=\s*(?:\d|[:–—-]|$))|\bcheckpoint\b|\b(?:exit|gate)\s+criteria\b/iu.test(
    title,
  );
}

/** What comes after a gate: `before Phase 2`, `→ Phase 2`. */
const NEXT_PHASE = /(?:\b(?:before|to|into|entering|starting)|→|[-=]>)\s*phase\s+\w+/gi;

/** The phase that a title speaks of, by its key; `final` for the last one. A phase that it leads to is none. */
export function mentionedPhase(title: string): string | undefined {
  const [, key] = /\bphase\s+(\d+(?:\.\d+)?[a-z]?|[a-z])\b/i.exec(title.replace(NEXT_PHASE, " ")) ?? [];
  if (key !== undefined) return key.toLowerCase();
  return /\bfinal\b/i.test(title) ? "final" : undefined;
}

/** The built-in parsers of plans, by name. */
import { DIALECT_NAMES } from "./drafts.js";
import { parsePlan } from "./parse-plan.js";
import type { Plan, PlanItem, SourceParser, TickRequest } from "./plan.js";
import { taskMasterParser } from "./task-master.js";
import { tickTasks } from "./tick.js";

/**
 * The built-in parsers. `spec_tasks_parser`, `spec_tasks_md` and `markdown` recognise the dialect; the name of a dialect
 * reads only that one. `task-master` reads a tasks.json.
 */
export const builtInParsers: Readonly<Record<string, SourceParser>> = {
  spec_tasks_parser: markdownParser(),
  spec_tasks_md: markdownParser(),
  markdown: markdownParser(),
  ...Object.fromEntries(DIALECT_NAMES.map((name) => [name, markdownParser(name)])),
  "task-master": taskMasterParser,
};

/** Returns the parser of Markdown in one dialect, or in a dialect that it recognises. */
function markdownParser(dialect?: string): SourceParser {
  return {
    parse: (text, file) => parsePlan(text, { file, ...(dialect === undefined ? {} : { dialect }) }),
    tick: (text, plan, request) => tickTasks(text, tasksOf(plan, request), request, itemsOf(plan, request)),
  };
}

function itemsOf(plan: Plan, { items = [] }: TickRequest): PlanItem[] {
  return items.flatMap(({ phase, places }) => {
    const gate = plan.phases.find(({ number }) => number === phase)?.validationGate ?? [];
    return places.flatMap((place) => gate[place] ?? []);
  });
}

function tasksOf(plan: Plan, { tasks }: TickRequest) {
  const wanted = new Set(tasks);
  return plan.phases.flatMap((phase) => phase.tasks.filter(({ id }) => wanted.has(id)));
}

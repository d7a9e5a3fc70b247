/** The parsers of plans that come with the library, by name. */
import { DIALECT_NAMES } from "./drafts.js";
import { parsePlan } from "./parse-plan.js";
import type { Plan } from "./plan.js";
import type { SourceParser, TickRequest } from "./source-parser.js";
import { taskMasterParser } from "./task-master.js";
import { tickTasks } from "./tick.js";

/**
 * `spec_tasks_parser` and `spec_tasks_md`, as workflows call it, recognise the dialect; a dialect's own name
 * reads that one alone. `task-master` reads a tasks.json.
 */
export const builtInParsers: Readonly<Record<string, SourceParser>> = {
  spec_tasks_parser: markdownParser(),
  spec_tasks_md: markdownParser(),
  markdown: markdownParser(),
  ...Object.fromEntries(DIALECT_NAMES.map((name) => [name, markdownParser(name)])),
  "task-master": taskMasterParser,
};

/** Reads Markdown: in one dialect, or in whichever it is. */
function markdownParser(dialect?: string): SourceParser {
  return {
    parse: (text, file) => parsePlan(text, { file, ...(dialect === undefined ? {} : { dialect }) }),
    tick: (text, plan, request) => tickTasks(text, tasksOf(plan, request), request),
  };
}

function tasksOf(plan: Plan, { tasks }: TickRequest) {
  const wanted = new Set(tasks);
  return plan.phases.flatMap((phase) => phase.tasks.filter(({ id }) => wanted.has(id)));
}

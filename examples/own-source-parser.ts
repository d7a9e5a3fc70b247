/**
 * A host's own SourceParser: it reads a TODO.txt as a plan, and ticks what was done. Each `+project` is a phase,
 * each line below it a task; `after:2` says what it waits for. Registered under a name, it is one parser among
 * those that come with the library.
 */
import assert from "node:assert/strict";
import { PhasegateError } from "phasegate";
import {
  type Plan,
  type PlanPhase,
  type PlanReading,
  type PlanTask,
  parsePlan,
  planOrder,
  type SourceParser,
} from "phasegate/plan";

// #region parser
/** `x Write the reader after:1` */
const LINE = /^(x )?(.*?)((?: after:\d+)*)$/;

const todoText: SourceParser = {
  parse(text, file): PlanReading {
    const phases: (PlanPhase & { tasks: PlanTask[] })[] = [];
    let offset = 0;
    let count = 0;
    for (const [index, line] of text.split("\n").entries()) {
      const position = { line: index + 1, column: 1, offset };
      offset += line.length + 1;
      if (line.startsWith("+")) {
        phases.push({ number: phases.length + 1, name: line.slice(1), tasks: [], validationGate: [], position });
      } else if (line.trim() !== "") {
        const [, done, name = "", after = ""] = LINE.exec(line) ?? [];
        count += 1;
        phases.at(-1)?.tasks.push({
          id: `${count}`,
          name,
          state: done === undefined ? "pending" : "done",
          dependencies: [...after.matchAll(/\d+/g)].map(([id]) => id),
          acceptanceCriteria: [],
          requirements: [],
          files: [],
          optional: false,
          parallel: false,
          position,
        });
      }
    }
    if (phases.length === 0) {
      throw new PhasegateError("PLAN_PARSE", `${file} has no project`, {
        remedy: "Begin with a line such as '+Reader'.",
        details: { file, line: 1 },
      });
    }
    return { plan: { dialect: "todo.txt", phases }, diagnostics: [] };
  },

  tick(text, plan, { tasks, done }) {
    const wanted = plan.phases.flatMap((phase) => phase.tasks.filter(({ id }) => tasks.includes(id)));
    const lines = text.split("\n");
    for (const { position } of wanted) {
      const bare = (lines[position.line - 1] ?? "").replace(/^x /, "");
      lines[position.line - 1] = done ? `x ${bare}` : bare;
    }
    return lines.join("\n");
  },
};
// #endregion parser

// A host keeps its parsers by name, and a workflow names the one that reads its source.
const parsers: Readonly<Record<string, SourceParser>> = {
  todo_text: todoText,
  spec_tasks_parser: { parse: (text, file) => parsePlan(text, { file }) },
};

function read(name: string, text: string): Plan {
  const parser = parsers[name];
  assert(parser, `there is no parser ${name}`);
  return parser.parse(text, "TODO.txt").plan;
}

const TODO = "+Reader\nx Write the tests\nWrite the reader after:1\nMeasure it after:1\n+Release\nTag it\n";
const plan = read("todo_text", TODO);
assert.deepEqual(planOrder(plan).waves, [["1"], ["2", "3"], ["4"]]);

const ticked = todoText.tick?.(TODO, plan, { tasks: ["2"], criteria: false, done: true }) ?? "";
assert.equal(ticked, TODO.replace("Write the reader", "x Write the reader"));
assert.equal(read("todo_text", ticked).phases[0]?.tasks[1]?.state, "done");

const same = read("spec_tasks_parser", "## Phase 1: Reader\n- [x] **Task 1.1**: Write the tests\n");
assert.equal(same.phases[0]?.tasks[0]?.name, "Write the tests");
console.log(`${plan.phases.length} phases from a TODO.txt, in ${planOrder(plan).waves.length} waves.`);

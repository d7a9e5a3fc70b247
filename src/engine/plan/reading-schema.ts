/** What a reading of a plan must be, so that sessions can stand on it: a host's own parser may give anything. */
import * as z from "zod";

const position = z.object({
  line: z.int().nonnegative(),
  column: z.int().nonnegative(),
  offset: z.int().nonnegative(),
});
const checkbox = z.object({ mark: z.string(), position });
const item = z.object({
  text: z.string(),
  checked: z.boolean(),
  details: z.array(z.string()).optional(),
  checkbox: checkbox.optional(),
  position,
});

const task = z.object({
  id: z.string().min(1),
  name: z.string(),
  description: z.string().optional(),
  estimatedTime: z.string().optional(),
  dependencies: z.array(z.string()),
  acceptanceCriteria: z.array(item),
  state: z.enum(["pending", "in_progress", "queued", "blocked", "done"]),
  checkbox: checkbox.optional(),
  optional: z.boolean(),
  parallel: z.boolean(),
  story: z.string().optional(),
  requirements: z.array(z.string()),
  files: z.array(z.string()),
  position,
});

const phase = z.object({
  number: z.int().nonnegative(),
  name: z.string(),
  goal: z.string().optional(),
  estimatedDuration: z.string().optional(),
  tasks: z.array(task),
  validationGate: z.array(item),
  position,
});

const diagnostic = z.object({
  severity: z.enum(["error", "warning"]),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  file: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
});

/** Checks a reading: its form, the order of its phases, and that ids name one task each. */
export const readingSchema = z
  .object({
    plan: z.object({ dialect: z.string(), phases: z.array(phase).min(1) }),
    diagnostics: z.array(diagnostic),
  })
  .superRefine(({ plan: { phases } }, context) => {
    const say = (message: string) => context.addIssue({ code: "custom", message });
    for (const [index, { number }] of phases.entries()) {
      const before = phases[index - 1]?.number ?? -1;
      if (number <= before) say(`phase ${number} comes after phase ${before}: numbers must ascend`);
    }
    const tasks = phases.flatMap((own) => own.tasks);
    const ids = new Set(tasks.map(({ id }) => id));
    if (ids.size < tasks.length) say("two tasks have one id");
    for (const { id, dependencies } of tasks) {
      const wrong = dependencies.find((needed) => needed === id || !ids.has(needed));
      if (wrong !== undefined) say(`task ${id} depends on ${wrong}, which is itself or no task`);
    }
  });

import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Plan, PlanReading } from "../../plan/plan.js";
import type { SourceParser } from "../../ports/source-parser.js";
import { readingSchema } from "./reading-schema.js";

/** What a plan was read from, for errors of its ticks. */
const fileOf = new WeakMap<Plan, string>();

/**
 * A host's own parser, whose results are checked: what is no plan is a `PLAN_PARSE` that names the parser and
 * the file, and so is whatever else it throws. What it ticks must be the same plan when it is read again.
 */
export function checkedParser(name: string, parser: SourceParser): SourceParser {
  const parse = (text: string, file: string): PlanReading => {
    const reading = guarded(name, file, () => parser.parse(text, file));
    const checked = readingSchema.safeParse(reading);
    if (!checked.success) throw failed(name, file, `made no plan of it: ${firstIssue(checked.error.issues)}`);
    fileOf.set(reading.plan, file);
    return reading;
  };
  if (parser.tick === undefined) return { parse };
  const write = parser.tick.bind(parser);
  const tick: SourceParser["tick"] = (text, plan, request) => {
    const file = fileOf.get(plan) ?? "the plan";
    const ticked: unknown = guarded(name, file, () => write(text, plan, request));
    if (typeof ticked !== "string") throw failed(name, file, "gave no text for its ticks");
    if (ticked !== text && sayingOf(parse(ticked, file).plan) !== sayingOf(plan)) {
      throw failed(name, file, "changed more than ticks");
    }
    return ticked;
  };
  return { parse, tick };
}

function guarded<T>(name: string, file: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (isPhasegateError(error, "PLAN_PARSE")) throw error;
    throw failed(name, file, "failed for a reason of its own", error);
  }
}

function firstIssue(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  const [first] = issues;
  const place = first === undefined || first.path.length === 0 ? "" : `${first.path.map(String).join(".")}: `;
  return `${place}${first?.message ?? "nothing"}`;
}

/** All that a plan says but its ticks, and where in the source it says so. */
function sayingOf({ phases }: Plan): string {
  return JSON.stringify(
    phases.map(({ number, name, tasks, validationGate }) => [
      number,
      name,
      tasks.map((task) => [task.id, task.name, task.dependencies, task.acceptanceCriteria.map(({ text }) => text)]),
      validationGate.map(({ text }) => text),
    ]),
  );
}

/** None of the parser's own words: they may hold anything. */
function failed(name: string, file: string, what: string, cause?: unknown): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `${file} can't be used: the source parser '${name}' ${what}`, {
    remedy: "Tell the person who runs this: the parser is the host's own, and has to be mended.",
    details: { file },
    cause,
  });
}

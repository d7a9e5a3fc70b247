import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PhasegateError } from "../errors.js";
import { buildStructure } from "./build-structure.js";
import type { JsonObject } from "./json.js";
import { isWorkflowType, shown } from "./names.js";
import { nearest } from "./nearest.js";
import type { WorkflowDefinition } from "./workflow-definition.js";
import type { PhaseInput, TextInput, WorkflowInput } from "./workflow-input.js";

/** A workflow defined in code: what an engine runs, and its texts. */
export interface Workflow<Phases extends readonly PhaseInput[] = readonly PhaseInput[]> {
  readonly definition: WorkflowDefinition;
  /** The phases as they were given: what evidence each takes is read from their types. */
  readonly phases: Phases;
  /** The text of a phase or a task; undefined if there is none. */
  text(part: { readonly phase: number; readonly task?: number }): string | Promise<string> | undefined;
}

/** The numbers of a workflow's phases, as a union of literals. */
export type PhaseNumberOf<W extends Workflow> = W["phases"][number]["number"];

/** What a phase's gate takes: the input of its schema, or any object where it has none. */
export type EvidenceOf<W extends Workflow, N extends number> =
  Extract<W["phases"][number], { readonly number: N }> extends {
    readonly gate: { readonly evidence: infer S extends StandardSchemaV1 };
  }
    ? StandardSchemaV1.InferInput<S>
    : JsonObject;

/**
 * Defines a workflow in code. `completePhase` of a session on it takes exactly the evidence of that
 * phase. Throws `DEFINITION_INVALID`, with everything that is wrong at once.
 */
export function defineWorkflow<const Phases extends readonly PhaseInput[]>(
  input: WorkflowInput<Phases>,
): Workflow<Phases> {
  const problems = problemsOf(input);
  if (problems.length > 0) {
    throw new PhasegateError(
      "DEFINITION_INVALID",
      `the workflow ${shown(input.type)} can't be used: ${problems.join("; ")}`,
      {
        remedy: "Mend what is listed.",
        details: { workflowType: String(input.type), diagnostics: problems },
      },
    );
  }
  const schemas = new Map(
    input.phases.flatMap((phase) => (phase.gate === undefined ? [] : [[phase.number, phase.gate.evidence] as const])),
  );
  return {
    definition: { structure: buildStructure(input), schemas },
    phases: input.phases,
    text: (part) => textOf(input.phases, part),
  };
}

function textOf(phases: readonly PhaseInput[], part: { readonly phase: number; readonly task?: number }) {
  const phase = phases.find(({ number }) => number === part.phase);
  if (part.task === undefined) return read(phase?.content);
  const task = phase?.tasks?.find(({ number }, index) => (number ?? index + 1) === part.task);
  return read(task?.content);
}

function read(content: TextInput | undefined): string | Promise<string> | undefined {
  return typeof content === "function" ? content() : content;
}

function problemsOf(input: WorkflowInput): string[] {
  const problems: string[] = [];
  if (!isWorkflowType(input.type))
    problems.push(`type ${shown(input.type)} may hold letters, digits, '_', '-' and '.'`);
  if (input.revision === "") problems.push("revision is empty");
  if (input.phases.length === 0) problems.push("there is no phase");
  problems.push(
    ...ascending(
      input.phases.map(({ number }) => number),
      "phase",
    ),
  );
  for (const phase of input.phases) {
    const about = `phase ${phase.number}`;
    const { gate } = phase;
    // Plain JavaScript hands in anything.
    if (gate !== undefined && Object(gate?.evidence)["~standard"] === undefined) {
      problems.push(`${about}: gate.evidence is no Standard Schema`);
    }
    // A key that nobody reads may be the one that was to keep the gate shut.
    problems.push(
      ...Object.keys(phase).flatMap((key) =>
        key !== "gate" && /gate/i.test(key) ? unknownKey(about, key, ["gate"]) : [],
      ),
      ...unknownKeys(`${about}: gate`, gate, GATE_KEYS),
      ...unknownKeys(`${about}: gate.approval`, gate?.approval, ["prompt", "approvers"]),
    );
    const numbers = (phase.tasks ?? []).map(({ number }, index) => number ?? index + 1);
    problems.push(...ascending(numbers, `phase ${phase.number}: task`));
  }
  const start = input.startPhase;
  if (start !== undefined && !input.phases.some(({ number }) => number === start)) {
    problems.push(`startPhase ${start} is no phase`);
  }
  return problems;
}

const GATE_KEYS = ["evidence", "example", "allowOverride", "verify", "approval", "reveal"];

function unknownKeys(about: string, value: unknown, known: readonly string[]): string[] {
  const keys = Object.keys(Object(value)).filter((key) => !known.includes(key) && !key.startsWith("x-"));
  return keys.flatMap((key) => unknownKey(about, key, known));
}

function unknownKey(about: string, key: string, known: readonly string[]): string[] {
  const meant = nearest(key, known);
  return [`${about} has no key ${shown(key)}${meant === undefined ? "" : `; did you mean ${meant}?`}`];
}

function ascending(numbers: readonly number[], what: string): string[] {
  return numbers.flatMap((number, index) => {
    if (!Number.isSafeInteger(number) || number < 0) return [`${what} ${number} is not a whole number of 0 or more`];
    const before = numbers[index - 1];
    return before !== undefined && before >= number ? [`${what} ${number} does not come after ${before}`] : [];
  });
}

/** How the engine's views look on the wire: seed 000's names and nesting. */
import type { JsonObject } from "../definition/json.js";
import type { GateDefinition, PhaseDefinition, TaskDefinition } from "../definition/structure.js";
import type { PhaseView, TaskView } from "../engine/phase-view.js";
import type { TaskStanding } from "../engine/plan/task-standing.js";
import { evidenceNames, exampleEvidence, requiredFormat } from "../gate/required-format.js";
import { conceal, revealOf } from "../gate/reveal.js";
import type { Problem } from "../gate/verdict.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import type { PhaseAttempt } from "../session/history.js";
import { verificationRecord } from "./verification-on-wire.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** How many earlier phases' artifacts are named; the others are counted. */
const ARTIFACTS_NAMED = 20;

/** A phase without its text, which is paged in by whoever answers. */
export function phaseContent(view: PhaseView): WireObject {
  const { phase, facts, content, contentChanged, artifacts, plan } = view;
  return compact({
    phase_number: phase.number,
    title: phase.name,
    description: phase.purpose ?? excerpt(phase.plan?.goal ?? facts.description),
    estimated_duration: phase.estimatedEffort ?? phase.plan?.estimatedDuration ?? facts.estimatedDuration,
    tasks: phase.plan === undefined ? phase.tasks.map(taskLabel) : plan?.tasks.map(taskEntry),
    checkpoint: checkpoint(phase, facts.validation),
    artifacts_from_previous_phases: artifactNames(artifacts),
    content_changed: contentChanged || undefined,
    sources: content.sources,
    tokens: content.tokens,
  });
}

/** The few words about a phase that stand in the answer to a passed gate. */
export function phaseHeading(phase: PhaseDefinition): WireObject {
  return compact({ phase_number: phase.number, title: phase.name, description: phase.purpose ?? phase.plan?.goal });
}

/** A task without its text. */
export function taskContent({ task, facts, content, contentChanged }: TaskView): WireObject {
  return compact({
    title: facts.title ?? task.name,
    description: task.purpose ?? excerpt(facts.description),
    execution_steps: unlessLong(
      facts.executionSteps?.map(({ step, description, command, expectedOutput }) =>
        compact({ step, command, description, expected_output: expectedOutput }),
      ),
    ),
    artifacts_to_produce: unlessLong(facts.artifactsToProduce),
    estimated_duration: task.plan?.estimatedTime ?? facts.estimatedDuration,
    content_changed: contentChanged || undefined,
    sources: content.sources,
    tokens: content.tokens,
  });
}

/** A session as lists show it. */
export function sessionEntry(summary: SessionSummary): WireObject {
  return compact({
    session_id: summary.sessionId,
    workflow_type: summary.workflowType,
    target_file: summary.target,
    current_phase: summary.current,
    total_phases: summary.total,
    status: summary.status,
    created_at: summary.createdAt,
    last_updated: summary.updatedAt,
    completed_at: summary.completedAt,
  });
}

/** One try at one phase. */
export function historyEntry(attempt: PhaseAttempt): WireObject {
  const { phase, startedAt, completedAt, durationSeconds, status, problems, verification, reveal } = attempt;
  return compact({
    phase,
    started_at: startedAt,
    completed_at: completedAt,
    duration_seconds: durationSeconds,
    attempt: attempt.attempt,
    status,
    problems: problems && conceal(problems, reveal ?? "fields").map(({ message }) => message),
    ...verificationRecord(verification, reveal),
  });
}

/** A problem beside its sentence, which stands in `validation_errors`. */
export function problemEntry({ field, problem, got, expected, example }: Problem): WireObject {
  return compact({ field, problem, got, expected, example });
}

/** How much of what was read out of a text stands beside it; the text itself is in `content`, whole. */
const EXCERPT_MAX = 400;
const LIST_MAX = 2400;

function excerpt(text: string | undefined): string | undefined {
  return text === undefined || text.length <= EXCERPT_MAX ? text : `${text.slice(0, EXCERPT_MAX)}…`;
}

function unlessLong<T extends readonly unknown[]>(list: T | undefined): T | undefined {
  return list !== undefined && JSON.stringify(list).length <= LIST_MAX ? list : undefined;
}

/** A task in the list of its phase. */
function taskEntry({ number, id, name, state, dependencies, ready, optional, requirements }: TaskStanding): WireObject {
  return compact({
    task_number: number,
    id,
    name: brief(name, 120),
    state,
    dependencies: dependencies.length === 0 ? undefined : dependencies,
    ready: ready || undefined,
    optional: optional || undefined,
    requirements: requirements?.map((reference) => brief(reference, 120)),
  });
}

/** The file's name where it tells the number, as seed 000 has it; else number and name. */
function taskLabel({ number, name, file }: TaskDefinition): string {
  const base = file?.slice(file.lastIndexOf("/") + 1);
  return base?.startsWith(`task-${number}-`) ? base : `${number}: ${name}`;
}

function checkpoint(phase: PhaseDefinition, fromText: readonly string[] | undefined): WireObject {
  // The items of a plan's gate stand in what it asks for, each with its number; what a gate hides isn't told in the
  // metadata's words either.
  const isTold = phase.gate.kind !== "plan" && revealOf(phase.gate) === "fields";
  const validation = isTold ? (phase.validationCriteria ?? unlessLong(fromText)) : undefined;
  return compact({
    required_evidence: evidenceNames(phase.gate),
    validation: validation?.join("; "),
    evidence_schema: requiredFormat(phase.gate),
    evidence_example: shortExample(phase.gate),
  });
}

/** The example is a help; what is asked for stands in the schema, whole. */
function shortExample(gate: GateDefinition): JsonObject | undefined {
  const example = exampleEvidence(gate);
  return example !== undefined && JSON.stringify(example).length <= LIST_MAX ? example : undefined;
}

function artifactNames(artifacts: PhaseView["artifacts"]): WireObject {
  const named = [...artifacts].slice(-ARTIFACTS_NAMED);
  const entries = Object.fromEntries(named.map(([number, names]) => [`phase_${number}`, names]));
  const earlier = artifacts.size - named.length;
  return earlier === 0 ? entries : { ...entries, earlier: `${earlier} more phases: see get_state` };
}

import { expect } from "vitest";
import type { AnyPhasegateError } from "../../../src/errors.js";
import type { AttemptLimits } from "../../../src/gate/judge.js";
import type { Problem, Verdict } from "../../../src/gate/verdict.js";
import type { CommandOf, SessionCommand } from "../../../src/phased/state/commands.js";
import type { EventOf } from "../../../src/phased/state/events.js";
import type { SessionHead } from "../../../src/phased/state/head.js";
import type { RecordedEvent } from "../../../src/phased/state/history.js";
import { transition } from "../../../src/phased/state/transition.js";
import type { PhaseDefinition, WorkflowStructure } from "../../../src/workflow/structure.js";
import { HASH } from "./model.js";
/** A phase with an open gate, or what a test says. */
export function phaseOf(number: number, parts: Partial<PhaseDefinition> = {}): PhaseDefinition {
  const gate = { kind: "open", allowOverride: false } as const;
  return { number, name: `Phase ${number}`, skippable: false, tasks: [], gate, ...parts };
}

/** A structure with these phases; it begins with the first. */
export function structureOf(
  phases: readonly (number | PhaseDefinition)[],
  parts: Partial<WorkflowStructure> = {},
): WorkflowStructure {
  const whole = phases.map((phase) => (typeof phase === "number" ? phaseOf(phase) : phase));
  return {
    ...{ type: "demo", version: "1", revision: "r1", name: "Demo", description: "For tests" },
    startPhase: whole[0]?.number ?? 0,
    phases: whole,
    ...parts,
  };
}

/** A problem that a gate had. */
export const aProblem: Problem = {
  field: "done",
  problem: "missing",
  message: "Required evidence 'done' not provided",
};
const PASSED: Verdict = { passed: true, warnings: [] };
const FAILED: Verdict = { passed: false, problems: [aProblem], warnings: [] };

/** Evidence for a phase, with the gate's word on it. */
export function submit(phase: number, passed = true): CommandOf<"completePhase"> {
  const verdict = passed ? PASSED : FAILED;
  return { type: "completePhase", phase, evidence: { inline: { phase } }, verdict, evidenceHash: HASH };
}

/** A gate that asks a person. */
export function asking(allowOverride = false): PhaseDefinition["gate"] {
  return { kind: "schema", allowOverride, approval: { prompt: "Is it good?", approvers: ["ann"] } };
}

/** A person's word on what is asked; on what was asked last, where nothing is. */
export function word(
  run: { readonly log: readonly RecordedEvent[] },
  type: "approve" | "deny",
  evidenceHash = HASH,
): SessionCommand {
  const last = run.log.findLast(({ event }) => event.type === "approval_requested");
  const event = last?.event.type === "approval_requested" ? last.event : NOTHING_ASKED;
  const asked = { version: last?.version ?? 1, event };
  const decided = { by: "ann", authenticated: true, evidenceHash, asked };
  return type === "deny" ? { type, note: "not yet", ...decided } : { type, ...decided };
}

const NOTHING_ASKED: EventOf<"approval_requested"> = {
  type: "approval_requested",
  phase: 1,
  position: 0,
  attempt: 1,
  evidence: { inline: {} },
  prompt: "",
  evidenceHash: HASH,
};

const START = Date.parse("2026-01-01T00:00:00.000Z");
const LIMITS: AttemptLimits = { maxAttempts: 3, maxAttemptsTotal: 12 };

/** A session in the hands of a test: it keeps the log, and a clock that goes on by a second each time. */
export class Run {
  readonly log: RecordedEvent[] = [];
  readonly limits: AttemptLimits;
  structure: WorkflowStructure;
  head: SessionHead | undefined;
  version = 0;
  #now = START;

  constructor(structure: WorkflowStructure, limits: AttemptLimits = LIMITS) {
    this.structure = structure;
    this.limits = limits;
  }

  /** A session that has been started. */
  static started(structure: WorkflowStructure, limits: Partial<AttemptLimits> = {}): Run {
    return new Run(structure, { ...LIMITS, ...limits }).do({ type: "start", target: "src/a.ts", options: {} });
  }

  /** Lets time pass, or turns it back. */
  wait(seconds: number): this {
    this.#now += seconds * 1000;
    return this;
  }

  /** Asks for something; the error that it is refused with, or undefined if it was done. */
  ask(command: SessionCommand): AnyPhasegateError | undefined {
    this.#now += 1000;
    const at = new Date(this.#now).toISOString();
    const { structure, limits } = this;
    const outcome = transition(this.head, command, { structure, limits, at, version: this.version + 1 });
    if (!outcome.ok) return outcome.error;
    this.version += 1;
    this.head = outcome.head;
    for (const event of outcome.events) this.log.push({ event, at, version: this.version });
    if (command.type === "migrate") this.structure = command.structure;
    return undefined;
  }

  /** Does what must be possible. */
  do(...commands: readonly SessionCommand[]): this {
    for (const command of commands) expect(this.ask(command), command.type).toBeUndefined();
    return this;
  }

  /** Asks for what must not be possible, and must leave everything as it is. */
  refused(command: SessionCommand): AnyPhasegateError {
    const { head, version } = this;
    const error = this.ask(command);
    expect(this.head).toBe(head);
    expect(this.version).toBe(version);
    if (error === undefined) throw new Error(`${command.type} was done`);
    return error;
  }

  /** What happened last, by name. */
  types(last: number): string[] {
    return this.log.slice(-last).map(({ event }) => event.type);
  }

  /** The head, which must be there. */
  get state(): SessionHead {
    if (this.head === undefined) throw new Error("the session was not started");
    return this.head;
  }
}

import { expect } from "vitest";
import type { AnyPhasegateError } from "../../../src/errors.js";
import type { AttemptLimits } from "../../../src/gate/judge.js";
import type { Problem, Verdict } from "../../../src/gate/verdict.js";
import type { CommandOf, SessionCommand, TransitionContext } from "../../../src/phased/state/commands.js";
import type { EventOf, Waived } from "../../../src/phased/state/events.js";
import { sessionEventSchema } from "../../../src/phased/state/events.js";
import type { SessionHead } from "../../../src/phased/state/head.js";
import { sessionHeadSchema } from "../../../src/phased/state/head.js";
import type { RecordedEvent } from "../../../src/phased/state/history.js";
import { transition } from "../../../src/phased/state/transition.js";
import type { PhaseDefinition, WorkflowStructure } from "../../../src/workflow/structure.js";
import { HASH } from "./model.js";
/** Returns a phase with an open gate, or with the given parts. */
export function phaseOf(number: number, parts: Partial<PhaseDefinition> = {}): PhaseDefinition {
  const gate = { kind: "open", allowOverride: false } as const;
  return { number, name: `Phase ${number}`, skippable: false, tasks: [], gate, ...parts };
}

/** Returns a structure with the given phases; it starts with the first. */
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

/** A problem of a gate. */
export const aProblem: Problem = {
  field: "done",
  problem: "missing",
  message: "Required evidence 'done' not provided",
};
const PASSED: Verdict = { passed: true, warnings: [] };
const FAILED: Verdict = { passed: false, problems: [aProblem], warnings: [] };

/** Returns evidence for a phase, with the gate's verdict. */
export function submit(phase: number, passed = true): CommandOf<"completePhase"> {
  const verdict = passed ? PASSED : FAILED;
  return { type: "completePhase", phase, evidence: { inline: { phase } }, verdict, evidenceHash: HASH };
}

/** Returns a gate that requires an approval. */
export function asking(allowOverride = false): PhaseDefinition["gate"] {
  return {
    kind: "schema",
    allowOverride,
    example: { tests: true, docs: true },
    approval: { prompt: "Is it good?", approvers: ["ann"] },
  };
}

/** Returns an answer to the current question; to the last one if there is none. */
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

/** Returns a request for a waiver. */
export function waiver(
  phase: number,
  fields: readonly string[] = ["tests"],
  reason = "there are none",
): SessionCommand {
  return { type: "requestWaiver", phase, fields, reason };
}

/** Returns an answer to the last request for a waiver. */
export function waiverWord(
  run: { readonly log: readonly RecordedEvent[] },
  type: "waive" | "denyWaiver",
  more: Partial<CommandOf<"waive">> = {},
): SessionCommand {
  const last = run.log.findLast(({ event }) => event.type === "waiver_requested");
  const none = { type: "waiver_requested", phase: 1, fields: ["tests"], reason: "" } as const;
  const event = last?.event.type === "waiver_requested" ? last.event : { ...none, fields: [...none.fields] };
  const word = { by: "ann", authenticated: false, asked: { version: last?.version ?? 1, event }, ...more };
  return type === "waive" ? { ...word, type } : { note: "do it by hand", ...word, type };
}

/** Returns what the granted waivers of the current phase say, as evidence passes with them. */
export function granted(head: SessionHead | undefined): Waived[] {
  return (head?.waived ?? []).map(({ fields, version }) => {
    return { fields, version, by: "ann", reason: "there are none", authenticated: false };
  });
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

/** A session under test: keeps the log, and a clock that advances by a second per command. */
export class Run {
  readonly log: RecordedEvent[] = [];
  readonly limits: AttemptLimits;
  structure: WorkflowStructure;
  head: SessionHead | undefined;
  version = 0;
  /** Why the phases that rules skip are skipped, by position. */
  skips: TransitionContext["skips"];
  #now = START;

  constructor(structure: WorkflowStructure, limits: AttemptLimits = LIMITS) {
    this.structure = structure;
    this.limits = limits;
  }

  /** Creates a session that has been started. */
  static started(structure: WorkflowStructure, limits: Partial<AttemptLimits> = {}): Run {
    return new Run(structure, { ...LIMITS, ...limits }).do({ type: "start", target: "src/a.ts", options: {} });
  }

  /** Advances the clock, or turns it back. */
  wait(seconds: number): this {
    this.#now += seconds * 1000;
    return this;
  }

  /** Executes a command; returns the error of its refusal, or undefined if it was executed. */
  ask(command: SessionCommand): AnyPhasegateError | undefined {
    this.#now += 1000;
    const at = new Date(this.#now).toISOString();
    const { structure, limits } = this;
    const { skips } = this;
    const outcome = transition(this.head, { command, structure, limits, skips }, { at, version: this.version + 1 });
    if (!outcome.ok) return outcome.error;
    // What a kernel caches must be what another one reads.
    const stored: typeof outcome = JSON.parse(JSON.stringify(outcome));
    const events = stored.events.map((event) => sessionEventSchema.parse(event));
    expect(outcome.events).toEqual(events);
    expect(outcome.head).toEqual(sessionHeadSchema.parse(stored.head));
    this.version += 1;
    this.head = outcome.head;
    for (const event of outcome.events) this.log.push({ event, at, version: this.version });
    if (command.type === "migrate") this.structure = command.structure;
    return undefined;
  }

  /** Executes commands that must be possible. */
  do(...commands: readonly SessionCommand[]): this {
    for (const command of commands) expect(this.ask(command), command.type).toBeUndefined();
    return this;
  }

  /** Expects that a command is refused and changes nothing; returns the error. */
  refused(command: SessionCommand): AnyPhasegateError {
    const { head, version } = this;
    const error = this.ask(command);
    expect(this.head).toBe(head);
    expect(this.version).toBe(version);
    if (error === undefined) throw new Error(`${command.type} was done`);
    return error;
  }

  /** Returns the types of the last events. */
  types(last: number): string[] {
    return this.log.slice(-last).map(({ event }) => event.type);
  }

  /** Returns the head, which must exist. */
  get state(): SessionHead {
    if (this.head === undefined) throw new Error("the session was not started");
    return this.head;
  }
}

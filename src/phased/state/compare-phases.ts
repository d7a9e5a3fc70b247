/**
 * Compares the phases of two definitions of a workflow by their names, gates and tasks. Numbers do not count: a phase that
 * another one was put in front of is still the same. A session may be moved by what this says (migration.ts).
 */
import { rulesOf } from "../../gate/verdict.js";
import { sinceOf } from "../../workflow/gate-definition.js";
import { canonicalJson, isJsonObject, type JsonObject } from "../../workflow/json.js";
import type { GateDefinition, PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { positionOf } from "./commands.js";

/** A part of a phase that a newer definition may have changed. */
export type PhasePart = "gate" | "tasks";

/** What a newer definition does to one phase of a session. */
export interface PhaseComparison {
  /** The phase's name. */
  readonly name: string;
  /** Its number in the definition that the session is on; missing if it is new. */
  readonly was?: number;
  /** Its number in the newer definition; missing if it is gone. */
  readonly will?: number;
  /**
   * `same`; `moved`: the same under another number; `changed`: another gate or other tasks; `gone`; `new`: the session has
   * never done it, and it comes before the phase in which the session would go on.
   */
  readonly is: "same" | "moved" | "changed" | "new" | "gone";
  /** The parts that have changed. */
  readonly what?: readonly PhasePart[];
}

/** The same phase in both definitions, by positions. */
export interface PhasePair {
  readonly from: number;
  readonly to: number;
  /** The parts that differ. */
  readonly what: readonly PhasePart[];
}

type Phases = Pick<WorkflowStructure, "phases" | "startPhase">;

/**
 * Compares the phases that a session has behind it, and the one at `position` that it is in, with those of a newer
 * definition. Returns them in the order of the newer one, and those that are gone at the end. A `position` behind the last phase
 * means that the session has them all behind it.
 */
export function comparePhases(before: Phases, after: Phases, position: number): PhaseComparison[] {
  const pairs = pairPhases(before, after);
  const reached = new Map(pairs.filter(({ from }) => from <= position).map((pair) => [pair.to, pair]));
  const goesOn = pairs.find(({ from }) => from >= position)?.to ?? after.phases.length;
  const found = after.phases.flatMap(({ name, number: will }, to): PhaseComparison[] => {
    const pair = reached.get(to);
    if (pair === undefined) return to >= firstOf(after) && to < goesOn ? [{ name, will, is: "new" }] : [];
    const was = before.phases[pair.from]?.number;
    if (pair.what.length > 0) return [{ name, was, will, is: "changed", what: pair.what }];
    return [{ name, was, will, is: was === will ? "same" : "moved" }];
  });
  const kept = new Set(pairs.map(({ from }) => from));
  const gone = before.phases.flatMap(({ name, number: was }, from): PhaseComparison[] =>
    from >= firstOf(before) && from <= position && !kept.has(from) ? [{ name, was, is: "gone" }] : [],
  );
  return [...found, ...gone];
}

/** Returns the position of the first phase of sessions. */
export function firstOf({ phases, startPhase }: Phases): number {
  return Math.max(
    0,
    phases.findIndex(({ number }) => number === startPhase),
  );
}

/**
 * Pairs the phases of two definitions, in the order of the first. Of several phases with one name, those that are the same
 * find each other first. Phases before the first one of sessions are never done, and have no counterpart.
 */
export function pairPhases(before: Phases, after: Phases): PhasePair[] {
  const pairs = new Map<number, PhasePair>();
  const taken = new Set<number>();
  for (const isExact of [true, false]) {
    for (const [from, phase] of before.phases.entries()) {
      if (from < firstOf(before) || pairs.has(from)) continue;
      for (const [to, other] of after.phases.entries()) {
        if (to < firstOf(after) || taken.has(to) || !isAlike(phase, other)) continue;
        const what = differingParts([before, phase], [after, other]);
        if (isExact && what.length > 0) continue;
        pairs.set(from, { from, to, what });
        taken.add(to);
        break;
      }
    }
  }
  return [...pairs.values()].sort((one, other) => one.from - other.from);
}

/** A phase from a plan and one of the workflow itself are two phases, whatever their names are. */
function isAlike(one: PhaseDefinition, other: PhaseDefinition): boolean {
  return one.name === other.name && (one.plan === undefined) === (other.plan === undefined);
}

/** A phase in its definition. */
type Placed = readonly [structure: Phases, phase: PhaseDefinition];

function differingParts(one: Placed, other: Placed): PhasePart[] {
  // Phases from a plan are compared when the plan is read again.
  if (one[1].plan !== undefined && other[1].plan !== undefined) return [];
  return (["gate", "tasks"] as const).filter(
    (part) => canonicalJson(PARTS[part](...one)) !== canonicalJson(PARTS[part](...other)),
  );
}

/** What is compared of a phase. */
const PARTS: Readonly<Record<PhasePart, (...placed: Placed) => unknown>> = {
  gate: required,
  tasks: (_, { tasks }) => tasks.map(({ number, name }) => [number, name]),
};

/**
 * Returns what a gate requires: without examples and the place where it was found. It may name other phases by their
 * numbers. A check's `since` stands for the phase of that number; a rule over artifacts for the phases before its own.
 */
function required(structure: Phases, { number, gate }: PhaseDefinition): unknown {
  const asked = withoutExamples(gate);
  if (gate.kind === "open") return asked;
  const verify = gate.verify?.map((check) => ({ ...check, params: sinceByName(structure, check.params) }));
  const readsArtifacts = gate.kind === "fields" && rulesOf(gate).some(({ rule }) => rule.cel.includes("artifacts"));
  const earlier = structure.phases.flatMap((phase) => (phase.number < number ? [[phase.number, phase.name]] : []));
  return [{ ...asked, verify }, readsArtifacts ? earlier : []];
}

function withoutExamples(gate: GateDefinition): object {
  if (gate.kind === "schema") {
    const { example: _, sample: __, ...rest } = gate;
    return rest;
  }
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, ...rest } = gate;
  return { ...rest, fields: fields.map(({ example: _, sample: __, ...field }) => field) };
}

/** Returns the params of a check with the name of the phase that `since` names by its number. */
export function sinceByName(structure: Phases, params: JsonObject): JsonObject {
  const { since } = params;
  const phase = sinceOf(params);
  if (phase === undefined || !isJsonObject(since)) return params;
  const name = structure.phases[positionOf(structure, phase)]?.name;
  return name === undefined ? params : { ...params, since: { name } };
}

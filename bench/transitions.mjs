/**
 * One phase completed in memory, by the engine and through the whole tool, against XState's restore + send + persist. The tool's
 * answer has the next phase and its first task, too.
 */
import { assign, createActor, createMachine } from "xstate";
import { batchesInTurn, row, time } from "./measure.mjs";
import { benchTool, completeByEngine, evidenceOf, phasesToComplete, startSession } from "./workflow.mjs";

const PHASES = 8;
const EVIDENCE = 300;
/** A guard against accidents: a call waits for a model, which takes seconds. */
const BAR = 3;

/** A machine with one state a phase, which keeps the evidence; what XState is made for. */
function phaseMachine(phases, context) {
  const states = {};
  for (let phase = 1; phase <= phases; phase += 1) {
    states[`phase${phase}`] = {
      on: { complete: { target: `phase${phase + 1}`, actions: assign({ evidence: ({ event }) => event.evidence }) } },
    };
  }
  states[`phase${phases + 1}`] = { type: "final" };
  return createMachine({ id: "phases", initial: "phase1", context, states });
}

/** One XState round: JSON in, one transition, JSON out. */
export function xstateRound(phases, contextBytes) {
  const machine = phaseMachine(phases, { filler: "x".repeat(contextBytes), evidence: null });
  const first = JSON.stringify(createActor(machine).start().getPersistedSnapshot());
  const evidence = evidenceOf(EVIDENCE);
  return () => {
    const actor = createActor(machine, { snapshot: JSON.parse(first) }).start();
    actor.send({ type: "complete", evidence });
    return JSON.stringify(actor.getPersistedSnapshot());
  };
}

export async function run() {
  const host = benchTool(PHASES);
  const reader = benchTool(PHASES);
  const sessionId = await startSession(reader);
  const contextBytes = 700;
  const found = await batchesInTurn({
    xstate: { fn: xstateRound(PHASES, contextBytes) },
    engine: phasesToComplete(benchTool(PHASES), PHASES, evidenceOf(EVIDENCE), completeByEngine),
    complete: phasesToComplete(host, PHASES, evidenceOf(EVIDENCE)),
    get_phase: { fn: async () => reader.tool.dispatch({ action: "get_phase", session_id: sessionId }) },
    get_task: {
      fn: async () => reader.tool.dispatch({ action: "get_task", session_id: sessionId, phase: 1, task_number: 1 }),
    },
  });
  const against = (what, key) =>
    row(what, time(found[key].median), `XState round ${time(found.xstate.median)}`, found[key].ratio, BAR);
  return [
    against("engine.completePhase, memory", "engine"),
    against("complete_phase with the next phase and its task in the answer, memory", "complete"),
    against("get_phase, warm", "get_phase"),
    against("get_task, warm", "get_task"),
  ];
}

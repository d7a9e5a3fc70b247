/** What all benchmarks run on: a workflow of any number of phases, and evidence of any size. */
import { createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const evidence = z.object({ tests_pass: z.boolean(), coverage: z.number(), summary: z.string() });
const text = `# Phase\n\n**Estimated Time:** 5 minutes\n\n## Objective\n\n${"Do what must be done here. ".repeat(80)}\n`;

/** A workflow in code with so many phases. */
export function benchWorkflow(phases) {
  return defineWorkflow({
    type: `bench_${phases}`,
    revision: "1",
    name: "Bench",
    description: "A workflow to measure with",
    phases: Array.from({ length: phases }, (_, index) => ({
      number: index + 1,
      name: `Phase ${index + 1}`,
      purpose: "Measure",
      content: text,
      tasks: [{ name: "first task", content: text }],
      gate: { evidence },
    })),
  });
}

/** An engine and its tool on a storage; in memory if none is given. */
export function benchTool(phases, storage = new MemoryStorage(), limits = {}) {
  const content = new MemoryContent({ workflows: [benchWorkflow(phases)] });
  const engine = createEngine({ storage, content, limits: { maxActiveSessions: Infinity, ...limits } });
  return { engine, tool: createWorkflowTool(engine), type: `bench_${phases}` };
}

/** Evidence of about so many bytes of JSON. */
export function evidenceOf(bytes) {
  return { tests_pass: true, coverage: 0.93, summary: "x".repeat(Math.max(0, bytes - 60)) };
}

let sessions = 0;
/** Starts a session of its own and gives its id. */
export async function startSession({ tool, type }) {
  sessions += 1;
  const answer = await tool.dispatch({ action: "start", workflow_type: type, target_file: `src/file-${sessions}.ts` });
  if (answer.status !== "success") throw new Error(JSON.stringify(answer));
  return answer.session_id;
}

/** Completes a phase; an answer that is not a success is an error of the benchmark. */
export async function completePhase({ tool }, sessionId, phase, submitted) {
  const call = { action: "complete_phase", session_id: sessionId, phase, evidence: submitted };
  const answer = await tool.dispatch(call);
  if (answer.status !== "success") throw new Error(JSON.stringify(answer));
  return answer;
}

/** Completes phase after phase, through the tool or in another way; the sessions for so many calls are started before them. */
export function phasesToComplete(host, phases, submitted, complete = completePhase) {
  const left = [];
  return {
    prepare: async (calls) => {
      while (left.length < calls) {
        const sessionId = await startSession(host);
        for (let phase = 1; phase <= phases; phase += 1) left.push({ sessionId, phase });
      }
    },
    fn: () => {
      const { sessionId, phase } = left.shift();
      return complete(host, sessionId, phase, submitted);
    },
  };
}

/** Completes a phase by the engine. */
export function completeByEngine({ engine }, sessionId, phase, evidence) {
  return engine.session(sessionId).completePhase(phase, evidence);
}

/** Completes phase after phase, by the engine or in another way; a new session where one has come to its end. */
export function completing(host, phases, evidence, complete = completeByEngine) {
  const place = { sessionId: "", phase: phases + 1 };
  return {
    place,
    beforeEach: async () => {
      if (place.phase < phases) return;
      place.sessionId = await startSession(host);
      place.phase = 1;
    },
    fn: async () => {
      await complete(host, place.sessionId, place.phase, evidence);
      place.phase += 1;
    },
  };
}

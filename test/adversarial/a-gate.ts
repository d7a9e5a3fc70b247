import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, createWorkflowTool, type EngineOptions } from "phasegate";
import { createProjectRoot, FileContent, FileStorage } from "phasegate/fs";
import { createVerifiers, type VerifiersOptions } from "phasegate/verify";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** Options of a test's gate. */
export interface GateOptions {
  /** The gate file of phase 1. */
  readonly gate: string;
  /** Files of the project. */
  readonly files?: Readonly<Record<string, string>>;
  readonly verifiers?: Omit<VerifiersOptions, "projectRoot">;
  /** Other files of the workflow, relative to its folder. */
  readonly more?: Readonly<Record<string, string>>;
  readonly engine?: Partial<EngineOptions>;
}

type Answer = Readonly<Record<string, unknown>>;

/** Returns the files of a workflow with two phases: the first has the given gate, the second accepts any claim. */
function workflowFiles(gate: string): Record<string, string> {
  const phases = [1, 2].map((number) => ({ phase_number: number, phase_name: `Phase ${number}` }));
  const about = { workflow_type: "honest_v1", name: "Honest", description: "Wants the truth", version: "1.0.0" };
  return {
    "honest_v1/metadata.json": JSON.stringify({ ...about, phases }),
    "honest_v1/phases/1/phase.md": "# Phase 1\n\nDo it.\n",
    "honest_v1/phases/1/gate-definition.yaml": gate,
    "honest_v1/phases/2/phase.md": "# Phase 2\n\nGo on.\n",
    "honest_v1/phases/2/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
  };
}

/** Starts a session at a gate, with the workflow, the log and the project on disk. */
export async function aGate({ gate, files = {}, verifiers, more: others = {}, engine: options }: GateOptions) {
  const base = await temporaryFolder();
  const place = (name: string) => join(base, name);
  const project = place("project");
  const workflows = place("workflows");
  const state = place("state");
  await mkdir(project);
  await writeFiles(project, files);
  await writeFiles(workflows, workflowFiles(gate));
  await writeFiles(join(workflows, "honest_v1"), others);
  const open = async (more: Partial<EngineOptions> = {}) => {
    const opened = createEngine({
      content: new FileContent({ roots: [workflows] }),
      storage: await FileStorage.open(state),
      targets: await createProjectRoot(project),
      verifiers: await createVerifiers({ ...verifiers, projectRoot: project }),
      ...options,
      ...more,
    });
    // Runs before the folder is deleted, since an engine may still write after its last answer.
    onTestFinished(() => opened.close());
    return opened;
  };
  const engine = await open();
  const tool = createWorkflowTool(engine);
  const started = await tool.dispatch({ action: "start", workflow_type: "honest_v1", target_file: "src/a.ts" });
  expect(started, JSON.stringify(started)).toMatchObject({ status: "success" });
  const id = String(started.session_id);
  const claim = (evidence: unknown, phase = 1): Promise<Answer> =>
    tool.dispatch({ action: "complete_phase", session_id: id, phase, evidence });
  const phase = async () => (await tool.dispatch({ action: "get_state", session_id: id, brief: true })).current_phase;
  return {
    ...{ base, project, workflows, state, engine, tool, id, open, claim, phase },
    write: (path: string, text: string) => writeFiles(project, { [path]: text }),
    /**
     * Submits a false claim. Checks that it is refused with the given message, and that the session stays in phase 1.
     */
    refuses: async (lie: unknown, says: RegExp) => {
      const answer = await claim(lie);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: "error" });
      expect(wordsOf(answer), wordsOf(answer)).toMatch(says);
      expect(wordsOf(answer), "the message shows no path of this machine").not.toContain(base);
      expect(await phase()).toBe(1);
      return answer;
    },
    /** Submits a true claim, and checks that the gate passes. */
    accepts: async (truth: unknown) => {
      const answer = await claim(truth);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success", checkpoint_passed: true });
      expect(await phase()).toBe(2);
      return answer;
    },
  };
}

/** Returns the text of a refusal: the error, the problems and the remediation. */
function wordsOf({ error, validation_errors: errors, remediation }: Answer): string {
  return [error, ...(Array.isArray(errors) ? errors : []), remediation].join("\n");
}

/** Submits a false claim, which the gate refuses, and then in the same session a true one, which it accepts. */
export async function lieThenTruth(options: GateOptions, lie: unknown, says: RegExp, truth: unknown): Promise<void> {
  const gate = await aGate(options);
  await gate.refuses(lie, says);
  await gate.accepts(truth);
}

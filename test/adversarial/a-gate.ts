import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, createWorkflowTool, type EngineOptions } from "phasegate";
import { createProjectRoot, FileContent, FileStorage } from "phasegate/fs";
import { createVerifiers, type VerifiersOptions } from "phasegate/verify";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** What a test says of a gate. */
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

/** A workflow of two phases in a folder, the first of which has this gate; the second takes anything. */
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

/** A session before a gate, all of it on the disk: workflow, log and project. */
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
    // Before its folder is deleted: what it writes after its answers would come into a folder that is going away.
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
    /** Tells a lie: it is refused in these words, and the session stays where it is. */
    refuses: async (lie: unknown, says: RegExp) => {
      const answer = await claim(lie);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: "error" });
      expect(wordsOf(answer), wordsOf(answer)).toMatch(says);
      expect(wordsOf(answer), "no word of where things lie").not.toContain(base);
      expect(await phase()).toBe(1);
      return answer;
    },
    /** Tells the truth: it goes through. */
    accepts: async (truth: unknown) => {
      const answer = await claim(truth);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success", checkpoint_passed: true });
      expect(await phase()).toBe(2);
      return answer;
    },
  };
}

/** What a person reads in a refusal: what is wrong, and what to do. */
function wordsOf({ error, validation_errors: errors, remediation }: Answer): string {
  return [error, ...(Array.isArray(errors) ? errors : []), remediation].join("\n");
}

/** Tells a lie at a gate, and then, in the same session, the truth. */
export async function lieThenTruth(options: GateOptions, lie: unknown, says: RegExp, truth: unknown): Promise<void> {
  const gate = await aGate(options);
  await gate.refuses(lie, says);
  await gate.accepts(truth);
}

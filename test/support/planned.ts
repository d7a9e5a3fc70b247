import { createWorkflowTool, type EngineOptions, MemoryContent, MemoryPlans, MemoryStorage } from "phasegate";
import type { PlanSource, PlanText } from "phasegate/plan";
import { makeEngine } from "./make-engine.js";

/** Two phases of a plan: the first has a chain of three tasks and a gate, the second an optional task. */
export const PLAN = `# Tasks

### Phase 1: Parse

**Goal**: Read the input

- [ ] **Task 1.1**: Write the lexer
  - **Estimated Time**: 2 hours
  - **Dependencies**: None
  - **Acceptance Criteria**:
    - [ ] Knows all tokens
    - [ ] Says where they stand
- [ ] **Task 1.2**: Write the parser
  - **Dependencies**: Task 1.1
  - **Acceptance Criteria**:
    - [ ] Builds a tree
- [ ] **Task 1.3**: Write the docs
  - **Dependencies**: None

**Validation Gate**:
- [ ] All tests pass
- [ ] The docs are read by somebody

### Phase 2: Print

**Goal**: Write the output

- [ ] **Task 2.1**: Write the printer
  - **Dependencies**: Task 1.2
- [ ] **Task 2.2**: Write the colours
  - **Dependencies**: Task 2.1

**Validation Gate**:
- [ ] Round trips
`;

/** Path of the plan. */
export const PLAN_PATH = "specs/one/tasks.md";

/** Returns a workflow with one static phase, whose other phases come from a plan. */
function planFolder(config: Record<string, unknown> = {}, phases: readonly number[] = [0]) {
  const metadata = {
    workflow_type: "spec",
    name: "Spec",
    description: "Carries out a plan",
    version: "1.0.0",
    dynamic_phases: true,
    dynamic_config: {
      source_path_key: "spec_path",
      templates: { phase: "phases/dynamic/phase-template.md", task: "phases/dynamic/task-template.md" },
      ...config,
    },
    phases: phases.map((number) => ({ phase_number: number, phase_name: `Static ${number}` })),
  };
  return {
    "metadata.json": JSON.stringify(metadata),
    ...Object.fromEntries(phases.map((number) => [`phases/${number}/phase.md`, `# Phase ${number}\n\nLook around.\n`])),
    "phases/dynamic/phase-template.md": "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n\n[PHASE_DESCRIPTION]\n",
    "phases/dynamic/task-template.md":
      "# Task [TASK_ID]: [TASK_NAME]\n\nNeeds [DEPENDENCIES].\n\n[ACCEPTANCE_CRITERIA]\n",
  };
}

/** A plan source that can be made to fail. */
class FaultyPlans implements PlanSource {
  readonly inner: MemoryPlans;
  /** Called before each read and replace; an error that it throws is the failure. */
  fault: (operation: "read" | "replace") => void = () => {};
  reads = 0;

  constructor(inner: MemoryPlans) {
    this.inner = inner;
  }

  async read(path: string): Promise<PlanText | undefined> {
    this.reads += 1;
    this.fault("read");
    return this.inner.read(path);
  }

  async replace(path: string, hash: string, text: string): Promise<boolean> {
    this.fault("replace");
    return this.inner.replace(path, hash, text);
  }
}

/** Options of a test's engine. */
export interface PlannedOptions {
  readonly plan?: string;
  readonly config?: Record<string, unknown>;
  readonly phases?: readonly number[];
  readonly engine?: Partial<EngineOptions>;
  /** Files of the workflow's folder that differ; undefined removes one. */
  readonly files?: Readonly<Record<string, string | undefined>>;
}

/** Creates an engine with a plan, and helpers for tests. */
export function makePlanned({ plan = PLAN, config, phases, engine: options, files = {} }: PlannedOptions = {}) {
  const memory = new MemoryPlans({ [PLAN_PATH]: plan });
  const plans = new FaultyPlans(memory);
  const all: Record<string, string | undefined> = { ...planFolder(config, phases), ...files };
  const spec = Object.fromEntries(
    Object.entries(all).flatMap(([path, text]) => (text === undefined ? [] : [[path, text]])),
  );
  const content = new MemoryContent({ sources: { spec } });
  const storage = options?.storage ?? new MemoryStorage();
  const made = makeEngine({ content, plans, storage, ...options });
  const { engine } = made;
  const edit = (change: (text: string) => string) => memory.set(PLAN_PATH, change(memory.get(PLAN_PATH) ?? ""));
  const text = () => memory.get(PLAN_PATH) ?? "";
  /** Starts a session, and advances it to a phase. */
  const start = async (upTo = 0) => {
    const { sessionId } = await engine.start({ workflowType: "spec", target: "specs/one" });
    for (let phase = 0; phase < upTo; phase += 1) await pass(sessionId, phase);
    return sessionId;
  };
  const pass = (sessionId: string, phase: number, evidence: object = claims[phase] ?? {}) =>
    engine.session(sessionId).completePhase(phase, evidence);
  const tool = createWorkflowTool(engine);
  return {
    ...made,
    plans,
    memory,
    edit,
    text,
    start,
    pass,
    tool,
    again: () => makeEngine({ ...options, content, plans, storage }),
  };
}

/** Evidence that passes each phase. */
export const claims: readonly object[] = [
  { looked: true },
  { tasks_completed: ["1.1", "1.2", "1.3"], validation_gate: { 1: true, 2: true } },
  { tasks_completed: ["2.1", "2.2"], validation_gate: { "Round trips": true } },
];

/** Returns the ticked lines of a text, without the prefix of their names. */
export function tickedIn(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => /\[x\]/i.test(line))
    .map((line) => line.replace(/.*\[x\]\s*/i, "").replace(/\*/g, ""));
}

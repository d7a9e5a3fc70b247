import { describe, expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { makePlanned } from "../support/planned.js";

type Answer = Record<string, unknown>;

const RULES = "Query the standards, then write the code and its tests. ".repeat(6).trim();
const files = {
  "phases/dynamic/phase-template.md": `# Phase [PHASE_NUMBER]: [PHASE_NAME]\n\n[PHASE_DESCRIPTION]\n\n## Approach\n\nONE BY ONE. ${RULES}\n`,
  "phases/dynamic/task-template.md": `# Task [TASK_ID]: [TASK_NAME]\n\n[ACCEPTANCE_CRITERIA]\n\n## Rules\n\nIN ALL. ${RULES}\n`,
};

function makeTool(actions?: readonly "get_task"[], more: Partial<typeof files> = {}) {
  const made = makePlanned({ files: { ...files, ...more } });
  const tool = workflowTool(made.engine, actions === undefined ? {} : { actions });
  const ask = async (input: Answer): Promise<Answer> => await tool.dispatch(input);
  return { ...made, ask };
}

const contentOf = ({ phase_content, task_content }: Answer) =>
  String((Object(phase_content ?? task_content) as { content?: unknown }).content);

describe("answers give shared text once", () => {
  it("a phase from a plan has the text of all its tasks, and a task its own", async () => {
    const { ask, start, pass, engine } = makeTool();
    const session_id = await start(1);
    const phase = await ask({ action: "get_phase", session_id });
    expect(contentOf(phase)).toMatch(/ONE BY ONE.*For each task of this phase.*IN ALL/s);
    const task = await ask({ action: "get_task", session_id, phase: 1, task_number: 1 });
    expect(contentOf(task)).toBe("# Task 1.1: Write the lexer\n\n- [ ] Knows all tokens\n- [ ] Says where they stand");
    expect(task).toMatchObject({ task_content: { shared: "in get_phase 1" } });
    expect((await engine.session(session_id).task(1, 1)).content.text).toContain("IN ALL");
    await pass(session_id, 1);
    const second = await ask({ action: "get_phase", session_id });
    expect(contentOf(second)).not.toContain("ONE BY ONE");
    expect(contentOf(second)).toMatch(/^# Phase 2: Print\n\nWrite the output$/);
    expect(contentOf(second)).not.toContain("IN ALL");
    expect(second).toMatchObject({ phase_content: { shared: "in get_phase 1" } });
    expect(await ask({ action: "get_task", session_id, phase: 2, task_number: 1 })).toMatchObject({
      task_content: { shared: "in get_phase 1" },
    });
  });

  it("each phase has what its tasks share about the phase, and what is too short to be left out", async () => {
    const text = async (template: string) => {
      const files = { "phases/dynamic/task-template.md": `# Task [TASK_ID]\n\n[ACCEPTANCE_CRITERIA]\n\n${template}` };
      const { ask, start, pass } = makeTool(undefined, files);
      const session_id = await start(1);
      await pass(session_id, 1);
      const { task_content } = await ask({ action: "get_task", session_id, phase: 2, task_number: 1 });
      return [contentOf(await ask({ action: "get_phase", session_id })), Object(task_content).shared];
    };
    const [split, from] = await text(`IN ALL\n\n${RULES}\n\n## In phase [PHASE_NUMBER]\n\n[PHASE_NAME] alone.\n`);
    expect(split).toMatch(/^# Phase 2: Print.*## In phase 2\n\nPrint alone\.$/s);
    expect(split).not.toContain("IN ALL");
    expect(from).toBe("in get_phase 1");
    const [whole, here] = await text(`IN ALL\n\n[PHASE_NAME]: ${RULES}\n`);
    expect(whole).toMatch(/IN ALL\n\nPrint: /);
    expect(here).toBe("in get_phase 2");
  });

  it("what is left out of the shared text is noted once, and options are filled in each part", async () => {
    const shared = "## Rules\n\nIN ALL {options.mood}. [TASK_STEPS or guidance]\n";
    const { ask, engine, pass } = makeTool(undefined, {
      "phases/dynamic/phase-template.md": files["phases/dynamic/phase-template.md"].replace(
        "# Phase",
        "# {options.mood} Phase",
      ),
      "phases/dynamic/task-template.md": `# Task [TASK_ID]: {options.mood}\n\n[ACCEPTANCE_CRITERIA]\n\n${shared}\n${RULES}\n`,
    });
    const options = { mood: "calm" };
    const { sessionId: session_id } = await engine.start({ workflowType: "spec", target: "specs/one", options });
    await pass(session_id, 0);
    const first = await ask({ action: "get_phase", session_id });
    expect(contentOf(first)).toMatch(/^# calm Phase 1: .*IN ALL calm\./s);
    expect(first).toMatchObject({ phase_content: { note: expect.stringContaining("[TASK_STEPS or guidance]") } });
    await pass(session_id, 1);
    const phase = await ask({ action: "get_phase", session_id });
    expect(contentOf(phase)).toMatch(/^# calm Phase 2: Print\n/);
    expect(Object(phase.phase_content).note).toBeUndefined();
    const task = await ask({ action: "get_task", session_id, phase: 2, task_number: 1 });
    expect(contentOf(task)).toMatch(/^# Task 2\.1: calm\n/);
    expect(Object(task.task_content).note).toBeUndefined();
    const whole = makeTool(["get_task"], {
      "phases/dynamic/task-template.md": `# Task [TASK_ID]\n\n${shared}\n${RULES}\n`,
    });
    const other = await whole.start(1);
    expect(await whole.ask({ action: "get_task", session_id: other, phase: 1, task_number: 1 })).toMatchObject({
      task_content: { note: expect.stringContaining("[TASK_STEPS or guidance]") },
    });
  });

  it("a task has its whole text if agents have no get_phase", async () => {
    const { ask, start } = makeTool(["get_task"]);
    const session_id = await start(1);
    expect(contentOf(await ask({ action: "get_task", session_id, phase: 1, task_number: 1 }))).toContain("IN ALL");
  });

  it("a phase is shown even if the template of its tasks can't be read", async () => {
    const { engine, content, start } = makeTool();
    const session_id = await start(1);
    const text = content.text.bind(content);
    content.text = async (type, part) => {
      if ("template" in part && part.template === "task") throw new Error("gone");
      return text(type, part);
    };
    expect((await engine.session(session_id).phase()).shared).toBeUndefined();
  });

  it("get_phase alone has the whole checkpoint and the artifacts, of the newest phase by name", async () => {
    const { ask, start } = makeTool();
    const session_id = await start(2);
    const phase = await ask({ action: "get_phase", session_id });
    expect(phase).toMatchObject({
      phase_content: {
        checkpoint: { evidence_schema: expect.any(Object) },
        artifacts_from_previous_phases: {
          phase_1: ["tasks_completed", "validation_gate"],
          earlier: "1 more: get_state with a phase",
        },
      },
    });
    const back = await ask({ action: "rollback", session_id, to_phase: 1 });
    const { phase_content } = back;
    expect(phase_content).toMatchObject({
      checkpoint: { required_evidence: ["tasks_completed", "validation_gate"], details: "see get_phase" },
    });
    expect(Object(phase_content).artifacts_from_previous_phases).toBeUndefined();
  });
});

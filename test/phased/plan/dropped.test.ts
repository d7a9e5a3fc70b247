import { describe, expect, it } from "vitest";
import { makePlanned } from "../../support/planned.js";

/** A task that waits for a dropped one, and one that comes after both. */
const PLAN = `### Phase 1: Parse

- [ ] **Task 1.1**: Write the lexer
- [ ] ~~**Task 1.2**: Write the grammar~~
- [ ] **Task 1.3**: Write the parser
  - **Dependencies**: Task 1.2
- [ ] **Task 1.4**: Write the docs
  - **Dependencies**: Task 1.3

### Phase 2: Print

- [ ] **Task 2.1**: Write the printer
  - **Dependencies**: Task 1.2
`;
const struck = (text: string, task: string) => text.replace(new RegExp(`(\\*\\*Task ${task}.*)`), "~~$1~~");

/** Returns what a session shows of the tasks of its current phase. */
async function progress({ engine }: ReturnType<typeof makePlanned>, sessionId: string) {
  const { plan } = await engine.session(sessionId).phase();
  return plan?.tasks.map(({ id, state, open, ready, closed }) => ({ id, state, open, ready, closed }));
}

describe("a task that the plan has dropped", () => {
  it("is neither done nor open, and blocks no other task", async () => {
    const made = makePlanned({ plan: PLAN, config: { enforce_dependencies: true } });
    const sessionId = await made.start(1);
    expect(await progress(made, sessionId)).toEqual([
      { id: "1.1", state: "pending", open: [], ready: true, closed: undefined },
      { id: "1.2", state: "dropped", open: [], ready: false, closed: "dropped" },
      { id: "1.3", state: "pending", open: [], ready: true, closed: undefined },
      { id: "1.4", state: "pending", open: ["1.3"], ready: false, closed: undefined },
    ]);
    expect((await made.engine.session(sessionId).phase()).tasks[1]).toMatchObject({ done: false, closed: "dropped" });
    await made.engine.session(sessionId).task(1, 3);
  });

  it("is not required by the gate, and stays as it is in the plan, claimed or not", async () => {
    const made = makePlanned({ plan: PLAN });
    const sessionId = await made.start(1);
    expect((await made.engine.session(sessionId).phase()).phase.gate).toMatchObject({
      tasks: ["1.1", "1.3", "1.4"].map((id) => ({ id, optional: false })),
    });
    expect(await made.pass(sessionId, 1, { tasks_completed: ["1.1", "1.3"] })).toMatchObject({
      passed: false,
      dropped: ["1.2"],
      problems: [{ example: "1.4" }],
    });
    expect(await made.pass(sessionId, 1, { tasks_completed: ["1.1", "1.2", "1.3", "1.4"] })).toMatchObject({
      passed: true,
      dropped: ["1.2"],
      ticks: { ticked: ["1.1", "1.3", "1.4"], unwritable: [] },
    });
    expect(made.text()).toBe(PLAN.replaceAll(/\[ \] (?=\*\*Task 1)/g, "[x] "));
    expect(await progress(made, sessionId)).toMatchObject([{ id: "2.1", open: [], ready: true }]);
    expect(await made.pass(sessionId, 2, { tasks_completed: ["2.1"] })).toMatchObject({ dropped: undefined });
  });

  it("is done if it is noted as done all the same", async () => {
    const made = makePlanned({ plan: PLAN });
    const sessionId = await made.start(1);
    await made.engine.session(sessionId).completeTask(1, 2);
    expect((await progress(made, sessionId))?.[1]).toMatchObject({ state: "done", closed: undefined });
  });

  it("counts from a sync on, which is left to the host", async () => {
    const made = makePlanned({ plan: PLAN });
    const sessionId = await made.start(1);
    made.edit((text) => struck(text, "1.4"));
    expect((await progress(made, sessionId))?.[3]).toMatchObject({ state: "pending", closed: undefined });
    expect((await made.engine.session(sessionId).phase()).plan?.changed).toBe("1 changed otherwise");
    await expect(made.engine.session(sessionId).syncPlan({ as: "agent" })).rejects.toMatchObject({
      code: "NOT_ALLOWED",
      message: expect.stringContaining("1.4 Write the docs"),
    });
    const { changes } = await made.engine.session(sessionId).syncPlan();
    expect(changes.other).toEqual([{ phase: 1, id: "1.4", name: "Write the docs", to: "dropped" }]);
    expect((await progress(made, sessionId))?.[3]).toMatchObject({ state: "dropped", closed: "dropped" });
    expect(await made.pass(sessionId, 1, { tasks_completed: ["1.1", "1.3"] })).toMatchObject({ passed: true });
  });

  it("is required again once the plan has taken it up and a sync has adopted that", async () => {
    const made = makePlanned({ plan: struck(PLAN, "1.4") });
    const sessionId = await made.start(1);
    made.edit(() => PLAN);
    expect((await progress(made, sessionId))?.[3]).toMatchObject({ state: "dropped" });
    await made.engine.session(sessionId).syncPlan({ as: "agent" });
    expect(await made.pass(sessionId, 1, { tasks_completed: ["1.1", "1.3"] })).toMatchObject({ passed: false });
  });
});

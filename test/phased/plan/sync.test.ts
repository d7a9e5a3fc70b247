import { defineWorkflow, type Engine, type EngineNotifications } from "phasegate";
import { type PlanChange, type PlanSource, parsePlan, type SourceParser } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { claims, makePlanned, PLAN, PLAN_PATH, tickedIn } from "../../support/planned.js";

/** Edits of a plan, with the expected summary and changes. */
const EDITS: readonly (readonly [string, (text: string) => string, string, object])[] = [
  [
    "another task",
    (text) => text.replace("- [ ] **Task 2.2**", "- [ ] **Task 2.3**: More\n- [ ] **Task 2.2**"),
    "1 added",
    { added: [{ phase: 2, id: "2.3", name: "More" }] },
  ],
  [
    "a removed task",
    (text) => text.replace("- [ ] **Task 2.2**: Write the colours\n  - **Dependencies**: Task 2.1\n", ""),
    "1 removed",
    { removed: [{ phase: 2, id: "2.2", name: "Write the colours" }] },
  ],
  [
    "a renamed task",
    (text) => text.replace("Write the printer", "Write a printer"),
    "1 renamed",
    { renamed: [{ phase: 2, id: "2.1", name: "Write a printer", from: "Write the printer", to: "Write a printer" }] },
  ],
  [
    "a task in another phase",
    (text) => {
      const task = "- [ ] **Task 1.3**: Write the docs\n  - **Dependencies**: None\n";
      return text.replace(task, "").replace("- [ ] **Task 2.1**", `${task}- [ ] **Task 2.1**`);
    },
    "1 moved",
    { moved: [{ phase: 2, id: "1.3", name: "Write the docs", from: "phase 1", to: "here" }] },
  ],
  [
    "a new order",
    (text) => {
      const task = "- [ ] **Task 1.3**: Write the docs\n  - **Dependencies**: None\n";
      return text.replace(task, "").replace("- [ ] **Task 1.1**", `${task}- [ ] **Task 1.1**`);
    },
    "3 moved",
    {
      moved: [
        { phase: 1, id: "1.3", name: "Write the docs", from: "place 3", to: "place 1" },
        { phase: 1, id: "1.1", name: "Write the lexer", from: "place 1", to: "place 2" },
        { phase: 1, id: "1.2", name: "Write the parser", from: "place 2", to: "place 3" },
      ],
    },
  ],
  [
    "other dependencies",
    (text) => text.replace("**Dependencies**: Task 2.1", "**Dependencies**: Task 1.3, Task 2.1"),
    "1 with other dependencies",
    { dependencies: [{ phase: 2, id: "2.2", name: "Write the colours", from: "2.1", to: "1.3, 2.1" }] },
  ],
  [
    "other criteria",
    (text) => text.replace("    - [ ] Knows all tokens\n", ""),
    "1 with other criteria",
    { criteria: [{ phase: 1, id: "1.1", from: "2, 1 of them gone", to: "1, 0 of them new" }] },
  ],
  [
    "another gate",
    (text) => text.replace("- [ ] Round trips\n", "- [ ] Round trips\n- [ ] Is fast\n"),
    "1 with another validation gate",
    { gate: [{ phase: 2, name: "Print", from: "1, 0 of them gone", to: "2, 1 of them new" }] },
  ],
  [
    "another goal and another estimate",
    (text) => text.replace("Write the output", "Show it").replace("2 hours", "3 hours"),
    "2 changed otherwise",
    {
      other: [
        { phase: 2, name: "Print" },
        { phase: 1, id: "1.1" },
      ],
    },
  ],
  [
    "new requirements",
    (text) => text.replace("Write the docs\n", "Write the docs\n  - Requirements: 1.2\n"),
    "1 changed otherwise",
    { other: [{ phase: 1, id: "1.3", name: "Write the docs" }] },
  ],
  [
    "another phase, and a renamed one",
    (text) => `${text.replace("Phase 1: Parse", "Phase 1: Read")}\n### Phase 3: Ship\n\n- [ ] **Task 3.1**: Ship it\n`,
    "2 added, 1 renamed",
    {
      renamed: [{ phase: 1, name: "Read", from: "Parse", to: "Read" }],
      added: [{ phase: 3, name: "Ship" }, { id: "3.1" }],
    },
  ],
  [
    "a removed phase",
    (text) => text.replace(/### Phase 2.*/s, ""),
    "3 removed",
    { removed: [{ phase: 2, name: "Print" }, {}, {}] },
  ],
];

describe("an edited plan", () => {
  it.each(EDITS)("is reported, and nothing changes until it is synced: %s", async (_, change, summary, changes) => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(0);
    edit(change);
    expect((await engine.session(sessionId).phase()).plan?.changed).toBe(summary);
    expect((await engine.session(sessionId).state()).plan?.changed).toBe(summary);
    const { version, structure } = await engine.session(sessionId).state();
    const preview = await engine.session(sessionId).syncPlan({ preview: true });
    expect(preview).toMatchObject({ preview: true, changed: true, path: PLAN_PATH, changes });
    expect(await engine.session(sessionId).state()).toMatchObject({ version, structure });
    const synced = await engine.session(sessionId).syncPlan();
    expect(synced).toEqual({ ...preview, preview: false, totalPhases: synced.totalPhases });
    const after = await engine.session(sessionId).state();
    expect(after.version).toBe(version + 1);
    expect(after.plan).toEqual({ path: PLAN_PATH });
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({ changed: false, changes: { count: 0 } });
    expect((await engine.session(sessionId).state()).version).toBe(version + 1);
  });

  it("does not count as changed where the workflow gives each gate a check", async () => {
    const verifiers = { looks: { verify: async () => ({ ok: true, message: "fine" }) } };
    const { engine, start } = makePlanned({ config: { verify: "looks" }, engine: { verifiers } });
    const sessionId = await start(1);
    expect(await engine.session(sessionId).syncPlan({ preview: true })).toMatchObject({ changed: false });
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({ changed: false, changes: { count: 0 } });
  });

  it("does not count as changed by ticks and blank lines", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(2);
    edit((text) => text.replaceAll("[ ]", "[x]").replace("### Phase 2", "\n\n### Phase 2"));
    expect((await engine.session(sessionId).phase()).plan?.changed).toBeUndefined();
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({ changed: false });
  });

  it("changes the gate of the current phase after the sync, which keeps its attempts", async () => {
    const { engine, start, edit, pass } = makePlanned();
    const sessionId = await start(1);
    await pass(sessionId, 1, {});
    edit((text) => text.replace("- [ ] **Task 1.3**", "- [ ] **Task 1.4**: Write more\n- [ ] **Task 1.3**"));
    expect(await pass(sessionId, 1, {})).toMatchObject({ attempt: 2, problems: { length: 5 } });
    await engine.session(sessionId).syncPlan({ as: "agent" });
    expect((await engine.session(sessionId).state()).head).toMatchObject({ attempts: 2, phase: 1, total: 3 });
    expect((await engine.session(sessionId).phase()).plan?.tasks.map(({ number, id }) => `${number}: ${id}`)).toEqual([
      "1: 1.1",
      "2: 1.2",
      "3: 1.4",
      "4: 1.3",
    ]);
    const tasks = ["1.1", "1.2", "1.3", "1.4"];
    expect(await pass(sessionId, 1, { ...claims[1], tasks_completed: tasks })).toMatchObject({
      passed: true,
      attempt: 3,
    });
  });

  it("does not change completed phases, and reports the tasks that are no longer required", async () => {
    const { engine, start, edit, pass, text, again } = makePlanned();
    const told: EngineNotifications["planSynced"][] = [];
    engine.on("planSynced", (payload) => told.push(payload));
    const sessionId = await start(2);
    edit((now) => now.replace("- [x] **Task 1.3**", "- [ ] **Task 1.4**: Late\n- [x] **Task 1.3**"));
    expect((await engine.session(sessionId).phase()).plan?.changed).toBeUndefined();
    const late = { phase: 1, id: "1.4", name: "Late", behind: true };
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({
      changed: false,
      changes: { added: [late], count: 1 },
    });
    edit((now) => now.replace("Write the printer", "Write a printer"));
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({
      changed: true,
      changes: { added: [late], count: 2 },
    });
    expect(told).toMatchObject([{ sessionId, changes: 2, by: "host" }]);
    const { structure, completedPhases } = await again().engine.session(sessionId).state();
    expect(completedPhases).toEqual([0, 1]);
    expect(structure.phases[1]?.tasks.map(({ plan }) => plan?.id)).toEqual(["1.1", "1.2", "1.3"]);
    expect(structure.phases[2]?.tasks[0]?.name).toBe("Write a printer");
    await pass(sessionId, 2);
    expect(tickedIn(text())).not.toContain("Task 1.4: Late");
    expect((await failure(engine.session(sessionId).syncPlan())).code).toBe("INVALID_TRANSITION");
    expect((await failure(engine.session(sessionId).syncPlan({ preview: true }))).code).toBe("INVALID_TRANSITION");
    expect((await engine.session(sessionId).state()).plan).toEqual({ path: PLAN_PATH });
  });

  it("with a new phase before the current one continues in the new phase", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(2);
    edit((text) =>
      text.replace("### Phase 2: Print", "### Phase 2: Check\n\n- [ ] **Task 2.0**: Check it\n\n### Phase 3: Print"),
    );
    const synced = await engine.session(sessionId).syncPlan();
    expect(synced).toMatchObject({ currentPhase: 2, totalPhases: 4, shift: 0 });
    const { structure } = await engine.session(sessionId).state();
    expect(structure.phases.map(({ number, name }) => `${number} ${name}`)).toEqual([
      "0 Static 0",
      "1 Parse",
      "2 Check",
      "3 Print",
    ]);
  });

  it("keeps the session's numbers if a phase was added before a completed one", async () => {
    const { engine, start, edit, pass, text } = makePlanned();
    const sessionId = await start(2);
    edit((now) =>
      now
        .replace("Phase 2: Print", "Phase 3: Print")
        .replace("### Phase 1: Parse", "### Phase 1: Plan\n\n- [ ] **Task 9.1**: Plan it\n\n### Phase 2: Parse")
        .replace("Write the printer", "Write a printer"),
    );
    const synced = await engine.session(sessionId).syncPlan();
    expect(synced).toMatchObject({ currentPhase: 2, totalPhases: 3, shift: -1 });
    expect(synced.changes.added).toEqual([
      { phase: 1, name: "Plan", behind: true },
      { phase: 1, id: "9.1", name: "Plan it", behind: true },
    ]);
    await pass(sessionId, 2);
    expect(tickedIn(text())).toContain("Task 2.1: Write a printer");
  });

  it("is refused if the current phase is missing or it has errors; the session continues unchanged", async () => {
    const { engine, start, edit, pass, memory } = makePlanned();
    const sessionId = await start(2);
    edit((text) => text.replace(/### Phase 2.*/s, ""));
    expect((await engine.session(sessionId).phase()).plan?.changed).toMatch(/current phase is not in it/);
    expect(await failure(engine.session(sessionId).syncPlan({ preview: true }))).toMatchObject({
      code: "NOT_ALLOWED",
      message: expect.stringContaining("'Print'"),
    });
    memory.set(PLAN_PATH, "Nothing.\n");
    expect((await failure(engine.session(sessionId).syncPlan())).code).toBe("PLAN_PARSE");
    expect(await pass(sessionId, 2)).toMatchObject({ passed: true, ticks: { pending: expect.any(String) } });
  });

  it("returns the same answer for the same key, and fails without a plan", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(0);
    edit((text) => text.replace("Write the printer", "Write a printer"));
    const first = await engine.session(sessionId).syncPlan({ idempotencyKey: "k" });
    edit((text) => text.replace("Write a printer", "Write two printers"));
    expect(await engine.session(sessionId).syncPlan({ idempotencyKey: "k" })).toEqual({ ...first, replayed: true });
    expect((await engine.session(sessionId).state()).structure.phases[2]?.tasks[0]?.name).toBe("Write a printer");
    const plain = makeEngine();
    const { sessionId: other } = await plain.engine.start({ workflowType: "two_phases", target: "a" });
    expect(await failure(plain.engine.session(other).syncPlan())).toMatchObject({
      code: "NOT_ALLOWED",
      details: { operation: "syncPlan" },
    });
    expect((await failure(engine.session("no_such_session").syncPlan())).code).toBe("SESSION_NOT_FOUND");
    expect((await failure(engine.session("no_such_session").syncPlan({ preview: true }))).code).toBe(
      "SESSION_NOT_FOUND",
    );
  });

  it("writes due ticks first", async () => {
    const { engine, start, edit, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = () => {
      throw new Error("offline");
    };
    await pass(sessionId, 1);
    plans.fault = () => {};
    edit((now) => now.replace("Write the printer", "Write a printer"));
    const preview = await engine.session(sessionId).syncPlan({ preview: true });
    expect(preview.ticks).toMatchObject({ ticked: ["1.1", "1.2", "1.3"] });
    expect(tickedIn(text())).toHaveLength(5);
  });

  it("reports that a due tick is still pending", async () => {
    const { engine, start, edit, pass, plans } = makePlanned();
    const sessionId = await start(1);
    plans.fault = (operation) => {
      if (operation === "replace") throw new Error("read-only");
    };
    await pass(sessionId, 1);
    edit((now) => now.replace("Write the printer", "Write a printer"));
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({
      changed: true,
      ticks: { pending: expect.any(String) },
    });
  });
});

/** A plan whose tasks have more details. */
const MORE = "  - with an example of each call\n  - _Requirements: 1.1, 1.2_\n";
const TOLD = PLAN.replace("Builds a tree\n", `Builds a tree\n${MORE}`).replace(
  "\n**Validation Gate**",
  "- [ ]* **Task 1.5**: Paint it\n\n**Validation Gate**",
);

/** Edits after which later gates or tasks require less, with the removed requirements. */
const LESS: readonly (readonly [string, (text: string) => string, readonly Partial<PlanChange>[]])[] = [
  [
    "a removed task",
    (text) => text.replace("- [ ] **Task 1.3**: Write the docs\n  - **Dependencies**: None\n", ""),
    [{ phase: 1, id: "1.3", name: "Write the docs" }],
  ],
  [
    "an item that is removed, and another one",
    (text) => text.replace("- [ ] All tests pass\n", "- [ ] Some tests pass\n"),
    [{ phase: 1, name: "All tests pass" }],
  ],
  [
    "a removed gate",
    (text) => text.replace(/\*\*Validation Gate\*\*:\n- \[ \] R.*\n/, ""),
    [{ phase: 2, name: "Round trips" }],
  ],
  [
    "a task with another id and another name",
    (text) => text.replace("**Task 2.2**: Write the colours", "**Task 2.3**: Rest"),
    [{ phase: 2, id: "2.2", name: "Write the colours" }],
  ],
  [
    "a renamed task",
    (text) => text.replace("Write the docs", "Say hello"),
    [{ phase: 1, id: "1.3", name: "Write the docs", from: "Write the docs", to: "Say hello" }],
  ],
  [
    "a renamed task that is kept as an optional one",
    (text) =>
      text.replace(
        "- [ ] **Task 1.3**: Write the docs",
        "- [ ]* **Task 1.4**: Write the docs\n- [ ] **Task 1.3**: Say hello",
      ),
    [{ phase: 1, id: "1.3", name: "Write the docs", to: "may be left out" }],
  ],
  [
    "a removed criterion",
    (text) => text.replace("    - [ ] Knows all tokens\n", ""),
    [{ phase: 1, id: "1.1", name: "Write the lexer", from: "criterion 'Knows all tokens'" }],
  ],
  [
    "a weaker criterion",
    (text) => text.replace("Builds a tree", "Builds something"),
    [{ phase: 1, id: "1.2", name: "Write the parser", from: "criterion 'Builds a tree'" }],
  ],
  [
    "a removed requirement",
    (text) => text.replace("  - _Requirements: 1.1, 1.2_\n", "  - _Requirements: 1.2_\n"),
    [{ phase: 1, id: "1.2", name: "Write the parser", from: "requirement '1.1'" }],
  ],
  [
    "a removed line of a task's text",
    (text) => text.replace("with an example of each call", "in a few words"),
    [{ phase: 1, id: "1.2", name: "Write the parser", from: "line '- with an example of each call'" }],
  ],
  [
    "a task in another phase, without one criterion",
    (text) => {
      const task = /- \[ \] \*\*Task 1\.2\*\*[\s\S]*?Builds a tree\n/.exec(text)?.[0] ?? "";
      const moved = task.replace("    - [ ] Builds a tree\n", "    - [ ] Is there\n");
      return text.replace(task + MORE, "").replace("- [ ] **Task 2.1**", `${moved}${MORE}- [ ] **Task 2.1**`);
    },
    [{ phase: 1, id: "1.2", name: "Write the parser", from: "criterion 'Builds a tree'" }],
  ],
  [
    "a task that is now optional",
    (text) => text.replace("- [ ] **Task 1.3**", "- [ ]* **Task 1.3**"),
    [{ phase: 1, id: "1.3", name: "Write the docs" }],
  ],
  [
    "a removed phase",
    (text) => text.replace(/### Phase 2.*/s, ""),
    [
      { phase: 2, id: "2.1" },
      { phase: 2, id: "2.2" },
      { phase: 2, name: "Round trips" },
    ],
  ],
];

/** Edits after which they require as much, or more. */
const AS_MUCH: readonly (readonly [string, (text: string) => string])[] = [
  ["a task more", (text) => text.replace("- [ ] **Task 1.3**", "- [ ] **Task 1.4**: More\n- [ ] **Task 1.3**")],
  [
    "more criteria, requirements and lines",
    (text) =>
      text
        .replace("    - [ ] Builds a tree\n", "    - [ ] Is fast\n    - [ ] Builds a tree\n")
        .replace("1.1, 1.2_\n", "1.1, 1.2, 1.3_\n  - and a picture\n"),
  ],
  ["a renamed optional task", (text) => text.replace("Paint it", "Sing it")],
  ["a task that is no longer optional", (text) => text.replace("- [ ]* **Task 1.5**", "- [ ] **Task 1.5**")],
  ["another id", (text) => text.replace("**Task 1.3**", "**Task 1.7**")],
  ["an item in a later phase", (text) => text.replace("- [ ] All tests pass\n", "").concat("- [ ] All tests pass\n")],
  [
    "a task in a later phase",
    (text) => {
      const task = "- [ ] **Task 1.3**: Write the docs\n  - **Dependencies**: None\n";
      return text.replace(task, "").replace("- [ ] **Task 2.1**", `${task}- [ ] **Task 2.1**`);
    },
  ],
];

describe("a sync by an agent", () => {
  it.each(LESS)("requires the host if gates would require less: %s", async (_, change, takenAway) => {
    const { engine, start, edit } = makePlanned({ plan: TOLD });
    const told: EngineNotifications["planSynced"][] = [];
    engine.on("planSynced", (payload) => told.push(payload));
    const sessionId = await start(1);
    edit(change);
    const preview = await engine.session(sessionId).syncPlan({ preview: true, as: "agent" });
    expect(preview).toMatchObject({ needsHost: true, changes: { takenAway } });
    const { version } = await engine.session(sessionId).state();
    const refused = await failure(engine.session(sessionId).syncPlan({ as: "agent" }));
    expect(refused).toMatchObject({ code: "NOT_ALLOWED", remedy: expect.stringContaining(".syncPlan()") });
    // Changes of later phases are counted, not named.
    for (const { phase, name } of takenAway) {
      if (phase === 1) expect(refused.message).toContain(name);
      else expect(refused.message).toMatch(/\d changes? of that kind in phases ahead/);
    }
    expect(refused.message).not.toMatch(/printer|colours|Round trips/);
    expect((await engine.session(sessionId).state()).version).toBe(version);
    expect(told).toEqual([]);
    expect(await engine.session(sessionId).syncPlan({ preview: true })).toMatchObject({ needsHost: false });
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({ changed: true, needsHost: false });
    expect(told).toMatchObject([{ by: "host", differences: { takenAway } }]);
  });

  it.each(AS_MUCH)("is allowed if gates require as much: %s", async (_, change) => {
    const { engine, start, edit } = makePlanned({ plan: TOLD });
    const sessionId = await start(1);
    edit(change);
    expect(await engine.session(sessionId).syncPlan({ preview: true, as: "agent" })).toMatchObject({
      needsHost: false,
    });
    expect(await engine.session(sessionId).syncPlan({ as: "agent" })).toMatchObject({
      changed: true,
      changes: { takenAway: [] },
    });
  });

  it("is allowed if only completed phases lose something, and if the host permits it", async () => {
    const behind = makePlanned();
    const late = await behind.start(2);
    behind.edit((text) => text.replace(/- \[x\] \*\*Task 1\.3.*\n.*\n/, "").concat("- [ ] Is fast\n"));
    expect(await behind.engine.session(late).syncPlan({ as: "agent" })).toMatchObject({
      changes: { removed: [{ id: "1.3" }], takenAway: [] },
    });
    const free = makePlanned({ engine: { agentSync: "any" } });
    const sessionId = await free.start(1);
    free.edit((text) => text.replace("- [ ] All tests pass\n", ""));
    expect(await free.engine.session(sessionId).syncPlan({ as: "agent" })).toMatchObject({
      changes: { takenAway: [{ phase: 1, name: "All tests pass" }] },
    });
  });

  it("matches several tasks with the same name, even with other ids and in another order", async () => {
    const check = (id: string, criterion: string) =>
      `- [ ] **Task ${id}**: Check\n  - **Acceptance Criteria**:\n    - [ ] ${criterion}\n`;
    const twice = `### Phase 1: Only\n\n${check("1.1", "by hand")}${check("1.2", "by a script")}`;
    const { engine, start, edit } = makePlanned({ plan: twice });
    const sessionId = await start(1);
    edit(() => `### Phase 1: Only\n\n${check("1.1", "by a script")}${check("1.2", "by hand")}`);
    expect(await engine.session(sessionId).syncPlan({ as: "agent" })).toMatchObject({ changes: { takenAway: [] } });
    edit(() => `### Phase 1: Only\n\n${check("1.1", "by a script")}${check("1.2", "by a script")}`);
    expect((await failure(engine.session(sessionId).syncPlan({ as: "agent" }))).message).toContain(
      "lacks the criterion 'by hand'",
    );
    edit(() => `### Phase 1: Only\n\n${check("1.1", "by a script")}`);
    expect((await failure(engine.session(sessionId).syncPlan({ as: "agent" }))).message).toContain(
      "'1.2 Check' is gone",
    );
  });

  it("names ten of many removed things, and counts the others", async () => {
    const items = Array.from({ length: 14 }, (_, index) => `- [ ] Thing ${index + 1}\n`).join("");
    const { engine, start, edit } = makePlanned({ plan: PLAN.replace("- [ ] All tests pass\n", items) });
    const sessionId = await start(1);
    edit((text) => text.replace(items, "").replace("- [ ] Round trips\n", ""));
    const { message } = await failure(engine.session(sessionId).syncPlan({ as: "agent" }));
    expect(message).toMatch(/'Thing 10' is gone; 4 more in this phase; 1 change of that kind in phases ahead$/);
  });
});

describe("changes of a plan", () => {
  /** Inserts a new first phase; the numbers of all others move by one. */
  const inFront = (text: string) =>
    text
      .replace("### Phase 2: Print", "### Phase 3: Print")
      .replaceAll("Task 2.", "Task 3.")
      .replaceAll("Task 1.", "Task 2.")
      .replace("### Phase 1: Parse", "### Phase 1: Setup\n\n- [ ] **Task 1.1**: Install\n\n### Phase 2: Parse");

  it("are determined by the tasks' content, not by their numbers", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(0);
    edit(inFront);
    const { changes } = await engine.session(sessionId).syncPlan({ preview: true });
    expect(changes).toMatchObject({
      added: [{ name: "Setup" }, { id: "1.1", name: "Install" }],
      moved: [
        { name: "Parse", from: "phase 1", to: "phase 2" },
        { name: "Print", from: "phase 2", to: "phase 3" },
      ],
      count: 4,
    });
  });

  it("include a task with only another id, which the gate then requires", async () => {
    const { engine, start, edit, pass } = makePlanned();
    const sessionId = await start(1);
    edit((text) => text.replace("**Task 1.3**", "**Task 1.9**"));
    const { changes, changed } = await engine.session(sessionId).syncPlan();
    expect(changed).toBe(true);
    expect(changes.other).toEqual([{ phase: 1, id: "1.9", name: "Write the docs", from: "task 1.3", to: "task 1.9" }]);
    expect(await pass(sessionId, 1)).toMatchObject({ passed: false, problems: [{ example: "1.9" }] });
  });

  it("include a task that moved from the current phase into a completed one", async () => {
    const { engine, start, edit, pass } = makePlanned();
    const sessionId = await start(2);
    const task = "- [ ] **Task 2.2**: Write the colours\n  - **Dependencies**: Task 2.1\n";
    edit((text) => text.replace(task, "").replace("- [x] **Task 1.1**", `${task}- [x] **Task 1.1**`));
    expect((await engine.session(sessionId).phase()).plan?.changed).toBe("1 moved");
    const { changed, changes } = await engine.session(sessionId).syncPlan();
    expect(changed).toBe(true);
    expect(changes.moved).toEqual([{ phase: 1, id: "2.2", name: "Write the colours", from: "phase 2", to: "here" }]);
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({
      changed: false,
      changes: { added: [{ behind: true }] },
    });
    expect(await pass(sessionId, 2, { ...claims[2], tasks_completed: ["2.1"] })).toMatchObject({ passed: true });
  });
});

describe("attempts at a gate", () => {
  /** Creates a session that has used up its attempts at phase 2, and was rolled back to phase 1. */
  async function exhausted() {
    const made = makePlanned({ engine: { limits: { maxAttempts: 2, maxAttemptsTotal: 2 } } });
    const sessionId = await made.start(2);
    await made.pass(sessionId, 2, {});
    await made.pass(sessionId, 2, {});
    await made.engine.session(sessionId).rollback(1);
    return { ...made, sessionId };
  }
  const CHECK = "### Phase 2: Check\n\n- [ ] **Task 2.0**: Check it\n\n### Phase 3: Print";

  it.each([
    ["another word in the phase", (text: string) => text.replace("Write the output", "Write all output"), 2],
    ["a phase inserted before it", (text: string) => text.replace("### Phase 2: Print", CHECK), 3],
    ["another name of the phase", (text: string) => text.replace("### Phase 2: Print", "### Phase 2: Show"), 2],
  ])("are not restored by an edit and a sync: %s", async (_, change, place) => {
    const { engine, sessionId, edit, again } = await exhausted();
    edit(change);
    expect(await engine.session(sessionId).syncPlan({ as: "agent" })).toMatchObject({ changed: true });
    expect((await engine.session(sessionId).state()).head.spent).toEqual([[place, 2]]);
    for (let phase = 1; phase < place; phase += 1) {
      const { structure } = await engine.session(sessionId).state();
      const ids = structure.phases[phase]?.tasks.map(({ plan }) => plan?.id);
      await engine.session(sessionId).completePhase(phase, { ...claims[1], tasks_completed: ids });
    }
    const refused = await failure(again().engine.session(sessionId).completePhase(place, {}));
    expect(refused.code).toBe("ATTEMPTS_EXHAUSTED");
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("are reset for a phase that is replaced by another one", async () => {
    const { engine, sessionId, edit } = await exhausted();
    edit((text) => text.replace(/### Phase 2.*/s, "### Phase 7: Other\n\n- [ ] **Task 7.1**: Something\n"));
    await engine.session(sessionId).syncPlan();
    expect((await engine.session(sessionId).state()).head.spent).toEqual([]);
  });

  it("at the current phase move with it, and count for the phase in its place, too", async () => {
    const { engine, start, pass, edit } = makePlanned();
    const sessionId = await start(2);
    await pass(sessionId, 2, {});
    edit((text) => text.replace("### Phase 2: Print", CHECK));
    await engine.session(sessionId).syncPlan({ as: "agent" });
    expect((await engine.session(sessionId).state()).head.spent).toEqual([
      [2, 1],
      [3, 1],
    ]);
  });
});

describe("phases with the same name", () => {
  it("are matched by their numbers first", async () => {
    const plan = "### Phase 1: Work\n\n- [ ] **Task 1.1**: One\n\n### Phase 2: Work\n\n- [ ] **Task 2.1**: Two\n";
    const { engine, start, edit, pass } = makePlanned({ plan });
    const sessionId = await start(1);
    await pass(sessionId, 1, { tasks_completed: ["1.1"] });
    edit((text) => text.replace("Phase 2: Work", "Phase 2: Rest").replace(": Two", ": Two and more"));
    expect((await engine.session(sessionId).syncPlan()).changes.renamed.map(({ to }) => to)).toEqual([
      "Rest",
      "Two and more",
    ]);
  });
});

describe("a migration of a session with a plan", () => {
  it("uses the newest definition and the current plan", async () => {
    const { start, edit, storage, plans } = makePlanned();
    const sessionId = await start(2);
    edit((text) => text.replace("Write the printer", "Write a printer"));
    const newer = makePlanned({ engine: { storage, plans }, config: { tick_criteria: true } });
    const state = await newer.engine.session(sessionId).migrate({ by: "ann" });
    expect(state.structure).toMatchObject({ dynamic: { tickCriteria: true }, plan: { path: PLAN_PATH } });
    expect(state.structure.phases[2]?.tasks[0]?.name).toBe("Write a printer");
    expect(state.completedPhases).toEqual([0, 1]);
  });

  it.each([1, 2])("is refused in phase %d, one of the plan, if there is another static phase", async (phase) => {
    const { start, storage, plans } = makePlanned();
    const sessionId = await start(phase);
    const other = makePlanned({ engine: { storage, plans }, phases: [0, 1] });
    expect(await failure(other.engine.session(sessionId).migrate({ by: "ann" }))).toMatchObject({
      code: "NOT_ALLOWED",
      message: expect.stringContaining(`is not the same up to phase ${phase}: Static 1 is new`),
      details: { phases: [{ is: "same" }, { name: "Static 1", is: "new" }] },
    });
  });

  describe("in which the session moves while the plan is read", () => {
    /** Plans that do something when they are read first. */
    const movingAt = (plans: PlanSource, first: () => Promise<unknown>): PlanSource => {
      let moved: Promise<unknown> | undefined;
      return {
        replace: (...given) => plans.replace(...given),
        read: async (path) => {
          const text = await plans.read(path);
          moved ??= first();
          await moved;
          return text;
        },
      };
    };
    const numbered = async (engine: Engine, sessionId: string) =>
      (await engine.session(sessionId).state()).structure.phases.map(({ number, name }) => `${number} ${name}`);

    it("fits the phases that it has completed", async () => {
      const { start, storage, plans, pass, edit } = makePlanned();
      const sessionId = await start();
      edit((text) => text.replaceAll(/(Phase|Task) 2/g, "$1 3").replaceAll(/(Phase|Task) 1/g, "$1 2"));
      edit((text) => text.replace("### Phase 2", "### Phase 1: Read\n\n- [ ] **Task 1.1**: Read it\n\n### Phase 2"));
      const slow = movingAt(plans, async () => {
        await pass(sessionId, 0);
        await pass(sessionId, 1);
      });
      const { engine } = makePlanned({ engine: { storage, plans: slow } });
      expect(await engine.session(sessionId).migrate({ by: "ann" })).toMatchObject({ currentPhase: 2 });
      expect(await numbered(engine, sessionId)).toEqual(["0 Static 0", "1 Parse", "2 Print"]);
    });

    it("takes no structure for the phase that it was in", async () => {
      const { start, storage, plans, engine } = makePlanned();
      const sessionId = await start(1);
      const slow = movingAt(plans, () => engine.session(sessionId).rollback(0));
      const newer = makePlanned({ engine: { storage, plans: slow }, phases: [0, 1] });
      expect((await failure(newer.engine.session(sessionId).migrate({ by: "ann" }))).code).toBe("NOT_ALLOWED");
      await newer.engine.session(sessionId).migrate({ by: "ann" });
      expect(await numbered(newer.engine, sessionId)).toEqual(["0 Static 0", "1 Static 1", "2 Parse", "3 Print"]);
    });
  });

  it("keeps a refused step of another phase that has the number now", async () => {
    const { start, storage, plans, engine } = makePlanned();
    const sessionId = await start();
    await failure(engine.session(sessionId).completePhase(1, {}));
    const newer = makePlanned({ engine: { storage, plans }, phases: [0, 1] });
    await newer.engine.session(sessionId).migrate({ by: "ann" });
    await failure(newer.engine.session(sessionId).completePhase(1, {}));
    expect((await newer.engine.session(sessionId).refusals()).map(({ phase }) => phase)).toEqual([0, 0]);
  });

  it.each([
    ["more static phases", [0], [0, 1], [0, 1, 2, 3]],
    ["fewer static phases", [0, 1], [0], [0, 1, 2]],
    ["static phases with a gap", [0], [0, 7], [0, 7, 8, 9]],
  ])("in a static phase puts the phases of the plan after %s", async (_, phases, now, numbers) => {
    const { start, storage, plans } = makePlanned({ phases });
    const sessionId = await start(0);
    const other = makePlanned({ engine: { storage, plans }, phases: now });
    await other.engine.session(sessionId).migrate({ by: "ann" });
    const { structure } = await other.engine.session(sessionId).state();
    expect(structure.phases.map(({ number }) => number)).toEqual(numbers);
    for (const phase of numbers.slice(0, -2)) await other.pass(sessionId, phase);
    expect((await other.engine.session(sessionId).syncPlan()).changed).toBe(false);
  });

  it("is refused if static phases differ, the workflow has no plan any more or the session is completed", async () => {
    const { engine, start, storage, plans, pass } = makePlanned();
    const sessionId = await start(2);
    const other = makePlanned({ engine: { storage, plans }, phases: [0, 5] });
    expect((await failure(other.engine.session(sessionId).migrate({ by: "ann" }))).code).toBe("NOT_ALLOWED");
    const spec = defineWorkflow({
      ...{ type: "spec", revision: "1", name: "Spec", description: "Without a plan" },
      phases: [{ number: 0, name: "Only", content: "# Only" }],
    });
    const plain = makeEngine({ storage, plans }, [spec]);
    const refused = await failure(plain.engine.session(sessionId).migrate({ by: "ann" }));
    expect(refused).toMatchObject({ code: "NOT_ALLOWED", message: expect.stringContaining("reads no plans any more") });
    await pass(sessionId, 2);
    expect((await failure(engine.session(sessionId).migrate({ by: "ann" }))).code).toBe("INVALID_TRANSITION");
  });
});

describe("a plan with many changes", () => {
  it("stores a hundred of each kind in the log, shows all of them in a preview, and counts them", async () => {
    const many: SourceParser = {
      parse: (text, file) => {
        const { plan, diagnostics } = parsePlan(text, { file });
        const [first, ...others] = plan.phases;
        const task = first?.tasks[0];
        if (first === undefined || task === undefined || !text.includes("MANY")) return { plan, diagnostics };
        const more = Array.from({ length: 150 }, (_, index) => ({ ...task, id: `x${index}`, name: `Task ${index}` }));
        return { plan: { ...plan, phases: [{ ...first, tasks: [...first.tasks, ...more] }, ...others] }, diagnostics };
      },
    };
    const { engine, start, edit } = makePlanned({ engine: { parsers: { spec_tasks_parser: many } } });
    const sessionId = await start(0);
    edit((text) => text.replace("# Tasks", "# MANY tasks"));
    const preview = await engine.session(sessionId).syncPlan({ preview: true });
    expect([preview.changes.added.length, preview.changes.count]).toEqual([150, 150]);
    const { changes } = await engine.session(sessionId).syncPlan();
    expect([changes.added.length, changes.count, changes.counts.added]).toEqual([100, 150, 150]);
  });
});

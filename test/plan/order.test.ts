import { describe, expect, it } from "vitest";
import { readDependencies as read } from "../../src/plan/dependencies.js";
import { planMermaid, planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { vocabularyOf } from "../../src/plan/words.js";
import { lines } from "./outline.js";

const readDependencies = (text: string) => read(text, vocabularyOf(), () => false);

/** Returns a plan of one phase with tasks that depend on others. */
function planOf(tasks: Readonly<Record<string, string>>) {
  const items = Object.entries(tasks).map(([id, after]) => `- [ ] **Task ${id}**: t${after && ` (after ${after})`}\n`);
  return parsePlan(`## Phase 1: A\n${items.join("")}`, { file: "tasks.md" });
}

describe("the order of tasks", () => {
  it("has waves in the order of the plan, and each task once", () => {
    const { plan } = planOf({ 1.1: "1.4", 1.2: "", 1.3: "1.2, 1.5", 1.4: "", 1.5: "1.4", 1.6: "1.2, 1.2" });
    expect(planOrder(plan)).toEqual({
      waves: [["1.2", "1.4"], ["1.1", "1.5", "1.6"], ["1.3"]],
      order: ["1.2", "1.4", "1.1", "1.5", "1.6", "1.3"],
      cycles: [],
    });
  });

  it("has a task after its parts, at any depth, unless a part waits for it", () => {
    const parts = planOf({ 2: "", 2.1: "", "2.1.1": "", 2.2: "2.1", 3: "" });
    expect(planOrder(parts.plan).order).toEqual(["3", "2.1.1", "2.1", "2.2", "2"]);
    const { plan, diagnostics } = planOf({ 2: "", 2.1: "2", 2.2: "3", 3: "2" });
    expect(planOrder(plan)).toEqual({
      waves: [["2"], ["3", "2.1"], ["2.2"]],
      order: ["2", "3", "2.1", "2.2"],
      cycles: [],
    });
    expect(diagnostics).toEqual([]);
  });

  it("leaves out tasks that wait for each other, and those that wait for them", () => {
    const { plan, diagnostics } = planOf({ 1.1: "", 1.2: "1.4", 1.3: "1.2", 1.4: "1.3", 1.5: "1.4" });
    expect(planOrder(plan)).toEqual({ waves: [["1.1"]], order: ["1.1"], cycles: ["1.2", "1.3", "1.4", "1.5"] });
    expect(diagnostics).toMatchObject([
      { code: "DEPENDENCY_CYCLE", line: 3, message: expect.stringContaining("1.2 → 1.4 → 1.3 → 1.2") },
    ]);
  });

  it("finds a cycle through a task's second dependency", () => {
    const { diagnostics } = planOf({ 1.1: "1.2, 1.3", 1.2: "", 1.3: "1.1" });
    expect(diagnostics).toMatchObject([{ message: expect.stringContaining("1.1 → 1.3 → 1.1") }]);
  });

  it("reports only the tasks of a cycle, not those that lead to it", () => {
    const { diagnostics } = planOf({ 1.1: "1.2", 1.2: "1.3", 1.3: "1.4", 1.4: "1.3", 1.5: "1.1" });
    expect(diagnostics).toMatchObject([{ line: 4, message: expect.stringContaining("1.3 → 1.4 → 1.3") }]);
  });

  it("waits for no task of a later phase, nor for one twice", () => {
    const { plan } = parsePlan(
      "## Phase 1: A\n- [ ] Task 1.1: a (after 2.1)\n## Phase 2: B\n- [ ] Task 2.1: b (after 1.1)\n",
    );
    expect(planOrder(plan)).toEqual({ waves: [["1.1"], ["2.1"]], order: ["1.1", "2.1"], cycles: [] });
    const [phase] = plan.phases;
    if (phase === undefined) throw new Error("no phase");
    const twice = { ...plan, phases: [phase, phase] };
    expect(planOrder(twice).order).toEqual(["1.1", "1.1"]);
  });

  it("names phases by their letters, too, and at most ten unknown tasks", () => {
    const unknown = Array.from({ length: 12 }, (_, at) => `7.${at + 1}`).join(", ");
    const { plan, diagnostics } = parsePlan(
      `## Phase 1A: A\n- [ ] Task 1.1: a\n## Phase 2: B\n- [ ] Task 2.1: b (after Phase 1a, Phase 2, ${unknown})\n`,
    );
    expect(plan.phases[1]?.tasks[0]?.dependencies).toEqual(["1.1"]);
    const said = diagnostics.filter(({ code }) => code === "DEPENDENCY_UNKNOWN").map(({ message }) => message);
    expect(said).toHaveLength(11);
    expect(said.at(-1)).toContain("on 2 more tasks");
    const ten = Array.from({ length: 10 }, (_, at) => `7.${at + 1}`).join(", ");
    expect(planOf({ 1.1: ten }).diagnostics).toHaveLength(10);
    const ranges = Array.from({ length: 12 }, (_, at) => `1.1-1.${at + 500}`).join(", ");
    expect(planOf({ 1.1: ranges }).diagnostics.filter(({ code }) => code === "DEPENDENCY_UNREAD")).toHaveLength(10);
  });
});

describe("a text about dependencies", () => {
  /** Returns what a text names as `1.1 1.2 | phases 1 2 | too long 1.1-1.999`, or as `unread`. */
  const named = (text: string) => {
    const { tasks, phases, unread, tooLong } = readDependencies(text);
    expect(unread).toBe(unread === undefined ? undefined : text.replace(/[*_`]/g, "").trim());
    const parts = [
      tasks.join(" "),
      phases.length > 0 && `phases ${phases.join(" ")}`,
      tooLong.length > 0 && `too long ${tooLong}`,
    ];
    return unread === undefined ? parts.filter(Boolean).join(" | ") : "unread";
  };

  it.each([
    ...[
      "",
      " ",
      "None",
      "none yet",
      "No dependencies",
      "none ",
      "N/A",
      "na",
      "Nothing",
      "nil",
      "-",
      "---",
      "—",
      "*None*",
    ],
    ...["Independent of 1.1", "Can start at once", "`none`", "_None_", "no 1.1"],
  ])("may say that there are none: %j", (text) => {
    expect(named(text)).toBe("");
  });

  it.each([
    ["1.1", "1.1"],
    ["nap 1.1", "1.1"],
    ["- 1.1", "1.1"],
    ["— 1.1", "1.1"],
    ["Not before 1.1", "1.1"],
    ["not none", "unread"],
    ["the design", "unread"],
    ["**1.1**, `1.2` and _1.3_", "1.1 1.2 1.3"],
    ["1.1 (not 1.2)", "1.1"],
    ["(1.1)", "unread"],
    ["1.1a, 1.2.3, 10.20", "1.1a 1.2.3 10.20"],
    ["T001 t002 T1.2b", "T001 t002 T1.2b"],
    ["1.1 1.1", "1.1 1.1"],
    ["v1.1", "unread"],
    [".1.1", "unread"],
    ["1.1xy", "unread"],
    ["XT001", "XT001"],
    ["1.1-1.3", "1.1 1.2 1.3"],
    ["1.9 – 1.11", "1.9 1.10 1.11"],
    ["1.1—1.2", "1.1 1.2"],
    ["1.1 to 1.3", "1.1 1.2 1.3"],
    ["1.1 through 1.3", "1.1 1.2 1.3"],
    ["1.1-1.1", "1.1"],
    ["1.3-1.1", "1.3 1.1"],
    ["1.1-2.3", "1.1 2.3"],
    ["1.1a-1.3a", "1.1a 1.3a"],
    ["T008-T011", "T008 T009 T010 T011"],
    ["t008-T010", "t008 t009 t010"],
    ["T008-010", "T008 T009 T010"],
    ["T008–010", "T008 T009 T010"],
    ["T008-3", "T008"],
    ["1.1-3", "1.1"],
    ["1.1-3.2", "1.1 3.2"],
    ["1.1-1.100", Array.from({ length: 100 }, (_, at) => `1.${at + 1}`).join(" ")],
    ["1.1-1.101", "1.1 1.101 | too long 1.1-1.101"],
    ["T001-T999, T1-T900", "T001 T999 T1 T900 | too long T001-T999,T1-T900"],
    ["Task 1", "1"],
    ["Task 1.", "1"],
    ["Tasks 1 and 2.", "1 2"],
    ["tasks 1, 2 & 3, and 4", "1 2 3 4"],
    ["subtasks 1-3", "1 2 3"],
    ["Tasks 1 to 3", "1 2 3"],
    ["Task #1, #2", "1 2"],
    ["Task 10-12", "10 11 12"],
    ["Tasks 08-10", "08 09 10"],
    ["Tasks 1-200", "1 200 | too long 1-200"],
    ["multitask 1", "unread"],
    ["Task one", "unread"],
    ["Task 1.2", "1.2"],
    ["Task 3, 1.2", "1.2 3"],
    ["1", "1"],
    ["#1, #2 and 3 & 4", "1 2 3 4"],
    ["1 or 2", "unread"],
    ["about 1", "unread"],
    ["1 more", "unread"],
    ["Phase 1", "phases 1"],
    ["phases  1-3", "phases 1 2 3"],
    ["Phases 1, 2 and 4", "phases 1 2 4"],
    ["Phases 1 & 2, and 3", "phases 1 2 3"],
    ["Phases 1 to 3", "phases 1 2 3"],
    ["Phase 1—2", "phases 1 2"],
    ["Phase 2a", "phases 2a"],
    ["Phase 1, 1.2", "1.2 | phases 1"],
    ["Phase 1 and Phase 3", "phases 1 3"],
    ["Phases 1-200", "phases 1 200 | too long 1-200"],
    ["Subphase 1", "unread"],
    ["Phase A", "phases A"],
    ["phases A-C", "phases A B C"],
    ["Phases A, B & D", "phases A B D"],
    ["Phases A and C", "phases A C"],
    ["Phases A to C", "phases A B C"],
    ["Phases B through D", "phases B C D"],
    ["Phases C-A", "phases C A"],
    ["Phase Alpha", "unread"],
    ["phase a", "unread"],
    ["Phases A, Back", "phases A"],
    ["Phase A, Task 2 and 1.1", "1.1 2 | phases A"],
    ["1.1 , 1.2", "1.1 1.2"],
    ["1.1,1.2", "1.1 1.2"],
    ["1.1 - 1.3", "1.1 1.2 1.3"],
    ["1.1  to  1.3", "1.1 1.2 1.3"],
    ["1.1 TO 1.3", "1.1 1.2 1.3"],
    ["1.1 up to 1.3", "1.1 1.3"],
    ["1.1.9-1.1.11", "1.1.9 1.1.10 1.1.11"],
    ["T1.1-T1.3", "T1.1 T1.2 T1.3"],
    ["T001-T3", "T001 T002 T003"],
    ["T001 - 003", "T001"],
    ["T001-0030", "T001"],
    ["T001x2", "unread"],
    ["T1ab", "unread"],
    ["11.22.33a", "11.22.33a"],
    ["12.1-12.3", "12.1 12.2 12.3"],
    ["1.1-1.3a", "1.1 1.3a"],
    ["1.1a-1.3", "1.1a 1.3"],
    ["T1-t3", "T1 T2 T3"],
    ["T1-2.1", "T1 2.1"],
    ["a1.1", "unread"],
    ["1.1.", "1.1"],
    ["1.1 (a) 1.2 (b)", "1.1 1.2"],
    ["Task 1-1.2", "1.2 1"],
    ["Tasks 1,2", "1 2"],
    ["Tasks 1 ,2", "1 2"],
    ["Tasks 1&2", "1 2"],
    ["Tasks 1and 2", "1 2"],
    ["Tasks 1 , and 2", "1 2"],
    ["Tasks 1,and 2", "1 2"],
    ["Task 1 - 3", "1 2 3"],
    ["Tasks 1–3", "1 2 3"],
    ["Tasks 1—3", "1 2 3"],
    ["Tasks 1 through 3", "1 2 3"],
    ["Task #10", "10"],
    ["Task  12", "12"],
    ["Task 1 and 1.2", "1.2 1"],
    ["Tasks 1, 22.5", "22.5 1"],
    ["Subtask 2", "2"],
    ["tasks1", "1"],
    ["Task 1 then Task 2", "1 2"],
    ["Phase 12", "phases 12"],
    ["Phase 1 - 3", "phases 1 2 3"],
    ["Phases 1–3", "phases 1 2 3"],
    ["Phases 1 through 3", "phases 1 2 3"],
    ["phases 1to3", "phases 1 2 3"],
    ["Phases 1,2", "phases 1 2"],
    ["Phases 1 ,2", "phases 1 2"],
    ["Phases 1&2", "phases 1 2"],
    ["Phases 1 , and 2", "phases 1 2"],
    ["Phases 1,and 2", "phases 1 2"],
    ["Phases 1and 2", "phases 1 2"],
    ["Phases 10-12", "phases 10 11 12"],
    ["Phases 2a-3b", "phases 2a 3b"],
    ["Phases 2a, 3b", "phases 2a 3b"],
    ["Phase 1, 12.1", "12.1 | phases 1"],
    ["Phase 1, 2, 1.5", "1.5 | phases 1 2"],
    ["Phase 1 and 2.1", "2.1 | phases 1"],
    ["Phase 1-2.1", "2.1 | phases 1"],
    ["Phases 3-1", "phases 3 1"],
    ["Phase  A", "phases A"],
    ["Phases A , B", "phases A B"],
    ["Phases A,B", "phases A B"],
    ["Phases A – C", "phases A B C"],
    ["Phases A&B", "phases A B"],
    ["Phases A,and B", "phases A B"],
    ["Phases A, and B", "phases A B"],
    ["Phases A to C, E", "phases A B C E"],
    ["Phase A1", "A1"],
    ["Phase AB", "unread"],
    ["PHASE A", "unread"],
    ["Phase A and B are done", "phases A B"],
    ["subphase A", "unread"],
    ["Phases A-A", "phases A"],
    ["#12", "12"],
    ["1,2", "1 2"],
    ["1 , 2", "1 2"],
    ["1&2", "1 2"],
    ["12 and 13", "12 13"],
    ["1, and 2", "1 2"],
    ["1 AND 2", "1 2"],
    ["1 2", "unread"],
    ["1 (a) ", "1"],
    ["nab", "unread"],
    ["- none", ""],
    ["— none", ""],
    ["I can start after 1.1", "1.1"],
    ["T1-T101", "T1 T101 | too long T1-T101"],
    ["T01-T9", "T01 T02 T03 T04 T05 T06 T07 T08 T09"],
    ["1.09-1.11", "1.09 1.10 1.11"],
    ["**Task** 1", "1"],
    ["1.1 and 1.3 to 1.5", "1.1 1.3 1.4 1.5"],
    ["T10-12", "T10 T11 T12"],
    ["T10-100", "T10"],
    ["T10-1", "T10"],
    ["1.1 and no other task", "1.1"],
    ["1.1（不是1.2）", "1.1"],
    ["1.1a-1.1a", "1.1a 1.1a"],
    ["1.1 | Est: 3h", "1.1"],
    ["1.1 | Owner of 1.2", "1.1"],
    ["1.1 | 1.2 · 1.3", "1.1 1.2 1.3"],
    ["1.1 · 1.5 hours", "1.1"],
    ["1.1 | 3h", "1.1"],
    ["1.1|x 1.2", "1.1 1.2"],
    ["US1-T03", "US1-T03"],
    ["US1-T03b", "US1-T03b"],
    ["AB12-CD345", "AB12-CD345"],
    ["US1-US12", "US1 US2 US3 US4 US5 US6 US7 US8 US9 US10 US11 US12"],
    ["Phase 1.5", "phases 1.5"],
    ["Phase three", "phases 3"],
    ["Phases one to three", "phases 1 2 3"],
    ["Phase eins bis fünf", "phases 1 2 3 4 5"],
    ["Fase tre-quattro", "phases 3 4"],
    ["Фаза один-три", "phases 1 2 3"],
    ["阶段二-四", "phases 2 3 4"],
  ])("is read as ids of tasks and phases: %j", (text, expected) => {
    expect(named(text)).toBe(expected);
  });
});

describe("graphs of waves", () => {
  const graph = (json: string, open = "```json", close = "```") => {
    const text = `# Plan\n\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 2.1 c\n\n${open}\n${json}\n${close}\n`;
    return lines(parsePlan(text)).filter((line) => line.includes("<"));
  };
  const WAVES = '{"waves": [{"tasks": ["1.1", 1.2]}, {"tasks": ["2.1"]}]}';

  it.each([
    ["```json", "```"],
    ["~~~ JSON waves", "~~~"],
    ["````\tjson", "````"],
    ["  ```json", "  ```"],
  ])("are read in %j", (open, close) => {
    expect(graph(WAVES, open, close)).toEqual(["[ ] 2.1 c @5 < 1.1 1.2"]);
    expect(graph(WAVES.replace(", ", ",\n"), open, close)).toHaveLength(1);
  });

  it.each([
    [WAVES, "```", "```"],
    [WAVES, "```js json", "```"],
    [WAVES, "```jsonc", "```"],
    [WAVES, "<!-- ```json", "-->"],
    ["{", "```json", "```"],
    ['"waves"', "```json", "```"],
    ['{"waves": [{"tasks": "2.1"}]}', "```json", "```"],
    [WAVES.replace("waves", "steps"), "```json", "```"],
    [WAVES.replace("2.1", "2.\n1"), "```json", "```"],
  ])("are not read from %j in %j", (json, open, close) => expect(graph(json, open, close)).toEqual([]));
});

it("a plan is drawn as a flowchart, with names that can't break it", () => {
  const text = `## Phase 1: "A" & <b>
- [x] **Task 1.1**: one \`#1\`
- [ ] **Task 1.2**: ${"long ".repeat(30)} (after 1.1)
## Phase 3: B
- [-] **Task 3.1**: \\  two (after 1.1, 1.2)
## Phase 4: C
- [ ] **Task 4.1**: ${"y".repeat(76)}
- [ ] **Task 4.2**: ${"z".repeat(77)}
`;
  expect(planMermaid(parsePlan(text).plan).split("\n")).toEqual([
    "flowchart TD",
    '  subgraph p1["Phase 1: #34;A#34; #38; #60;b#62;"]',
    '    t1(["1.1 one #96;#35;1#96;"])',
    `    t2["1.2 ${"long ".repeat(15)}…"]`,
    "  end",
    '  subgraph p3["Phase 3: B"]',
    '    t3["3.1 #92; two"]',
    "  end",
    '  subgraph p4["Phase 4: C"]',
    `    t4["4.1 ${"y".repeat(76)}"]`,
    `    t5["4.2 ${"z".repeat(75)}…"]`,
    "  end",
    "  p1 ==> p3",
    "  p3 ==> p4",
    "  t1 --> t2",
    "  t1 --> t3",
    "  t2 --> t3",
  ]);
  expect(planMermaid({ dialect: "plain", phases: [] })).toBe("flowchart TD");
});

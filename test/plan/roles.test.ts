import { expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { planRoles } from "../../src/plan/roles.js";

/** Returns the roles of a plan as lines: `4:5 [x] criterion 1.1` is a ticked criterion of task 1.1 in line 4. */
function rolesOf(text: string): string[] {
  return planRoles(text, parsePlan(text)).map(({ line, column, mark, role, phase, task, code }) => {
    const box = mark === undefined ? "" : `[${mark}] `;
    return [`${line}:${column} ${box}${role}`, phase, task, code].filter((part) => part !== undefined).join(" ");
  });
}

it("each phase, task, criterion and item of a gate has a role, and each box without a place", () => {
  const text = `- [x] before all
## Phase 1: A

### Task 1.1: b
**Status:** [x] done

- [-] one

| Check | Run | Read |
|---|---|---|
| tests [-] | [ ] | [x] |

### Validation Gate
- [ ] two

Words [✔️] here [ ] [~].

## Phase 2: B
- [x] **Task 2.1**: c
  - Acceptance: it runs
- [ ]
  **Task 2.2**: d

## Summary
- [ ] **Task 2.1**: c

## Acceptance Criteria
- [\\x] all of it
`;
  expect(rolesOf(text)).toEqual([
    "1:4 [x] unplaced CHECKBOX_UNPLACED",
    "2:4 phase 1",
    "4:5 task 1.1",
    "5:14 [x] task 1.1",
    "7:4 [-] criterion 1.1",
    "11:10 [-] unplaced CHECKBOX_UNPLACED",
    "11:16 [] criterion 1.1",
    "11:22 [x] criterion 1.1",
    "14:4 [] gate 1",
    "16:8 [✔️] unplaced CHECKBOX_UNPLACED",
    "16:18 [] unplaced CHECKBOX_UNPLACED",
    "16:22 [~] unplaced CHECKBOX_UNPLACED",
    "18:4 phase 2",
    "19:4 [x] task 2.1",
    "20:5 criterion 2.1",
    "21:4 [] task 2.2",
    "25:4 [] repeated CHECKBOX_REPEATED",
    "28:5 [x] unplaced CHECKBOX_OF_PLAN",
  ]);
});

it("roles are in the order of the source, also where a gate stands before its tasks", () => {
  const text = "## Phase 1: A\n**Validation Gate:**\n- [ ] c\n\n- [ ] **Task 1.1**: b\n";
  expect(rolesOf(text)).toEqual(["1:4 phase 1", "3:4 [] gate 1", "5:4 [] task 1.1"]);
});

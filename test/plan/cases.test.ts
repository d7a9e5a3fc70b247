import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { outline, taskOf } from "./outline.js";

/** A kind of plan that real repositories have, as a small input, with variations. Each has the lines of its outline. */
interface Case {
  readonly kind: string;
  readonly plans: readonly (readonly [input: string, lines: readonly string[]])[];
}

const CASES: readonly Case[] = [
  {
    kind: "a label in an item takes no items beside that item",
    plans: [
      [
        `## Phase 1: Build

- [x] Write the parser
  - Acceptance: all samples are read
- [ ] Write the printer
  - Acceptance: output equals input
- [ ] Write the docs
`,
        [
          "1 Build @1",
          "[x] 1.1 Write the parser @3 0/1",
          "[ ] 1.2 Write the printer @5 0/1",
          "[ ] 1.3 Write the docs @7",
        ],
      ],
      [
        `## Phase 1: Bauen

1. [x] Parser schreiben
   * **Akzeptanzkriterien:**
2. [ ] Drucker schreiben
   * **Akzeptanzkriterien:** gleich
     * [ ] auch mit Umlauten
3. [-] Doku
`,
        ["1 Bauen @1", "[x] 1.1 Parser schreiben @3", "[ ] 1.2 Drucker schreiben @5 0/1", "[-] 1.3 Doku @8"],
      ],
      [
        `# Roadmap

- [x] T001 Write
\t- Done when:
\t\t- [x] it is written
- [ ] T002 Print
\t- Definition of Done:
- [ ] T003 Ship
`,
        ["1 Roadmap @1", "[x] T001 Write @3 1/1", "[ ] T002 Print @6", "[ ] T003 Ship @8"],
      ],
    ],
  },
  {
    kind: "a note in an item takes no items beside that item",
    plans: [
      [
        `## Phase 1: Build

- [x] Write the parser
    - *Note: tabs count as four*
- [x] Write the printer
- [ ] Write the docs
`,
        ["1 Build @1", "[x] 1.1 Write the parser @3", "[x] 1.2 Write the printer @5", "[ ] 1.3 Write the docs @6"],
      ],
      [
        `## Phase 1: Build

* [x] **Write the parser**
  * **Risks:**
* [x] **Write the printer**

  > **Deliverables:**
* [ ] **Write the docs**
`,
        ["1 Build @1", "[x] 1.1 Write the parser @3", "[x] 1.2 Write the printer @5", "[ ] 1.3 Write the docs @8"],
      ],
      [
        `## Phase 1: Build

- [x] 1.1 Write the parser
  1. Open questions:
- [ ] 1.2 Write the printer
  - __References__
- [x] 1.3 Write the docs
`,
        ["1 Build @1", "[x] 1.1 Write the parser @3", "[ ] 1.2 Write the printer @5", "[x] 1.3 Write the docs @7"],
      ],
    ],
  },
  {
    kind: "a paragraph in an item is a label of that item",
    plans: [
      [
        `## Phase 1: Build

- [ ] Write the parser

  Acceptance: all samples are read

- [ ] Write the printer

  **Note:** as it is

- [ ] Write the docs
`,
        ["1 Build @1", "[ ] 1.1 Write the parser @3 0/1", "[ ] 1.2 Write the printer @7", "[ ] 1.3 Write the docs @11"],
      ],
      [
        `## Phase 1: Build

1. [ ] Write the parser

   **Acceptance criteria**

   - [x] all samples are read

2. [ ] Write the printer

   _Deliverables:_

3. [ ] Write the docs
`,
        ["1 Build @1", "[ ] 1.1 Write the parser @3 1/1", "[ ] 1.2 Write the printer @9", "[ ] 1.3 Write the docs @13"],
      ],
      [
        `## Phase 1: Build

+ [x] T-01 Write the parser

  Done when: it is written

  Risks: none
+ [ ] T-02 Write the printer

  Dependencies: T-01
+ [ ] T-03 Write the docs
`,
        [
          "1 Build @1",
          "[x] T-01 Write the parser @3 0/1",
          "[ ] T-02 Write the printer @8 < T-01",
          "[ ] T-03 Write the docs @11",
        ],
      ],
    ],
  },
  {
    kind: "boxes in the section of a task are its criteria, below any label",
    plans: [
      [
        `## Phase 1: Build

### Task 1: Parser

**Part A: words**
- [x] Split the text
- [x] Keep quotes together

### Task 2: Writer
**Priority:** High

- [x] Choose the format
- [x] Write it
`,
        ["1 Build @1", "[x] 1 Parser @3 2/2", "[x] 2 Writer @9 2/2"],
      ],
      [
        `## Fase 1: Construir

#### Tarea 1.1: Lector

##### Notas

- [x] cortar
  - [ ] también líneas largas

| Qué | Hecho |
|-----|-------|
| leer | [x] |

#### Tarea 1.2: Escritor
Verificación:
1. [ ] igual
`,
        ["1 Construir @1", "[ ] 1.1 Lector @3 2/3", "[ ] 1.2 Escritor @14 0/1"],
      ],
      [
        `**Phase 1: Build**

**Task 1.1: Parser**
**Owner:** Ada
- [x] split
  - [x] keep quotes

**Task 1.2: Writer**
**Out of scope:**
- [ ] colours
`,
        ["1 Build @1", "[x] 1.1 Parser @3 2/2", "[ ] 1.2 Writer @8 0/1"],
      ],
    ],
  },
  {
    kind: "the box of a status line is that of the task",
    plans: [
      [
        `## Wave 1: Base

### Task 1.1: Parser
- **Files**: \`src/parser.ts\`
- **Dependencies**: None
- **Status**: [x] complete

### Task 1.2: Printer
- **Dependencies**: Task 1.1
- **Status**: [ ] pending
`,
        ["1 Wave 1: Base @1", "[x] 1.1 Parser @3", "[ ] 1.2 Printer @8 < 1.1"],
      ],
      [
        `## 阶段 1：基础

### 任务 1.1：解析器
**状态：** [x] 已完成

### 任务 1.2：打印机
**状态：** ☐ 待办
**依赖：** 1.1
`,
        ["1 基础 @1", "[x] 1.1 解析器 @3", "[ ] 1.2 打印机 @6 < 1.1"],
      ],
      [
        `## Phase 1: Base

- **Task 1.1**: Parser
  - Status: \\[x\\] done
- **Task 1.2**: Printer
  - _Status:_ [-] in progress
`,
        ["1 Base @1", "[x] 1.1 Parser @3", "[-] 1.2 Printer @5"],
      ],
    ],
  },
  {
    kind: "headings with numbers above tasks with numbers are sections",
    plans: [
      [
        `## Phase 1: Base

### 1.1 Types
- [x] 1. Write the types
- [x] 2. Export them

### 1.2 Settings
- [x] 3. Add the setting
`,
        ["1 Base @1", "[x] 1 Write the types @4", "[x] 2 Export them @5", "[x] 3 Add the setting @8"],
      ],
      [
        `## Phase 1: Base

### 1.1. Types
- [x] 1.1.1 Write the types
  - [x] 1.1.1.1 Name them
- [ ] 1.1.2 Export them

### 1.2. Settings
Some words.

- [x] 1.2.1 Add the setting
`,
        [
          "1 Base @1",
          "[x] 1.1.1 Write the types @4",
          "[x] 1.1.1.1 Name them @5",
          "[ ] 1.1.2 Export them @6",
          "[x] 1.2.1 Add the setting @11",
        ],
      ],
      [
        `## Phase 1: Base

### Task 1: Types
1. [x] Task 1.1: Write the types
2. [ ] Task 1.2: Export them

### Task 2: Settings
1. [x] Task 2.1: Add the setting
`,
        ["1 Base @1", "[x] 1.1 Write the types @4", "[ ] 1.2 Export them @5", "[x] 2.1 Add the setting @8"],
      ],
    ],
  },
  {
    kind: "a mark before the word of a task's heading",
    plans: [
      [
        `## Phase 1: Base

### ✅ Task 1.1: Parser
- [x] read

### Task 1.2: Printer
- [ ] print

### 🚧 Task 1.3: Cache
Keep the last ten.
`,
        ["1 Base @1", "[x] 1.1 Parser @3 1/1", "[ ] 1.2 Printer @6 0/1", "[-] 1.3 Cache @9"],
      ],
      [
        `## 🚀 Phase 1: Base

### [x] Task 1.1: Parser

### ☐ Task 1.2: Printer

### **⏳ Task 1.3**: Cache

### ➡️ 🔥 Task 1.4 — Ship
`,
        ["1 Base @1", "[x] 1.1 Parser @3", "[ ] 1.2 Printer @5", "[ ] 1.3 Cache @7", "[ ] 1.4 Ship @9"],
      ],
      [
        `## ✔️ Этап 1: Основа

### ⭐ Задача 1.1: Чтение
- [ ] читает

### ❌ Задача 1.2: Печать
- [ ] печатает
`,
        ["1 Основа @1", "[ ] 1.1 Чтение @3 0/1", "[ ] 1.2 Печать @6 0/1"],
      ],
    ],
  },
  {
    kind: "a number with a letter is an id",
    plans: [
      [
        `## Phase 1: Base
- [ ] 1.1 Write
- [ ] 1.2a Test
- [ ] 1.2b Lint
  - Dependencies: 1.2a
- [ ] 1.3 Ship
  - Dependencies: 1.2a, 1.2b
`,
        ["1 Base @1", "[ ] 1.1 Write @2", "[ ] 1.2a Test @3", "[ ] 1.2b Lint @4 < 1.2a", "[ ] 1.3 Ship @6 < 1.2a 1.2b"],
      ],
      [
        `# Tasks
- [ ] 9. Write
- [ ] 9a. Test
- [ ] 10. Ship (depends on 9a)
`,
        ["1 Tasks @1", "[ ] 9 Write @2", "[ ] 9a Test @3", "[ ] 10 Ship @4 < 9a"],
      ],
      [
        `## Phase 2: Base
### Task 2.1a: Write
### Task 2.1b: Test
**Depends on:** Task 2.1a
- [ ] it is tested
### Task T068A: Ship
Requires: Task 2.1a and 2.1b
`,
        ["2 Base @1", "[ ] 2.1a Write @2", "[ ] 2.1b Test @3 0/1 < 2.1a", "[ ] T068A Ship @6 < 2.1a 2.1b"],
      ],
    ],
  },
  {
    kind: "letters, hyphens and digits are an id",
    plans: [
      [
        `## Phase 1: Base

### T-001: Write the parser
**Status**: [x] completed

### T-002: Write the printer
**Dependencies**: T-001
`,
        ["1 Base @1", "[x] T-001 Write the parser @3", "[ ] T-002 Write the printer @6 < T-001"],
      ],
      [
        `## Phase 1: Base

- [x] **FE-01** Write the page
- [ ] **BE-01**: Serve it
  - Requires: FE-01
- [ ] [T-HF01] Repair it
  - Blocked by: FE-01, BE-01
`,
        [
          "1 Base @1",
          "[x] FE-01 Write the page @3",
          "[ ] BE-01 Serve it @4 < FE-01",
          "[ ] T-HF01 Repair it @6 < FE-01 BE-01",
        ],
      ],
      [
        `## Phase 1: Base

#### WP01 - Write
Status: done

#### WP02 - Print
Prerequisites: WP01

#### WP03 - Ship
Depends on WP01 and WP02
`,
        ["1 Base @1", "[x] WP01 Write @3", "[ ] WP02 Print @6 < WP01", "[ ] WP03 Ship @9 < WP01 WP02"],
      ],
    ],
  },
  {
    kind: "no id in a dependency is dropped without a diagnostic",
    plans: [
      [
        `# Tasks

- [ ] T001 Write
- [ ] BE-04 Serve
- [ ] T002 Test
  - Depends on: T001, BE-04
`,
        ["1 Tasks @1", "[ ] T001 Write @3", "[ ] BE-04 Serve @4", "[ ] T002 Test @5 < BE-04 T001"],
      ],
      [
        `# Tasks

- [ ] T001 Write
- [ ] T002 Test
  - Depends on: T001, ABC-7
- [ ] T003 Ship
  - Depends on: T001 und x9
`,
        [
          "1 Tasks @1",
          "[ ] T001 Write @3",
          "[ ] T002 Test @4 < T001",
          "[ ] T003 Ship @6 < T001",
          "! DEPENDENCY_UNKNOWN 4",
          "! DEPENDENCY_UNREAD 6",
        ],
      ],
      [
        `## Phase 1: Base

### Task 1.1: Write
### Task 1.2: Test
- **Dependencies:** 1.1, the model
### Task 1.3: Ship
- **Dependencies:** Task 1.2 and Task 4.4
`,
        ["1 Base @1", "[ ] 1.1 Write @3", "[ ] 1.2 Test @4 < 1.1", "[ ] 1.3 Ship @6 < 1.2", "! DEPENDENCY_UNKNOWN 6"],
      ],
    ],
  },
  {
    kind: "brackets that a formatter has escaped",
    plans: [
      [
        "# Tasks\n- \\[x\\] 1.1 Write it\n- \\[ \\] 1.2 Test it\n- [ ] 1.3 Ship it\n",
        ["1 Tasks @1", "[x] 1.1 Write it @2", "[ ] 1.2 Test it @3", "[ ] 1.3 Ship it @4"],
      ],
      [
        "## Phase 1: A\n\n* \\[X] T001 Write\n  * \\[ ] well\n* \\[-\\] T002 Test\n1. \\[ \\] T003 Ship\n",
        ["1 A @1", "[x] T001 Write @3 0/1", "[-] T002 Test @5", "[ ] T003 Ship @6", "! TASK_TICKED_OPEN 3"],
      ],
      [
        "## Phase 1: A\r\n\r\n### Task 1.1: Write\r\n\r\n**Acceptance Criteria:**\r\n\r\n- \\[x\\] a\r\n- \\[ \\] b\r\n\r\n**Validation Gate:**\r\n\r\n- \\[ \\] c\r\n",
        ["1 A @1", "[ ] 1.1 Write @3 1/2", "gate c"],
      ],
    ],
  },
  {
    kind: "a box with any mark is a box",
    plans: [
      [
        "## 1. Work\n- [x] 1.1 Parser\n- [o] 1.2 Printer\n- [D] 1.3 Docs\n- [\u3000] 1.4 Release\n- [х] 1.5 Notes\n",
        [
          "1 Work @1",
          "[x] 1.1 Parser @2",
          "[ ] 1.2 Printer @3",
          "[ ] 1.3 Docs @4",
          "[ ] 1.4 Release @5",
          "[ ] 1.5 Notes @6",
          "! STATE_UNKNOWN 3",
          "! STATE_UNKNOWN 4",
          "! STATE_UNKNOWN 6",
        ],
      ],
      [
        "## Phase 1: Work\n* ☑ T001 Parser\n* ☐ T002 Printer\n* [✓] T003 Docs\n* [✔️] T004 Notes\n* [*] T005 Page\n* [\u00a0] T006 Site\n",
        [
          "1 Work @1",
          "[x] T001 Parser @2",
          "[ ] T002 Printer @3",
          "[x] T003 Docs @4",
          "[x] T004 Notes @5",
          "[ ] T005 Page @6",
          "[ ] T006 Site @7",
          "! STATE_UNKNOWN 6",
        ],
      ],
      [
        "## Phase 1: Work\n1. **[x]** 1.1 Parser\n2. **[ ] 1.2 Printer**\n3. [/] 1.3 Docs\n   - [ ] [x] of both\n4. [] 1.4 Page\n5. [ x ] 1.5 Site\n",
        [
          "1 Work @1",
          "[x] 1.1 Parser @2",
          "[ ] 1.2 Printer @3",
          "[-] 1.3 Docs @4 0/1",
          "[ ] 1.4 Page @6",
          "[x] 1.5 Site @7",
          "! CHECKBOX_UNPLACED 5",
        ],
      ],
    ],
  },
  {
    kind: "a struck task",
    plans: [
      [
        "## Phase 1: Base\n- [x] T001 Write\n- [x] ~~T002~~ [P] ~~Cache it~~ not needed\n",
        ["1 Base @1", "[x] T001 Write @2", "[x] T002 Cache it not needed @3"],
      ],
      [
        "## Phase 1: Base\n- [ ] 1.1 Write\n- [ ] ~~1.2 Cache it~~\n- [ ] 1.3 ~~Colour it~~ (later)\n- ~~[ ] 1.4 Ship~~\n",
        ["1 Base @1", "[ ] 1.1 Write @2", "[~~] 1.2 Cache it @3", "[~~] 1.3 Colour it (later) @4", "[~~] 1.4 Ship @5"],
      ],
      [
        "## Phase 1: Base\n### ~~Task 1.1: Cache~~\n### Task 1.2: Print\n**Status:** Cancelled\n### Task 1.3: Ship\n- [x] ~~old~~\n",
        ["1 Base @1", "[~~] 1.1 Cache @2", "[~~] 1.2 Print @3", "[x] 1.3 Ship @5 1/1"],
      ],
    ],
  },
  {
    kind: "a text about signs is no box",
    plans: [
      [
        `# Tasks

- [ ] 1. Make the store
  - File: src/store.ts
  - _Leverage: src/base.ts_
  - _Prompt: Role: developer | Task: make it | Instructions: set this task to [-] before you start, then to [x]_
`,
        ["1 Tasks @1", "[ ] 1 Make the store @3"],
      ],
      [
        `# Tasks

Mark a task as [x] when it is done, and use [-] for those in progress.

- [ ] 1. Make the store
  - Change the mark from [ ] to [x].
`,
        ["1 Tasks @1", "[ ] 1 Make the store @5"],
      ],
      [
        `# Tasks

Legend: [ ] pending, [x] done, [>] in progress

- [>] 1. Make the store
- [ ] 2. Keep \`[ ]\` and \`[x]\` in the text
`,
        ["1 Tasks @1", "[-] 1 Make the store @5", "[ ] 2 Keep `[ ]` and `[x]` in the text @6"],
      ],
    ],
  },
  {
    kind: "a checklist that repeats tasks",
    plans: [
      [
        `## Tasks

### Task 1: Types
**Status:** completed

### Task 2: Reader
**Status:** completed

## Completion Checklist

- [ ] Task 1: types added
- [ ] Task 2: reader added
- [ ] All tests pass
`,
        [
          "1 Tasks @1",
          "[x] 1 Types @3",
          "[x] 2 Reader @6",
          "! CHECKBOX_REPEATED 11",
          "! CHECKBOX_REPEATED 12",
          "! CHECKBOX_UNPLACED 13",
        ],
      ],
      [
        `## Progress

- [x] T001: Types
- [ ] T002: Reader

## Phase 1: Build

### T001: Types
Write them.

### T002: Reader
Read them.
`,
        ["1 Build @6", "[x] T001 Types @8", "[ ] T002 Reader @11"],
      ],
      [
        `## Phase 1: Build

- [x] **Task 1.1**: Types
  - [x] all of them
- [ ] **Task 1.2**: Reader
  - [ ] all of it

## Summary

* [x] **Task 1.1** Types
* [x] **Task 1.2** Reader
`,
        [
          "1 Build @1",
          "[x] 1.1 Types @3 1/1",
          "[ ] 1.2 Reader @5 0/1",
          "! CHECKBOX_REPEATED 10",
          "! CHECKBOX_REPEATED 11",
        ],
      ],
    ],
  },
  {
    kind: "a phase without a number",
    plans: [
      [
        `## Phase 1: Build
- [x] Write it

## Phase 2: Ship
- [x] Ship it

## Phase: Review fixes
- [ ] Rename the option
- [ ] Add a test
`,
        [
          "1 Build @1",
          "[x] 1.1 Write it @2",
          "2 Ship @4",
          "[x] 2.1 Ship it @5",
          "3 Review fixes @7",
          "[ ] 3.1 Rename the option @8",
          "[ ] 3.2 Add a test @9",
        ],
      ],
      [
        `## Phase: Prepare
- [ ] T001 Write it

## Phase: Build
- [ ] T002 Ship it
`,
        ["1 Prepare @1", "[ ] T001 Write it @2", "2 Build @4", "[ ] T002 Ship it @5"],
      ],
      [
        `## フェーズ1: 準備
- [x] 1.1 書く

## フェーズ：見直し
- [ ] 2.1 直す
`,
        ["1 準備 @1", "[x] 1.1 書く @2", "2 見直し @4", "[ ] 2.1 直す @5"],
      ],
    ],
  },
  {
    kind: "a phase with its number in words",
    plans: [
      [
        "## Phase 1: Build\n- [x] Write it\n\n## PHASE TWO: Ship\n- [ ] Ship it\n",
        ["1 Build @1", "[x] 1.1 Write it @2", "2 Ship @4", "[ ] 2.1 Ship it @5"],
      ],
      [
        "## Phase One - Build\n- [x] Write it\n\n## Phase Eleven - Ship\n- [ ] Ship it (after Phase One)\n",
        ["1 Build @1", "[x] 1.1 Write it @2", "11 Ship @4", "[ ] 11.1 Ship it @5 < 1.1"],
      ],
      [
        "## 第一阶段：构建\n- [x] 写\n\n## 第二阶段：发布\n- [ ] 发\n",
        ["1 构建 @1", "[x] 1.1 写 @2", "2 发布 @4", "[ ] 2.1 发 @5"],
      ],
    ],
  },
  {
    kind: "a phase in another language",
    plans: [
      [
        `## Fase 1: Base
### Servidor
- [x] Crear el servidor
### Cliente
- [ ] Crear el cliente

## Fase 2: Entrega
### Paquete
- [ ] Publicar
`,
        [
          "1 Base @1",
          "[x] 1.1 Crear el servidor @3",
          "[ ] 1.2 Crear el cliente @5",
          "2 Entrega @7",
          "[ ] 2.1 Publicar @9",
        ],
      ],
      [
        `## 1단계: 기초
### 서버
- [x] 작업 1.1: 서버 만들기
### 클라이언트
- [ ] 작업 1.2: 클라이언트 만들기
  - 의존성: 1.1

## 2단계: 배포
- [ ] 작업 2.1: 배포하기
`,
        [
          "1 기초 @1",
          "[x] 1.1 서버 만들기 @3",
          "[ ] 1.2 클라이언트 만들기 @5 < 1.1",
          "2 배포 @8",
          "[ ] 2.1 배포하기 @9",
        ],
      ],
      [
        `## Étape 1 : Base
- [x] Créer le serveur
  **Critères d'acceptation :**
  - [x] il répond

## Étape 2 : Livraison
- [ ] Publier
`,
        ["1 Base @1", "[x] 1.1 Créer le serveur @2 1/1", "2 Livraison @6", "[ ] 2.1 Publier @7"],
      ],
    ],
  },
  {
    kind: "a phase between two numbers",
    plans: [
      [
        `## Phase 1: Base
- [x] T001 a

## Phase 1.5: Repair
- [ ] T002 b

## Phase 2: Ship
- [ ] T003 c

## Phase 3: Tell
- [ ] T004 d (after Phase 2)
`,
        [
          "1 Base @1",
          "[x] T001 a @2",
          "2 Repair @4",
          "[ ] T002 b @5",
          "3 Ship @7",
          "[ ] T003 c @8",
          "4 Tell @10",
          "[ ] T004 d @11 < T003",
          "! PHASE_RENUMBERED 4",
        ],
      ],
      [
        "## Phase 2: Base\n- [ ] a\n\n## Phase 2b: Repair\n- [ ] b\n\n## Phase 3: Ship\n- [ ] c\n\n## Phase 4: Tell\n- [ ] d (after Phase 3)\n",
        [
          "2 Base @1",
          "[ ] 2.1 a @2",
          "3 Repair @4",
          "[ ] 3.1 b @5",
          "4 Ship @7",
          "[ ] 4.1 c @8",
          "5 Tell @10",
          "[ ] 5.1 d @11 < 4.1",
          "! PHASE_RENUMBERED 4",
        ],
      ],
      [
        "### 阶段 1：一\n- [ ] 甲\n\n### 阶段 1.5：二\n- [ ] 乙\n\n### 阶段 2：三\n- [ ] 丙\n",
        ["1 一 @1", "[ ] 1.1 甲 @2", "2 二 @4", "[ ] 2.1 乙 @5", "3 三 @7", "[ ] 3.1 丙 @8", "! PHASE_RENUMBERED 4"],
      ],
    ],
  },
  {
    kind: "the steps of a task below a list of files",
    plans: [
      [
        `# Hello plan

### Task 1: Parser

**Files:**
- Create: \`src/parser.ts\`

- [x] **Step 1: Write a test that fails**
- [x] **Step 2: Write the code**

### Task 2: Printer

**Files:**
- Modify: \`src/printer.ts:10-20\`

- [ ] **Step 1: Write a test that fails**
`,
        ["1 Hello plan @1", "[x] 1 Parser @3 2/2", "[ ] 2 Printer @11 0/1"],
      ],
      [
        `## Phase 1: Base

#### T001: Parser
Files to create:
* src/parser.ts
* src/words.ts

Steps:
1. [x] write a test
2. [ ] write the code
   - Files: src/words.ts
     - [ ] with its words
`,
        ["1 Base @1", "[ ] T001 Parser @3 1/3"],
      ],
      [
        "## Phase 1: Base\r\n\r\n- [ ] **Task 1.1**: Parser\r\n  - **Files:**\r\n    - src/parser.ts\r\n    - [x] src/words.ts is there\r\n  - [ ] step\r\n",
        ["1 Base @1", "[ ] 1.1 Parser @3 1/2"],
      ],
    ],
  },
  {
    kind: "boxes below a label in a task",
    plans: [
      [
        `## Phase 1: Base

- [ ] T001 Write the parser
  - Steps:
    - [x] Split the text
    - [ ] Build the tree
`,
        ["1 Base @1", "[ ] T001 Write the parser @3 1/2"],
      ],
      [
        `## Phase 1: Base

1. [ ] Write the parser
   - notes on it
     1. more
        - **Checks**
          - [x] Split the text
   - [ ] Build the tree
     > - [ ] of words
`,
        ["1 Base @1", "[ ] 1.1 Write the parser @3 1/3"],
      ],
      [
        `## Phase 1: Base

- [x] 1.1 Write the parser

  | Step | State |
  | ---- | ----- |
  | Split | ☑ |
  | Build | [ ] |
`,
        ["1 Base @1", "[x] 1.1 Write the parser @3 1/2", "! TASK_TICKED_OPEN 3"],
      ],
    ],
  },
];

describe.each(CASES)("$kind", ({ plans }) => {
  it.each(plans)("%j", (input, lines) => {
    expect(outline(input)).toEqual(lines);
    // Other ends of lines and a byte order mark change nothing.
    const unix = input.replaceAll("\r\n", "\n");
    expect(outline(`\uFEFF${unix}`)).toEqual(lines);
    expect(outline(unix.replaceAll("\n", "\r\n"))).toEqual(lines);
  });
});

describe("the parts of a task that its outline does not show", () => {
  it("an item below a box without text keeps its own box, whatever is in it", () => {
    const { plan } = parsePlan("- [ ] \n  2) [o] **Task 1.1**: Name\n- [ ] **Task 1.2**: Other\n");
    const tasks = plan.phases.flatMap((phase) => phase.tasks);
    expect(tasks.map(({ id, checkbox }) => [id, checkbox?.mark])).toEqual([
      ["1.1", "o"],
      ["1.2", ""],
    ]);
  });

  it("the box of a status line is what a tick changes", () => {
    const text = "## Phase 1: A\n### Task 1.1: B\n- **Status**: [ ] pending\n";
    expect(tickTask(text, parsePlan(text).plan, "1.1")).toBe(text.replace("[ ] pending", "[x] done"));
  });

  it("a box of a checklist is what a tick changes, if the task has none", () => {
    const text = "## Progress\n- [ ] T001: Types\n\n## Phase 1: A\n### T001: Types\nWords.\n";
    expect(tickTask(text, parsePlan(text).plan, "T001")).toBe(text.replace("[ ]", "[x]"));
  });

  it("an escaped box stays escaped", () => {
    const text = "## Phase 1: A\r\n- \\[ \\] 1.1 B\r\n";
    expect(tickTask(text, parsePlan(text).plan, "1.1")).toBe("## Phase 1: A\r\n- \\[x\\] 1.1 B\r\n");
  });

  it("files beside steps, and marks beside struck words", () => {
    const steps =
      "# Plan\n\n### Task 1: A\n\n**Files:**\n- Create: `src/a.ts`\n- Modify: `src/b.ts:10-20`\n\n- [ ] Step\n";
    expect(taskOf(steps).files).toEqual(["src/a.ts", "src/b.ts"]);
    const struck = taskOf("## Phase 1: A\n- [ ] ~~T002~~ [P] ~~Cache it~~\n");
    expect(struck).toMatchObject({ id: "T002", name: "Cache it", parallel: true, state: "dropped" });
  });

  it("a phase between two numbers has its number as it is written", () => {
    const { phases } = parsePlan("## Phase 1: A\n- [ ] a\n## Phase 1.5: B\n- [ ] b\n## Phase 2: C\n- [ ] c\n").plan;
    expect(phases.map(({ number, written }) => [number, written])).toEqual([
      [1, undefined],
      [2, "1.5"],
      [3, "2"],
    ]);
  });
});

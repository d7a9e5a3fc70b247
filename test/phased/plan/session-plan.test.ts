import { describe, expect, it } from "vitest";
import { forSessions } from "../../../src/phased/plan/session-plan.js";
import { builtInParsers } from "../../../src/plan/parse-plan.js";
import type { SourceParser } from "../../../src/plan/plan.js";

const kiro = builtInParsers.kiro as Required<SourceParser>;
const parser = forSessions(kiro) as Required<SourceParser>;
const tasksOf = (text: string) =>
  parser
    .parse(text, "tasks.md")
    .plan.phases.flatMap(({ tasks }) => tasks.map(({ id, dependencies }) => [id, ...dependencies].join(" ")));
const tick = (text: string, done: boolean, ...tasks: string[]) =>
  parser.tick(text, parser.parse(text, "tasks.md").plan, { tasks, criteria: false, done });

describe("a task that is only the group of others", () => {
  it("is none of a session: its dependencies are those of its parts, and whoever waits for it waits for them", () => {
    const text =
      "- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n- [ ] 2. D (depends on 1)\n  - [ ] 2.1 E\n    - [ ] 2.1.1 F\n  - [ ] 2.2 G\n";
    expect(tasksOf(text)).toEqual(["1.1", "1.2", "2.1.1 1.1 1.2", "2.2 1.1 1.2"]);
  });

  it("is one if it says something, is optional or has no parts", () => {
    expect(tasksOf("- [ ] 1. A\n  - Say it\n  - [ ] 1.1 B\n- [ ]* 2. C\n  - [ ] 2.1 D\n- [ ] 3. E\n")).toEqual([
      ...["1.1", "1", "2.1", "2", "3"],
    ]);
  });

  it("is one if a part waits for it: no part would wait for itself", () => {
    const text = "- [ ] 1. A\n  - [ ] 1.1 B (depends on Task 1)\n  - [ ] 1.2 C (depends on Task 1)\n";
    expect(tasksOf(text)).toEqual(["1", "1.1 1", "1.2 1"]);
  });

  it("is refused where so many wait for it that its parts would be too many dependencies", () => {
    const some = (line: (index: number) => string) => Array.from({ length: 800 }, (_, index) => line(index)).join("");
    const text = `- [ ] 1. A\n${some((index) => `  - [ ] 1.${index + 1} B\n`)}${some((index) => `- [ ] ${index + 2}. C (depends on Task 1)\n`)}`;
    expect(() => tasksOf(text)).toThrow("more than 500000 dependencies");
  });

  it("is ticked with its last part, and is open again with the first that is", () => {
    const text = "- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ]* 1.2 C\n  - [ ] 1.3 D\n    - [ ] 1.3.1 E\n";
    const half = tick(text, true, "1.1");
    expect(half).toBe(text.replace("[ ] 1.1", "[x] 1.1"));
    const all = tick(half, true, "1.3.1");
    expect(all).toBe(text.replace(/\[ \](?! ?\*|\*)/g, "[x]"));
    expect(tick(all, false, "1.3.1")).toBe(half);
  });
});

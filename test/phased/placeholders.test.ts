import { defineWorkflow, MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { fillText } from "../../src/workflow/placeholders.js";
import { makeEngine } from "../support/make-engine.js";
import { texts } from "../workflow/workflow-texts.js";

const OWN = { target: "src/a.ts", plan: "specs/tasks.md" };

/** A variable of a shell. */
const VARIABLE = ["$", "{target}"].join("");

describe("placeholders in texts", () => {
  it.each([
    ["Work on {target}, also {target_file}.", "Work on src/a.ts, also src/a.ts."],
    ["Read {plan}, {spec_path}.", "Read specs/tasks.md, specs/tasks.md."],
    ["`cat {target}`", "`cat src/a.ts`"],
    ["{{target}} is {target}", "{target} is src/a.ts"],
    [
      `${VARIABLE} {Target} {targets} { target } {{{target}}} {} {FEATURE_NAME}`,
      `${VARIABLE} {Target} {targets} { target } {{target}} {} {FEATURE_NAME}`,
    ],
  ])("are filled, and nothing else is: %s", (text, filled) => {
    expect(fillText(text, OWN)).toBe(filled);
  });

  it("stay as they are without a plan", () => {
    expect(fillText("{plan} {target} {{plan}}", { target: "a" })).toBe("{plan} a {plan}");
  });

  it("insert values literally, once", () => {
    expect(fillText("{target}{plan}", { target: "{plan}$&", plan: "{target}" })).toBe("{plan}$&{target}");
  });

  it("are filled in the texts of phases and tasks in code, without a note that the text has changed", async () => {
    const workflow = defineWorkflow({
      ...{ type: "garden", revision: "1", name: "Garden", description: "Dig" },
      phases: [
        {
          ...{ number: 1, name: "Dig", content: "# Dig in {target}\n\nSee [it](../../{target}).\n" },
          tasks: [{ name: "Rake", content: () => "Rake {target_file}, not {{target}}" }],
        },
      ],
    });
    const { engine } = makeEngine({}, [workflow]);
    const { phase, sessionId } = await engine.start({ workflowType: "garden", target: "beds/1.md" });
    expect(phase).toMatchObject({
      ...{ contentChanged: false, leftOut: [], facts: { title: "Dig in beds/1.md" } },
      content: { text: "# Dig in beds/1.md\n\nSee [it](../../beds/1.md).\n", tokens: 12 },
    });
    expect((await engine.session(sessionId).task(1, 1)).content.text).toBe("Rake beds/1.md, not {target}");
    const other = await engine.start({ workflowType: "garden", target: "beds/2.md" });
    expect(other.phase.content.text).toContain("Dig in beds/2.md");
    expect(other.phase.content.revision).not.toBe(phase.content.revision);
  });

  it("are filled in the texts of a folder, and not in documents", async () => {
    const source = texts({
      "phases/1/phase.md": "See core/a.md for {target}, {options.team}",
      "core/a.md": "Write {target} here",
    });
    const { engine } = makeEngine({
      content: new MemoryContent({
        sources: { garden_v1: Object.fromEntries(source.map(({ path, text }) => [path, text])) },
      }),
    });
    const start = { workflowType: "garden_v1", target: "beds/1.md", options: { team: "Ann" } };
    const { phase, sessionId } = await engine.start(start);
    expect(phase).toMatchObject({ contentChanged: false, content: { text: "See core/a.md for beds/1.md, Ann" } });
    expect((await engine.session(sessionId).document("core/a.md")).content.text).toBe("Write {target} here");
    const again = await engine.session(sessionId).document("phases/1/phase.md");
    expect(again.content).toEqual(phase.content);
  });
});

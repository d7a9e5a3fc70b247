import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { connectRouted, standingIn } from "./routed-client.js";
import { run } from "./run-cli.js";

const step = (guidance: string) => `# Orchestrator Guidance\n${guidance}\n\n# Client Instructions\nDo it.\n`;

/** A routed workflow as people write them: a step called Finish, similar names, names spelt by file. */
const TASK: Readonly<Record<string, string>> = {
  "Größe prüfen/index.md":
    "# Goal\n\nIt fits.\n\n# Steps\n\n- [Check C](steps/check_c.md)\n- [Check C++](steps/check_cpp.md)\n- [Finish](steps/finish.md)\n",
  "Größe prüfen/steps/check_c.md": step("If it is good, proceed to the `check_cpp` step."),
  "Größe prüfen/steps/check_cpp.md": step('Proceed to "Finish".'),
  "Größe prüfen/steps/finish.md": step("This is the final step."),
};

describe("files as people write them", () => {
  it("routed: a step Finish, similar names and a folder with a blank are walked to the end over MCP", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, TASK);
    const answers: Record<string, string[]> = {
      "Check C": ["check_cpp"],
      // It could be the step or the end, so the model is asked again.
      "Check C++": ["finish", "Finish"],
      Finish: ["FINISH"],
    };
    const prompts: string[] = [];
    const flags = ["--routed", root, "--state", join(await temporaryFolder(), "state"), "--decider", "sampling"];
    const { ask } = await connectRouted(flags, {}, (prompt) => {
      prompts.push(prompt);
      return JSON.stringify({ next_step_name: answers[standingIn(prompt)]?.shift(), updated_context: [] });
    });
    expect(await ask("list_workflows")).toMatchObject({ workflows: ["Größe prüfen"] });
    const { instance_id } = await ask("start_workflow", { workflow_name: "Größe prüfen" });
    const walked: unknown[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const { next_step, status } = await ask("advance_workflow", { instance_id, report: { status: "success" } });
      walked.push([next_step, status]);
    }
    expect(walked).toMatchObject([
      [{ step_name: "Check C++" }, "RUNNING"],
      [{ step_name: "Finish" }, "RUNNING"],
      [{ step_name: "FINISH" }, "COMPLETED"],
    ]);
    expect(prompts).toHaveLength(4);
    expect(prompts[2]).toContain("fits more than one: answer exactly");
  });

  it("routed: validate says what Finish means, and warns of no name that is understood", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, TASK);
    await writeFiles(root, {
      "_end/index.md": "# Goal\n\nPeas.\n\n- [Sow](steps/sow.md)\n- [Water](steps/water.md)\n",
      "_end/steps/sow.md": step('If it rains, proceed to "Finish". Else proceed to "water".'),
      "_end/steps/water.md": step('Proceed to "Finish".'),
    });
    const { code, stdout } = await run("validate", root);
    expect(code).toBe(0);
    expect(stdout.replaceAll(root, "")).toBe(
      [
        '/Größe prüfen/steps/check_cpp.md:2:12: read: "Finish" means the step "Finish": only FINISH ends the work',
        '/_end/steps/sow.md:2:25: read: "Finish" means FINISH, the end of the work: no step has this name, and in 1 other place',
        "ok      Größe prüfen",
        "ok      _end",
        "2 workflows: 0 errors, 0 warnings\n",
      ].join("\n"),
    );
    const { stdout: json } = await run("validate", join(root, "_end"), "--json");
    expect(JSON.parse(json)).toMatchObject({
      workflows: [{ taken: [{ file: "steps/sow.md", line: 2, column: 25, name: "Finish", means: "FINISH" }, {}] }],
    });
  });
});

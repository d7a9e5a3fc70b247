import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { connectRouted, standingIn } from "./routed-client.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

const step = (guidance: string) => `# Orchestrator Guidance\n${guidance}\n\n# Client Instructions\nDo it.\n`;

/** A routed workflow as people write them: a step called Finish, similar names, names spelt by file. */
const TASK: Readonly<Record<string, string>> = {
  "Größe prüfen/index.md":
    "# Goal\n\nIt fits.\n\n# Steps\n\n- [Check C](steps/check_c.md)\n- [Check C++](steps/check_cpp.md)\n- [Finish](steps/finish.md)\n",
  "Größe prüfen/steps/check_c.md": step("If it is good, proceed to the `check_cpp` step."),
  "Größe prüfen/steps/check_cpp.md": step('Proceed to "Finish".'),
  "Größe prüfen/steps/finish.md": step("This is the final step."),
};

const TABLE = `# Phase 1: Build

**Evidence Required**:

| Evidence | Type | Validator | Description |
|----------|------|-----------|-------------|
| \`queries_found\` | integer | greater_than_or_equal_4 | Queries found |
| \`average_relevance\` | float | greater_than_or_equal_0_85 | Average relevance |
`;

/** A workflow with comparisons spelt as names: in a table of phase 1, in the gate file of phase 2. */
const COMPARED: Readonly<Record<string, string>> = {
  "small/metadata.json": SMALL["small/metadata.json"] ?? "",
  "small/phases/1/phase.md": TABLE,
  "small/phases/2/phase.md": "# Phase 2: Ship\n",
  "small/phases/2/gate-definition.yaml":
    "evidence_schema:\n  average_rank: {type: number, validator: less_than_or_equal_2_0}\n  rating: {type: integer, validator: between_1_and_5}\n",
};

describe("files as people write them", () => {
  it("phased: comparisons spelt as names hold over MCP, in a table and in a gate file", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, COMPARED);
    expect(await run("validate", root)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("0 errors, 0 warnings"),
    });
    const { ask, log, client } = await connectToServe(["--workflows", root, "--state", join(root, "state")]);
    const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
    const complete = (phase: number, evidence: object) =>
      ask({ action: "complete_phase", session_id, phase, evidence });
    const low = await complete(1, { queries_found: 3, average_relevance: 0.849 });
    expect(JSON.stringify(low)).toMatch(/greater_than_or_equal_4.*greater_than_or_equal_0_85/);
    expect(await complete(1, { queries_found: 4, average_relevance: 0.85 })).toMatchObject({ checkpoint_passed: true });
    const high = await complete(2, { average_rank: 20, rating: 6 });
    expect(JSON.stringify(high)).toMatch(/less_than_or_equal_2_0.*between_1_and_5/);
    expect(await ask({ action: "get_phase", session_id, phase: 9 })).toMatchObject({ status: "error" });
    expect(await complete(2, { average_rank: 2, rating: 5 })).toMatchObject({ checkpoint_passed: true });
    await client.close();
    expect(log.filter(({ msg }) => msg === "refused")).toMatchObject([
      { code: "PHASE_OUT_OF_RANGE", sessionId: session_id },
    ]);
    expect(log.find(({ msg }) => msg === "completed")).toMatchObject({ milliseconds: expect.any(Number) });
  });

  it.each([
    ["file_exists, path: '{target_file}.md'", [], true],
    ["file_exists, path: '{traget_file}.md'", [], false],
    ["file_exists, pth: a.md", [], false],
    ["file_matches, path: '{options.file}', pattern: done", [], true],
    ["command, argv: [node, '-e', '{evidence.done}']", [], false],
    ["command, argv: [node, '--version']", ["--allow-command", `node=${process.execPath}`], true],
    [
      "command, argv: [node, '--version'], exit: '{options.exit}'",
      ["--allow-command", `node=${process.execPath}`],
      false,
    ],
    ["http_ok, url: 'http://localhost:9/health'", [], false],
    // The host of an address with a placeholder is known at the gate.
    ["http_ok, url: 'http://localhost:9/{target_file}'", [], true],
    ["http_ok, url: 'https://example.org/{target_file}'", ["--allow-host", "example.org"], true],
    ["tests_run, suite: all", [], false],
  ])(
    "phased: validate accepts verify: {verifier: %s} with %j exactly if it starts over MCP: %s",
    async (check, flags, isOk) => {
      const root = await temporaryFolder();
      await writeFiles(join(root, "workflows"), {
        ...SMALL,
        "small/phases/2/gate-definition.yaml": `evidence_schema:\n  done: {type: string}\nverify:\n  - {verifier: ${check}}\n`,
      });
      const folder = join(root, "workflows");
      const host = ["--project", root, ...flags];
      const { code, stdout } = await run("validate", folder, ...host);
      expect([code, stdout]).toEqual([isOk ? 0 : 1, expect.stringContaining(isOk ? "ok      small" : "broken  small")]);
      if (!isOk) expect(stdout).toContain("small/phases/2/gate-definition.yaml:4:");
      const { ask } = await connectToServe(["--workflows", folder, "--state", join(root, "state"), ...host]);
      const started = await ask({ action: "start", workflow_type: "small", target_file: "a.ts" });
      expect(started.status).toBe(isOk ? "success" : "error");
    },
  );

  it("phased: validate without a project refuses what no server accepts, and says what is not checked", async () => {
    const root = await temporaryFolder();
    const gate = (check: string) => `evidence_schema:\n  done: {type: string}\nverify:\n  - {verifier: ${check}}\n`;
    const validated = async (check: string, ...flags: string[]) => {
      await writeFiles(root, { ...SMALL, "small/phases/2/gate-definition.yaml": gate(check) });
      return run("validate", root, ...flags);
    };
    const allowed = await validated("command, argv: [npm, test]");
    expect(allowed.code).toBe(0);
    expect(allowed.stdout).toContain("the verifiers of small: give --project, --allow-command and --allow-host");
    expect((await validated("http_ok, url: 'http://localhost:3000/health'")).code).toBe(0);
    expect((await validated("tests_run, suite: all")).stdout).toMatch(
      /warning: phase 2 names the verifier "tests_run"/,
    );
    expect((await validated("command, argv: npm test")).stdout).toMatch(
      /4:\d+: error: phase 2 can't be started: "command": argv of command/,
    );
    expect((await validated("file_exists, path: '{nobody}'")).code).toBe(1);
    expect(await validated("command, argv: [npm, test]", "--allow-command", "npm")).toMatchObject({ code: 2 });
  });

  it("routed: validate checks the verifiers of steps as a start does", async () => {
    const root = await temporaryFolder();
    const gate =
      "---\ngate:\n  evidence_schema:\n    done: {type: string}\n  verify:\n    - {verifier: command, argv: [npm, test]}\n---\n";
    await writeFiles(root, {
      ...TASK,
      "Größe prüfen/steps/check_c.md": `${gate}${TASK["Größe prüfen/steps/check_c.md"]}`,
    });
    expect(await run("validate", root)).toMatchObject({ code: 0 });
    const { code, stdout } = await run("validate", root, "--project", root);
    expect(code).toBe(1);
    expect(stdout).toMatch(/steps\/check_c\.md:6:\d+: error: the step Check C can't be started: "command": /);
    const state = join(await temporaryFolder(), "state");
    const { ask } = await connectRouted(["--routed", root, "--state", state, "--decider", "linear", "--project", root]);
    expect(await ask("start_workflow", { workflow_name: "Größe prüfen" })).toMatchObject({
      error_code: "DEFINITION_NOT_FOUND",
    });
  });

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

  it("routed: refusals and completions are logged with ids over MCP, and a failed start can be retried", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, TASK);
    let turn = 0;
    const state = join(await temporaryFolder(), "state");
    const flags = ["--routed", root, "--state", state, "--decider", "sampling", "--first-step", "decider"];
    const { ask, log, client } = await connectRouted(flags, {}, () => {
      turn += 1;
      if (turn <= 2) return "no JSON";
      return JSON.stringify(
        turn === 3
          ? { next_step_name: "Check C", updated_context: [] }
          : { next_step_name: "Finish", updated_context: [], status_suggestion: "COMPLETED" },
      );
    });
    const refused = await ask("start_workflow", { workflow_name: "Größe prüfen" });
    const { instance_id, remedy } = Object(refused.details);
    expect(remedy).toContain("Call retry_workflow with this instance_id.");
    expect(await ask("retry_workflow", { instance_id })).toMatchObject({ next_step: { step_name: "Check C" } });
    const wrong = { instance_id, report: { status: "secret words", step_id: "Finish" } };
    expect(await ask("advance_workflow", wrong)).toMatchObject({ error_code: "STEP_NOT_CURRENT" });
    expect(await ask("advance_workflow", { instance_id })).toMatchObject({ error_code: "MISSING_FIELD" });
    const over = await ask("advance_workflow", { instance_id, report: { status: "success" } });
    expect(over).toMatchObject({ status: "COMPLETED", next_step: { step_name: "FINISH" } });
    expect(await ask("get_workflow_status", { instance_id })).toMatchObject({ current_step_name: "Finish" });
    await client.close();
    const refusals = log.filter(({ msg }) => msg === "refused");
    expect(refusals.map(({ operation, code, sessionId }) => [operation, code, sessionId])).toEqual([
      ["routed start", "DECIDER_FAILED", undefined],
      ["routed advance", "STEP_NOT_CURRENT", instance_id],
      ["routed advance", "INVALID_INPUT", instance_id],
    ]);
    expect(log.find(({ msg }) => msg === "completed")).toMatchObject({
      sessionId: instance_id,
      milliseconds: expect.any(Number),
    });
    expect(JSON.stringify(log)).not.toContain("secret words");
  });

  it("workspaces: reads, refusals and completions are logged; a mistake is no security event", async () => {
    const root = await temporaryFolder();
    await writeFiles(join(root, "bundle"), { "bundle.yaml": "name: office\ntype: bundle\n", "a.md": "Größe" });
    const flags = ["--bundle", join(root, "bundle"), "--output", join(root, "made"), "--project", root];
    const { client, log } = await connectToServe(flags);
    const ask = async (name: string, input: Answer = {}) => answerOf(await client.callTool({ name, arguments: input }));
    await ask("read_file", { path: "{bundle-root}/a.md" });
    await ask("read_file", { path: "{bundel-root}/a.md" });
    await ask("save_output", { path: "2020-01-01-000000/x.md", content: "x" });
    const { session_id } = await ask("create_session");
    await ask("read_file", { path: "../../etc/passwd" });
    await ask("complete_session");
    await client.close();
    const of = (name: string) => log.filter(({ msg }) => msg === name);
    expect(of("fileRead")).toMatchObject([{ path: "{bundle-root}/a.md", bytes: 7 }]);
    expect(of("refused").map(({ operation, code, sessionId }) => [operation, code, sessionId])).toEqual([
      ["read_file", "PATH_REFUSED", undefined],
      ["save_output", "SESSION_NOT_FOUND", undefined],
      ["read_file", "PATH_REFUSED", session_id],
    ]);
    expect(of("security")).toHaveLength(1);
    expect(of("sessionCompleted")).toMatchObject([{ sessionId: session_id, milliseconds: expect.any(Number) }]);
  });

  it("skills: one whose last step leads back ends by itself over MCP, and goes back by choice", async () => {
    const root = await temporaryFolder();
    await writeFiles(join(root, "bundle"), {
      "bundle.yaml": "name: office\ntype: bundle\n",
      "skills/review/SKILL.md":
        "---\nname: review\ndescription: x\n---\n# Review\n\nBegin with `./steps/step-01-read.md`.\n",
      "skills/review/steps/step-01-read.md":
        "# Read\n\nUse the same form as `./step-03-end.md`. Read fully and follow `./step-02-check.md`.\n",
      "skills/review/steps/step-02-check.md": "# Check\n\nSpeak {{.language}}. Follow `[[build:notes.md]]`.\n",
      "skills/review/steps/step-03-end.md": "# End\n\nIf there is more, loop back to `./step-01-read.md`.\n",
    });
    const flags = ["--bundle", join(root, "bundle"), "--output", join(root, "made"), "--project", root];
    const { client } = await connectToServe(flags);
    const ask = async (name: string, input: Answer = {}) => answerOf(await client.callTool({ name, arguments: input }));
    const next = (more: Answer = {}) => ask("next_step", { workflow: "review", ...more });
    expect(await ask("preload_workflow", { workflow: "review" })).toMatchObject({ success: true, warnings: [] });
    const check = await next();
    expect(check).toMatchObject({ step: "steps/step-02-check", number: 2 });
    expect(check.warnings).toEqual([
      expect.stringMatching(
        /step-02-check\.md has marks that a build replaces, such as \{\{\.language\}\} and \[\[build:notes\.md\]\]/,
      ),
    ]);
    const last = await next();
    expect(last).toMatchObject({ step: "steps/step-03-end", choices: ["done", "steps/step-01-read"] });
    expect(last.message).toContain("It ends the skill; to go back, give steps/step-01-read as step.");
    expect(await next({ step: "step-01-read" })).toMatchObject({ done: false, number: 1 });
    for (const _ of [2, 3]) await next();
    expect(await next()).toMatchObject({ done: true, message: expect.stringContaining("was the last step") });
    expect(await next({ step: "done" })).toMatchObject({ done: true });
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

import { appendFile, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { run } from "../cli/run-cli.js";
import { askingFiles } from "../support/approvals.js";
import { aProject } from "./a-project.js";

/** Runs `phasegate hook stop` with a client's JSON on stdin. Returns what the client gets. */
async function hook(client: string, sent: unknown, ...args: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(typeof sent === "string" ? sent : JSON.stringify(sent));
  const code = await runCli(["hook", "stop", "--client", client, ...args], { stdin, stdout, stderr });
  expect(code).toBe(0);
  const text = String(stdout.read() ?? "");
  return { answer: text === "" ? undefined : JSON.parse(text), stderr: String(stderr.read() ?? "") };
}

const WORKFLOW = {
  "metadata.json": JSON.stringify({
    ...{ workflow_type: "work", name: "Work", description: "Work", version: "1.0.0", category: "code" },
    ...{ estimated_duration: "an hour", phases: [{ phase_number: 1 }, { phase_number: 2 }] },
  }),
  "phases/1/phase.md": "# Phase 1: One\n\nDo it.\n",
  "phases/1/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
  "phases/2/phase.md": "# Phase 2: Two\n\nDo it.\n",
  "phases/2/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
};

/** Creates a project with a state, in which an agent has started sessions on some targets. */
async function aStartedProject(targets: readonly string[] = ["src/a.ts"], workflowType = "work") {
  const project = await aProject({ "src/a.ts": "" });
  const storage = await FileStorage.open(join(project.root, ".phasegate"));
  const content = new MemoryContent({ sources: { work: WORKFLOW, asking: askingFiles } });
  let now = Date.now();
  const engine = createEngine({ storage, content, limits: { maxAttempts: 1 }, clock: { now: () => (now += 1000) } });
  onTestFinished(() => engine.close());
  const ids: string[] = [];
  for (const target of targets) ids.push((await engine.start({ workflowType, target })).sessionId);
  const [sessionId = ""] = ids;
  const transcript = join(project.home, "conversation.jsonl");
  const says = (text: string) => appendFile(transcript, `${JSON.stringify({ type: "assistant", text })}\n`);
  await says("I begin.");
  await says(`called pos_workflow with ${sessionId}`);
  return { ...project, engine, ids, sessionId, transcript, says };
}

type Started = Awaited<ReturnType<typeof aStartedProject>>;

/** What each client sends, after its documentation: fields that are not read are there too. */
const SENT: Readonly<Record<string, (project: Started, change?: object) => object>> = {
  claude: ({ root, transcript }, change = {}) => ({
    session_id: "0b5c2f4e-one",
    transcript_path: transcript,
    cwd: join(root, "src"),
    permission_mode: "default",
    hook_event_name: "Stop",
    stop_hook_active: false,
    last_assistant_message: "I have fixed it.",
    ...change,
  }),
  codex: ({ root, transcript }, change = {}) => ({
    session_id: "0b5c2f4e-one",
    turn_id: "7d01",
    transcript_path: transcript,
    cwd: root,
    hook_event_name: "Stop",
    model: "a-model",
    permission_mode: "default",
    stop_hook_active: false,
    last_assistant_message: "I have fixed it.",
    ...change,
  }),
  qwen: ({ root, transcript }, change = {}) => ({
    session_id: "0b5c2f4e-one",
    transcript_path: transcript,
    cwd: root,
    hook_event_name: "Stop",
    timestamp: "2026-01-01T12:00:00.000Z",
    stop_hook_active: false,
    last_assistant_message: "I have fixed it.",
    ...change,
  }),
  copilot: ({ root, transcript }, change = {}) => ({
    hook_event_name: "Stop",
    session_id: "0b5c2f4e-one",
    timestamp: "2026-01-01T12:00:00.000Z",
    cwd: root,
    transcript_path: transcript,
    stop_reason: "end_turn",
    stop_hook_active: false,
    ...change,
  }),
  gemini: ({ root, transcript }, change = {}) => ({
    session_id: "0b5c2f4e-one",
    transcript_path: transcript,
    cwd: root,
    hook_event_name: "AfterAgent",
    timestamp: "2026-01-01T12:00:00.000Z",
    prompt: "fix it",
    prompt_response: "I have fixed it.",
    stop_hook_active: false,
    ...change,
  }),
  cursor: ({ root, transcript }, change = {}) => ({
    conversation_id: "0b5c2f4e-one",
    generation_id: "6f0e",
    model: "a-model",
    hook_event_name: "stop",
    cursor_version: "3.7.21",
    workspace_roots: [root],
    user_email: null,
    transcript_path: transcript,
    status: "completed",
    loop_count: 0,
    ...change,
  }),
};
const CLIENTS = Object.keys(SENT);
const sentBy = (client: string, project: Started, change?: object) => SENT[client]?.(project, change);

test.each([
  ["claude", (text: unknown) => ({ decision: "block", reason: text })],
  ["codex", (text: unknown) => ({ decision: "block", reason: text })],
  ["copilot", (text: unknown) => ({ decision: "block", reason: text })],
  ["qwen", (text: unknown) => ({ decision: "block", reason: text })],
  ["gemini", (text: unknown) => ({ decision: "deny", reason: text })],
  ["cursor", (text: unknown) => ({ followup_message: text })],
])(
  "%s: an agent with an unfinished session is told once which call is next, in the client's form",
  async (client, form) => {
    const project = await aStartedProject();
    const { answer } = await hook(client, sentBy(client, project));
    expect(answer).toEqual(
      form(
        [
          `The session ${project.sessionId} of phasegate is not completed.`,
          `Its next call of the tool pos_workflow is {"action":"get_phase","session_id":"${project.sessionId}"}`,
          "If you were not asked to work on it, or can't go on, end your turn.",
        ].join("\n"),
      ),
    );
    // The same again, from a client that does not say that its agent was asked to go on.
    expect(await hook(client, sentBy(client, project))).toEqual({ answer: undefined, stderr: "" });
    // Once something was done in the session, there is something new to say.
    await project.engine.session(project.sessionId).completePhase(1, { done: true });
    expect((await hook(client, sentBy(client, project))).answer).toBeDefined();
  },
);

test.each([
  ["claude", { stop_hook_active: true }],
  ["claude", { hook_event_name: "SubagentStop" }],
  ["codex", { stop_hook_active: true }],
  ["codex", { hook_event_name: "SubagentStop" }],
  ["qwen", { stop_hook_active: true }],
  ["copilot", { stop_hook_active: true }],
  ["gemini", { stop_hook_active: true }],
  ["gemini", { hook_event_name: "AfterTool" }],
  ["cursor", { loop_count: 1 }],
  ["cursor", { status: "aborted" }],
  ["cursor", { status: "error" }],
  ["cursor", { hook_event_name: "subagentStop" }],
])("%s: nothing is said if the client sends %j", async (client, change) => {
  const project = await aStartedProject();
  expect((await hook(client, sentBy(client, project, change))).answer).toBeUndefined();
  // The same without the change gets an answer: what was sent is right in all else.
  expect((await hook(client, sentBy(client, project))).answer).toBeDefined();
});

test.each(CLIENTS)("%s: a session that is completed, paused or failed is none to go on with", async (client) => {
  const project = await aStartedProject(["a", "b", "c"]);
  const [completed = "", paused = "", failed = ""] = project.ids;
  for (const id of project.ids) await project.says(id);
  for (const phase of [1, 2]) await project.engine.session(completed).completePhase(phase, { done: true });
  await project.engine.session(paused).pause({ note: "later" });
  await project.engine.session(failed).completePhase(1, {});
  expect((await hook(client, sentBy(client, project))).answer).toBeUndefined();
  await project.engine.session(paused).resume();
  expect((await hook(client, sentBy(client, project))).answer).toBeDefined();
});

test("a session that waits for a person is none to go on with", async () => {
  const project = await aStartedProject(["a"], "asking");
  await project.engine.session(project.sessionId).completePhase(1, { tests_pass: true });
  expect((await project.engine.session(project.sessionId).state()).awaiting).toBeDefined();
  expect((await hook("claude", sentBy("claude", project))).answer).toBeUndefined();
});

test("a session counts if the conversation names it; of several, the last that has changed", async () => {
  const project = await aStartedProject(["a", "b", "c"]);
  const [first = "", second = ""] = project.ids;
  const reason = async (conversation: string) =>
    (await hook("claude", sentBy("claude", project, { session_id: conversation }))).answer?.reason;
  expect(await reason("one")).toContain(first);
  // Far from the beginning, over the bounds of what is read at once.
  await project.says("x".repeat(200_001));
  await project.says(`${"y".repeat(65_000)}${second}`);
  expect(await reason("two")).toContain(second);
  await writeFile(project.transcript, "a conversation about other things");
  expect(await reason("three")).toBeUndefined();
});

test("without a transcript, only a session that changed within the hour counts", async () => {
  const project = await aStartedProject();
  const ask = (conversation_id: string) =>
    hook("cursor", sentBy("cursor", project, { transcript_path: null, conversation_id }));
  expect((await ask("one")).answer).toBeDefined();
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 61 * 60 * 1000);
  expect((await ask("two")).answer).toBeUndefined();
});

test("the note of a reminder disturbs no command on the state", async () => {
  const project = await aStartedProject();
  await hook("claude", sentBy("claude", project));
  const state = join(project.root, ".phasegate");
  expect(await readdir(state)).toContain("stop-hook.json");
  expect(await run("sessions", "--state", state)).toMatchObject({ code: 0, stderr: "" });
  expect(await run("audit", project.sessionId, "--state", state)).toMatchObject({ code: 0 });
  expect(await run("backup", "--state", state, join(project.home, "backup"))).toMatchObject({ code: 0 });
});

test("the note is bounded, and a damaged one is written anew", async () => {
  const project = await aStartedProject();
  const file = join(project.root, ".phasegate", "stop-hook.json");
  for (const damaged of ["", "{", '{"a": 1}']) {
    await writeFile(file, damaged);
    expect((await hook("claude", sentBy("claude", project))).answer).toBeDefined();
  }
  await writeFile(file, JSON.stringify(Array.from({ length: 500 }, (_, index) => `note ${index}`)));
  await hook("claude", sentBy("claude", project));
  expect(JSON.parse(await readFile(file, "utf8"))).toHaveLength(50);
});

test("the note is in the folder of the state; for a database it is in .phasegate, which is not made", async () => {
  const project = await aStartedProject();
  const own = join(project.root, ".phasegate");
  const [folder, database] = [join(project.home, "elsewhere"), `sqlite:${join(project.home, "s.db")}`];
  expect(await run("backup", "--state", own, folder)).toMatchObject({ code: 0 });
  expect(await run("restore", folder, "--state", database)).toMatchObject({ code: 0 });
  await rename(own, join(project.home, "away"));
  const ask = async (state: string) => (await hook("claude", sentBy("claude", project), "--state", state)).answer;
  expect([await ask(folder), await ask(folder)]).toEqual([expect.anything(), undefined]);
  expect((await stat(join(folder, "stop-hook.json"))).mode & 0o077).toBe(0);
  expect(await ask(database)).toBeUndefined();
  expect(await readdir(project.root)).not.toContain(".phasegate");
  await mkdir(own);
  expect([await ask(database), await ask(database)]).toEqual([expect.anything(), undefined]);
});

test("whatever fails, the agent may end; --log-level debug says what failed", async () => {
  const project = await aStartedProject();
  const tampered = await aStartedProject();
  const commits = join(tampered.root, ".phasegate");
  for (const name of await readdir(commits, { recursive: true })) {
    if (name.endsWith(".json") && name.includes(tampered.sessionId)) await writeFile(join(commits, name), "{}");
  }
  expect(await run("sessions", "--state", commits)).toMatchObject({ code: 1 });
  const nowhere = join(project.home, "nowhere");
  await mkdir(nowhere);
  const silent: readonly (readonly [unknown, ...string[]])[] = [
    [""],
    ["no JSON"],
    ["[]"],
    ["null"],
    [sentBy("claude", project, { cwd: nowhere })],
    [sentBy("claude", project, { cwd: join(nowhere, "missing") })],
    [sentBy("claude", project), "--state", nowhere],
    [sentBy("claude", project), "--state", "unknown:x"],
    [sentBy("claude", project), "--hash-key-file", join(nowhere, "key")],
    [sentBy("claude", tampered)],
  ];
  for (const [sent, ...args] of silent) {
    expect(await hook("claude", sent, ...args)).toEqual({ answer: undefined, stderr: "" });
  }
  const { stderr } = await hook("claude", sentBy("claude", project), "--state", nowhere, "--log-level", "debug");
  expect(stderr).toContain(`there are no sessions in ${nowhere}`);
  expect((await hook("claude", sentBy("claude", project))).answer).toBeDefined();
});

test("a byte order mark in front of the input, as Cursor writes it, is no part of it", async () => {
  const project = await aStartedProject();
  expect((await hook("cursor", `\ufeff${JSON.stringify(sentBy("cursor", project))}`)).answer).toBeDefined();
});

test("a project without any session is silent", async () => {
  const { root } = await aProject();
  expect((await hook("claude", { hook_event_name: "Stop", cwd: root })).answer).toBeUndefined();
  expect(await readdir(root)).not.toContain(".phasegate");
});

test("wrong options are told, and keep no agent from its end", async () => {
  const told = await run("hook", "stop", "--client", "vscode");
  expect(told).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("Allowed choices are") });
  vi.stubEnv("PHASEGATE_STATE", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await run("hook", "stop", "--client", "claude")).toMatchObject({ code: 0 });
});

test("a client that does not close its end, or a state that does not answer, holds nobody up", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  onTestFinished(() => exit.mockRestore());
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const done = runCli(["hook", "stop", "--client", "claude"], { stdin, stdout, stderr });
  stdin.write('{"hook_event_name": "Stop"');
  // The command is loaded, and waits for the rest.
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(9_999);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(exit).toHaveBeenCalledWith(0);
  stdin.end();
  expect([await done, stdout.read(), vi.getTimerCount()]).toEqual([0, null, 0]);
});

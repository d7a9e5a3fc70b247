import { existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startModelServer } from "../../src/testing/model-server.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { runBin } from "./bin.js";
import { CORPUS, connectRouted, connectRoutedBin, nextIn, REASON, standingIn, stepsOf } from "./routed-client.js";
import { GARDENS } from "./routed-folders.js";
import { run } from "./run-cli.js";
import { serveHttp } from "./serve-http.js";
import { SMALL } from "./workflow-folders.js";

const report = { status: "success" };
const NO_FILE = join(tmpdir(), "phasegate-that-nobody-makes.sqlite");

describe.skipIf(REASON !== "")(`routed workflows from real projects, served${REASON}`, () => {
  it("run over MCP with the client's own model, even if the server is killed", { timeout: 60_000 }, async () => {
    const steps = stepsOf("REFACTOR_WITH_TESTS");
    expect(steps.length).toBeGreaterThan(5);
    const flags = ["--routed", CORPUS, "--state", join(await temporaryFolder(), "state")];
    let kill: (() => void) | undefined;
    // At the third question the report is written but nothing is decided: the server is killed before the answer.
    const model = async (prompt: string) => {
      if (kill !== undefined && standingIn(prompt) === steps[2]) {
        kill();
        return new Promise<never>(() => {});
      }
      return nextIn(steps, prompt);
    };
    const first = await connectRoutedBin(flags, {}, model);
    kill = () => first.signal("SIGKILL");
    const started = await first.ask("start_workflow", { workflow_name: "REFACTOR_WITH_TESTS", context: { from: "a" } });
    const { instance_id } = started;
    expect(started).toMatchObject({ next_step: { step_name: steps[0] } });
    const advance = { instance_id, report, context_updates: { seen: true } };
    expect(await first.ask("advance_workflow", advance)).toMatchObject({ next_step: { step_name: steps[1] } });
    expect(await first.ask("advance_workflow", advance)).toMatchObject({ next_step: { step_name: steps[2] } });
    const third = { instance_id, report: { status: "success", message: "the one before the crash" } };
    await expect(first.ask("advance_workflow", third)).rejects.toThrow();

    kill = undefined;
    const second = await connectRoutedBin(flags, {}, model);
    const standing = await second.ask("get_workflow_status", { instance_id });
    expect(standing).toMatchObject({ status: "RUNNING", current_step_name: steps[2], pending: "advance" });
    expect(standing).toMatchObject({ current_context: { from: "a", seen: true } });
    let answer = await second.ask("advance_workflow", third);
    const gone = [steps[0], steps[1], steps[2]];
    for (let turn = 0; turn < steps.length && answer.status === "RUNNING"; turn += 1) {
      gone.push(nameOf(answer));
      answer = await second.ask("advance_workflow", advance);
    }
    expect(answer).toMatchObject({ status: "COMPLETED", next_step: { step_name: "FINISH" } });
    expect(gone).toEqual(steps);
    const { history } = await second.ask("get_workflow_history", { instance_id });
    expect(Array.isArray(history) && history.length).toBe(steps.length);
    expect(JSON.stringify(history)).toContain("the one before the crash");
  });

  it("run with Gemini's own client, configured only by variables", { timeout: 60_000 }, async () => {
    const steps = stepsOf("COMMIT_SUGGESTER");
    const server = await startModelServer(({ body }) => {
      const prompt = JSON.stringify(body).replaceAll("\\n", "\n").replaceAll('\\"', '"');
      return { text: nextIn(steps, prompt) };
    });
    onTestFinished(() => server.close());
    const folder = await temporaryFolder();
    const env = {
      WORKFLOW_DEFINITIONS_DIR: CORPUS,
      WORKFLOW_DB_PATH: join(folder, "workflows.sqlite"),
      GEMINI_API_KEY: "AIzaPlantedKeyOfATest0123456789abcdefgh",
      GEMINI_MODEL_NAME: "gemini-test",
      GOOGLE_GEMINI_BASE_URL: server.url,
      LOG_LEVEL: "INFO",
      ORCHESTRATOR_LOG_DIR: join(folder, "logs"),
      AI_INTERACTIONS_LOG_FILE: "models.log",
    };
    const { ask, log } = await connectRouted([], env);
    let answer = await ask("start_workflow", { workflow_name: "COMMIT_SUGGESTER" });
    const gone: string[] = [];
    for (let turn = 0; turn <= steps.length && answer.status === "RUNNING"; turn += 1) {
      gone.push(nameOf(answer));
      answer = await ask("advance_workflow", { instance_id: answer.instance_id, report });
    }
    expect(answer).toMatchObject({ status: "COMPLETED" });
    expect(gone).toEqual(steps);
    expect(server.requests.map(({ path }) => path)[0]).toContain("gemini-test");
    expect(log).toContainEqual(expect.objectContaining({ msg: "decider", decider: "gemini" }));
    const main = readFileSync(join(folder, "logs/orchestrator.log"), "utf8");
    const ai = readFileSync(join(folder, "logs/models.log"), "utf8");
    expect(main).toContain('"msg":"completed"');
    expect(ai.trim().split("\n")).toHaveLength(steps.length);
    expect(ai).toContain("Orchestrator Guidance");
    expect(`${main}${ai}${JSON.stringify(log)}`).not.toContain(env.GEMINI_API_KEY);
    expect(statSync(join(folder, "logs/models.log")).mode & 0o777).toBe(0o600);
  });

  it("run over HTTP, without a model", { timeout: 60_000 }, async () => {
    const { url, end } = await serveHttp({ USE_STUB_AI_CLIENT: "true" }, "--routed", CORPUS);
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
      const response = await fetch(`${url}/workflows/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: await response.json() };
    };
    const steps = stepsOf("JOKE_GENERATOR");
    const { workflows } = await (await fetch(`${url}/workflows/list`)).json();
    expect(workflows).toEqual(["COMMIT_SUGGESTER", "JOKE_GENERATOR", "REFACTOR_WITH_TESTS", "SAVE"]);
    let answer = await post("start", { workflow_name: "JOKE_GENERATOR" });
    const gone: string[] = [];
    for (let turn = 0; turn <= steps.length && answer.body.status === "RUNNING"; turn += 1) {
      gone.push(answer.body.next_step.step_name);
      answer = await post("advance", { instance_id: answer.body.instance_id, report });
    }
    expect(answer.body).toMatchObject({ status: "COMPLETED" });
    expect(gone).toEqual(steps);
    // Longer than the limit: refused while it is still being sent.
    expect(await post("start", { workflow_name: "x", context: { long: "x".repeat(3_000_000) } })).toMatchObject({
      status: 413,
    });
    expect(await hosted(`${url}/workflows/list`, "evil.example")).toBe(403);
    expect(await hosted(`${url}/workflows/list`, "localhost:1")).toBe(200);
    expect((await fetch(`${url}/workflows/list`, { method: "HEAD" })).status).toBe(200);
    expect(await end()).toBe(0);
  });
});

describe("phasegate serve with routed workflows", () => {
  it("serves them together with phased ones, from one state", { timeout: 30_000 }, async () => {
    const { flags } = await gardens();
    const { client, ask } = await connectRouted([...flags, "--decider", "linear"]);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("pos_workflow");
    expect(names).toContain("advance_workflow");
    const { instance_id } = await ask("start_workflow", { workflow_name: "GARDEN" });
    const phased = { action: "start", workflow_type: "small", target_file: "a.ts" };
    expect(await ask("pos_workflow", phased)).toMatchObject({ status: "success" });
    expect(await ask("advance_workflow", { instance_id, report })).toMatchObject({ next_step: { step_name: "Sow" } });
  });

  it("serves them as one tool, and includes files from allowed roots", { timeout: 30_000 }, async () => {
    const { routed, state } = await gardens();
    const flags = ["--routed", routed, "--state", state, "--decider", "linear", "--routed-tools", "single"];
    const { client, ask } = await connectRouted([...flags, "--include-root", "shared"]);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["routed_workflow"]);
    expect(await ask("routed_workflow", { action: "start_workflow", workflow_name: "SHARED" })).toMatchObject({
      next_step: { instructions: "Wash your hands." },
    });
    const without = await connectRouted(flags);
    expect(await without.ask("routed_workflow", { action: "list_workflows" })).toMatchObject({
      workflows: ["GARDEN"],
      broken: [
        { workflow_name: "SHARED", errors: [expect.stringContaining("is empty"), expect.stringContaining("refused")] },
      ],
    });
  });

  it.each<[string[], Record<string, string>, RegExp]>([
    [["--state", "x"], {}, /there is nothing to serve/],
    [["--standards", ".", "--inspector", "0"], {}, /--inspector shows sessions, and there are none/],
    [["--routed", "x"], {}, /--state is missing/],
    [["--routed", "x", "--state", "x", "--decider", "oracle"], {}, /Allowed choices are gemini, sampling, linear/],
    [["--routed", "x", "--state", "x", "--http", "70000"], {}, /less than 65536/],
    [
      ["--workflows", "x", "--routed", "x", "--state", "x", "--http", "0"],
      {},
      /serves phased workflows or routed ones, and nothing else/,
    ],
    [["--routed", "x", "--state", "x"], { LOG_LEVEL: "loud" }, /LOG_LEVEL is not a log level/],
    [["--routed", "x", "--state", "x"], { ORCHESTRATOR_LOG_FILE: "../x.log" }, /must be a file name without a folder/],
    [["--routed", ".", "--http", "0"], { WORKFLOW_DB_PATH: NO_FILE }, /no model that a sampling decider could ask/],
    [
      ["--routed", "."],
      { WORKFLOW_DB_PATH: NO_FILE, GEMINI_REQUEST_TIMEOUT_SECONDS: "1", GEMINI_API_KEY: "ä" },
      /apiKey/,
    ],
  ])("refuses wrong usage: %j", async (flags, env, message) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { code, stdout, stderr } = await run("serve", ...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    // A refused command creates no state.
    expect(existsSync("x") || existsSync(NO_FILE)).toBe(false);
  });

  it("reports a folder that is missing, and a port that is in use", async () => {
    const { state, routed } = await gardens();
    const missing = await run("serve", "--routed", "/nowhere", "--state", state);
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining("the folder of routed workflows") });
    const { url } = await serveHttp({}, "--routed", routed, "--decider", "linear");
    const taken = ["--http", new URL(url).port, "--decider", "linear"];
    const second = await runBin(["serve", "--routed", routed, "--state", state, ...taken]);
    expect(second.code).toBe(3);
    expect(second.stderr).toContain(`port ${new URL(url).port} is in use`);
    expect(second.stderr).toContain("--http 0 for any free one");
  });
});

function nameOf({ next_step: step }: Record<string, unknown>): string {
  return typeof step === "object" && step !== null && "step_name" in step ? String(step.step_name) : "";
}

/** Creates a folder of phased workflows and one of routed ones. */
async function gardens() {
  const root = await temporaryFolder();
  await writeFiles(join(root, "phased"), SMALL);
  await writeFiles(join(root, "routed"), GARDENS);
  const [state, routed] = [join(root, "state"), join(root, "routed")];
  return { state, routed, flags: ["--workflows", join(root, "phased"), "--routed", routed, "--state", state] };
}

/** Returns the status of a request with the given Host header. */
function hosted(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}

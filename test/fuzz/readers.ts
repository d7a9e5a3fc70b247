/**
 * Everything that reads text from outside: what it is given when all is well, the words of its format, and the call that
 * reads it. `read` returns what came of it, in a word: `read`, or the code of a refusal. Anything else it throws.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { glob, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createWorkflowTool, MemoryStorage, type StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine, RoutedFolders } from "phasegate/routed";
import { SqliteStorage } from "phasegate/sqlite";
import { CommandFailure } from "../../src/cli/exit-codes.js";
import { exportLines } from "../../src/cli/export.js";
import { checkLines, importBlock } from "../../src/cli/import.js";
import { LinearDecider } from "../../src/deciders/linear.js";
import { isPhasegateError } from "../../src/errors.js";
import { LogRefusal } from "../../src/phased/log-check.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { taskMasterParser } from "../../src/plan/task-master.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { isErrorCode } from "../../src/tools/dispatch.js";
import { DIAGNOSTIC_CODES } from "../../src/workflow/diagnostic.js";
import { isJsonObject } from "../../src/workflow/json.js";
import { served } from "../http/call-api.js";
import { FolderOfTexts, gardenTexts, stepText } from "../routed/definition/folder-of-texts.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { livedIn } from "../support/house.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { gateFile, metadata, phase, read as readWorkflowWith } from "../workflow/workflow-texts.js";
import { makeOffice } from "../workspace/preload/office.js";
import { sendOverMcp } from "./over-mcp.js";

/** One reader of foreign text. */
export interface Reader {
  readonly name: string;
  /** Texts that it reads, or refuses for a reason; those of real projects are added where they are there. */
  readonly seeds: () => Promise<readonly string[]>;
  /** Words of the format. */
  readonly tokens: readonly string[];
  /** What comes of a seed; default: `read`. */
  readonly good?: string;
  /** Prepares the reader. Returns the call that reads one text, and returns `read` or the code of a refusal. */
  open(): Promise<(text: string) => Promise<string>>;
}

const CORPUS = fileURLToPath(new URL("../../../shared/corpus", import.meta.url));

/** Returns the texts of real projects under a pattern; none where they are not beside the repository. */
async function real(pattern: string): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(pattern, { cwd: CORPUS })) found.push(readFileSync(join(CORPUS, path), "utf8"));
  return found.filter((text) => text.length < 40_000).slice(0, 8);
}

const fixture = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), "utf8");

/** Runs a reader that throws what it refuses. */
async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "read";
  } catch (error) {
    // `INTERNAL` stands for an error that nobody expected.
    if (isPhasegateError(error) && error.code !== "INTERNAL") return error.code;
    if (error instanceof CommandFailure || error instanceof LogRefusal) return error.name;
    throw error;
  }
}

/** Returns the code in a refusing answer of a tool. */
function answered(answer: object): string {
  const { status, code, error_type } = answer as Readonly<Record<string, unknown>>;
  if (status === "success") return "read";
  // A gate that was not met is no error, but has a code.
  if (code === "GATE_FAILED" || (isErrorCode(code) && code !== "INTERNAL")) return code;
  throw new Error(`an answer without a known code: ${JSON.stringify({ status, code, error_type })}`);
}

const GATE = `${gateFile('a: {type: boolean, description: "done"}', 'b: {type: integer, validator: "value > 0"}')}validators:
  mine: {rule: "value.size() > 2", error_message: too short}
cross_field_validation: [{rule: "evidence.b > 1 || evidence.a", error_message: no}, "lambda e: e['b'] > 1"]
verify: [git_clean, {verifier: command, run: [npm, test], exit: 0}]
approval: {prompt: Well?, approvers: [ann]}
checkpoint: {strict: true, allow_override: false}
reveal: names
`;
const GATE_WORDS = [
  "evidence_schema:",
  "validator:",
  "greater_than_1",
  "lambda x: x",
  "type: list",
  "required: false",
  "waivable:",
  "since: {phase: 1}",
];

const PHASE_TEXT = `# Phase 1: Dig\n
**Evidence Required:**\n
| Evidence | Type | Validator | Description |
|----------|------|-----------|-------------|
| \`depth\` | integer | greater_than_0 | How deep |
| \`dug\` | boolean | is_true | |\n
## Checkpoint\n\n- [ ] It is dug\n- [ ] At least 3 worms ✅/❌\n
\`\`\`python\ncomplete_phase(evidence={"depth": 3, "dug": True})\n\`\`\`\n
🛑 VALIDATE-GATE: See [core](../../core/a.md)\n`;

const WORKFLOW_YAML = fixture("workspace/bundle/workflows/meeting-notes/workflow.yaml");
const SKILL_MD = fixture("workspace/bundle/skills/release-check/SKILL.md");
const CUSTOM_TOML = fixture("workspace/bundle/skills/release-check/customize.toml");

/** Reads a workflow of which one file is the text; its diagnostics must have known codes, places and sentences. */
async function workflowWith(path: string, text: string): Promise<string> {
  const { structure, diagnostics } = await readWorkflowWith({ [path]: text });
  for (const { code, message, file, line } of diagnostics) {
    if (!Object.hasOwn(DIAGNOSTIC_CODES, code) || message === "" || file === "" || (line ?? 1) < 1) {
      throw new Error(`a diagnostic that says nothing: ${JSON.stringify({ code, message, file, line })}`);
    }
  }
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if ((structure === undefined) !== errors.length > 0) throw new Error("refused without an error, or read with one");
  return errors[0]?.code ?? "read";
}

/** Opens a workspace in which one file is replaced by each text. */
async function preloading(workflow: string, path: string) {
  const office = await makeOffice();
  return async (text: string) => {
    await writeFile(join(office.project, "bundle", path), text);
    const workspace = await office.open();
    const codes: string[] = [];
    workspace.on("refused", ({ code }) => void codes.push(code));
    const answer = await workspace.preloadWorkflow({ workflow, reload: true });
    if (answer.success) return "read";
    const [code] = codes;
    if (!isErrorCode(code) || code === "INTERNAL") throw new Error(`refused with ${code}: ${JSON.stringify(answer)}`);
    return code;
  };
}

async function lines(storage: StorageAdapter): Promise<string> {
  const found: string[] = [];
  for await (const line of exportLines(storage, { onRefused: () => {}, onEnd: () => {} })) found.push(line);
  return found.join("");
}

/** All readers. */
export const READERS: readonly Reader[] = [
  {
    name: "tasks.md",
    seeds: async () => [
      "## Phase 1: A\n\n- [ ] **Task 1.1**: b\n  - **Dependencies:** none\n",
      ...(await real("{praxis-os/tasks,openspec}/*/tasks.md")),
    ],
    tokens: [
      "### Task 1.2: c",
      "- [X] T001 [P] [US1] do",
      "**Acceptance Criteria:**",
      "_Requirements: 1.1_",
      "Dependencies: Task 1.1",
      "1. ",
      "- [~] ",
    ],
    open: async () => (text) => refusalOf(() => parsePlan(text, { file: "tasks.md" })),
  },
  {
    name: "tasks.json",
    seeds: async () => [
      '{"master": {"tasks": [{"id": 1, "title": "a", "status": "done", "dependencies": [2], "subtasks": [{"id": 1, "title": "b"}]}, {"id": "2", "title": "c"}]}}',
    ],
    tokens: ['"id": 1', '"status": "pending"', '"tasks": [', '"dependencies": ["1.1"]'],
    open: async () => (text) => refusalOf(() => taskMasterParser.parse(text, "tasks.json")),
  },
  {
    name: "gate-definition.yaml",
    seeds: async () => [GATE, ...(await real("praxis-os/workflows/*/phases/*/gate-definition.yaml"))],
    tokens: GATE_WORDS,
    open: async () => (text) => workflowWith("phases/1/gate-definition.yaml", text),
  },
  {
    name: "metadata.json",
    seeds: async () => [
      metadata({
        tags: ["t"],
        target: "none",
        options_schema: { type: "object", properties: { depth: { type: "integer", default: 2 } } },
      }),
      metadata({
        phases: [phase(1, { skip_when: "options.depth > 1" }), phase("1-N")],
        dynamic_config: { parser: "x", templates: { phase: "p.md" } },
      }),
      ...(await real("praxis-os/workflows/*/metadata.json")),
    ],
    tokens: [
      '"phase_number": 1',
      '"required_evidence": ["a"]',
      '"skip_condition": "No a in options"',
      '"$ref": "#/$defs/a"',
      '"pattern": "(a+)+"',
    ],
    open: async () => (text) => workflowWith("metadata.json", text),
  },
  {
    name: "the text of a phase",
    seeds: async () => [PHASE_TEXT, ...(await real("praxis-os/workflows/*/phases/*/*.md"))],
    tokens: [
      "## Validation Gate",
      "| Evidence | Type |",
      "**Required Evidence**",
      "✅/❌",
      "🛑 MUST-READ: [a](b.md)",
      "```json\n",
      "at least 3",
    ],
    open: async () => (text) => workflowWith("phases/1/phase.md", text),
  },
  {
    name: "a rule",
    seeds: async () => [
      "value > 0 && size(evidence.a) >= 2",
      "evidence.all(k, evidence[k] != null) ? true : has(evidence.b.c)",
      "value.matches('^[a-z]+$') || value in ['a', \"b\"]",
      "cel.bind(x, value, x * 2 > 1.5e3 - -1u)",
      "lambda x, p: 0 < len(x) <= p['max'] and not x.startswith('a')",
    ],
    tokens: [
      "evidence.",
      ".map(x, ",
      ".exists(",
      "size(",
      "&& ",
      "|| ",
      "? ",
      " : ",
      "in ",
      "b'\\x00'",
      "r'a'",
      "duration('1h')",
      ".get('a')",
      "lambda x: ",
    ],
    open: async () => {
      const language = await loadRuleLanguage();
      const rules = language.forVariables({ evidence: "object", value: "any" });
      return async (text) => {
        const rule = rules.compile(text);
        if (!rule.ok && rule.message === "") throw new Error("a refusal without a word");
        return workflowWith(
          "phases/1/gate-definition.yaml",
          gateFile(`a: {type: any, validator: ${JSON.stringify(text)}}`),
        );
      };
    },
  },
  {
    name: "index.md of a routed workflow",
    seeds: async () => [gardenTexts()["GARDEN/index.md"] ?? "", ...(await real("orchestrator/workflows/*/index.md"))],
    tokens: [
      "1. [Dig](steps/dig.md)",
      "[Sow](<steps/sow.md>)",
      "{{file:steps/dig.md}}",
      "---\ngate: {a: 1}\n---\n",
      "../",
      "%2e%2e/",
    ],
    open: async () => (text) => routedWith({ "GARDEN/index.md": text }),
  },
  {
    name: "a step of a routed workflow",
    seeds: async () => [
      stepText('Then "Water".'),
      `---\n${GATE}---\n${stepText('If dug, "FINISH".')}`,
      ...(await real("orchestrator/workflows/*/steps/*.md")),
    ],
    tokens: [
      "# Orchestrator Guidance",
      "# Client Instructions",
      "{{file:a.md}}",
      '"FINISH"',
      "context.",
      "next: [Dig]",
      ...GATE_WORDS,
    ],
    open: async () => (text) => routedWith({ "GARDEN/steps/sow.md": text }),
  },
  {
    name: "workflow.yaml",
    seeds: async () => [WORKFLOW_YAML],
    tokens: [
      "{config_source}:a",
      "{project-root}",
      "{installed_path}/",
      "{{topic}}",
      "instructions: ",
      "{date}",
      "invoke_workflow",
      "../",
    ],
    open: () => preloading("meeting-notes", "workflows/meeting-notes/workflow.yaml"),
  },
  {
    name: "customize.toml",
    seeds: async () => [CUSTOM_TOML, ...(await real("bmad/skills/*/customize.toml"))],
    tokens: ["[workflow]", "[[a.b]]", "a = 1979-05-27", "a.b.c = ", '"""', "inf"],
    open: () => preloading("release-check", "skills/release-check/customize.toml"),
  },
  {
    name: "SKILL.md",
    seeds: async () => [SKILL_MD, ...(await real("bmad/skills/*/SKILL.md"))],
    tokens: [
      "---\nname: a\n",
      "description: ",
      "[step](steps/step-01-a.md)",
      "{skill-root}",
      "nextStepFile: './a.md'",
      "[[a]]",
      "{{.x}}",
    ],
    open: () => preloading("release-check", "skills/release-check/SKILL.md"),
  },
  {
    name: "a cursor",
    seeds: cursors,
    tokens: ["=", "-", "_", "eyJ", "MQ", ":", "2026-01-01T00:00:00.000Z"],
    open: async () => {
      const storages = [...(await filled())];
      return async (cursor) => {
        const found: string[] = [];
        for (const storage of storages) {
          found.push(await refusalOf(() => storage.list({ limit: 2, cursor })));
          const tool = createWorkflowTool(makeEngine({ storage }).engine);
          found.push(answered(await tool.dispatch({ action: "list_sessions", cursor })));
        }
        return found.sort()[0] ?? "read";
      };
    },
  },
  {
    name: "a file to import",
    seeds: async () => [await lines(await livedInMemory())],
    tokens: ['"version":1', '"hash":"', '"payloads":[]', '"kind":"routed"', "\\ud800", '{"end":{}}'],
    open: async () => {
      const file = join(await temporaryFolder(), "sessions.jsonl");
      return async (text) => {
        await writeFile(file, withEnd(text));
        const storage = new MemoryStorage();
        return refusalOf(async () => {
          const blocks = await checkLines(file, undefined);
          for (const block of blocks) await importBlock(file, block, storage, undefined);
        });
      };
    },
  },
  {
    name: "the body of a request over HTTP",
    good: "answered",
    seeds: async () => [
      '{"workflow_name": "GARDEN", "context": {"a": 1}, "idempotency_key": "k"}',
      '{"instance_id": "x", "report": {"status": "success", "details": {"a": [1]}, "message": "m", "error": null}}',
    ],
    tokens: ['"workflow_name"', '"report": {', '"status": "failure"', '"context": ['],
    open: async () => {
      const { send } = served(new LinearDecider());
      const headers = { "content-type": "application/json" };
      return async (body) => {
        const codes: unknown[] = [];
        for (const path of ["start", "advance", "resume"]) {
          // Each answer is checked against the OpenAPI document, which has the codes.
          const { status, body: answer } = await send(`/workflows/${path}`, { method: "POST", headers, body });
          if (status >= 500) throw new Error(`${path} answers ${status}`);
          if (status >= 400) codes.push(answer.error_code);
        }
        return codes.length === 3 ? String(codes[0]) : "answered";
      };
    },
  },
  {
    name: "a line over MCP",
    good: "answered",
    seeds: async () => [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pos_workflow","arguments":{"action":"list_workflows"}}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}',
    ],
    tokens: ['"id":null', '"jsonrpc":"1.0"', '"_meta":{}', "\\u0000"],
    open: async () => {
      const { engine } = makeEngine();
      return (text) => sendOverMcp(engine, text, answered);
    },
  },
  {
    name: "the arguments of the tool",
    seeds: async () => [
      '{"action": "start", "workflow_type": "test_generation_v3", "target_file": "src/a.ts", "options": {"a": 1}}',
      '{"action": "complete_phase", "session_id": "ID", "phase": 1, "evidence": {"summary": "s", "tests": [1, {"a": null}]}, "idempotency_key": "k"}',
      '{"action": "get_task", "session_id": "ID", "phase": 1, "task_number": 1}',
      '{"action": "request_waiver", "session_id": "ID", "phase": 1, "fields": ["a"], "reason": "r"}',
    ],
    tokens: [
      '"action": "get_state"',
      '"phase": 2',
      '"session_id": "ID"',
      '"cursor": "x"',
      '"detail": "full"',
      '"path": "../a"',
    ],
    open: async () => {
      const { engine } = makeEngine();
      const id = await startTwoPhases(engine);
      const tool = createWorkflowTool(engine);
      return async (text) => {
        const given: unknown = safeParse(text.replaceAll("ID", id));
        return given === undefined ? "no JSON" : answered(await tool.dispatch(given));
      };
    },
  },
];

async function routedWith(changes: Readonly<Record<string, string>>): Promise<string> {
  const workflows = new RoutedFolders({ source: new FolderOfTexts(gardenTexts(changes)) });
  const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });
  await engine.listWorkflows();
  return refusalOf(async () => {
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance({ report: { status: "success" } });
  });
}

async function livedInMemory(): Promise<StorageAdapter> {
  const storage = new MemoryStorage();
  await livedIn(storage);
  return storage;
}

/** Returns a storage of each kind that needs no server, with sessions. */
async function filled(): Promise<readonly StorageAdapter[]> {
  const storages = [
    new MemoryStorage(),
    await SqliteStorage.open(new DatabaseSync(":memory:")),
    await FileStorage.open(join(await temporaryFolder(), "state")),
  ];
  for (const storage of storages) await livedIn(storage);
  return storages;
}

/** Returns a cursor of each storage. */
async function cursors(): Promise<string[]> {
  const pages = await Promise.all((await filled()).map((storage) => storage.list({ limit: 2 })));
  return pages.flatMap(({ cursor }) => cursor ?? []);
}

/** Returns the lines with an end that counts and signs them, so that what is in them is looked at. */
function withEnd(text: string): string {
  const all = text.split("\n").filter((line) => line !== "" && !line.startsWith('{"end"'));
  const commits = all
    .slice(1)
    .flatMap((line) => safeParse(line) ?? [])
    .filter(isJsonObject);
  const sessions = commits.filter(({ version }) => version === 1).length;
  const signed = all.map((line) => `${line}\n`).join("");
  const digest = createHash("sha256").update(signed).digest("hex");
  return `${signed}${JSON.stringify({ end: { sessions, commits: commits.length, digest } })}\n`;
}

function safeParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

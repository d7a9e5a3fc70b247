/** Everything that reads what others have written, each with the words that its texts are made of. */
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { readLine, splitLines } from "../../src/cli/export.js";
import { printable, withoutPasswords } from "../../src/cli/terminal.js";
import { redactShapes } from "../../src/deciders/exchange.js";
import { checkGate } from "../../src/gate/check-gate.js";
import { checkEvidenceSafety } from "../../src/gate/evidence.js";
import { readRequest } from "../../src/http/api.js";
import { ROUTES } from "../../src/http/routes.js";
import { createStdioLines } from "../../src/mcp/stdio-messages.js";
import { planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { taskMasterParser } from "../../src/plan/task-master.js";
import { readDecisionText } from "../../src/routed/decision/request.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { readRuleText } from "../../src/rules/python-to-cel.js";
import { withoutFolders } from "../../src/sandbox/refusals.js";
import { readFrontMatter } from "../../src/search/source-files.js";
import { chunkMarkdown } from "../../src/search/sync.js";
import { createWords } from "../../src/search/text-index.js";
import { renderTemplate } from "../../src/template/template.js";
import { pageText, readJsonCursor } from "../../src/tools/pages.js";
import { ACTIONS } from "../../src/tools/phased/actions.js";
import { badParametersAnswer, unknownActionAnswer } from "../../src/tools/phased/refusals.js";
import { parseRequest } from "../../src/tools/wire.js";
import { headingsBelow, headingsOf } from "../../src/verifiers/judge-markdown.js";
import { countMatches } from "../../src/verifiers/lines.js";
import { outputLines, shownCommand } from "../../src/verifiers/subject.js";
import { readGate } from "../../src/workflow/files/choose-gate.js";
import { missingDocuments } from "../../src/workflow/files/documents.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { readRoutedWorkflow } from "../../src/workflow/files/routed-workflow.js";
import { findRequirements } from "../../src/workflow/infer/document-gate.js";
import { findExamples } from "../../src/workflow/infer/examples.js";
import { isJsonObject } from "../../src/workflow/json.js";
import { readMarkdownFacts } from "../../src/workflow/markdown-facts.js";
import { keptBack, secretIn } from "../../src/workflow/names.js";
import { createReport } from "../../src/workflow/report.js";
import type { FieldGate, PlanGate } from "../../src/workflow/structure.js";
import { splitFrontMatter } from "../../src/workflow/yaml.js";
import { readBundle } from "../../src/workspace/bundles/bundle.js";
import { loadCustomization } from "../../src/workspace/preload/customization.js";
import { loadElicitation } from "../../src/workspace/preload/load-workflow.js";
import { type FileSource, Loading } from "../../src/workspace/preload/loading.js";
import { createVariables, readMapping, replaceTexts } from "../../src/workspace/preload/mapping.js";
import { shimTargets } from "../../src/workspace/preload/skills.js";
import { activeText, invokedWorkflows, usesElicitation } from "../../src/workspace/preload/tags.js";
import { checkedPath, expandPath, expandText } from "../../src/workspace/roots/paths.js";
import { readStep } from "../../src/workspace/steps/next-step.js";
import { firstSteps, stepIndex, stepsAfter } from "../../src/workspace/steps/step-index.js";
import type { Reader } from "./growth.js";

const MARKDOWN = ["a\n", "\n", "# a\n", "- a\n", "> a\n\n"];
const JSON_WORDS = ["[", '{"a":', '"a":1,', "1,", "0", " ", "\n", '"', "\\", "]"];
const YAML_WORDS = ["a: 1\n", "- ", "*a ", "[", '"'];
/** For files that are read by the same parser. */
const YAML_FEW = ["a: 1\n", "- ", "["];

/** One file that is everywhere. */
function sourceOf(text: string): FileSource {
  return {
    known: ["core-root"],
    folders: ["core-root"],
    resolve: (path) => ({ root: "core-root", path }),
    expand: (words) => words,
    read: async () => ({ text, size: text.length }),
    list: async () => [],
    nearest: async () => [],
  };
}

function textsOf(files: Readonly<Record<string, string>>) {
  return { list: async () => Object.keys(files).sort(), read: async (path: string) => files[path] };
}

const METADATA = JSON.stringify({ name: "a", version: "1", phases: [{ phase_number: 1, phase_name: "a" }] });
const STEP = "# Orchestrator Guidance\ngo\n# Client Instructions\ndo\n";
const INDEX = "# Goal\n1. [a](steps/a.md)\n2. [b](steps/b.md)\n";

async function routed(index: string, step: string) {
  return readRoutedWorkflow("w", textsOf({ "w/index.md": index, "w/steps/a.md": step, "w/steps/b.md": STEP }));
}

async function mapping(text: string): Promise<void> {
  const { value } = await readMapping("workflow.yaml", text);
  if (value === undefined) return;
  await replaceTexts(text, (one) => one);
  createVariables(value, value, ["core-root"]).resolveAll(value);
}

async function skill(text: string): Promise<void> {
  const { body } = await splitFrontMatter("SKILL.md", text, createReport());
  shimTargets("a", body.slice(0, 500), body);
  activeText(body);
  invokedWorkflows(body);
  usesElicitation(body);
  const index = stepIndex(["steps/step-01-a.md", "steps/step-02-b.md", "steps/step-03.md"]);
  const [first] = firstSteps(index, body);
  if (first !== undefined) stepsAfter(index, first, body, undefined);
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const IDS = Array.from({ length: 500 }, (_, index) => `1.${index}`);
const PLAN_GATE: PlanGate = {
  kind: "plan",
  allowOverride: false,
  tasks: IDS.map((id) => ({ id, optional: false })),
  items: ["a", "b c", "> 80 %"],
};
const FIELD_GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [
    { name: "first", type: "string", required: true },
    { name: "second", type: "list", required: true },
  ],
};

/** Evidence in JSON, or out of words: as one claim, as many, and as keys. */
function submit(text: string): void {
  const parts = text.split(/[,\n]/);
  const given = parsedOr(text);
  const submissions: unknown[] = [
    given,
    { tasks_completed: [text], validation_gate: { [text]: true } },
    { tasks_completed: parts, validation_gate: Object.fromEntries(parts.map((part) => [part, false])) },
    { first: text, second: parts },
    Object.fromEntries(parts.map((part, index) => [`${part}${index}`, part])),
  ];
  for (const submission of submissions) {
    if (typeof submission !== "object" || submission === null || Array.isArray(submission)) continue;
    const { evidence } = checkEvidenceSafety(submission, { maxBytes: 10_000_000, maxDepth: 32 });
    checkGate(PLAN_GATE, evidence);
    checkGate(FIELD_GATE, evidence);
  }
}

async function rule(text: string): Promise<void> {
  const fields = [{ name: "value", type: "string" }] as const;
  const read = readRuleText(text, { type: "string" }, fields);
  if (read.ok) (await loadRuleLanguage()).forFields(fields).compile(read.cel, { value: "string" });
}

async function lines(text: string): Promise<void> {
  for await (const { data } of splitLines(Readable.from([Buffer.from(text)]))) {
    const line = data.toString("utf8");
    if (readLine(line) === undefined) return;
  }
}

async function ask(text: string): Promise<void> {
  const headers = { "content-type": "application/json", "idempotency-key": "a" };
  const post = new Request("http://localhost/a", { method: "POST", headers, body: text });
  const [one] = ROUTES.filter(({ method }) => method === "POST");
  const get = new Request(`http://localhost/a?${text.replace(/[^a-z0-9=&%"[{:,]/g, "+")}`);
  const [other] = ROUTES.filter(({ method }) => method === "GET");
  if (one === undefined || other === undefined) throw new Error("no route");
  await readRequest(post, one, 1_000_000);
  await readRequest(get, other, 1_000_000);
}

/** What a plan says is in order, and what is not. */
function plan(text: string): void {
  planOrder(parsePlan(text).plan);
}

async function requirements(text: string): Promise<void> {
  readMarkdownFacts(text);
  await findExamples(text, findRequirements(text).requirements);
}

const words = createWords((word) => word);
const withoutFolder = withoutFolders(["/home/somebody/project"]);

export const READERS: readonly Reader[] = [
  {
    name: "tasks.md",
    words: [...MARKDOWN, "- [ ] 1.1 a\n", "**Task 1.1**: a\n", "depends on 1.1, "],
    frames: [["## Phase 1: a\n- [ ] **Task 1.1**: a ", "\n"]],
    read: plan,
    // Its length is limited, and not the number of its lines.
    seconds: 3,
  },
  {
    name: "one line of a tasks.md",
    words: [
      "1",
      "1.",
      "(",
      ")",
      "`",
      "**",
      "_",
      " ",
      ":",
      "[P]",
      "phase ",
      "task 1",
      "(depends on ",
      "a/b.c",
      "<!--",
      "|",
    ],
    frames: [
      ["## Phase 1: ", "\n- [ ] 1.1 a"],
      ["## Phase 1: a\n- [ ] 1.1 ", "\n"],
      ["## Phase 1: a\n- [ ] 1.1 a\n  - ", "\n"],
    ],
    read: plan,
  },
  {
    name: "tasks.json",
    words: [...JSON_WORDS, '{"id":1,"title":"a"},'],
    frames: [
      ["", ""],
      ['{"tasks":[', '{"id":1,"title":"a"}]}'],
    ],
    read: (text) => taskMasterParser.parse(text, "tasks.json"),
  },
  {
    name: "metadata.json",
    words: [...JSON_WORDS, '{"phase_number":1,"phase_name":"a"},'],
    frames: [
      ["", ""],
      ['{"name":"a","phases":[', "{}]}"],
    ],
    read: (text) => readWorkflow("w", [{ path: "metadata.json", text }]),
  },
  {
    name: "a gate file",
    words: YAML_WORDS,
    read: (text) => readGate("gate-definition.yaml", text, createReport()),
  },
  {
    name: "a validator in a gate file",
    words: ["a", "(", "'", "lambda x: ", "not ", "one of ", "> 5 ", "and "],
    frames: [["evidence_schema:\n  a:\n    type: string\n    validator: ", "\n"]],
    read: (text) => readGate("gate-definition.yaml", text, createReport()),
  },
  {
    name: "the gate of a phase's text",
    words: ["a\n", "- a\n", "`a_b` ", "must provide ", "> 5 ", "**"],
    frames: [["# Phase 1\n## Validation Gate\n", "\n"]],
    read: requirements,
  },
  {
    name: "the table of a phase's text",
    words: ["| a ", "|-", "`a_b`", "\n", "> 5 ", "and ", "|"],
    frames: [["## Evidence\n| Evidence | Type | Validator |\n|---|---|---|\n| `a` |", "|"]],
    read: requirements,
  },
  {
    name: "evidence that a phase's text shows",
    words: ["[", '{"a":', "1,", "'", "not ", "a=", "\n"],
    frames: [["## Evidence\nMust provide: `a`\n\n```python\n", "\n```\n"]],
    read: (text) =>
      readWorkflow("w", [
        { path: "metadata.json", text: METADATA },
        { path: "phases/1/phase.md", text },
      ]),
  },
  {
    name: "the documents that a text names",
    words: ["a/b.md ", "`a/b.md` ", "MUST-READ: ", "see the ", "../", "[a](b.md) ", "`", "a.", "((", "[a]: b.md\n"],
    read: (text) => missingDocuments(["a/c.md", "b.txt"], createReport())("phases/1/phase.md", text),
  },
  {
    name: "a rule in CEL",
    words: ["a", "1", "+", "&&", "!", "-", "(", "[", "{", ".a", "'", " ", "?", ":", "size(", "value", "=="],
    read: rule,
  },
  {
    name: "a lambda",
    words: ["a", "1", "+", " and ", " not ", "-", "(", "[", ".a", "'", '"', " ", "#", "len(", "x", "==", "lambda x: "],
    frames: [["lambda x: ", ""]],
    read: rule,
  },
  {
    name: "a routed workflow's index",
    words: ["a\n", "> a\n\n", "1. [a](steps/a.md)\n", "[a]: steps/a.md\n", "[a][b]", "](", "`", "*a"],
    frames: [["1. ", ""]],
    read: (text) => routed(text, STEP),
  },
  {
    name: "a routed workflow's step",
    words: ["a\n", "- a\n", 'go to "b" ', "**b** ", "{{file:a.md}}", "](", "[a](b.md) ", "*a"],
    frames: [["# Client Instructions\ndo\n# Orchestrator Guidance\n", ""]],
    read: (text) => routed(INDEX, text),
  },
  {
    name: "workflow.yaml",
    words: [...YAML_FEW, "{a}", "{config_source}:a"],
    frames: [["a: ", ""]],
    read: mapping,
  },
  {
    name: "bundle.yaml",
    words: YAML_FEW,
    frames: [["workflows:\n  - ", ""]],
    read: (text) => readBundle("bundle.yaml", text),
  },
  {
    name: "SKILL.md",
    words: ["a\n", "`", "<invoke-workflow ", 'path="a"', "<!-- ", "load {a}/b.md ", "step-01-a.md ", "a-", "run ../"],
    frames: [
      ["", ""],
      ["---\nname: a\n---\n", ""],
    ],
    read: skill,
  },
  {
    name: "a step of a skill",
    words: [...YAML_FEW, "gate: "],
    frames: [["---\n", "\n---\n"]],
    read: (text) => readStep("a", "step-01.md", text),
  },
  {
    name: "customize.toml",
    words: ["a=1\n", "[a]\n", "[[a]]\n", "a.", "[", "{", "'", '"', '"""', "#", " ", "\n", "\\"],
    frames: [
      ["", ""],
      ["a = ", ""],
    ],
    read: (text) => loadCustomization(sourceOf(text), { root: "core-root", path: "a/SKILL.md" }),
  },
  {
    name: "elicitation",
    words: ["a", "-", ".csv", " ", "\n", "_"],
    read: (text) => loadElicitation(new Loading(sourceOf(text))),
  },
  {
    name: "evidence",
    words: [...JSON_WORDS, "1.1,", "a"],
    frames: [
      ["", ""],
      ['{"a":[', "1]}"],
    ],
    read: submit,
  },
  {
    name: "a cursor",
    words: ["a", "=", "WyJ", "[", " ", "\n", '"', ","],
    read: (text) => {
      for (const cursor of [text, btoa(encodeURIComponent(text))]) {
        readJsonCursor(cursor);
        pageText(text, 10_000, undefined);
        pageText("a".repeat(100), 50, cursor);
      }
    },
  },
  { name: "lines of a log", words: [...JSON_WORDS, '{"end":{}}\n', "\r"], read: lines },
  { name: "requests over HTTP", words: [...JSON_WORDS, "a=1&", "&", "%41"], read: ask },
  {
    name: "requests of agents",
    words: ["[", "1,", "\\", "a", "get_phase", " "],
    frames: [
      ["", ""],
      ['{"action":"get_phase","', '":1}'],
      ['{"action":"get_phase","session_id":"', '"}'],
    ],
    read: (text) => {
      for (const given of [parsedOr(text), { [text]: text }, { session_id: text, phase: text }]) {
        const parsed = parseRequest(ACTIONS.get_phase.takes, given);
        if (!parsed.ok && isJsonObject(given)) badParametersAnswer("get_phase", parsed.faults, given);
      }
      unknownActionAnswer(undefined, text, ["get_phase", "get_task"]);
    },
  },
  {
    name: "lines over stdio",
    words: ["{", "\n", "a", '{"a":1}\n'],
    read: (text) => createStdioLines(1_000_000)(Buffer.from(text)),
  },
  {
    name: "a template",
    words: ["[A]", "[", "]", "[A_", "[NAME]", "a", "\n", "\\"],
    read: (text) => renderTemplate(text, { A: "b", NAME: ["c", "d"] }),
  },
  {
    name: "texts that are searched",
    words: [...MARKDOWN, "| a |\n", "a b "],
    frames: [["---\n", ""]],
    read: async (text) => {
      const { lines: frontLines } = await readFrontMatter(text);
      for (const { text: part } of chunkMarkdown(text, { maxTokens: 400, frontLines })) words(part);
    },
  },
  {
    name: "documents that verifiers count in",
    words: [...MARKDOWN, "a\n===\n", "<a b\n", ":"],
    read: async (text) => {
      headingsBelow(headingsOf(text, "a.md"), { under: "a" });
      await countMatches({ pattern: "(a+)+:$", flags: "i" }, text, new AbortController().signal);
    },
  },
  {
    name: "what commands and servers say",
    words: [
      "\u001b[",
      "\u001b]",
      "0;",
      "m",
      "\n",
      " ",
      "a://b:",
      "@",
      "password=",
      "sk-",
      "authorization: ",
      "/",
      "\\",
    ],
    read: (text) => {
      outputLines(text);
      shownCommand([text]);
      printable(text);
      withoutPasswords(text);
      redactShapes(text);
      withoutFolder(text);
    },
  },
  {
    name: "a decider's answer",
    words: [...JSON_WORDS, "```", "```json\n", "a"],
    frames: [
      ["", ""],
      ["```json\n", "\n```"],
    ],
    read: readDecisionText,
  },
  {
    name: "a path of a workspace",
    words: ["a", "/", "\\", "{a}", "{", ".", "~1", " ", "\u200d", "%2e", "#", "secret", ".bak"],
    read: (text) => {
      keptBack(text);
      secretIn(text);
      const variables = new Map([["a", "b"]]);
      expandText(text, variables);
      checkedPath(text);
      expandPath(text, variables);
    },
  },
];

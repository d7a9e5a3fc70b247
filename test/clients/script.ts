/**
 * The model's side of a walk, as an agent would do the work: it fixes a bug in the workflow `bug_fix`. In its first turn it tries
 * a step ahead and a claim without proof, and ends too early. In the second it finds the session again, asks for a waiver, does
 * the work, and completes.
 */
import type { Asked, Said } from "./apis.ts";
import type { Model } from "./model-server.ts";
import { BUG, MEND, REPRODUCE, TEST } from "./project.ts";

/** How a client runs a command for its model. */
export interface Shell {
  readonly tool: string;
  readonly input: (command: string) => Readonly<Record<string, unknown>>;
  /** The tool that finds other tools by words, where these are not all listed. */
  readonly search?: string;
  /** The tool that calls what was found, where that is never listed. */
  readonly through?: string;
}

/** What a walk has seen of a client. */
export interface Seen {
  /** How the model gets the workflow tool. */
  tool?: "listed" | "searched";
  /** The model was asked before the client had the tool. */
  late?: boolean;
  /** Whether the text of AGENTS.md, CLAUDE.md or GEMINI.md was sent, and that of the server. */
  instructions?: boolean;
  serverInstructions?: boolean;
  /** How often the text of a refusal stands in the result that the model gets. */
  copies?: number;
  /** How often the model was asked to go on after the end of its turn. */
  reminders: number;
  completed?: boolean;
  /** Whether the client's shell lets its model commit. */
  commits?: boolean;
}

const TOOL = "pos_workflow";
/** Its name where it is found by a search. */
const FOUND = `mcp__phasegate__${TOOL}`;

/** How often an agent does something else until the server is ready: half a second each. */
const WAITS = 20;

/** The words of a person, by which a client's search must find the tool. */
const SEARCHES = ["fix a bug", "carry out a plan", "workflow with gates"];

export function isAgents({ tool }: Shell, asked: Asked): boolean {
  return asked.tools.some(({ name }) => name === tool);
}

/** What can be done with one client. */
function hands(shell: Shell, seen: Seen) {
  let asked: Asked = { tools: [], results: [], text: "" };
  let sessionId = "";

  const find = (isWanted: (name: string) => boolean) => asked.tools.find(({ name }) => isWanted(name));

  function* say(said: Said): Generator<Said, void, Asked> {
    asked = yield said;
  }

  function* use(tool: Asked["tools"][number], input: Readonly<Record<string, unknown>>) {
    yield* say({ tool, input });
    const [result, ...others] = asked.results;
    if (result === undefined || others.length > 0) throw new Error(`one result expected, got ${asked.results.length}`);
    return result;
  }

  function* run(command: string) {
    const tool = find((name) => name === shell.tool);
    if (tool === undefined) throw new Error(`${shell.tool} is not offered any more`);
    return yield* use(tool, shell.input(command));
  }

  const listed = () => find((name) => name.endsWith(TOOL));

  /** Goes on with other work until the client has the tool: it may begin before its servers are ready. */
  function* awaitTool() {
    for (let wait = 0; listed() === undefined && wait < WAITS; wait += 1) {
      if (shell.search !== undefined && asked.text.includes(FOUND)) return;
      seen.late = true;
      yield* run(`sleep 0.5; git log --oneline -${wait + 1}`);
    }
  }

  /** Finds the tool by the words of a person. */
  function* search(tool: Asked["tools"][number]) {
    for (const query of SEARCHES) {
      const result = yield* use(tool, { query, max_results: 5 });
      if (!result.includes(TOOL)) throw new Error(`${tool.name} does not find ${TOOL} by "${query}": ${result}`);
    }
    seen.tool = "searched";
  }

  /** Uses the workflow tool: as it is listed, else as the client's search has found it. */
  function* useWorkflow(input: Readonly<Record<string, unknown>>) {
    yield* awaitTool();
    const tool = listed();
    if (tool !== undefined) seen.tool ??= "listed";
    if (tool !== undefined) return yield* use(tool, input);
    const searching = find((name) => name === shell.search);
    if (searching === undefined)
      throw new Error(`${TOOL} is not offered: ${asked.tools.map(({ name }) => name).join(", ")}`);
    if (seen.tool === undefined) yield* search(searching);
    const through = find((name) => name === shell.through);
    if (through !== undefined) return yield* use(through, { name: FOUND, arguments: input });
    return yield* use(listed() ?? { name: FOUND, description: "" }, input);
  }

  /** Calls the workflow tool, and checks its answer: that of a refusal has its code. */
  function* call(input: Readonly<Record<string, unknown>>, expected: RegExp) {
    const session = sessionId === "" ? {} : { session_id: sessionId };
    const result = yield* useWorkflow({ ...session, ...input });
    // Some clients hand on what they got as JSON in JSON.
    const plain = result.replaceAll("\\", "");
    if (!expected.test(plain)) throw new Error(`${input.action} is answered without ${expected}: ${result}`);
    return plain;
  }

  const at = (id: string) => {
    sessionId = id;
  };
  return { say, run, call, at, text: () => asked.text };
}

/** Ends a turn, as often as the client asks for more. */
function* endTurn(say: (said: Said) => Generator<Said, void, Asked>, seen: Seen): Generator<Said, never, Asked> {
  for (;;) {
    yield* say({ text: "I end my turn." });
    seen.reminders += 1;
  }
}

const CLAIM = {
  bug: "add must return the sum of its arguments, and returns their difference",
  test_name: "adds two numbers",
  test: { file: TEST.path, line: TEST.line, quote: TEST.quote },
};

export function* firstTurn(shell: Shell, seen: Seen): Model {
  const { say, call, at, text } = hands(shell, seen);
  yield* say({ text: "" });
  seen.instructions = text().includes("## Gated work");
  yield* call({ action: "list_sessions", status: "active" }, /"status":"success"/);
  yield* call({ action: "list_workflows" }, /"bug_fix"/);
  const started = yield* call({ action: "start", workflow_type: "bug_fix" }, /"session_id":/);
  at(/"session_id":"([^"]+)"/.exec(started)?.[1] ?? "");
  seen.serverInstructions = text().includes("goes through a workflow, whose gates check it");
  const ahead = yield* call(
    { action: "complete_phase", phase: 2, evidence: { why: "it subtracts" } },
    /"PHASE_LOCKED"/,
  );
  seen.copies = ahead.split('"PHASE_LOCKED"').length - 1;
  yield* call({ action: "complete_phase", phase: 1, evidence: CLAIM }, /"checkpoint_passed":false/);
  return yield* endTurn(say, seen);
}

export function* secondTurn(shell: Shell, seen: Seen): Model {
  const { say, run, call, at } = hands(shell, seen);
  yield* say({ text: "" });
  const open = yield* call({ action: "list_sessions", status: "active" }, /"session_id":/);
  at(/"session_id":"([^"]+)"/.exec(open)?.[1] ?? "");
  yield* call({ action: "get_state", brief: true }, /"status":"success"/);
  yield* call(
    { action: "request_waiver", phase: 1, fields: ["test"], reason: "no test can show it" },
    /"awaiting_waiver":true/,
  );
  yield* run(REPRODUCE);
  yield* call({ action: "complete_phase", phase: 1, evidence: CLAIM }, /"checkpoint_passed":true/);
  const why = "it subtracts the second argument, and must add it";
  yield* call({ action: "complete_phase", phase: 2, evidence: { cause: BUG, why } }, /"checkpoint_passed":true/);
  yield* run(MEND);
  const fix = {
    fix: "the operator is + now: add returns the sum",
    changed: [BUG.file],
    test_name: CLAIM.test_name,
    cause_file: BUG.file,
  };
  yield* call({ action: "complete_phase", phase: 3, evidence: fix }, /"checkpoint_passed":true/);
  const committed = yield* run("git add . && git commit -q -m 'add adds' && git rev-parse HEAD");
  const commit = /\b[0-9a-f]{40}\b/.exec(committed)?.[0];
  seen.commits = commit !== undefined;
  if (commit === undefined) throw new Error(`the client can't commit: ${committed}`);
  const done = { commit, test_file: TEST.path };
  yield* call({ action: "complete_phase", phase: 4, evidence: done }, /"workflow_complete":true/);
  seen.completed = true;
  return yield* endTurn(say, seen);
}

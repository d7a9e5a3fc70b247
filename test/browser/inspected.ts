/** An inspector behind a real server, with engines of all kinds and sessions in every state. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { createEngine, MemoryContent, MemoryStorage, type StorageAdapter } from "phasegate";
import { createApproverKeys } from "phasegate/approval";
import { createInspector, type InspectorOptions } from "phasegate/inspector";
import { createRoutedEngine, defineRoutedWorkflow, type RoutedEngine, routedWorkflows } from "phasegate/routed";
import type { Verifier } from "phasegate/verify";
import { Recorder } from "../../src/workspace/session/machine.js";

const TOKEN = "a-token-of-more-than-thirty-two-characters";

const UNDERSTAND = `evidence_schema:
  summary: {type: string, required: true, validator: min_length_20, description: "what is to change, and why"}
  files: {type: list, required: true, description: "the files that it touches"}
  risk: {type: string, required: false, description: "low, middle or high"}
`;
const PLAN = `evidence_schema:
  plan: {type: string, required: true, description: "the steps, one a line"}
  reviewed: {type: boolean, required: true, description: "read once more from the start"}
approval: {prompt: "Is this plan good enough to build?", approvers: [ann, bob]}
`;
const BUILD = `evidence_schema:
  commit: {type: string, required: true, description: "the commit with the change"}
  coverage: {type: number, required: true, validator: percent_gte_80, description: "percent of lines"}
verify:
  - {verifier: tests, argv: [npm, test]}
`;

function files(type: string, name: string, description: string): Record<string, string> {
  const names = ["Understand the change", "Plan", "Build and test", "Ship"];
  const phases = names.map((phase_name, index) => ({ phase_number: index + 1, phase_name }));
  return {
    "metadata.json": JSON.stringify({ workflow_type: type, name, description, version: "1.2.0", phases }),
    ...Object.fromEntries(names.map((title, index) => [`phases/${index + 1}/phase.md`, `# ${title}\n\nDo it.\n`])),
    "phases/1/task-1-read.md": "# Task 1: Read the code\n",
    "phases/1/task-2-write.md": "# Task 2: Write it down\n",
    "phases/1/gate-definition.yaml": UNDERSTAND,
    "phases/2/gate-definition.yaml": PLAN,
    "phases/3/gate-definition.yaml": BUILD,
  };
}

/** A workflow with a phase that is another one, and with parameters of rules and checks. */
const TRAIN = {
  "metadata.json": JSON.stringify({
    ...{ workflow_type: "train", name: "Release train", description: "Many changes at once.", version: "1.0.0" },
    phases: ["Collect", "Make each change"].map((phase_name, index) => ({ phase_number: index + 1, phase_name })),
  }),
  "phases/1/phase.md": "# Collect\n\nList the files.\n",
  "phases/2/phase.md": "# Make each change\n\nOne after the other.\n",
  "phases/1/gate-definition.yaml": `evidence_schema:
  files:
    type: list
    required: true
    description: "The files to change."
    validator: few
    validator_params: {most: 20}
  planned: {type: integer, required: true}
validators:
  few: {rule: "size(value) <= params.most", error_message: "No more files than one train can carry."}
cross_field_validation:
  - {rule: "size(evidence.files) == evidence.planned", error_message: "As many files as planned."}
verify:
  - {verifier: tests, argv: [npm, run, "test:all"], description: "All tests pass."}
`,
  "phases/2/gate-definition.yaml": "workflow: change\nfor_each: artifacts.collect.files\ntarget: {rule: item}\n",
};

const BROKEN = {
  "metadata.json": `{\n  "workflow_type": "half_done",\n  "name": "Half done",\n  "phases": [{ "phase_number": 2 }]\n}\n`,
};

/** What the check of a commit waits for, by the commit. */
export const held = new Map<string, Promise<void>>();

/** Passes unless the commit is called `red`. */
const tests: Verifier = {
  async verify({ evidence }) {
    await held.get(String(evidence.commit));
    const ok = evidence.commit !== "red";
    const output = ok
      ? ["✓ 214 tests", "all green"]
      : [
          "✗ parser > reads a table",
          "  expected 3 rows, got 2",
          "  at test/parser.test.ts:41:7",
          "1 failed, 213 passed",
        ];
    return { ok, message: ok ? "the tests pass" : "1 test fails", ran: "npm test", exit: ok ? 0 : 1, output };
  },
};

const support = defineRoutedWorkflow({
  name: "SUPPORT",
  goal: "A customer whose question is answered, or who has their money back.",
  steps: [
    {
      name: "Read",
      guidance: "If it is about money, Refund. If not, Answer.",
      instructions: "Read the ticket.",
      next: ["Refund", "Answer"],
    },
    {
      name: "Answer",
      guidance: "If the customer is content, FINISH. If not, Read.",
      instructions: "Answer it.",
      next: ["Read", "Answer", "FINISH"],
    },
    { name: "Refund", guidance: "FINISH.", instructions: "Pay it back.", next: ["Answer", "FINISH"] },
  ],
});

/** Goes the way that the report names. */
const decider = {
  async decide({ report }: { readonly report?: { readonly message?: string } }) {
    return {
      nextStep: report?.message ?? "FINISH",
      contextUpdates: { language: "en" },
      reasoning: "The report says so.",
    };
  },
};

/** What a test has. */
export interface Inspected {
  readonly engine: ReturnType<typeof createEngine>;
  readonly routed: RoutedEngine;
  readonly recorder: Recorder;
  readonly origin: string;
  /** The URL with the token. */
  readonly url: string;
  /** Errors that the inspector has told its host. */
  readonly errors: unknown[];
  /** Ends the server; `start` begins it again on the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface InspectedOptions extends Partial<InspectorOptions> {
  readonly storage?: StorageAdapter;
  /** Workflows besides those of this file, by type. */
  readonly sources?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** True if the engine accepts signed approvals alone. */
  readonly isSigned?: boolean;
}

/** Starts a server. */
export async function inspect({
  storage = new MemoryStorage(),
  sources: others = {},
  isSigned = false,
  clock = { now: Date.now },
  ...more
}: InspectedOptions = {}): Promise<Inspected> {
  const sources = {
    change: files("change", "Change", "A change of the code that somebody has looked at."),
    "release.v2": files("release.v2", "Release", "A release, from the notes to the tag."),
    half_done: BROKEN,
    train: TRAIN,
    ...others,
  };
  const content = new MemoryContent({ sources });
  const engine = createEngine({
    storage,
    content,
    verifiers: { tests },
    limits: { maxActiveSessions: 200_000, maxAttemptsTotal: 100, maxAttempts: 100 },
    allowUnsignedApprovals: !isSigned,
    approvers: isSigned ? { ann: (await createApproverKeys()).publicKey } : {},
    clock,
  });
  const routed = createRoutedEngine({ storage, workflows: routedWorkflows(support), decider, clock });
  const recorder = new Recorder({ storage, clock: { now: () => clock.now(), newId: () => crypto.randomUUID() } });
  const errors: unknown[] = [];
  const inspector = createInspector({
    engine,
    routed,
    recorded: { storage },
    access: { token: TOKEN },
    basePath: "/inspector",
    unsigned: true,
    approvers: {},
    title: ".phasegate",
    onError: (error) => errors.push(error),
    ...more,
  });
  let server: Server | undefined;
  let port = 0;
  const start = async () => {
    server = createServer((incoming, outgoing) => serve(inspector, incoming, outgoing));
    await new Promise<void>((resolve) => server?.listen(port, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  };
  await start();
  const origin = `http://127.0.0.1:${port}`;
  const close = async () => {
    inspector.close();
    await stop();
    await engine.close();
    await routed.close();
  };
  const url = `${origin}/inspector/#token=${TOKEN}`;
  return { engine, routed, recorder, origin, url, errors, start, stop, close };
}

/** Passes a request of Node to the inspector. */
async function serve(
  inspector: { fetch(request: Request): Promise<Response> },
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const end = new AbortController();
  outgoing.on("close", () => end.abort());
  const { method = "GET", headers } = incoming;
  const given = Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const response = await inspector.fetch(
    new Request(`http://${headers.host}${incoming.url}`, {
      method,
      headers: Object.fromEntries(given),
      signal: end.signal,
      ...(method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) }),
    }),
  );
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // Piece by piece: the stream of changes ends only when the page is closed.
  await pipeline(response.body ?? [], outgoing).catch(() => outgoing.destroy());
}

export const UNDERSTOOD = {
  summary: "The parser drops the last row of a table without a newline at its end.",
  files: ["src/parser.ts", "test/parser.test.ts"],
  risk: "low",
};
export const PLANNED = { plan: "1. Show it with a test\n2. Read to the end\n3. Look for others", reviewed: true };
const BUILT = { commit: "4f1c2ab", coverage: 91.5 };

/** Sessions in every state that people look at. Returns their ids by what they are. */
export async function populate({ engine, routed, recorder }: Inspected) {
  const begin = async (target: string, workflowType = "change") =>
    (await engine.start({ workflowType, target })).sessionId;
  const submit = (id: string, phase: number, evidence: object, noted?: Readonly<Record<string, number>>) =>
    engine.session(id).completePhase(phase, { ...evidence }, { noted });
  const approve = async (id: string) => {
    const asked = await engine.session(id).approval();
    await engine.session(id).approve({ by: "ann", note: "Go.", evidenceHash: asked?.evidenceHash ?? "" });
  };

  const fresh = await begin("src/new-thing.ts");

  const refused = await begin("src/parser.ts");
  await submit(refused, 1, { summary: "short" });
  await submit(refused, 1, { ...UNDERSTOOD, files: "src/parser.ts" });
  await submit(refused, 1, UNDERSTOOD);
  await submit(refused, 2, PLANNED);
  await approve(refused);
  await submit(refused, 3, { commit: "red", coverage: 71 });
  await submit(refused, 3, { commit: "red", coverage: 84 }, { cost: 0.25 });

  const waiting = await begin("src/tables/rows.ts");
  await submit(waiting, 1, UNDERSTOOD);
  await submit(waiting, 2, PLANNED);
  const asked = await engine.session(waiting).approval();
  await engine.session(waiting).deny({
    by: "bob",
    note: "Say how you find the others.",
    evidenceHash: asked?.evidenceHash ?? "",
  });
  await submit(waiting, 2, {
    ...PLANNED,
    plan: "1. Show it with a test\n2. Read to the end\n3. Search for `split` in src",
  });

  const waiver = await begin("src/legacy/driver.c");
  await submit(waiver, 1, UNDERSTOOD);
  await submit(waiver, 2, PLANNED);
  await approve(waiver);
  await submit(waiver, 3, { commit: "9bd0c11", coverage: 12 });
  await engine.session(waiver).requestWaiver(3, { fields: ["coverage"], reason: "No tool measures this language." });

  const done = await begin("src/cli/main.ts", "release.v2");
  await submit(done, 1, UNDERSTOOD);
  await submit(done, 2, PLANNED);
  await approve(done);
  await submit(done, 3, BUILT);
  await submit(done, 4, { shipped: true });

  const paused = await begin("docs/start.md");
  await engine.session(paused).pause({ by: "cat", note: "The release comes first." });

  const instance = (await routed.start({ workflow: "SUPPORT", context: { ticket: 4711, customer: "Åsa" } })).sessionId;
  await routed.session(instance).advance({ report: { status: "success", message: "Answer" } });
  await routed
    .session(instance)
    .advance({ report: { status: "failure", message: "Read", error: "The customer asks again." } });
  await routed
    .session(instance)
    .advance({ report: { status: "success", message: "Refund", details: { amount: 12.5 } } });

  const recorded = "intake-20261123-a1b2";
  await recorder.open(recorded, { workflow: "intake", agent: "alex", inputs: { client: "Ann" }, acts: [] });
  await recorder.record(recorded, { type: "read", path: "workflows/intake/instructions.md", bytes: 1841 });
  await recorder.record(recorded, {
    type: "saved",
    path: "out/report.md",
    bytes: 532,
    hash: "0".repeat(64),
    replaced: false,
  });
  await recorder.complete(recorded, "completed", "The report is written.");

  return { fresh, refused, waiting, waiver, done, paused, instance, recorded };
}

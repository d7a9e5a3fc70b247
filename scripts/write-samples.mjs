/**
 * Writes sessions as this version stores them into test/samples/<name>/, where they stay for ever: every later version
 * must read them. Run it once, before a release that changes what is stored, with a name of its own. Needs a build.
 *
 *     node scripts/write-samples.mjs 0.1.0
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine, defineWorkflow, MemoryContent, MemoryPlans, MemoryStorage } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { FileStorage } from "phasegate/fs";
import { copySessions } from "phasegate/storage";
import { FakeClock } from "phasegate/testing";

const [name] = process.argv.slice(2);
if (!/^[a-z0-9.-]+$/.test(name ?? "")) throw new Error("give the samples a name: the version that they are of");
const folder = join("test/samples", name);
if (existsSync(folder)) throw new Error(`${folder} is there: samples are never written over`);

const HASH_KEY = "a key for samples, which keeps nothing secret";
const ODD = 'a\ud800b\udc00 \u0000\u2028\r\n"\\{"head":1}\u{1f600} ünï';
const keys = await createApproverKeys();
const approvers = { ann: keys.publicKey };

const plain = defineWorkflow({
  type: "plain",
  revision: "1",
  name: "Plain",
  description: "Phases in code",
  phases: [1, 2, 3].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: `# Phase ${number}\n`,
    skippable: true,
  })),
});

const metadata = (workflow_type, more) =>
  JSON.stringify({ workflow_type, name: workflow_type, description: "a sample", version: "1.0.0", ...more });
const numbered = { phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })) };
const texts = { "phases/1/phase.md": "# Phase 1\n\nDo it.\n", "phases/2/phase.md": "# Phase 2\n\nDo more.\n" };
const field = "evidence_schema: {summary: {type: string, required: true}, count: {type: integer, required: false}}\n";
const sources = {
  approved: {
    "metadata.json": metadata("approved", numbered),
    ...texts,
    "phases/1/gate-definition.yaml": `${field}approval: {prompt: "Is it good?", approvers: [ann]}\n`,
  },
  verified: {
    "metadata.json": metadata("verified", numbered),
    ...texts,
    "phases/1/gate-definition.yaml": `${field}verify: {verifier: seen}\n`,
    "phases/2/gate-definition.yaml": `${field}verify: {verifier: seen}\n`,
  },
  planned: {
    "metadata.json": metadata("planned", {
      dynamic_phases: true,
      dynamic_config: {
        source_path_key: "spec_path",
        templates: { phase: "phases/dynamic/phase.md", task: "phases/dynamic/task.md" },
      },
    }),
    "phases/dynamic/phase.md": "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n",
    "phases/dynamic/task.md": "# Task [TASK_ID]: [TASK_NAME]\n",
  },
};
const PLAN = `# Tasks

### Phase 1: Parse

**Goal**: Read the input

- [ ] **Task 1.1**: Write the lexer
  - **Acceptance Criteria**:
    - [ ] Knows all tokens
- [ ] **Task 1.2**: Write the parser
  - **Dependencies**: Task 1.1

**Validation Gate**:
- [ ] All tests pass

### Phase 2: Print

**Goal**: Write the output

- [ ] **Task 2.1**: Write the printer

**Validation Gate**:
- [ ] Output is read
`;
const seen = {
  snapshot: async () => ({ at: "the beginning" }),
  verify: async ({ evidence }) => ({ ok: evidence.count !== 0, message: "looked at", ran: "look", output: ["seen"] }),
};

const clock = new FakeClock("2026-01-02T03:04:05.006Z");
const plans = new MemoryPlans({ "specs/tasks.md": PLAN });
const content = new MemoryContent({ workflows: [plain], sources });
const engineOn = (storage, more = {}) =>
  createEngine({ storage, content, clock, plans, approvers, verifiers: { seen }, ...more });

/** One session of each kind, through as much as can happen to it. */
async function live(engine) {
  const start = async (workflowType, target, options = {}) => {
    clock.advance(1000);
    return (await engine.start({ workflowType, target, options, idempotencyKey: `start ${workflowType} ${target}` }))
      .sessionId;
  };
  const submit = (id, phase, evidence) => {
    clock.advance(1000);
    return engine.session(id).completePhase(phase, evidence);
  };
  const odd = await start("plain", "odd.md");
  await submit(odd, 1, { summary: ODD, nested: { list: [1, ODD, null, true] } });
  await engine.session(odd).pause({ note: ODD });
  await engine.session(odd).resume();
  await engine.session(odd).skipPhase(2, { by: "host", note: "known" });
  await engine.session(odd).rollback(1);
  await submit(odd, 1, { summary: "again" });
  const large = await start("plain", "large.md");
  await submit(large, 1, { text: ODD.repeat(1500) });
  for (const phase of [2, 3]) await submit(large, phase, { text: "short" });
  const approved = await start("approved", "approved.md");
  await submit(approved, 1, { count: 1 });
  await submit(approved, 1, { summary: "complete" });
  const request = await engine.session(approved).approval();
  const signature = await signApproval(request, { decision: "approve", by: "ann", privateKey: keys.privateKey });
  await engine.session(approved).approve({ by: "ann", evidenceHash: request.evidenceHash, signature });
  const verified = await start("verified", "verified.md");
  await submit(verified, 1, { summary: "nothing", count: 0 });
  await submit(verified, 1, { summary: "something", count: 1 });
  const failed = await start("verified", "failed.md");
  for (let attempt = 1; attempt <= 3; attempt += 1) await submit(failed, 1, { summary: "nothing", count: 0 });
  await engine.session(failed).retryPhase(1);
  const planned = await start("planned", "specs", { spec_path: "specs/tasks.md" });
  const first = (await engine.session(planned).phase()).phase.number;
  await submit(planned, first, { tasks_completed: ["1.1", "1.2"], validation_gate: { 1: true } });
}

const memory = new MemoryStorage();
await live(engineOn(memory));
mkdirSync(folder, { recursive: true });
const bin = "dist/cli/main.js";
const exported = (state, file, args = []) => {
  const run = spawnSync(process.execPath, [bin, "export", "--state", state, "--out", join(folder, file), ...args]);
  if (run.status !== 0) throw new Error(String(run.stderr));
};
const store = await FileStorage.open(join(folder, "file-store"));
await copySessions(memory, store);
await store.close();
exported(join(folder, "file-store"), "sessions.jsonl");

const work = mkdtempSync(join(folder, "work-"));
const keyed = await FileStorage.open(work);
await live(engineOn(keyed, { hashKey: HASH_KEY }));
await keyed.close();
writeFileSync(join(folder, "hash.key"), HASH_KEY, { mode: 0o600 });
exported(work, "keyed.jsonl", ["--hash-key-file", join(folder, "hash.key")]);
rmSync(work, { recursive: true });
writeFileSync(join(folder, "approvers.json"), `${JSON.stringify(approvers)}\n`);
console.log(`written: ${folder}`);

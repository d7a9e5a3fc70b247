/**
 * Writes instances of routed workflows as this version stores them into test/samples/<name>/routed/, beside the sessions of
 * write-samples.mjs, where they stay for ever. Run it once, before a release that changes what is stored. Needs a build.
 *
 *     node scripts/write-routed-samples.mjs 0.1.0
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine, ROUTED_SESSIONS, RoutedFolders } from "phasegate/routed";
import { copySessions } from "phasegate/storage";
import { FakeClock } from "phasegate/testing";

const [name] = process.argv.slice(2);
if (!/^[a-z0-9.-]+$/.test(name ?? "")) throw new Error("give the samples a name: the version that they are of");
const folder = join("test/samples", name, "routed");
if (existsSync(folder)) throw new Error(`${folder} is there: samples are never written over`);

const HASH_KEY = "a key for samples, which keeps nothing secret";
const ODD = 'a\ud800b\udc00 \u0000\u2028\r\n"\\{"head":1}\u{1f600} ünï';
const keys = await createApproverKeys();
const approvers = { ann: keys.publicKey };

const sections = "# Orchestrator Guidance\n\nGo on.\n\n# Client Instructions\n\nDo it.\n";
const field = "    depth: {type: integer, required: true}\n";
const texts = {
  "GARDEN/index.md":
    "# GARDEN\n\n## Goal\n\nPeas.\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n- [Water](steps/water.md)\n",
  "GARDEN/steps/dig.md": `---\nnext: [Dig, Sow]\nmax_visits: 9\n---\n${sections}`,
  "GARDEN/steps/sow.md": `---\ngate:\n  evidence_schema:\n${field}  verify: {verifier: seen}\n---\n${sections}`,
  "GARDEN/steps/water.md": `---\ngate:\n  evidence_schema:\n${field}  approval: {prompt: "Wet?", approvers: [ann]}\n---\n${sections}`,
};
const source = {
  list: async (below) => Object.keys(texts).filter((path) => path.startsWith(below)),
  read: async (path) => texts[path],
};
const seen = {
  snapshot: async () => ({ at: ODD.repeat(1100) }),
  verify: async ({ evidence }) => ({ ok: evidence.depth !== 0, message: "looked at", ran: "look", output: ["seen"] }),
};
const clock = new FakeClock("2026-01-02T03:04:05.006Z");

function engineOn(storage, answers, more = {}) {
  const decider = new ScriptedDecider(answers);
  const workflows = new RoutedFolders({ source });
  return createRoutedEngine({ storage, clock, workflows, approvers, verifiers: { seen }, decider, ...more });
}

const report = (status, more = {}) => ({ report: { status, ...more } });
const BACK = { assumedStep: "Dig", ...report("resuming") };
const USAGE = { model: "a-model", inputTokens: 12, outputTokens: 3, requests: 2 };

/** One instance of each kind, through as much as can happen to it. */
async function live(storage, more) {
  const begin = async (id, answers, options = {}) => {
    clock.advance(1000);
    const engine = engineOn(storage, answers, { ...more, ...options });
    const { instanceId } = await engine.start({
      workflow: "GARDEN",
      context: { odd: ODD },
      idempotencyKey: `start ${id}`,
    });
    return [engine, instanceId];
  };
  const [whole, id] = await begin("whole", [
    { nextStep: " dIG ", contextUpdates: { rows: 3, [ODD]: [null, true, 1.5] }, reasoning: ODD, usage: USAGE },
    new Error("no answer"),
    "Sow",
    { nextStep: "Water", statusSuggestion: "SUSPENDED", reasoning: "rain" },
    "FINISH",
  ]);
  await whole.advance(id, {
    ...report("success", { extra: ODD }),
    contextUpdates: { bed: ODD },
    idempotencyKey: "one",
  });
  await whole.advance(id, report("failure", { error: ODD })).catch(() => undefined);
  await whole.retry(id);
  await whole.advance(id, report("success", { details: { depth: 0 } }));
  await whole.suspend(id, { note: ODD });
  await whole.resume(id, BACK);
  await whole.advance(id, report("success", { details: { depth: 2 } }));
  await whole.resume(id, { ...BACK, ...report("resuming", { details: { depth: 3 } }) });
  for (const decision of ["deny", "approve"]) {
    const { awaiting } = await whole.advance(id, report("success", { details: { depth: 3 } }));
    const word = { decision, by: "ann", note: "as I see it", privateKey: keys.privateKey };
    const signature = await signApproval(awaiting, word);
    await whole[decision](id, { by: "ann", note: word.note, evidenceHash: awaiting.evidenceHash, signature });
  }
  await whole.advance(id, report("success", { details: { depth: 3 } }));
  const [cancelled, gone] = await begin("cancelled", []);
  await cancelled.cancel(gone, { reason: "no garden" });
  const [failed, over] = await begin("failed", ["Sow"]);
  await failed.advance(over, report("success"));
  for (let attempt = 1; attempt <= 3; attempt += 1) await failed.advance(over, report("success"));
  // Nobody answers any more: the process ended between a start, or a report, and its decision.
  const silent = () => new Promise(() => {});
  const cut = engineOn(storage, silent, { ...more, firstStep: "decider" });
  void cut.start({ workflow: "GARDEN", idempotencyKey: "start cut" });
  const isThere = async () => (await cut.listInstances()).items.some(({ current }) => current === "");
  while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 1));
  const [pending, waits] = await begin("pending", silent);
  void pending.advance(waits, { ...report("success"), idempotencyKey: "cut" });
  while ((await pending.status(waits)).pending === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
}

const memory = new MemoryStorage();
await live(memory);
mkdirSync(folder, { recursive: true });
const exported = (state, file, args = []) => {
  const to = ["export", "--state", state, "--out", join(folder, file), ...args];
  const run = spawnSync(process.execPath, ["dist/cli/main.js", ...to]);
  if (run.status !== 0) throw new Error(String(run.stderr));
};
const store = await FileStorage.open(join(folder, "file-store"));
await copySessions(memory, store, { kinds: [ROUTED_SESSIONS] });
await store.close();
exported(join(folder, "file-store"), "sessions.jsonl");

const work = mkdtempSync(join(folder, "work-"));
const keyed = await FileStorage.open(work);
await live(keyed, { hashKey: HASH_KEY });
await keyed.close();
writeFileSync(join(folder, "hash.key"), HASH_KEY, { mode: 0o600 });
exported(work, "keyed.jsonl", ["--hash-key-file", join(folder, "hash.key")]);
rmSync(work, { recursive: true });
writeFileSync(join(folder, "approvers.json"), `${JSON.stringify(approvers)}\n`);
console.log(`written: ${folder}`);
// The silent deciders' deadlines would keep the process.
process.exit(0);

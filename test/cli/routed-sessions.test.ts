import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ScriptedDecider } from "phasegate/ai";
import { FileStorage } from "phasegate/fs";
import { createRoutedEngine } from "phasegate/routed";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { people } from "../support/approvals.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { run } from "./run-cli.js";

const DUG = { report: { status: "success", details: { depth: 20 } } } as const;
const ESC = "\u001b[31m";

/** Creates a state with an instance whose digging Ann must approve, and the files for Ann and a server. */
async function digging() {
  const root = await temporaryFolder();
  const [state, approvers, keyFile] = ["state", "approvers.json", "ann.pem"].map((name) => join(root, name));
  if (state === undefined || approvers === undefined || keyFile === undefined) throw new Error("three paths");
  const keys = await people();
  const known = { ann: keys.ann.publicKey };
  await writeFile(approvers, JSON.stringify(known));
  await writeFile(keyFile, keys.ann.privateKey, { mode: 0o600 });
  const decider = new ScriptedDecider([{ nextStep: "Sow", reasoning: `deep ${ESC}enough` }, "FINISH"]);
  const engine = createRoutedEngine({
    storage: await FileStorage.open(state),
    workflows: gardenWith({ ...DEPTH_GATE, approval: { prompt: `Deep ${ESC}enough?`, approvers: ["ann"] } }),
    decider,
    approvers: known,
  });
  const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
  await engine.session(id).advance({ report: { status: "success", message: "nothing dug" } });
  const asked = await engine.session(id).advance(DUG);
  const hash = asked.awaiting?.evidenceHash ?? "";
  const word = (command: "approve" | "deny", ...more: string[]) =>
    run(command, id, "--state", state, "--key", keyFile, "--yes", "--evidence-hash", hash, ...more);
  return { root, state, approvers, keys, engine, decider, id, hash, word };
}

describe("an instance of a routed workflow, in the commands", () => {
  it("is listed, and shown with its history and its approvers", async () => {
    const { state, id } = await digging();
    const listed = await run("sessions", "--state", state);
    expect(listed.stdout).toMatch(new RegExp(`^${id} +active +Dig \\(2 in all\\) .* GARDEN`, "m"));
    const { code, stdout } = await run("show", id, "--state", state);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}workflow {2}GARDEN \(routed, revision \w+\)$/m);
    expect(stdout).toMatch(/^ {2}status {4}Waits for ann to approve Dig$/m);
    expect(stdout).toMatch(/^ {2}question {2}Deep .+enough\?$/m);
    expect(stdout).toMatch(/^\S+ \S+ {2}Dig: success\n {4}· .*depth/m);
    expect(stdout).not.toContain("\u001b");
    const json = JSON.parse((await run("show", id, "--state", state, "--json")).stdout);
    expect(json).toMatchObject({
      sessionId: id,
      kind: "routed",
      status: "RUNNING",
      currentStep: "Dig",
      awaiting: { approvers: ["ann"] },
      history: [{ problems: [{ field: "depth" }] }, { report: DUG.report }],
    });
  });

  it("continues after an approval, which an audit accepts", async () => {
    const { state, approvers, engine, id, word, hash } = await digging();
    const yes = await word("approve", "--approvers", approvers, "--note", "fine");
    expect(yes.stdout).toContain("  step      Dig, attempt 2\n");
    expect(yes.stdout).toContain(`  evidence  ${hash}\n`);
    expect(yes.stdout).toContain("  │ depth: 20\n");
    expect(yes.stdout).toMatch(
      /\nApproved by ann: the gate of Dig has passed, the next call decides on the next step.\n$/,
    );
    expect(yes).toMatchObject({ code: 0, stderr: "" });
    const again = await word("approve", "--approvers", approvers);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("waits for no approval: it is active") });
    expect((await engine.session(id).advance(DUG)).nextStep.name).toBe("Sow");
    const audit = await run("audit", id, "--state", state, "--approvers", approvers);
    expect(audit.stdout).toMatch(
      /^intact: 5 commits, .*\n {2}step Dig approved by ann, .*, commit 4: signed, accepted\n$/,
    );
    expect((await run("show", id, "--state", state)).stdout).toMatch(
      /Dig: success → Sow {2}\(\d+ ms\)\n {4}deep .+enough/,
    );
  });

  it("returns the note of a denial", async () => {
    const { state, approvers, engine, id, word } = await digging();
    expect(await word("deny", "--approvers", approvers)).toMatchObject({ code: 2 });
    const no = await word("deny", "--approvers", approvers, "--note", "deeper");
    expect(no).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nDenied by ann: Dig needs to be fixed.\n$/) });
    expect((await engine.session(id).history()).at(-1)?.reason).toBe("denied by ann: deeper");
    expect((await run("audit", id, "--state", state, "--approvers", approvers)).stdout).toMatch(/^intact: 4 commits/);
  });

  it("does not continue after an approval with an unknown key", async () => {
    const { state, approvers, keys, engine, decider, id, hash, root } = await digging();
    const keyFile = join(root, "eve.pem");
    await writeFile(keyFile, keys.eve.privateKey, { mode: 0o600 });
    const forged = ["--key", keyFile, "--approver", `ann=${keys.eve.publicKey}`, "--yes", "--evidence-hash", hash];
    expect(await run("approve", id, "--state", state, ...forged)).toMatchObject({ code: 0 });
    const told: string[] = [];
    engine.on("security", ({ code }) => told.push(code));
    await expect(engine.session(id).advance(DUG)).rejects.toMatchObject({
      code: "APPROVAL_REFUSED",
      details: { reason: "signature" },
    });
    expect(told).toEqual(["APPROVAL_REFUSED"]);
    expect(decider.requests).toEqual([]);
    const audit = await run("audit", id, "--state", state, "--approvers", approvers);
    expect(audit).toMatchObject({ code: 1, stdout: expect.stringContaining("NOT accepted: signature") });
    const asked = await engine.session(id).resume({ assumedStep: "Dig", ...DUG });
    expect(asked).toMatchObject({ awaiting: { step: "Dig", evidence: { depth: 20 } } });
    expect(decider.requests).toEqual([]);
  });

  it("can be audited with a receipt, exported and imported", async () => {
    const { root, state, id } = await digging();
    const receipt = join(root, "receipt.json");
    expect(await run("audit", id, "--state", state, "--write-receipt", receipt)).toMatchObject({ code: 0 });
    expect(await run("audit", id, "--state", state, "--receipt", receipt)).toMatchObject({ code: 0 });
    const lines = join(root, "sessions.jsonl");
    expect(await run("export", "--state", state, "--out", lines)).toMatchObject({
      code: 0,
      stderr: "exported 1 session, 3 commits\n",
    });
    const other = join(root, "other");
    expect(await run("import", lines, "--state", other)).toMatchObject({ code: 0 });
    expect(await run("audit", id, "--state", other, "--receipt", receipt)).toMatchObject({ code: 0 });
    const shown = async (where: string) => (await run("show", id, "--state", where)).stdout.replaceAll(where, "STATE");
    expect(await shown(other)).toBe(await shown(state));
  });

  it("fails the audit if it was edited", async () => {
    const { state, id } = await digging();
    const files = await readdir(state, { recursive: true });
    const found = files.find((file) => /(^|[/\\])0*2\.json$/.test(file));
    if (found === undefined) throw new Error(`no commit 2 among ${files.join(", ")}`);
    const text = await readFile(join(state, found), "utf8");
    await writeFile(join(state, found), text.replace("nothing dug", "all dug now"));
    const audit = await run("audit", id, "--state", state);
    expect(audit).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^changed: commit 2 of session .* was changed/),
    });
  });

  it("is reported if it does not exist", async () => {
    const { state } = await digging();
    for (const command of ["show", "audit"]) {
      expect(await run(command, "no-such-one", "--state", state)).toMatchObject({ code: 1, stdout: "" });
    }
  });
});

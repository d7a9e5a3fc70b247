import { createHash, createHmac, hash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { aGate } from "./a-gate.js";

const GATE = "evidence_schema:\n  tests_pass: {type: boolean}\n  tests_run: {type: integer}\n";
const TRUTH = { tests_pass: true, tests_run: 12 };
const KEY = "only the host knows this";

type Made = Awaited<ReturnType<typeof aGate>>;
type Passed = Awaited<ReturnType<typeof passed>>;

/** Starts a session and passes its first gate; returns it with the folder of its log. */
async function passed(hashKey?: string) {
  const made = await aGate({ gate: GATE, ...(hashKey === undefined ? {} : { engine: { hashKey } }) });
  await made.accepts(TRUTH);
  const folder = join(made.state, "sessions", hash("sha256", made.id, "hex").slice(0, 2), made.id);
  return { ...made, folder };
}

/** Closes the engine and returns the receipt of the session's log. An open engine writes `head` after its answer. */
async function receiptAtTheEnd({ engine, id }: Made) {
  const audit = await engine.session(id).audit();
  if (!audit.intact) throw new Error(audit.reason);
  await engine.close();
  return audit.receipt;
}

/** The members of a stored commit that a forger edits. */
interface Stored {
  previousHash: string;
  hash: string;
  body: string;
}

/** Edits a stored commit, and computes its hash again, with a key if the forger has one. */
async function forge(
  { engine, folder }: Passed,
  version: number,
  edit: (body: string) => string,
  rehash = true,
  key?: string,
) {
  await engine.close();
  const file = join(folder, `${version}.json`);
  const commit: Stored = JSON.parse(await readFile(file, "utf8"));
  commit.body = edit(commit.body);
  const hasher = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  if (rehash) commit.hash = hasher.update(`${commit.previousHash}\n${commit.body}`).digest("hex");
  for (const name of [file, join(folder, "head")]) {
    await rm(name, { force: true });
    await writeFile(name, JSON.stringify(commit));
  }
}

const moreTests = (body: string) => body.replaceAll('"tests_run":12', '"tests_run":999');
/** Reads the session as a new process. */
const reread = async ({ open, id }: Made) => (await open()).session(id).state();

describe("a log on disk", () => {
  it("of an honest agent is intact", async () => {
    const made = await passed();
    expect(await reread(made)).toMatchObject({ currentPhase: 2 });
    expect(await (await made.open()).session(made.id).audit()).toMatchObject({ intact: true, versions: 2 });
  });

  it("is refused if a commit was edited and its hash was not", async () => {
    const made = await passed();
    await forge(made, 2, moreTests, false);
    const refused = await failure(reread(made));
    expect(refused).toMatchObject({ code: "TAMPERED", message: expect.stringContaining(made.id) });
    expect(refused.remedy).not.toBe("");
  });

  it("is refused if an older commit was rewritten, because the next one has its old hash", async () => {
    const made = await passed();
    await forge(made, 1, (body) => body.replaceAll("Phase 1", "Phase I"));
    // Whatever the hint contains, the newest commit is the second one.
    const report = await (await made.open()).session(made.id).audit();
    expect(report).toMatchObject({ intact: false, reason: expect.stringContaining("commit 2") });
  });

  it("is refused if it was edited and there is a key, even with recomputed hashes", async () => {
    const made = await passed(KEY);
    await forge(made, 2, moreTests);
    expect(await failure(reread(made))).toMatchObject({ code: "TAMPERED" });
    await forge(made, 2, (body) => body, true, "a guess");
    expect(await failure(reread(made))).toMatchObject({ code: "TAMPERED" });
    await forge(made, 2, (body) => body.replaceAll("999", "12"), true, KEY);
    expect(await reread(made)).toMatchObject({ currentPhase: 2 });
  });

  it("fails the audit against a receipt if it was edited and there is no key", async () => {
    const made = await passed();
    const receipt = await receiptAtTheEnd(made);
    await forge(made, 2, moreTests);
    const audited = await (await made.open()).session(made.id).audit(receipt);
    expect(audited).toMatchObject({ intact: false, reason: expect.stringContaining("receipt") });
  });

  it("fails the audit against a receipt if a failed attempt was removed from its end", async () => {
    const made = await aGate({ gate: GATE });
    const folder = join(made.state, "sessions", hash("sha256", made.id, "hex").slice(0, 2), made.id);
    await made.refuses({ ...TRUTH, tests_pass: false }, /'tests_pass' is claimed false/);
    const receipt = await receiptAtTheEnd(made);
    for (const name of ["2.json", "head"]) await rm(join(folder, name));
    const fresh = await made.open();
    expect(await fresh.session(made.id).audit()).toMatchObject({ intact: true, versions: 1 });
    expect(await fresh.session(made.id).audit(receipt)).toMatchObject({
      intact: false,
      reason: "the commit of the receipt is not in the log",
    });
  });

  it("is refused if it is the complete log of another session", async () => {
    const made = await passed();
    const start = { action: "start", workflow_type: "honest_v1", target_file: "src/other.ts" };
    const other = String((await made.tool.dispatch(start)).session_id);
    await made.engine.close();
    const theirs = join(made.state, "sessions", hash("sha256", other, "hex").slice(0, 2), other);
    for (const name of ["1.json", "2.json", "head"]) {
      await writeFile(join(theirs, `${name}.new`), await readFile(join(made.folder, name)));
      await rm(join(theirs, name), { force: true });
      await writeFile(join(theirs, name), await readFile(join(made.folder, name)));
    }
    const refused = await failure((await made.open()).session(other).state());
    expect(refused).toMatchObject({ code: "TAMPERED" });
    expect(await reread(made)).toMatchObject({ currentPhase: 2 });
  });
});

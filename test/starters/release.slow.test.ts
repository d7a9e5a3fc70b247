import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryStorage } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { FileContent } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectInMemory } from "../mcp/connect-in-memory.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { initialise } from "../support/a-repository.js";
import { writeFiles } from "../support/write-files.js";

const CHANGELOG = "# Changelog\n\n## 1.1.0\n\n- adds numbers\n";
const NEWER = CHANGELOG.replace("## 1.1.0", "## 1.2.0\n\n- subtracts numbers\n\n## 1.1.0");
const ENTRY = {
  heading: { file: "CHANGELOG.md", line: 3, quote: "## 1.2.0" },
  changes: [{ file: "CHANGELOG.md", line: 5, quote: "- subtracts numbers" }],
};
const VERSION = { version: "1.2.0" };

/** Starts a registry that has nothing yet. */
async function aRegistry() {
  const published = new Set<string>();
  const server = createServer(({ url = "" }, response) => {
    response.statusCode = published.has(url) ? 200 : 404;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = isAddress(address) ? address.port : 0;
  return { published, host: `localhost:${port}`, url: `http://localhost:${port}/calc/1.2.0` };
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}

/** Creates a project, and an agent with the tool of a host that may ask a server on this machine. */
async function aRelease(host: string) {
  const project = join(await temporaryFolder(), "project");
  await mkdir(project);
  const write = (path: string, text: string) => writeFiles(project, { [path]: text });
  await writeFiles(project, {
    "check.sh": "! grep -q bug calc.sh\n",
    "calc.sh": "echo 1\n",
    "CHANGELOG.md": CHANGELOG,
  });
  const git = await initialise(project);
  const keys = await createApproverKeys();
  const engine = createEngine({
    storage: new MemoryStorage(),
    content: new FileContent({ roots: [fileURLToPath(new URL("../../starters", import.meta.url))] }),
    approvers: { ann: keys.publicKey },
    limits: { maxAttempts: 100, maxAttemptsTotal: 100 },
    verifiers: await createVerifiers({
      projectRoot: project,
      commands: ["sh check.sh"],
      hosts: [{ host, private: true }],
    }),
  });
  onTestFinished(() => engine.close());
  const { ask } = await connectInMemory(engine);
  let sessionId = "";
  const start = async (options: object) => {
    const answer = await ask({ action: "start", workflow_type: "release", options });
    sessionId = String(answer.session_id);
    return answer;
  };
  const submit = (phase: number, evidence: object) =>
    ask({ action: "complete_phase", session_id: sessionId, phase, evidence });
  const approve = async (privateKey = keys.privateKey) => {
    const question = await engine.session(sessionId).approval();
    if (question === undefined) throw new Error("nothing waits");
    const { evidenceHash } = question;
    const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey });
    return engine.session(sessionId).approve({ by: "ann", evidenceHash, signature });
  };
  const lie = async (phase: number, evidence: object, reason: RegExp) => {
    const answer = await submit(phase, evidence);
    expect(answer).toMatchObject({ code: "GATE_FAILED" });
    expect(JSON.stringify(answer)).toMatch(reason);
  };
  const pass = async (phase: number, evidence: object) => {
    const answer = await submit(phase, evidence);
    expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success" });
    return answer;
  };
  return { project, write, git, start, submit, approve, lie, pass };
}

describe("release", () => {
  it("refuses every lie, and lets an honest agent through", { timeout: 60_000 }, async () => {
    const { published, host, url } = await aRegistry();
    const { write, git, start, submit, approve, lie, pass } = await aRelease(host);
    const commit = (message: string) => git("commit", "--quiet", "-am", message);
    const options = { test_command: "sh check.sh", version: "1.2.0", published_url: url };
    expect(JSON.stringify(await start({ ...options, version: "soon" }))).toMatch(/version/);
    expect(JSON.stringify(await start({ ...options, test_command: "true" }))).toMatch(
      /no other arguments: sh check.sh/,
    );
    const elsewhere = { ...options, published_url: "http://elsewhere.org/1.2.0" };
    expect(JSON.stringify(await start(elsewhere))).toMatch(/elsewhere.org/);
    const base = url.replace("/calc/1.2.0", "");
    for (const path of ["latest", "11.2.0", "0.1.2.0", "1.2.01", "1.2.0.1"]) {
      await start({ ...options, published_url: `${base}/${path}` });
      await lie(1, VERSION, /the path of published_url does not contain the version/);
    }
    for (const path of [
      ...["latest#1.2.0", "latest?v=1.2.0", "1.2.0/..", "1.2.0/../latest", "1.2.0/%2E%2e", "1.2.0/.%2e/x", "1.2.0/."],
      ...["1.2.0\\..\\latest", "1.2.0/.\t./latest"],
    ]) {
      expect(JSON.stringify(await start({ ...options, published_url: `${base}/${path}` })), path).toMatch(
        /does not match/,
      );
    }
    // Files are looked at once all rules hold.
    for (const path of ["@me%2fcalc/1.2.0", "calc-1.2.0.tgz", "calc/v1.2.0/"]) {
      expect(await start({ ...options, published_url: `${base}/${path}` }), path).toMatchObject({ status: "success" });
      await write("calc.sh", "echo bug\n");
      await lie(1, VERSION, /1 uncommitted file/);
      git("checkout", "calc.sh");
    }
    // A changelog that is any file.
    await start({ ...options, changelog: "**" });
    await pass(1, VERSION);
    await lie(2, ENTRY, /\*\*.{0,9} of the session would be a glob/);
    await start(options);

    await lie(1, { version: "1.1.0" }, /not the version that the session was started with/);
    await write("calc.sh", "echo bug\n");
    await lie(1, VERSION, /1 uncommitted file: calc.sh/);
    commit("a bug");
    await lie(1, VERSION, /exit code 1, expected 0/);
    git("reset", "--quiet", "--hard", "HEAD~1");
    await pass(1, VERSION);

    await lie(2, ENTRY, /does not contain the quoted text/);
    for (const quote of ["## 1.1.0", "## 11.2.0", "## 1.2.01", "## 1.2.0-rc.1"]) {
      await lie(2, { ...ENTRY, heading: { ...ENTRY.heading, quote } }, /a heading with the version/);
    }
    await write("NOTES.md", NEWER);
    await lie(2, { ...ENTRY, heading: { ...ENTRY.heading, file: "NOTES.md" } }, /it must be in one of CHANGELOG.md/);
    git("clean", "--quiet", "-f");
    await write("CHANGELOG.md", NEWER);
    await lie(2, ENTRY, /1 uncommitted file: CHANGELOG.md/);
    commit("1.2.0");
    await lie(2, { ...ENTRY, changes: [] }, /0 of at least 1 places|changes/);
    await lie(
      2,
      { ...ENTRY, changes: [{ ...ENTRY.changes[0], line: 3, quote: "## 1.2.0" }] },
      /an item below the heading/,
    );
    await pass(2, ENTRY);

    const head = git("rev-parse", "HEAD");
    const asking = { summary: "subtraction is new in 1.2.0", commit: head };
    await lie(3, { ...asking, commit: "0123456" }, /there is no commit/);
    await write("calc.sh", "echo 2\n");
    commit("untested");
    await lie(3, asking, /changed: calc.sh/);
    git("reset", "--quiet", "--hard", head);
    expect(await submit(3, asking)).toMatchObject({ awaiting_approval: true });
    expect(await submit(4, { tag: "v1.2.0" })).toMatchObject({ status: "error" });
    const { privateKey } = await createApproverKeys();
    await expect(approve(privateKey)).rejects.toMatchObject({ code: "APPROVAL_REFUSED" });
    await approve();

    await lie(4, { tag: "v1.2.0" }, /there is no tag v1.2.0/);
    git("tag", "v1.2.0", "HEAD~1");
    await lie(4, { tag: "v1.2.0" }, /not at the commit that is checked out/);
    git("tag", "-f", "release");
    await lie(4, { tag: "release" }, /the tag is the prefix and the version/);
    await write("calc.sh", "echo 2\n");
    commit("not approved");
    git("tag", "-f", "v1.2.0");
    await lie(4, { tag: "v1.2.0" }, /changed: calc.sh/);
    git("reset", "--quiet", "--hard", head);
    git("tag", "-f", "-a", "-m", "1.2.0", "v1.2.0");
    await pass(4, { tag: "v1.2.0" });

    await lie(5, VERSION, /404/);
    published.add("/calc/1.2.0");
    git("tag", "-d", "v1.2.0");
    await lie(5, VERSION, /there is no tag/);
    git("tag", "v1.2.0");
    expect(await pass(5, VERSION)).toMatchObject({ workflow_complete: true });
  });
});

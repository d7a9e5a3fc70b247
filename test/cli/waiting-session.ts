import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { Verifier } from "phasegate/verify";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles, people } from "../support/approvals.js";
import { writeFiles } from "../support/write-files.js";

/** Creates a state folder with a session that waits for Ann or Bob, and the files for a person and a server. */
export async function waitingSession(
  evidence: Record<string, unknown> = {},
  hashKey?: string,
  { files = {}, verifiers = {} }: { files?: Record<string, string>; verifiers?: Record<string, Verifier> } = {},
) {
  const root = await temporaryFolder();
  const state = join(root, "state");
  const keys = await people();
  const approvers = { ann: keys.ann.publicKey, bob: keys.bob.publicKey };
  const keyFile = async (name: "ann" | "bob" | "eve") => {
    const file = join(root, `${name}.pem`);
    await writeFile(file, keys[name].privateKey, { mode: 0o600 });
    return file;
  };
  await writeFile(join(root, "approvers.json"), JSON.stringify(approvers));
  const storage = await FileStorage.open(state);
  const content = new MemoryContent({ sources: { asking: { ...askingFiles, ...files } } });
  const trust = { approvers, ...(hashKey === undefined ? {} : { hashKey }) };
  const engine = createEngine({ storage, content, verifiers, ...trust });
  onTestFinished(() => engine.close());
  const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
  await engine.session(sessionId).completePhase(1, { tests_pass: true, ...evidence });
  // Waits for what is written after the answers, so that it does not interfere with the tests.
  await storage.close();
  const hashKeyFile = join(root, "hash.key");
  await writeFile(hashKeyFile, `${hashKey ?? ""}\n`, { mode: 0o600 });
  await chmod(hashKeyFile, 0o600);
  const { evidenceHash = "" } = (await engine.session(sessionId).approval()) ?? {};
  const workflows = join(root, "workflows");
  await writeFiles(join(workflows, "asking"), askingFiles);
  return {
    ...{ root, state, workflows, engine, sessionId, keys, keyFile, evidenceHash, hashKeyFile },
    approvers: join(root, "approvers.json"),
    /** Returns the state of the session, as a server reads it. */
    standing: () => engine.session(sessionId).state(),
  };
}

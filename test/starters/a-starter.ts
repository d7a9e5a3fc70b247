/** A git project, a server with the starters for it, and an agent that says at each gate what a test makes it say. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createApproverKeys } from "phasegate/approval";
import { expect } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToBin, connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { initialise } from "../support/a-repository.js";
import { writeFiles } from "../support/write-files.js";

type Fields = Readonly<Record<string, unknown>>;

interface Setting {
  readonly files: Readonly<Record<string, string>>;
  /** More flags of `serve`. */
  readonly flags?: readonly string[];
  /** True for the built bin in a process of its own. */
  readonly bin?: boolean;
}

/** Creates a project with committed files, and an agent that is connected to a server. */
export async function aStarter(type: string, { files, flags = [], bin = false }: Setting) {
  const root = await temporaryFolder();
  const project = join(root, "project");
  await mkdir(project);
  await writeFiles(project, { ".gitignore": ".phasegate/\n", ...files });
  const git = await initialise(project);
  const state = join(project, ".phasegate");
  const where = ["--starters", "--project", project, "--state", state];
  const attempts = ["--max-attempts", "100", "--max-attempts-total", "100"];
  const { publicKey, privateKey } = await createApproverKeys();
  const approver = ["--approver", `ann=${publicKey}`];
  const connect = bin ? connectToBin : connectToServe;
  const { ask, client, log } = await connect([...where, ...attempts, ...approver, ...flags], {
    PATH: process.env.PATH ?? "",
  });
  let session = "";
  const start = async (options: Fields, more: Fields = {}) => {
    const answer = await ask({ action: "start", workflow_type: type, options, ...more });
    if (typeof answer.session_id === "string") session = answer.session_id;
    return answer;
  };
  const submit = (phase: number, evidence: Fields) =>
    ask({ action: "complete_phase", session_id: session, phase, evidence });
  /** Ann decides at a terminal, with her key. */
  const decide = async (word: "approve" | "deny", ...more: string[]) => {
    const key = join(root, "ann.pem");
    await rm(key, { force: true });
    await writeFile(key, privateKey, { mode: 0o600 });
    const { stdout } = await run("show", session, "--state", state, "--json");
    const hash = /"evidenceHash": "([0-9a-f]+)"/.exec(stdout)?.[1] ?? "none";
    const signed = ["--key", key, ...approver, "--yes", "--evidence-hash", hash];
    const flagsOf = ["--state", state, "--project", project, ...signed];
    const done = await run(word, session, ...flagsOf, ...more);
    expect(done, done.stderr).toMatchObject({ code: 0 });
  };
  return {
    ask,
    decide,
    client,
    log,
    git,
    project,
    start,
    submit,
    session: () => session,
    write: (path: string, text: string) => writeFiles(project, { [path]: text }),
    remove: (path: string) => rm(join(project, path), { recursive: true }),
    /** Submits evidence that the gate must refuse, with a reason. */
    async lie(phase: number, evidence: Fields, reason: RegExp) {
      const answer = await submit(phase, evidence);
      expect(answer).toMatchObject({ code: "GATE_FAILED" });
      expect(JSON.stringify(answer)).toMatch(reason);
    },
    /** Submits evidence that the gate must accept. */
    async pass(phase: number, evidence: Fields) {
      const answer = await submit(phase, evidence);
      expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success" });
      return answer;
    },
  };
}

/** A git project, a server with the starters for it, and an agent that says at each gate what a test makes it say. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
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
  const where = ["--starters", "--project", project, "--state", join(project, ".phasegate")];
  const attempts = ["--max-attempts", "100", "--max-attempts-total", "100"];
  const connect = bin ? connectToBin : connectToServe;
  const { ask, client, log } = await connect([...where, ...attempts, ...flags], { PATH: process.env.PATH ?? "" });
  let session = "";
  const start = async (options: Fields, more: Fields = {}) => {
    const answer = await ask({ action: "start", workflow_type: type, options, ...more });
    if (typeof answer.session_id === "string") session = answer.session_id;
    return answer;
  };
  const submit = (phase: number, evidence: Fields) =>
    ask({ action: "complete_phase", session_id: session, phase, evidence });
  return {
    ask,
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

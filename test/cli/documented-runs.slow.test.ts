/**
 * Runs the shell lines of all pages, each page in a project of its own, in order. What a page assumes, and what its reader puts
 * in place of SESSION or of a key, is in `PAGES`. Lines that no test can run are in `NOT_RUN`, with the reason.
 *
 * Other blocks are part of it, too: `json call` is sent to the page's server, `json file=PATH` is written to a file that the
 * lines after it read, and `text output` is what the lines before it print.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createEngine } from "phasegate";
import { createApproverKeys } from "phasegate/approval";
import { FileContent, FileStorage } from "phasegate/fs";
import { FakeClock } from "phasegate/testing";
import { afterEach, expect, it, vi } from "vitest";
import { pageFiles } from "../../site/pages.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { initialise } from "../support/a-repository.js";
import { askingFiles } from "../support/approvals.js";
import { Authenticator } from "../support/authenticator.js";
import { writeFiles } from "../support/write-files.js";
import { createShell, type Shell } from "./documented-shell.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

const ROOT = join(import.meta.dirname, "../..");
const MANIFEST: { scripts: Record<string, string>; devDependencies: Record<string, string> } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
);

/** Commands that are not run, by how they begin, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "phasegate test-storage my-contract.ts   ": "takes ten seconds; documented-contract.test.ts runs the same contract",
  "phasegate test-storage my-contract.ts --kills 1000": "takes minutes; test-storage.test.ts has it with three kills",
};
/** npm is not run either: each of its scripts takes long, and a package would come from the registry. Names are checked. */
function checkNpm([name = "", ...args]: readonly string[]): void {
  const script = name === "run" ? args[0] : name;
  if (script === "ci") return;
  if (script !== "install") return expect(Object.keys(MANIFEST.scripts)).toContain(script);
  for (const wanted of args.filter((arg) => !arg.startsWith("-"))) {
    const [, named = "", version = ""] = /^(@?[^@]+)(?:@(.+))?$/.exec(wanted) ?? [];
    const ours = { ...MANIFEST.devDependencies, phasegate: "", zod: "" }[named];
    expect(ours, `${named} is tested here`).toBeTypeOf("string");
    if (version !== "") expect(`${ours}.`, wanted).toMatch(new RegExp(`^${version.replaceAll(".", "\\.")}\\.`));
  }
}

/** What stands in the lines of a page for what only its reader knows, and what a reader puts there. */
type Replacements = Readonly<Record<string, string>>;

interface Page {
  /** Makes what the page assumes, in the current folder, and returns what is replaced in all of its lines. */
  readonly prepare?: () => Promise<Replacements | undefined>;
  /** Makes what a line assumes, by how it begins, and returns what is replaced in it. */
  readonly before?: Readonly<Record<string, (shell: Shell) => Promise<Replacements>>>;
}

/** Any free port, since others may be taken. */
const ANY_PORT = { "--http 8080": "--http 0", "--port 7000": "--port 0", "127.0.0.1:8080": "127.0.0.1:0" };
/** A browser would be opened for nobody. */
const NO_BROWSER = { " --open": "" };

/** A plan of spec-kit. */
const HALF_DONE = `# Tasks

## Phase 1: Setup

- [x] T001 Create the folder src/login
- [x] T002 [P] Add the test runner

## Phase 2: User Story 1 - Log in

- [ ] T003 [US1] Write the form in src/login/form.ts
- [ ] T004 [US1] Check the password in src/login/check.ts
`;

const PAGES: Readonly<Record<string, Page>> = {
  "README.md": { prepare: aNewProject },
  "site/home.md": { prepare: aNewProject },
  "docs/setup.md": { prepare: aNewProject },
  "docs/start.md": {
    prepare: aNewProject,
    before: {
      // As after the second step of the page.
      "npx phasegate sessions": async () => ({ SESSION: await started("bug_fix", { test_command: "npm test" }) }),
      "npx phasegate show": async () => ({ SESSION: await started("bug_fix", { test_command: "npm test" }) }),
    },
  },
  "docs/approvals.md": {
    prepare: async () => {
      await writeFiles("workflows/asking", askingFiles);
      await writeFiles("workflows", SMALL);
      writeFileSync("hash.key", `${"0123456789abcdef".repeat(4)}\n`, { mode: 0o600 });
    },
    before: {
      "phasegate serve": async (shell) => {
        const key = printedKey(shell);
        writeFileSync("approvers.json", JSON.stringify({ ann: key }));
        return { "ed25519:3f0…": key };
      },
      "phasegate inbox": async () => ({}),
      "phasegate approve S": async () => ({ SESSION: await waiting() }),
      "phasegate deny    S": async () => ({ SESSION: await waiting() }),
      "phasegate show": async () => ({ SESSION: await waiving() }),
      "phasegate waive": async () => ({ SESSION: await waiving() }),
      "phasegate deny  S": async () => ({ SESSION: await waiving() }),
      "phasegate audit": async () => {
        const id = await waiting("--hash-key-file", "hash.key");
        const receipt = ["--write-receipt", "kept.json", "--hash-key-file", "hash.key"];
        await done("audit", id, "--state", ".phasegate", "--approvers", "approvers.json", ...receipt);
        return { SESSION: id };
      },
    },
  },
  "docs/changing.md": {
    prepare: async () => {
      await copied("examples/workflows", "workflows");
      await started("release_v1");
      const file = "workflows/release_v1/metadata.json";
      const metadata = JSON.parse(readFileSync(file, "utf8"));
      writeFileSync(file, JSON.stringify({ ...metadata, version: "2.0.0" }));
      return undefined;
    },
  },
  "docs/coming-from.md": {
    prepare: async () => {
      await aNewProject();
      await done("init", "--yes", "--client", "claude", "--starters", "plan_execution");
      await copied("examples/routed", "orchestrator/workflows");
      await copied("examples/intake", "bmad");
      await copied("examples/workflows", ".praxis-os/workflows");
      const praxis = {
        session_id: "062f24e7",
        workflow_type: "release_v1",
        target_file: "src/a.ts",
        completed_phases: [],
      };
      await writeFiles(".", {
        "specs/001-login/tasks.md": HALF_DONE,
        ".praxis-os/.cache/state/062f24e7.json": JSON.stringify(praxis),
        "_bmad/custom/.keep": "",
      });
      await initialise(process.cwd());
      return undefined;
    },
  },
  "docs/packs.md": {
    prepare: async () => {
      const replaced = await aNewProject();
      await done("init", "--yes", "--client", "claude", "--starters", "none");
      // As where it was installed by hand: nothing comes from the registry.
      await copied("examples/packs/acme-commits", "node_modules/acme-commits");
      writeFileSync("package.json", '{"devDependencies": {"acme-commits": "file:acme"}}');
      return replaced;
    },
  },
  "docs/dialects.md": {
    prepare: async () => {
      await writeFiles("specs", { "tasks.md": "# Tasks\n\n## Phase 1: Dig\n\n- [ ] **Task 1.1**: Dig a hole\n" });
    },
  },
  "docs/http.md": {
    prepare: async () => {
      await writeFiles("workflows", SMALL);
    },
  },
  "docs/hosts.md": {
    prepare: async () => {
      await copied("examples/workflows", "workflows");
    },
    before: {
      "phasegate show": async () => ({ release_v1_app_20260101_120000: await started("release_v1") }),
      "phasegate retry": exhausted,
    },
  },
  "docs/inspector.md": {
    prepare: async () => {
      await writeFiles("workflows/asking", askingFiles);
      writeFileSync("approvers.json", JSON.stringify({ ann: (await createApproverKeys()).publicKey }));
      await waiting();
      return { ...ANY_PORT, ...NO_BROWSER };
    },
  },
  "docs/mcp.md": {
    prepare: async () => {
      await copied("examples/workflows", "workflows");
      // There is no such server.
      return { ...ANY_PORT, "postgres://localhost/phasegate": ".phasegate" };
    },
  },
  "docs/observability.md": {
    prepare: async () => {
      await writeFiles("workflows", SMALL);
      return { "whsec_…": `whsec_${Buffer.alloc(32).toString("base64")}` };
    },
  },
  "docs/routed.md": {
    prepare: async () => {
      await copied("examples/routed", "examples/routed");
      await copied("examples/routed", "workflows");
      await copied("examples/workflows", "phased");
      return ANY_PORT;
    },
  },
  "docs/starters/bug_fix.md": { prepare: aRepository },
  "docs/starters/code_review.md": { prepare: aRepository },
  "docs/starters/plan_execution.md": { prepare: aRepository },
  "docs/starters/release.md": { prepare: aRepository },
  "docs/starters/small_change.md": {
    prepare: aRepository,
    before: { "phasegate serve": async (shell) => ({ "ed25519:…": printedKey(shell) }) },
  },
  "docs/starters/spec_creation.md": { prepare: aRepository },
  "docs/storage.md": {
    prepare: async () => {
      await writeFiles("workflows/asking", askingFiles);
      await waiting();
      // There is no such server. Any kind of state can be backed up.
      return { "postgres://ann@db/work": ".phasegate", "/backups/phasegate": `"${process.cwd()}/backups"` };
    },
    before: { "phasegate delete": completedLongAgo },
  },
  "docs/storage/own.md": {
    prepare: async () => {
      await copied("test/testing/documented", ".");
      mkdirSync("node_modules");
      symlinkSync(ROOT, "node_modules/phasegate", "junction");
    },
  },
  "docs/workflows.md": { prepare: aNewProject },
  "docs/workspace.md": {
    prepare: async () => {
      await copied("examples/intake", "bundle");
      mkdirSync("core");
    },
  },
};

function inPlaceOf(replaced: Replacements, text: string): string {
  return Object.entries(replaced).reduce((now, [name, value]) => now.replaceAll(name, value), text);
}

async function copied(from: string, to: string): Promise<void> {
  cpSync(join(ROOT, from), to, { recursive: true });
}

/** A project in git with a command that tests it, in which phasegate is installed. */
async function aNewProject(): Promise<undefined> {
  await writeFiles(".", { "package.json": '{"scripts": {"test": "node --test"}}', "src/a.ts": "" });
  mkdirSync("node_modules/@modelcontextprotocol", { recursive: true });
  symlinkSync(ROOT, "node_modules/phasegate", "junction");
  symlinkSync(join(ROOT, "node_modules/@modelcontextprotocol/server"), "node_modules/@modelcontextprotocol/server");
}

/** The same with a commit, and what the starters want to see. */
async function aRepository(): Promise<Replacements> {
  await writeFiles(".", {
    "package.json": '{"version": "1.1.0", "scripts": {"test": "node --test"}}',
    ".gitignore": ".phasegate/\nhome/\n",
    "CHANGELOG.md": "# Changes\n",
    "specs/login/tasks.md": "# Tasks\n\n## Phase 1: Dig\n\n- [ ] **Task 1.1**: Dig a hole\n",
  });
  const git = await initialise(process.cwd());
  git("checkout", "--quiet", "-b", "work");
  return { "ann=ed25519:…": `ann=${(await createApproverKeys()).publicKey}` };
}

/** Starts a session with a server that is then ended. */
async function started(type: string, options: object = {}): Promise<string> {
  const { ask, client } = await connectToServe(served([]));
  const answer = await ask({ action: "start", workflow_type: type, target_file: "src/a.ts", options });
  await client.close();
  expect(answer, JSON.stringify(answer)).toMatchObject({ status: "success" });
  return String(answer.session_id);
}

function served(flags: readonly string[]): string[] {
  const allowed = ["--project", ".", "--allow-command", "npm test"];
  return ["--workflows", "workflows", "--state", ".phasegate", ...allowed, ...flags];
}

/** Creates a session that waits for Ann, whose key is the one that was made last. */
async function waiting(...flags: readonly string[]): Promise<string> {
  const approvers = existsSync("approvers.json") ? ["--approvers", "approvers.json"] : [];
  const { ask, client } = await connectToServe(served([...approvers, ...flags]));
  const { session_id } = await ask({ action: "start", workflow_type: "asking", target_file: "src/a.ts" });
  const answer = await ask({ action: "complete_phase", session_id, phase: 1, evidence: { tests_pass: true } });
  if (approvers.length > 0) expect(answer).toMatchObject({ awaiting_approval: true });
  await client.close();
  return String(session_id);
}

/** Creates a session whose agent asks for a waiver. */
async function waiving(): Promise<string> {
  const { ask, client } = await connectToServe(served([]));
  const { session_id } = await ask({ action: "start", workflow_type: "small", target_file: "src/a.ts" });
  const asked = { action: "request_waiver", session_id, phase: 1, fields: ["tests_pass"], reason: "there are none" };
  expect(await ask(asked)).toMatchObject({ status: "success" });
  await client.close();
  return String(session_id);
}

/** Lets an agent use all attempts at a gate. */
async function exhausted(): Promise<Replacements> {
  const { ask, client } = await connectToServe(served(["--max-attempts", "12"]));
  const { session_id } = await ask({ action: "start", workflow_type: "release_v1", target_file: "src/a.ts" });
  for (let n = 0; n < 12; n += 1) await ask({ action: "complete_phase", session_id, phase: 1, evidence: {} });
  await client.close();
  const { stdout } = await done("sessions", "--waiting", "host", "--ids");
  expect(stdout).toBe(`${session_id}\n`);
  return {};
}

const DAY = 24 * 60 * 60 * 1000;

/** Leaves a completed session that is 40 days old. */
async function completedLongAgo(): Promise<Replacements> {
  const metadata = JSON.parse(askingFiles["metadata.json"] ?? "");
  await writeFiles("workflows/DEPLOY", {
    "metadata.json": JSON.stringify({ ...metadata, workflow_type: "DEPLOY", phases: metadata.phases.slice(0, 1) }),
    "phases/1/phase.md": "# Phase 1\n",
    "phases/1/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
  });
  const clock = new FakeClock(new Date(Date.now() - 40 * DAY).toISOString());
  const content = new FileContent({ roots: ["workflows"] });
  const engine = createEngine({ storage: await FileStorage.open(".phasegate"), content, clock });
  const { sessionId } = await engine.start({ workflowType: "DEPLOY", target: "src/a.ts" });
  await engine.session(sessionId).completePhase(1, { done: true });
  expect(await engine.session(sessionId).state()).toMatchObject({ status: "completed" });
  await engine.close();
  return {};
}

async function done(...args: string[]) {
  const ended = await run(...args);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended;
}

/** The public key that `phasegate keygen` has printed last. */
function printedKey(shell: Shell): string {
  return (
    shell
      .printed()
      .match(/ed25519:[\w+/=-]+/g)
      ?.at(-1) ?? "none was printed"
  );
}

const cwd = process.cwd();
afterEach(() => {
  process.chdir(cwd);
});

interface Block {
  readonly info: string;
  readonly text: string;
}

/** Returns the blocks of a page that are run here. */
function blocksOf(page: string): Block[] {
  const fences = readFileSync(join(ROOT, page), "utf8").matchAll(/^```(\w+[^\n`]*)\n([\s\S]*?)^```$/gm);
  const blocks = [...fences].map(([, info = "", text = ""]) => ({ info, text }));
  return blocks.filter(({ info }) => /^sh$|^json (?:call|file=\S+)$|^text output$/.test(info));
}

const RUN = pageFiles().filter((page) => !page.startsWith("docs/api/") && blocksOf(page).length > 0);

it.each(RUN)("the commands of %s work", { timeout: 60_000 }, async (page) => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { "home/.keep": "", "the project/.git/HEAD": "ref: refs/heads/main\n" });
  for (const name of ["HOME", "USERPROFILE"]) vi.stubEnv(name, join(folder, "home"));
  for (const name of ["STATE", "PROJECT", "WORKFLOWS"]) vi.stubEnv(`PHASEGATE_${name}`, undefined);
  process.chdir(join(folder, "the project"));
  const { prepare, before = {} } = PAGES[page] ?? {};
  const always = (await prepare?.()) ?? {};
  const unused = new Set(Object.keys(before));
  const shell = createShell(checkNpm);
  for (const { info, text } of blocksOf(page)) {
    const [kind = "", what = ""] = info.split(" ");
    if (kind === "json" && what === "call") {
      expect(await shell.call(JSON.parse(text))).toMatchObject({ status: "success" });
    } else if (kind === "json") {
      await FILES[`${page} ${what.slice("file=".length)}`]?.(text, shell);
    } else if (kind === "text") {
      expect(await OUTPUTS[page]?.()).toContain(text.trim());
    } else {
      for (const line of text.replace(/\\\n/g, " ").trim().split("\n")) {
        if (Object.keys(NOT_RUN).some((start) => line.startsWith(start))) continue;
        const start = Object.keys(before).find((one) => line.startsWith(one));
        if (start !== undefined) unused.delete(start);
        const replaced = { ...always, ...(start !== undefined && (await before[start]?.(shell))) };
        await shell.line(inPlaceOf(replaced, line));
      }
    }
  }
  await shell.end();
  expect([...unused]).toEqual([]);
});

/** What is done with a block that is a file. */
const FILES: Readonly<Record<string, (text: string, shell: Shell) => Promise<void>>> = {
  "docs/approvals.md approvers.json": async (text, shell) => {
    const { credentialId, publicKey } = (await Authenticator.make()).passkey();
    const values = { "ed25519:3f0…": printedKey(shell), "ed25519:77c…": (await createApproverKeys()).publicKey };
    const named = text.replace('credentialId": "…', `credentialId": "${credentialId}`);
    const whole = named.replace('publicKey": "…', `publicKey": "${publicKey}`);
    writeFileSync("approvers.json", inPlaceOf(values, whole));
    const { stdout } = await done("approvers", "list", "--approvers", "approvers.json");
    expect(stdout.match(/^\w+ {2}\w+/gm)).toEqual(["bob  ed25519", "ann  ed25519", "ann  passkey"]);
    writeFileSync("approvers.json", JSON.stringify({ ann: printedKey(shell) }));
  },
  // Two of them: what `phasegate new` has written, and a part that is added to it.
  "docs/workflows.md workflows/fix_a_bug/metadata.json": async (text) => {
    const file = "workflows/fix_a_bug/metadata.json";
    const metadata = JSON.parse(readFileSync(file, "utf8"));
    if (text.startsWith("{")) return expect(metadata).toMatchObject(JSON.parse(text));
    writeFileSync(file, JSON.stringify({ ...metadata, ...JSON.parse(`{${text}}`) }));
    await started("fix_a_bug", { audience: "dev", docs: ["a.md"] });
    await expect(started("fix_a_bug", { depth: 2 })).rejects.toThrow("audience");
  },
};

/** What prints a block that is an output. */
const OUTPUTS: Readonly<Record<string, () => Promise<string>>> = {
  "docs/coming-from.md": async () => {
    const check = ["--allow-command", "npm test", "--option", "check_command=npm test"];
    return (await done("import", "--from", "spec-kit", "specs/001-login", ...check, "--dry-run")).stdout;
  },
  "docs/routed.md": async () => {
    const file = "examples/routed/FIX_BUG/steps/fix.md";
    writeFileSync(file, readFileSync(file, "utf8").replace('stay on "Fix"', 'proceed to "Finish"'));
    return (await run("validate", "examples/routed")).stdout;
  },
};

it("leaves out no line without need, and prepares no page that is gone", () => {
  const lines = RUN.flatMap((page) => blocksOf(page)).flatMap(({ text }) => text.split("\n"));
  for (const start of Object.keys(NOT_RUN))
    expect(
      lines.some((line) => line.startsWith(start)),
      start,
    ).toBe(true);
  expect(RUN).toEqual(expect.arrayContaining(Object.keys(PAGES)));
  expect(RUN.length).toBeGreaterThan(20);
});

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { copySessions } from "phasegate/storage";
import { createWorkspace, RECORDED_SESSIONS, type Workspace } from "phasegate/workspace";
import { beforeEach, describe, expect, it } from "vitest";
import { recordedMachine } from "../../src/workspace/session/machine.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

let storage: MemoryStorage;
let made: MadeWorkspace;
let workspace: Workspace;

beforeEach(async () => {
  storage = new MemoryStorage();
  made = await makeWorkspace({ storage });
  workspace = made.workspace;
});

async function begin(on = workspace): Promise<string> {
  const opened = await on.createSession({ workflow: "intake", agent: "alex", inputs: { client: "Ann" } });
  if (!opened.success) throw new Error(opened.error);
  return opened.session_id;
}

describe("a recorded session", () => {
  it("has each act in its log, with those before it began", async () => {
    await workspace.readFile({ path: "{bundle-root}/workflows/intake/workflow.yaml" });
    const id = await begin();
    await workspace.listFiles({ path: "workflows/intake" });
    await workspace.saveOutput({ path: `${id}/report.md`, content: "x" });
    // A refused act is not recorded.
    await workspace.readFile({ path: "../x" });
    await workspace.completeSession({ summary: "Done." });
    const history = await workspace.session(id).history();
    expect(history.map(({ version, at: _, ...entry }) => ({ version, ...entry }))).toEqual([
      { version: 1, type: "opened", workflow: "intake", agent: "alex", inputs: { client: "Ann" } },
      { version: 1, type: "read", path: "{bundle-root}/workflows/intake/workflow.yaml", bytes: 13 },
      { version: 2, type: "listed", path: "{bundle-root}/workflows/intake", entries: 2 },
      {
        version: 3,
        type: "saved",
        path: `{output-root}/${id}/report.md`,
        bytes: 1,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        replaced: false,
      },
      { version: 4, type: "completed", status: "completed", summary: "Done." },
    ]);
    const { items } = await storage.list({ kind: "recorded" });
    expect(items).toMatchObject([{ sessionId: id, workflowType: "intake", status: "completed", kind: "recorded" }]);
  });

  it("continues its log when it is reopened, and gets one if it is older than the storage", async () => {
    const id = await begin();
    const later = await made.again();
    await later.readFile({ path: "workflows/intake/instructions.md" });
    await later.createSession({ session_id: id, reopen: true });
    expect((await workspace.session(id).history()).map(({ type }) => type)).toEqual(["opened", "reopened", "read"]);
    const elsewhere = await made.again({ storage: new MemoryStorage() });
    await elsewhere.createSession({ session_id: id, reopen: true });
    expect((await elsewhere.session(id).history()).map(({ type }) => type)).toEqual(["opened"]);
  });

  it("never gets an id that the storage already has", async () => {
    const id = await begin();
    const output = await temporaryFolder();
    const other = await made.again({ outputRoot: output });
    const opened = await other.createSession({ session_id: id });
    expect(opened).toMatchObject({ success: true, note: expect.stringContaining("can't be had") });
    expect(await readdir(output)).not.toContain(id);
  });

  it("can be watched, audited and copied", async () => {
    const end = new AbortController();
    const commits = workspace.watch({}, { signal: end.signal });
    const id = await begin();
    const { value } = await commits.next();
    expect(value).toMatchObject({ sessionId: id, version: 1, head: { status: "active", workflow: "intake" } });
    end.abort();
    const session = workspace.session(id);
    const report = await session.audit();
    expect(report).toMatchObject({ intact: true, versions: 1 });
    const copy = new MemoryStorage();
    const copied = await copySessions(storage, copy, { kinds: [RECORDED_SESSIONS] });
    expect(copied).toMatchObject({ sessions: 1, refused: [] });
    const there = await made.again({ storage: copy });
    expect(await there.session(id).history()).toEqual(await session.history());
  });

  it("with a wrong summary ends a watch, and the host is notified", async () => {
    class Lying extends MemoryStorage {
      override async *watch(...args: Parameters<MemoryStorage["watch"]>) {
        for await (const commit of super.watch(...args)) {
          yield { ...commit, summary: { ...commit.summary, status: "completed" as const } };
        }
      }
    }
    const lying = await made.again({ storage: new Lying() });
    const told: unknown[] = [];
    lying.on("security", ({ operation, code }) => told.push(`${operation} ${code}`));
    const refused = expect(lying.watch().next()).rejects.toMatchObject({ code: "TAMPERED" });
    await begin(lying);
    await refused;
    expect(told).toEqual(["watch TAMPERED"]);
  });

  it("that was edited is refused, and accepts nothing more", async () => {
    const folder = await temporaryFolder();
    const files = await FileStorage.open(folder);
    const recorded = await made.again({ storage: files });
    const id = await begin(recorded);
    const paths = await readdir(folder, { recursive: true });
    const commit = paths.find((path) => path.includes(id) && /(^|\/)1\.json$/.test(path));
    if (commit === undefined) throw new Error(`no commit among ${paths.join(", ")}`);
    const text = await readFile(join(folder, commit), "utf8");
    await writeFile(join(folder, commit), text.replace("alex", "mala"));
    const fresh = await made.again({ storage: await FileStorage.open(folder) });
    expect(await fresh.session(id).audit()).toMatchObject({ intact: false });
    const manifest = await readFile(join(made.output, id, "manifest.json"), "utf8");
    expect(await fresh.createSession({ session_id: id, reopen: true })).toMatchObject({ success: false });
    expect(await recorded.saveOutput({ path: `${id}/x.md`, content: "x" })).toMatchObject({
      error: expect.stringContaining("was changed"),
    });
    expect(await recorded.completeSession()).toMatchObject({ success: false });
    // Nothing was changed in its folder.
    expect(await readdir(join(made.output, id))).toEqual(["manifest.json"]);
    expect(await readFile(join(made.output, id, "manifest.json"), "utf8")).toBe(manifest);
    await files.close();
  });

  it("whose log cannot be written gets correct answers, and continues once it can be written", async () => {
    const id = await begin();
    const path = `${id}/report.md`;
    const append = storage.append.bind(storage);
    const told: unknown[] = [];
    workspace.on("internalError", ({ error }) => told.push(error));
    storage.append = () => Promise.reject(new Error("the disk at /srv/state is gone"));
    const answers = [
      await workspace.saveOutput({ path, content: "x" }),
      await workspace.preloadWorkflow({ workflow: "intake" }),
      await workspace.completeSession(),
    ];
    expect(answers.map(({ success }) => success)).toEqual([false, false, false]);
    expect(JSON.stringify(answers)).not.toContain("/srv");
    // The file exists, and the answer reports it.
    expect(answers[0]).toEqual({
      success: false,
      error: `{output-root}/${path} is saved, but could not be recorded`,
      code: "INTERNAL",
      remedy: expect.stringContaining("Save it again"),
    });
    expect(await readFile(join(made.output, path), "utf8")).toBe("x");
    expect(told).toHaveLength(3);
    storage.append = append;
    // The workflow was not recorded as loaded, so it is loaded now; and the session is still active.
    expect(await workspace.preloadWorkflow({ workflow: "intake" })).toMatchObject({
      files: [{ role: "workflow" }, { role: "engine" }],
    });
    expect(await workspace.saveOutput({ path, content: "x" })).toMatchObject({ success: true, replaced: true });
    expect(await workspace.completeSession()).toMatchObject({ success: true, outputs: 1 });
    const history = await workspace.session(id).history();
    expect(history.map(({ type }) => type)).toEqual(["opened", "preloaded", "saved", "completed"]);
  });

  it("whose storage throws a plain error gives one code, to agents and to the host, and tells nothing more", async () => {
    const id = await begin();
    const session = workspace.session(id);
    const told: string[] = [];
    workspace.on("internalError", ({ operation }) => told.push(operation));
    const plain = new Error("the disk at /srv/state is gone");
    const fails = () => Promise.reject(plain);
    // biome-ignore lint/correctness/useYield: it fails before its first commit
    const breaks = async function* () {
      throw plain;
    };
    Object.assign(storage, { read: fails, append: fails, payload: fails, log: breaks, watch: breaks });
    const ann = workspace.as({ name: "ann" });
    const refused = await Promise.all([
      failure(session.history()),
      failure(session.audit()),
      failure(ann.session(id).history()),
      failure(workspace.watch().next()),
      failure(ann.watch().next()),
    ]);
    const answers = [
      await workspace.saveOutput({ path: `${id}/a.md`, content: "x" }),
      await workspace.listFiles(),
      await workspace.completeSession(),
    ];
    expect([...refused, ...answers].map((found) => ("code" in found ? found.code : found))).toEqual(
      Array(8).fill("INTERNAL"),
    );
    expect(JSON.stringify([...refused.map(({ message }) => message), ...answers])).not.toContain("/srv");
    expect(told.sort()).toEqual([
      "audit",
      "complete_session",
      "history",
      "history",
      "list_files",
      "save_output",
      "watch",
      "watch",
    ]);
  });

  it("whose log cannot be written returns no step of a skill, and skips none", async () => {
    const skill = {
      "skills/made/SKILL.md": "# Made\n",
      "skills/made/steps/step-01-one.md": "# One\n",
      "skills/made/steps/step-02-two.md": "# Two\n",
      "skills/made/steps/step-03-three.md": "# Three\n",
    };
    await writeFiles(made.bundle, skill);
    await begin();
    expect(await workspace.nextStep({ workflow: "made" })).toMatchObject({ number: 1 });
    const append = storage.append.bind(storage);
    storage.append = () => Promise.reject(new Error("gone"));
    expect(await workspace.nextStep({ workflow: "made" })).toMatchObject({ success: false });
    storage.append = append;
    expect(await workspace.nextStep({ workflow: "made" })).toMatchObject({ number: 2 });
  });

  it("requires a storage", async () => {
    const plain = await createWorkspace({ bundleRoot: made.bundle, outputRoot: made.output });
    const id = await begin(plain);
    const unsupported = expect.objectContaining({ code: "UNSUPPORTED" });
    await expect(plain.session(id).history()).rejects.toThrow(unsupported);
    await expect(plain.session(id).audit()).rejects.toThrow(unsupported);
    expect(() => plain.watch()).toThrow(unsupported);
    expect(await plain.session(id).manifest()).toMatchObject({ status: "active" });
    expect(() => plain.session("../x")).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
    const none = workspace.session("2020-01-01-000000");
    await expect(none.history()).rejects.toThrow("there is no session");
    await expect(none.audit()).rejects.toThrow("there is no session");
    // According to the receipt, the session existed.
    expect(await none.audit({ version: 1, hash: "a".repeat(64) })).toMatchObject({ intact: false });
  });
});

describe("the state machine of recorded sessions", () => {
  const context = { at: "2026-01-02T03:04:05.000Z", version: 1 };

  it("starts a session once, and accepts nothing before", () => {
    const opened = recordedMachine.decide(undefined, { type: "open", acts: [] }, context);
    if (!opened.ok) throw opened.error;
    expect(recordedMachine.decide(opened.head, { type: "open", acts: [] }, context)).toMatchObject({ ok: false });
    expect(recordedMachine.decide(undefined, { type: "reopen", acts: [] }, context)).toMatchObject({ ok: false });
  });

  it("keeps a head whose size does not grow with the number of acts", () => {
    let decision = recordedMachine.decide(undefined, { type: "open", acts: [] }, context);
    const sizes: number[] = [];
    for (let turn = 1; turn <= 900; turn += 1) {
      if (!decision.ok) throw decision.error;
      if (turn === 101 || turn === 900) sizes.push(JSON.stringify(decision.head).length);
      const act = { type: "step" as const, workflow: "w", step: "s" };
      decision = recordedMachine.decide(decision.head, { type: "act", act }, context);
    }
    expect(sizes[0]).toBe(sizes[1]);
    expect(decision).toMatchObject({ ok: true, head: { steps: 900, step: "s" } });
  });
});

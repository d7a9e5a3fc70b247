import { lstat, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Workspace, WorkspaceConnection } from "phasegate/workspace";
import { beforeEach, describe, expect, it } from "vitest";
import { BEGUN, type MadeWorkspace, makeWorkspace } from "./make-workspace.js";

const UUID = "0b8ee9a5-6c1f-4c55-9d0c-1d1c6f6f2a11";
let made: MadeWorkspace;
let workspace: Workspace;

beforeEach(async () => {
  const ids = ["one", "two", "three"];
  made = await makeWorkspace({ clock: { now: () => BEGUN, newId: () => ids.shift() ?? "last" } });
  workspace = made.workspace;
});

/** The id that the clock gives: its time, and 40 bits of the SHA-256 of its random id. */
const AT = "2026-01-02-030405-eq9c7b9l";

async function create(on: WorkspaceConnection, request = {}): Promise<string> {
  const opened = await on.createSession(request);
  if (!opened.success) throw new Error(`${opened.error} ${opened.remedy}`);
  return opened.session_id;
}

const manifestOf = async (id: string) => JSON.parse(await readFile(join(made.output, id, "manifest.json"), "utf8"));

describe("create_session", () => {
  it("creates a folder for its owner alone, named by the time, with a manifest", async () => {
    const request = { workflow: "intake", agent: "alex", inputs: { client: "Ann", pages: 3 } };
    const opened = await workspace.createSession(request);
    const id = AT;
    const at = "2026-01-02T03:04:05.000Z";
    expect(opened).toEqual({ success: true, session_id: id, opened: "created", save_to: `${id}/`, workflow: "intake" });
    expect(await manifestOf(id)).toEqual({
      session_id: id,
      status: "active",
      ...request,
      outputs: [],
      created_at: at,
      updated_at: at,
    });
    expect((await lstat(join(made.output, id))).mode & 0o777).toBe(0o700);
    expect((await lstat(join(made.output, id, "manifest.json"))).mode & 0o777).toBe(0o600);
  });

  it("uses the agent's id, or a new one if that id is taken", async () => {
    expect(await create(workspace, { session_id: UUID.toUpperCase() })).toBe(UUID);
    const again = await workspace.connect().createSession({ session_id: UUID });
    expect(again).toMatchObject({ opened: "created", note: expect.stringContaining('"reopen": true') });
    expect(again.success && again.session_id).not.toBe(UUID);
    expect(again).toMatchObject({ session_id: expect.stringMatching(/^2026-01-02-030405-[0-9a-v]{8}$/) });
  });

  it("refuses an id that chance gives twice: two connections never share a session", async () => {
    const { workspace: unlucky } = await makeWorkspace({ clock: { now: () => BEGUN, newId: () => "same" } });
    await create(unlucky.connect());
    expect(await unlucky.connect().createSession({})).toMatchObject({
      success: false,
      remedy: "Call create_session again.",
    });
  });

  it("gives each session a random end that nobody can guess, and takes ids without one", async () => {
    const { workspace: real } = await makeWorkspace({});
    const ids = [await create(real.connect()), await create(real.connect())];
    for (const id of ids) expect(id).toMatch(/^\d{4}-\d\d-\d\d-\d{6}-[0-9a-v]{8}$/);
    expect(ids[0]?.slice(-8)).not.toBe(ids[1]?.slice(-8));
    expect(await create(real.connect(), { session_id: "2026-01-02-030405" })).toBe("2026-01-02-030405");
  });

  it("returns a session of the same connection again, without creating another one", async () => {
    const id = await create(workspace);
    expect(await workspace.createSession({ session_id: id })).toMatchObject({
      session_id: id,
      opened: "already yours",
    });
    expect(await readdir(made.output)).toEqual([id]);
  });

  it("refuses inputs that are too large for a manifest, before anything is created", async () => {
    const inputs = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, "x".repeat(10_000)]));
    expect(await workspace.createSession({ inputs })).toMatchObject({
      error: expect.stringContaining("inputs: at most 100000 characters"),
    });
    expect(await readdir(made.output)).toEqual([]);
  });

  it("refuses an invalid id, and says what is valid", async () => {
    for (const session_id of ["intake", "../x", "", "2026-01-02"]) {
      expect(await workspace.createSession({ session_id })).toMatchObject({
        success: false,
        error: "session_id is neither a UUID nor YYYY-MM-DD-HHMMSS",
      });
    }
    expect(await workspace.createSession({ reopen: true })).toMatchObject({ error: "reopen needs a session_id" });
  });
});

describe("save_output", () => {
  it("saves a file, creates its folders and adds it to the manifest", async () => {
    const id = await create(workspace);
    const path = `${id}/notes/a..b.md`;
    expect(await workspace.saveOutput({ path, content: "é\n" })).toEqual({
      success: true,
      path: `{output-root}/${path}`,
      size: 3,
      replaced: false,
    });
    expect(await workspace.saveOutput({ path: `{output-root}/${path}`, content: "two\n" })).toMatchObject({
      replaced: true,
    });
    expect(await readFile(join(made.output, path), "utf8")).toBe("two\n");
    expect((await lstat(join(made.output, path))).mode & 0o777).toBe(0o600);
    expect((await lstat(join(made.output, id, "notes"))).mode & 0o777).toBe(0o700);
    expect((await manifestOf(id)).outputs).toEqual([
      {
        path: "notes/a..b.md",
        bytes: 4,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        saved_at: expect.any(String),
      },
    ]);
    expect(await readdir(join(made.output, id, "notes"))).toEqual(["a..b.md"]);
  });

  it("names the call that fixes a path without a session", async () => {
    expect(await workspace.saveOutput({ path: "report.md", content: "x" })).toEqual({
      success: false,
      error: "the path begins with no session's id",
      code: "INVALID_INPUT",
      remedy: 'Call create_session, then save it as "<session_id>/report.md".',
    });
    const id = await create(workspace);
    expect(await workspace.saveOutput({ path: "report.md", content: "x" })).toMatchObject({
      remedy: `Save it as "${id}/report.md".`,
    });
    expect(await workspace.saveOutput({ path: id, content: "x" })).toMatchObject({
      error: "the path names a session and no file in it",
    });
  });

  it("accepts a session's UUID in capitals", async () => {
    await create(workspace, { session_id: UUID });
    expect(await workspace.saveOutput({ path: `${UUID.toUpperCase()}/Notes.md`, content: "x" })).toMatchObject({
      path: `{output-root}/${UUID}/Notes.md`,
    });
  });

  it("refuses sessions of other connections, with the call that reopens them", async () => {
    const id = await create(workspace);
    const other = workspace.connect();
    expect(await other.saveOutput({ path: `${id}/x.md`, content: "x" })).toMatchObject({
      success: false,
      error: expect.stringContaining("belongs to another connection"),
      remedy: expect.stringContaining(`{"session_id": "${id}", "reopen": true}`),
    });
    expect(await other.saveOutput({ path: `${UUID}/x.md`, content: "x" })).toMatchObject({
      remedy: `Call create_session with {"session_id": "${UUID}"}, then save again.`,
    });
    expect(await readdir(made.output)).toEqual([id]);
  });

  it("refuses the manifest, and names that equal existing ones on other file systems", async () => {
    const id = await create(workspace);
    const save = (name: string) => workspace.saveOutput({ path: `${id}/${name}`, content: "x" });
    expect(await save("Manifest.JSON")).toMatchObject({
      error: expect.stringContaining("only the workspace writes the manifest"),
    });
    expect(await save("Notes/Report.md")).toMatchObject({ success: true });
    expect(await save("notes/other.md")).toMatchObject({ remedy: "Use Notes, or another name." });
    expect(await save("Notes/report.MD")).toMatchObject({ remedy: "Use Report.md, or another name." });
    expect(await save("caf\u00e9.md")).toMatchObject({ success: true, replaced: false });
    expect(await save("cafe\u0301.md")).toMatchObject({ success: true, replaced: true });
  });

  it("enforces its quotas, to the byte and to the file", async () => {
    const small = await made.again({ limits: { fileBytes: 10, sessionBytes: 15, sessionFiles: 2 } });
    const id = await create(small);
    const save = (name: string, bytes: number) =>
      small.saveOutput({ path: `${id}/${name}`, content: "x".repeat(bytes) });
    expect(await save("a", 11)).toMatchObject({
      error: "nothing was saved: the file has 11 bytes, and the limit is 10",
    });
    expect(await save("a", 10)).toMatchObject({ success: true });
    expect(await save("b", 6)).toMatchObject({ error: "nothing was saved: the limit of a session is 15 bytes" });
    // A replaced file does not count.
    expect(await save("a", 9)).toMatchObject({ success: true });
    expect(await save("b", 6)).toMatchObject({ success: true });
    expect(await save("c", 0)).toMatchObject({ error: "nothing was saved: the limit of a session is 2 files" });
  });

  it("says what to do with a file that is too large: replacing others would not help", async () => {
    const small = await made.again({ limits: { fileBytes: 3 } });
    const id = await create(small);
    expect(await small.saveOutput({ path: `${id}/x.md`, content: "four" })).toMatchObject({
      error: "nothing was saved: the file has 4 bytes, and the limit is 3",
      remedy: expect.stringContaining("in parts"),
    });
  });

  it("accepts only text that can be read back unchanged", async () => {
    const id = await create(workspace);
    for (const content of ["a\ud800b", "a\0b"]) {
      expect(await workspace.saveOutput({ path: `${id}/x.md`, content })).toMatchObject({
        error: expect.stringContaining("content: it contains"),
      });
    }
    expect(await readdir(join(made.output, id))).toEqual(["manifest.json"]);
  });

  it("saves no deeper than the search of a reopened session", async () => {
    const id = await create(workspace);
    const deep = `${"a/".repeat(11)}x.md`;
    expect(await workspace.saveOutput({ path: `${id}/${deep}`, content: "x" })).toMatchObject({ success: true });
    expect(await workspace.saveOutput({ path: `${id}/b/${deep}`, content: "x" })).toMatchObject({
      error: expect.stringContaining("more than 12 names deep"),
    });
    expect(await workspace.connect().createSession({ session_id: id, reopen: true })).toMatchObject({
      outputs: [deep],
    });
  });

  it("enforces the quota for concurrent saves", async () => {
    const small = await made.again({ limits: { sessionFiles: 3 } });
    const id = await create(small);
    const saves = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => small.saveOutput({ path: `${id}/${n}.md`, content: "x" })),
    );
    expect(saves.filter(({ success }) => success)).toHaveLength(3);
    expect((await manifestOf(id)).outputs).toHaveLength(3);
  });
});

describe("a session", () => {
  it("can be reopened by another connection, with the files that exist", async () => {
    const id = await create(workspace);
    await workspace.saveOutput({ path: `${id}/a.md`, content: "a" });
    await workspace.saveOutput({ path: `${id}/b.md`, content: "b" });
    // A process crashed before it recorded a file, and a person deleted another one.
    await writeFile(join(made.output, id, "late.md"), "late");
    await rm(join(made.output, id, "b.md"));
    const later = (await made.again()).connect();
    const opened = await later.createSession({ session_id: id, reopen: true });
    expect(opened).toMatchObject({ session_id: id, opened: "reopened", outputs: ["a.md", "late.md"] });
    expect(await later.saveOutput({ path: `${id}/c.md`, content: "c" })).toMatchObject({ success: true });
    expect((await manifestOf(id)).outputs.map(({ path }: { path: string }) => path)).toEqual([
      "a.md",
      "late.md",
      "c.md",
    ]);
  });

  it("that is missing cannot be reopened, and the answer names existing ones", async () => {
    const id = await create(workspace);
    const missing = await workspace.connect().createSession({ session_id: UUID, reopen: true });
    expect(missing).toMatchObject({ success: false, remedy: expect.stringContaining(id) });
  });

  it("is named where a call is refused that names it, else the open one", async () => {
    const refused: unknown[] = [];
    workspace.on("refused", ({ operation, sessionId }) => void refused.push([operation, sessionId]));
    await workspace.completeSession({ session_id: UUID });
    const id = await create(workspace);
    await workspace.completeSession({ session_id: UUID });
    await workspace.completeSession({ session_id: "../../etc" });
    await workspace.saveOutput({ path: "a.md", content: "a" });
    expect(refused).toEqual([
      ["complete_session", UUID],
      ["complete_session", UUID],
      ["complete_session", id],
      ["save_output", id],
    ]);
  });

  it("can be reopened only if the host allows it", async () => {
    const id = await create(workspace);
    const other = workspace.connect({ mayReopen: () => false });
    const refused = await other.createSession({ session_id: id, reopen: true });
    expect(refused).toMatchObject({ success: false, error: `there is no session "${id}"` });
  });

  it("accepts nothing more once it is completed, until it is reopened", async () => {
    const id = await create(workspace);
    await workspace.saveOutput({ path: `${id}/a.md`, content: "a" });
    const done = await workspace.completeSession({ summary: "A report." });
    expect(done).toEqual({ success: true, session_id: id, status: "completed", outputs: 1 });
    expect(await manifestOf(id)).toMatchObject({
      status: "completed",
      summary: "A report.",
      completed_at: expect.any(String),
    });
    const save = () => workspace.saveOutput({ path: `${id}/b.md`, content: "b" });
    expect(await save()).toMatchObject({
      error: `the session ${id} is completed`,
      remedy: expect.stringContaining("reopen"),
    });
    expect(await workspace.completeSession()).toMatchObject({ success: false });
    await workspace.createSession({ session_id: id, reopen: true });
    expect(await save()).toMatchObject({ success: true });
    expect(await manifestOf(id)).toMatchObject({ status: "active" });
    expect((await manifestOf(id)).completed_at).toBeUndefined();
  });

  it("can be completed only by its own connection", async () => {
    expect(await workspace.completeSession()).toMatchObject({ error: "this connection has no session" });
    const id = await create(workspace);
    expect(await workspace.connect().completeSession({ session_id: id })).toMatchObject({
      error: `nothing was completed: the session ${id} belongs to another connection`,
    });
    for (const session_id of ["report", UUID]) {
      expect(await workspace.completeSession({ session_id })).toMatchObject({
        error: `there is no session "${session_id}"`,
      });
    }
  });

  it("keeps its outputs if it has too many folders to search", async () => {
    const small = await made.again({ limits: { sessionFiles: 1 } });
    const id = await create(small);
    await small.saveOutput({ path: `${id}/a/b/c/x.md`, content: "x" });
    expect(await small.connect().createSession({ session_id: id, reopen: true })).toMatchObject({
      outputs: ["a/b/c/x.md"],
    });
  });

  it("with an invalid manifest is reported", async () => {
    await mkdir(join(made.output, UUID));
    await writeFile(join(made.output, UUID, "manifest.json"), "{");
    expect(await workspace.createSession({ session_id: UUID, reopen: true })).toMatchObject({
      error: `the manifest of the session ${UUID} is not valid`,
    });
  });

  it("loses no file that is saved while another connection reopens it", async () => {
    const id = await create(workspace);
    const other = await made.again();
    const saves = Array.from({ length: 20 }, (_, index) =>
      workspace.saveOutput({ path: `${id}/file-${index}.md`, content: "x" }),
    );
    const reopened = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? workspace.connect() : other).createSession({ session_id: id, reopen: true }),
    );
    for (const answer of await Promise.all([...saves, ...reopened])) expect(answer).toMatchObject({ success: true });
    expect((await manifestOf(id)).outputs).toHaveLength(20);
  });

  it("loses no file when two processes save at the same time", async () => {
    const id = await create(workspace);
    const other = await made.again();
    await other.createSession({ session_id: id, reopen: true });
    const names = Array.from({ length: 12 }, (_, index) => `${index}.md`);
    const saves = names.map((name, index) =>
      (index % 2 === 0 ? workspace : other).saveOutput({ path: `${id}/${name}`, content: name }),
    );
    expect((await Promise.all(saves)).every(({ success }) => success)).toBe(true);
    const { outputs } = await workspace.session(id).manifest();
    expect(outputs.map(({ path }) => path).sort()).toEqual([...names].sort());
  });
});

describe("metrics", () => {
  it("count an empty path as a mistake, not as a violation", async () => {
    const heard: unknown[] = [];
    workspace.on("security", (payload) => heard.push(payload));
    await create(workspace);
    for (const path of ["", " "]) {
      expect(await workspace.saveOutput({ path, content: "x" })).toMatchObject({
        error: expect.stringContaining("is refused: it is empty"),
      });
      await workspace.readFile({ path });
    }
    expect([heard, workspace.metrics().violations]).toEqual([[], 0]);
  });

  it("count calls, violations and completed sessions", async () => {
    const heard: unknown[] = [];
    workspace.on("security", (payload) => heard.push(payload));
    await workspace.readFile({ path: "../../etc/passwd" });
    await workspace.readFile({ path: "workflows/intake/workflow.yaml" });
    await create(workspace);
    await create(workspace);
    await workspace.completeSession();
    await create(workspace);
    await workspace.completeSession({ status: "failed" });
    const { tools, violations, sessions } = workspace.metrics();
    expect(tools.read_file).toMatchObject({ count: 2, errors: 1 });
    expect(violations).toBe(1);
    expect(sessions).toEqual({ begun: 3, completed: 1, failed: 1, completionRate: 1 / 3 });
    expect(heard).toEqual([{ operation: "read_file", code: "PATH_REFUSED", message: expect.stringContaining("..") }]);
  });
});

describe("a path to save to", () => {
  it.each([
    "{session-folder}/notes/output.md",
    "./{session-folder}/notes/output.md",
    "{session_folder}/notes/output.md",
    "{{SESSION_FOLDER}}/notes/output.md",
    "{session-id}/notes/output.md",
    "{{session_id}}/notes/output.md",
    "<session-id>\\notes\\output.md",
    "{output-root}/{session-id}/notes/output.md",
    "/data/agent-outputs/{session-id}/notes/output.md",
    `/data/agent-outputs/${AT}/notes/output.md`,
    `data/agent-outputs/${AT}/notes/output.md`,
    `{project-root}/data/agent-outputs/${AT}/notes/output.md`,
    `agent-outputs/${AT}/notes/output.md`,
  ])("%s means the open session, for reading and listing too", async (path) => {
    const id = await create(workspace);
    expect(id).toBe(AT);
    expect(await workspace.saveOutput({ path, content: "x" })).toMatchObject({
      success: true,
      path: `{output-root}/${id}/notes/output.md`,
    });
    expect(await workspace.readFile({ path })).toMatchObject({ success: true, content: "x" });
    const folder = path.replace(/[\\/]output\.md$/, "");
    expect(await workspace.listFiles({ path: folder })).toMatchObject({ success: true, entries: ["output.md"] });
  });

  it("means the newest session, and with an id that one", async () => {
    const first = await create(workspace);
    const second = await create(workspace);
    for (const [path, id] of [
      ["{session-folder}/a.md", second],
      [`/data/agent-outputs/${first}/a.md`, first],
    ]) {
      expect(await workspace.saveOutput({ path: `${path}`, content: "x" })).toMatchObject({
        path: `{output-root}/${id}/a.md`,
      });
    }
  });

  it.each([
    ["output.md", "output.md"],
    ["reports/output.md", "reports/output.md"],
    ["{output-root}/reports/output.md", "reports/output.md"],
    ["{bundle-root}/workflows/output.md", "output.md"],
    ["{project-root}/docs/output.md", "output.md"],
    ["{output_folder}/output.md", "output.md"],
    ["/data/agent-outputs/output.md", "output.md"],
    ["/data/agent-outputs/my-session/output.md", "output.md"],
    ["/tmp/output.md", "output.md"],
    ["../output.md", "output.md"],
    [`../agent-outputs/${AT}/output.md`, "output.md"],
    ["C:\\reports\\output.md", "output.md"],
    [`{bundle-root}/agent-outputs/${AT}/output.md`, "output.md"],
  ])("%s is answered with the exact path, which is accepted", async (path, rest) => {
    const before = await workspace.saveOutput({ path, content: "x" });
    expect(before).toMatchObject({ success: false, remedy: expect.stringMatching(/^Call create_session/) });
    const id = await create(workspace);
    expect(await workspace.saveOutput({ path, content: "x" })).toMatchObject({
      success: false,
      remedy: `Save it as "${id}/${rest}".`,
    });
    expect(await workspace.saveOutput({ path: `${id}/${rest}`, content: "x" })).toMatchObject({ success: true });
  });

  it("in a session that nobody has created is answered with both ways", async () => {
    const id = await create(workspace);
    expect(await workspace.saveOutput({ path: `${UUID}/a/b.md`, content: "x" })).toMatchObject({
      error: `nothing was saved: there is no session ${UUID}`,
      remedy: `Save it as "${id}/a/b.md". Or: Call create_session with {"session_id": "${UUID}"}, then save again.`,
    });
  });

  it("with a name in braces, or that no system has, is not suggested", async () => {
    await create(workspace);
    for (const path of ["{output_folder}/report-{date}.md", "/tmp/nul", "..", "/tmp/"]) {
      expect(await workspace.saveOutput({ path, content: "x" })).toMatchObject({
        success: false,
        remedy: expect.not.stringContaining("Save it as"),
      });
    }
  });

  it("needs a session if it names the open one", async () => {
    for (const path of ["{session-folder}/a.md", "/data/agent-outputs/{session_id}/a.md"]) {
      expect(await workspace.saveOutput({ path, content: "x" })).toEqual({
        success: false,
        error: "there is no open session that the path could mean",
        code: "INVALID_INPUT",
        remedy: "Call create_session, then save again.",
      });
    }
  });
});

/** A workspace that several actors share: whose a session is, and who sees it. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import type { ActorWorkspace, WorkspaceConnection, WorkspaceOptions } from "phasegate/workspace";
import { describe, expect, it } from "vitest";
import type { AccessRequest, Actor } from "../../src/ports/actor.js";
import { failure } from "../support/failure.js";
import { impatientClock, makeEngine, startTwoPhases } from "../support/make-engine.js";
import { makeWorkspace } from "./make-workspace.js";

const ANN = { name: "ann", team: "red" };
const BOB = { name: "bob" };
const VERA: Actor = { name: "vera", roles: ["viewer"] };
const OLGA: Actor = { name: "olga", roles: ["operator"] };

/** A workspace of ann and bob, with a session of ann in which she has saved a file. */
async function shared(options: Partial<WorkspaceOptions> = {}) {
  const storage = new MemoryStorage();
  const made = await makeWorkspace({ storage, clock: impatientClock(), ...options });
  const [ann, bob] = [made.workspace.as(ANN), made.workspace.as(BOB)];
  const annAgent = ann.connect();
  const id = await begun(annAgent);
  expect(await annAgent.saveOutput({ path: `${id}/secret.md`, content: "of ann" })).toMatchObject({ success: true });
  return { ...made, storage, ann, bob, annAgent, bobAgent: bob.connect(), id };
}

async function begun(on: WorkspaceConnection, request: { session_id?: string; workflow?: string } = {}) {
  const opened = await on.createSession({ workflow: "intake", ...request });
  if (!opened.success) throw new Error(opened.error);
  return opened.session_id;
}

describe("a session of an actor", () => {
  it("has its owner and team in its first commit, in its head, in lists, and in its manifest", async () => {
    const { workspace, storage, id } = await shared();
    const session = workspace.session(id);
    expect((await session.history())[0]).toMatchObject({ version: 1, type: "opened", owner: ANN });
    expect(await session.manifest()).toMatchObject({ owner: "ann", team: "red" });
    expect((await storage.list({ owner: "ann" })).items).toMatchObject([{ sessionId: id, owner: "ann", team: "red" }]);
    expect(await session.audit()).toMatchObject({ intact: true });
  });

  it("is continued by its owner on another connection, and stays theirs", async () => {
    const { ann, id, workspace } = await shared();
    const later = ann.connect();
    const again = await later.createSession({ session_id: id, reopen: true });
    expect(again).toMatchObject({ opened: "reopened", outputs: ["secret.md"] });
    expect(await later.readFile({ path: `${id}/secret.md` })).toMatchObject({ content: "of ann" });
    expect(await later.completeSession()).toMatchObject({ success: true, outputs: 1 });
    expect((await workspace.session(id).history()).map(({ type }) => type)).toEqual([
      ...["opened", "saved", "reopened", "read", "completed"],
    ]);
  });

  it("does not exist for another actor: not in lists, similar names, reads, watches and what the host can ask", async () => {
    const { ann, annAgent, bob, bobAgent, id } = await shared();
    const watched = bob.watch();
    const first = watched.next();
    await annAgent.listFiles();
    const own = await begun(bobAgent);
    expect((await first).value).toMatchObject({ sessionId: own });
    await watched.return?.();
    expect(await bobAgent.listFiles({ path: "{output-root}" })).toMatchObject({ entries: [`${own}/`] });
    expect(await annAgent.listFiles({ path: "{output-root}" })).toMatchObject({ entries: [`${id}/`] });
    const misspelt = await bobAgent.readFile({ path: "{output-root}/reports" });
    expect(misspelt).toMatchObject({ success: false });
    expect(JSON.stringify(misspelt)).not.toContain(id);
    for (const read of ["manifest", "history", "audit"] as const) {
      const refused = await failure(bob.session(id)[read]());
      expect(refused).toMatchObject({ code: "SESSION_NOT_FOUND", message: `there is no session "${id}"` });
      expect(await ann.session(id)[read]()).toBeTruthy();
    }
  });

  it("is nobody's if the host has created it, or the owner's that the host names", async () => {
    const { workspace, bobAgent, again } = await shared();
    const plain = await begun(workspace);
    expect(await workspace.session(plain).manifest()).not.toHaveProperty("owner");
    expect(await bobAgent.readFile({ path: `${plain}/manifest.json` })).toMatchObject({ success: false });
    const owned = await again({ owner: BOB });
    const id = await begun(owned);
    expect((await owned.session(id).history())[0]).toMatchObject({ owner: BOB });
    expect(await bobAgent.createSession({ session_id: id, reopen: true })).toMatchObject({ opened: "reopened" });
    const invalid = expect.objectContaining({ code: "INVALID_INPUT" });
    await expect(again({ owner: { name: "" } })).rejects.toThrow(invalid);
    expect(() => workspace.as({ name: " " })).toThrow(invalid);
  });

  it("is kept apart without a storage, too: its manifest says whose it is", async () => {
    const made = await makeWorkspace({ clock: impatientClock() });
    const ann = made.workspace.as(ANN).connect();
    const id = await begun(ann);
    const bob = made.workspace.as(BOB).connect();
    expect(await bob.createSession({ session_id: id, reopen: true })).toMatchObject({ success: false });
    expect(await bob.listFiles({ path: "{output-root}" })).toMatchObject({ entries: [] });
    expect(await ann.listFiles({ path: "{output-root}" })).toMatchObject({ entries: [`${id}/`] });
  });

  it("is the log's, whatever a manifest says that an older version has written, or somebody has changed", async () => {
    const { output, id, bobAgent, annAgent } = await shared();
    const file = join(output, id, "manifest.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"ann"', '"bob"'));
    expect(await bobAgent.readFile({ path: `${id}/secret.md` })).toMatchObject({ success: false });
    expect(await annAgent.readFile({ path: `${id}/secret.md` })).toMatchObject({ success: true });
  });

  it("that was begun without a storage keeps its owner when its recording begins", async () => {
    const made = await makeWorkspace({ clock: impatientClock() });
    const id = await begun(made.workspace.as(ANN).connect());
    const recorded = await made.again({ storage: new MemoryStorage() });
    const later = await recorded.as(OLGA).connect().createSession({ session_id: id, reopen: true });
    expect(later).toMatchObject({ opened: "reopened" });
    expect((await recorded.session(id).history())[0]).toMatchObject({ type: "opened", owner: ANN });
    expect(await recorded.as(BOB).connect().createSession({ session_id: id, reopen: true })).toMatchObject({
      success: false,
    });
  });
});

describe("a session that is older than owners", () => {
  it("is readable for the host and for those who see all, and is continued by operators", async () => {
    const { workspace, ann } = await shared();
    const id = await begun(workspace);
    await workspace.saveOutput({ path: `${id}/old.md`, content: "old" });
    const path = `${id}/old.md`;
    expect(await workspace.readFile({ path })).toMatchObject({ content: "old" });
    expect(await workspace.as(VERA).connect().readFile({ path })).toMatchObject({ content: "old" });
    expect(await workspace.as(VERA).session(id).history()).toHaveLength(3);
    expect(await ann.connect().readFile({ path })).toMatchObject({ success: false });
    const olga = workspace.as(OLGA).connect();
    expect(await olga.createSession({ session_id: id, reopen: true })).toMatchObject({ opened: "reopened" });
    expect(await olga.saveOutput({ path, content: "new" })).toMatchObject({ replaced: true });
  });
});

describe("roles", () => {
  it("let viewers read every session, and create, continue and end none", async () => {
    const { workspace, id } = await shared();
    const vera = workspace.as(VERA).connect();
    expect(await vera.readFile({ path: `${id}/secret.md` })).toMatchObject({ content: "of ann" });
    expect(await vera.listFiles({ path: "{output-root}" })).toMatchObject({ entries: [`${id}/`] });
    const refused: string[] = [];
    workspace.on("refused", ({ operation, code }) => refused.push(`${operation} ${code}`));
    expect(await vera.createSession()).toMatchObject({ success: false });
    expect(await vera.createSession({ session_id: id, reopen: true })).toMatchObject({
      error: `session ${id} belongs to ann: you may see it, but not do this`,
    });
    expect(refused).toEqual(["create_session NOT_ALLOWED", "create_session NOT_ALLOWED"]);
    expect(await workspace.session(id).history()).toHaveLength(2);
  });

  it("may be a rule of the host's own, which is asked with the session and again for each call", async () => {
    const { workspace, id } = await shared();
    const asked: AccessRequest[] = [];
    let isOpen = true;
    const rudi = workspace.as({ name: "rudi", team: "red" }, (request) => {
      asked.push(request);
      return isOpen && (request.session?.team === "red" || request.session === undefined);
    });
    const agent = rudi.connect();
    expect(await agent.createSession({ session_id: id, reopen: true })).toMatchObject({ opened: "reopened" });
    expect(await agent.saveOutput({ path: `${id}/more.md`, content: "x" })).toMatchObject({ success: true });
    const session = { sessionId: id, kind: "recorded", workflowType: "intake", target: "", owner: "ann", team: "red" };
    expect(asked.find(({ operation }) => operation === "saveOutput")).toMatchObject({ session });
    expect(asked.map(({ action, operation }) => `${action} ${operation}`)).toContain("work createSession");
    isOpen = false;
    expect(await agent.saveOutput({ path: `${id}/late.md`, content: "x" })).toMatchObject({
      error: `there is no session "${id}"`,
    });
    expect(await agent.completeSession()).toMatchObject({ success: false });
    expect(await agent.readFile({ path: `${id}/more.md` })).toMatchObject({ success: false });
    const errors: unknown[] = [];
    workspace.on("internalError", ({ operation }) => errors.push(operation));
    const broken = workspace.as(BOB, () => {
      throw new Error("boom");
    });
    expect(await broken.connect().readFile({ path: `${id}/more.md` })).toMatchObject({ success: false });
    expect(errors).toContain("authorize");
  });
});

it("a session of a workspace takes no place of an actor's quota, for nobody has to end it", async () => {
  const { storage } = await shared();
  const session = (_: string, sessions: number) =>
    sessions < 1 ? ({ ok: true } as const) : ({ ok: false, limit: 1 } as const);
  const { engine } = makeEngine({ storage, quotas: { session } });
  const ann = engine.as(ANN);
  await startTwoPhases(ann);
  expect((await failure(startTwoPhases(ann, "src/b.ts"))).code).toBe("SESSION_LIMIT");
});

describe("an output root inside another root", () => {
  it("is read by actors as the output root alone, so that the other root shows no session", async () => {
    const first = await makeWorkspace();
    const outputRoot = join(first.bundle, "outputs");
    await writeFile(join(first.bundle, "notes.md"), "notes");
    await mkdir(outputRoot);
    const workspace = await first.again({ outputRoot, clock: impatientClock() });
    const [ann, bob] = [workspace.as(ANN).connect(), workspace.as(BOB).connect()];
    const id = await begun(ann);
    await ann.saveOutput({ path: `${id}/workflow.yaml`, content: "name: planted\n" });
    for (const path of [`{bundle-root}/outputs/${id}/workflow.yaml`, "{bundle-root}/outputs", `outputs/${id}`]) {
      expect(await bob.readFile({ path })).toMatchObject({ success: false });
      expect(await bob.listFiles({ path })).toMatchObject({ success: false });
    }
    expect(await bob.listFiles()).toMatchObject({ entries: expect.not.arrayContaining(["outputs/"]) });
    expect(await bob.readFile({ path: "notes.md" })).toMatchObject({ content: "notes" });
    // What one agent saves is no workflow of another one.
    expect((await workspace.as(BOB).workflows()).map(({ name }) => name)).toEqual(["intake"]);
    expect(await bob.preloadWorkflow({ workflow: "planted" })).toMatchObject({ success: false });
    expect(await ann.readFile({ path: `${id}/workflow.yaml` })).toMatchObject({ success: true });
  });
});

describe("preloading", () => {
  it("gives an actor no session of another one, also where the same workflow was loaded for its owner", async () => {
    const { bundle, ann, bobAgent, id } = await shared();
    await writeFile(
      join(bundle, "workflows/intake/workflow.yaml"),
      `name: intake\ntemplate: "{output-root}/${id}/secret.md"\n`,
    );
    const of = async (workspace: ActorWorkspace) =>
      JSON.stringify(await workspace.connect().preloadWorkflow({ workflow: "intake" }));
    expect(await of(ann)).toContain("of ann");
    const answer = JSON.stringify(await bobAgent.preloadWorkflow({ workflow: "intake" }));
    expect(answer).toContain('"success":true');
    expect(answer).not.toContain("of ann");
    expect(await of(ann)).toContain("of ann");
  });
});

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { built, complete, EACH, engineWith, MAIN, parentOf, review } from "../support/children.js";
import { failure } from "../support/failure.js";

describe("a phase that is a workflow", () => {
  it("is not passed by a child that was completed for another session, or for none", async () => {
    const engine = engineWith(MAIN);
    const start = async () => {
      const { sessionId } = await engine.start({ workflowType: "feature", target: "src" });
      await engine.session(sessionId).completePhase(1, { files: ["a"], main: "src/main.ts" });
      return engine.session(sessionId);
    };
    const [one, other] = [await start(), await start()];
    await complete(engine, (await other.startChild()).sessionId);
    const alone = await engine.start({
      workflowType: "review",
      target: "src/main.ts",
      options: { depth: "deep: src" },
    });
    await complete(engine, alone.sessionId);
    for (const evidence of [
      {},
      { session_id: alone.sessionId },
      { child: alone.sessionId, children: [alone.sessionId] },
    ])
      expect(await one.completePhase(2, evidence)).toMatchObject({ passed: false });
    expect(await other.completePhase(2, {})).toMatchObject({ passed: true });
  });

  it("is not begun by an agent that names the workflow, a target or a parent in the options", async () => {
    const { engine, session } = await built(MAIN);
    const tool = createWorkflowTool(engine);
    const start = { action: "start", session_id: session.id };
    for (const more of [{ workflow_type: "feature" }, { target_file: "easy.ts" }, { options: { depth: "none" } }])
      expect(await tool.dispatch({ ...start, ...more })).toMatchObject({ code: "INVALID_INPUT" });
    const forged = { parent: { sessionId: session.id, phase: 2 } };
    expect(
      await tool.dispatch({ action: "start", workflow_type: "review", target_file: "src/main.ts", ...forged }),
    ).toMatchObject({
      status: "error",
    });
    expect(await session.completePhase(2, {})).toMatchObject({ passed: false });
  });

  it("can't be waived, also field by field", async () => {
    const { session } = await built(MAIN);
    for (const fields of [["verified_by.1"], ["workflow"], ["read_it"]])
      expect(await failure(session.requestWaiver(2, { fields, reason: "no time" }))).toMatchObject({
        code: expect.stringMatching(/NOT_ALLOWED|INVALID_INPUT/),
      });
  });

  it("does not pass when the list has changed since its children were completed", async () => {
    const { engine, session } = await built(EACH, ["a", "b"]);
    for (const { sessionId } of [await session.startChild(), await session.startChild()])
      await complete(engine, sessionId);
    await session.rollback(1);
    await session.completePhase(1, { files: ["b", "c"], main: "m" });
    expect(await session.completePhase(2, {})).toMatchObject({ passed: false });
    const again = [await session.startChild(), await session.startChild()];
    expect(again.map(({ target }) => target)).toEqual(["b", "c"]);
  });

  it("does not pass with a child whose log was edited, and the audit of its session finds a later edit", async () => {
    const folder = await temporaryFolder();
    const { engine, session } = await built(MAIN, ["a"], await FileStorage.open(folder));
    const { sessionId } = await session.startChild();
    await complete(engine, sessionId);
    /** Changes the child's evidence in its log. */
    const edit = async (from: number, to: number) => {
      const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
      const before = new RegExp(`(lines[^0-9]{1,4})${from}`);
      let edited = 0;
      for (const { parentPath, name } of files) {
        const file = join(parentPath, name);
        const text = await readFile(file, "utf8");
        if (!file.includes(sessionId) || !before.test(text)) continue;
        await writeFile(file, text.replace(before, `$1${to}`));
        edited += 1;
      }
      expect(edited).toBe(1);
    };
    await edit(7, 9);
    const other = engineWith(MAIN, await FileStorage.open(folder));
    expect(await other.session(session.id).completePhase(2, {})).toMatchObject({ passed: false });
    await edit(9, 7);
    expect(await other.session(session.id).completePhase(2, {})).toMatchObject({ passed: true });
    await edit(7, 9);
    const audit = await engineWith(MAIN, await FileStorage.open(folder))
      .session(session.id)
      .audit();
    expect(audit).toMatchObject({ intact: true, children: [{ sessionId, intact: false }] });
  });

  it("that is started by many agents at once has one child for each item, and none twice", async () => {
    const files = Array.from({ length: 12 }, (_, index) => `src/${index}.ts`);
    const { session } = await built(EACH, files);
    const tried = await Promise.allSettled(Array.from({ length: 30 }, () => session.startChild()));
    const started = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(started.map(({ target }) => target).sort()).toEqual([...files].sort());
    expect(new Set(started.map(({ sessionId }) => sessionId)).size).toBe(files.length);
    const { head } = await session.state();
    expect(head.children?.map((child) => child.sessionId).sort()).toEqual(started.map((one) => one.sessionId).sort());
  });
});

describe("an idempotency key that was used for a child", () => {
  it("starts no child of a later visit or of another item, and ends", async () => {
    const { engine, session } = await built(EACH, ["a", "b"]);
    const first = await session.startChild({ idempotencyKey: "k" });
    expect(await failure(session.startChild({ idempotencyKey: "k", item: 2 }))).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    await complete(engine, first.sessionId);
    await session.rollback(1);
    await session.completePhase(1, { files: ["a"], main: "m" });
    expect(await failure(session.startChild({ idempotencyKey: "k" }))).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    expect((await session.startChild({ idempotencyKey: "l" })).sessionId).not.toBe(first.sessionId);
  });
});

describe("a phase whose children can't be started", () => {
  it.each([
    [{ forEach: "[7]", target: { rule: "item" } }, "target gives 7, which is no path"],
    [{ forEach: "artifacts.build" }, "for_each gives"],
    [{ forEach: "artifacts.build.files", target: { rule: '"../" + item' } }, "target gives"],
    [{ options: { depth: { rule: "1" } } }, undefined],
  ])("leads nowhere in a circle: %j", async (gate, fault) => {
    const { engine, session } = await built(gate);
    const tool = createWorkflowTool(engine);
    const phase = await tool.dispatch({ action: "get_phase", session_id: session.id });
    if (fault !== undefined) expect(phase).toMatchObject({ next: null, blocked: expect.stringContaining(fault) });
    const start = await tool.dispatch({ action: "start", session_id: session.id });
    expect(start).toMatchObject({ status: "error", code: "NOT_ALLOWED" });
    expect(String(start.remediation)).toContain("Roll back");
  });

  it("does not grow the log, however often evidence is submitted", async () => {
    const { session } = await built(EACH);
    await session.completePhase(2, {});
    const { version } = await session.state();
    for (let count = 0; count < 20; count += 1) await session.completePhase(2, { again: count });
    expect((await session.state()).version).toBe(version);
  });
});

describe("a workflow that is a phase of itself", () => {
  it("comes to an end", async () => {
    const self = defineWorkflow({
      ...{ type: "self", revision: "1", name: "Self", description: "Without an end." },
      phases: [{ name: "Again", content: "Again.", gate: { workflow: "self" } }],
    });
    const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [self] }) });
    let { sessionId } = await engine.start({ workflowType: "self", target: "." });
    const down = async () => {
      sessionId = (await engine.session(sessionId).startChild()).sessionId;
    };
    for (let depth = 1; depth <= 8; depth += 1) await down();
    expect(await failure(down())).toMatchObject({ code: "NOT_ALLOWED" });
  });
});

describe("a child that its parent waits for", () => {
  it("is not deleted by a cleanup, and counts after a migration that gives its phase another number", async () => {
    const storage = new MemoryStorage();
    const { engine, session } = await built(MAIN, ["a"], storage);
    const { sessionId } = await session.startChild();
    await complete(engine, sessionId);
    expect(await engine.cleanup({ olderThan: 0, status: ["completed"], preview: true })).toEqual({ removed: [] });
    const { phases, ...base } = parentOf(MAIN);
    const threats = { name: "Threats", content: "Think.", gate: { fields: { threats: { type: "list" } } } } as const;
    const numbered = phases.map((phase) => ({ ...phase, number: undefined }));
    const { type, name, description } = base.definition.structure;
    const newer = defineWorkflow({ type, name, description, revision: "2", phases: [threats, ...numbered] });
    const later = createEngine({ storage, content: new MemoryContent({ workflows: [newer, review] }) });
    const moved = later.session(session.id);
    await moved.migrate({ by: "ann", accept: { Threats: "done by hand" } });
    expect(await moved.completePhase(3, {})).toMatchObject({ passed: true });
  });

  it("belongs to the owner of its parent, also if the host starts it", async () => {
    const engine = engineWith(MAIN);
    const ann = engine.as({ name: "ann" });
    const { sessionId } = await ann.start({ workflowType: "feature", target: "src" });
    await ann.session(sessionId).completePhase(1, { files: ["a"], main: "m" });
    const child = await engine.session(sessionId).startChild();
    expect((await ann.session(child.sessionId).state()).head.owner).toMatchObject({ name: "ann" });
    const bob = engine.as({ name: "bob" });
    expect(await failure(bob.session(sessionId).startChild())).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await failure(bob.session(child.sessionId).state())).toMatchObject({ code: "SESSION_NOT_FOUND" });
  });
});

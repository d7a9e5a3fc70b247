import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type ContentProvider,
  createEngine,
  createWorkflowTool,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  type Workflow,
} from "phasegate";
import { FileContent } from "phasegate/fs";
import { describe, expect, it, vi } from "vitest";
import { contentUnavailable } from "../../src/content/answers.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";

/** A phase with its tasks, each with its text. */
type Phases = Readonly<Record<string, { readonly text?: string; readonly tasks?: readonly string[] }>>;

interface Source {
  readonly root: string;
  readonly content: ContentProvider;
  readonly change: (phases: Phases) => Promise<void>;
}

const textOf = (name: string) => `# ${name}\n`;

async function folder(phases: Phases): Promise<Source> {
  const root = await temporaryFolder();
  const change = async (next: Phases) => {
    const named = Object.entries(next);
    const metadata = {
      ...{ workflow_type: "flow", name: "Flow", description: "Changes", version: "1.0.0" },
      phases: named.map(([phase_name], index) => ({ phase_number: index + 1, phase_name })),
    };
    await rm(join(root, "flow"), { recursive: true, force: true });
    await writeFiles(root, { "flow/metadata.json": JSON.stringify(metadata) });
    for (const [index, [name, { text = textOf(name), tasks = [] }]] of named.entries()) {
      const at = `flow/phases/${index + 1}`;
      await writeFiles(root, { [`${at}/phase.md`]: text });
      for (const [place, task] of tasks.entries())
        await writeFiles(root, { [`${at}/task-${place + 1}-${task.toLowerCase()}.md`]: textOf(task) });
    }
  };
  await change(phases);
  return { root, content: new FileContent({ roots: [root] }), change };
}

/** Returns a workflow in code. With `keeps`, each change registers a new revision beside those before it, as a host should. */
async function code(phases: Phases, { keeps = false } = {}): Promise<Source> {
  const workflows: Workflow[] = [];
  let count = 0;
  const define = async (named: Phases) => {
    count += 1;
    const definition = defineWorkflow({
      ...{ type: "flow", revision: `r${count}`, name: "Flow", description: "Changes" },
      phases: Object.entries(named).map(([name, { text = textOf(name), tasks = [] }]) => ({
        ...{ name, content: () => text },
        tasks: tasks.map((task) => ({ name: task, content: () => textOf(task) })),
      })),
    });
    if (!keeps) workflows.length = 0;
    workflows.push(definition);
  };
  await define(phases);
  const now = () => new MemoryContent({ workflows });
  const content: ContentProvider = {
    list: () => now().list(),
    definition: (...asked) => now().definition(...asked),
    text: (...asked) => now().text(...asked),
  };
  return { root: "", content, change: define };
}

describe.each([
  ["a folder", folder],
  ["code", code],
])("the texts of a session whose workflow in %s has changed", (_, make) => {
  const before: Phases = { One: {}, Two: { tasks: ["Read", "Write"] }, Three: {} };

  async function started() {
    const source = await make(before);
    const engine = createEngine({ storage: new MemoryStorage(), content: source.content });
    const { sessionId } = await engine.start({ workflowType: "flow", target: "a" });
    const session = engine.session(sessionId);
    await session.completePhase(1, {});
    return { ...source, engine, session };
  }

  it("are those of its own phases and tasks, whatever numbers they have by now", async () => {
    const { change, session } = await started();
    await change({ Zero: { tasks: ["Dig"] }, One: {}, Two: { tasks: ["Plan", "Read", "Write"] }, Three: {} });
    expect((await session.phase()).content.text).toBe(textOf("Two"));
    expect((await session.task(2, 1)).content.text).toBe(textOf("Read"));
    expect((await session.task(2, 2)).content.text).toBe(textOf("Write"));
    expect((await session.phase(1)).content.text).toBe(textOf("One"));
  });

  it("are of a session that lists show on an older revision, with a folder that is gone, too", async () => {
    const { change, session, engine } = await started();
    const tool = createWorkflowTool(engine);
    const rows = async () => (await tool.dispatch({ action: "list_sessions" })).sessions;
    expect(await rows()).toMatchObject([{ session_id: session.id }]);
    expect(JSON.stringify(await rows())).not.toContain("on_older_revision");
    await change({ Zero: {}, ...before });
    expect(await rows()).toMatchObject([{ session_id: session.id, on_older_revision: true }]);
    vi.spyOn(engine, "listWorkflows").mockRejectedValue(contentUnavailable("flow", { phase: 1 }, "it is gone"));
    expect(await rows()).toEqual([expect.not.objectContaining({ on_older_revision: true })]);
  });

  it("are the new ones of phases that keep their number, and of those that have another name", async () => {
    const { change, session } = await started();
    await change({ One: {}, Second: { text: "# The second\n", tasks: ["Read", "Write"] }, Three: {} });
    expect(await session.phase()).toMatchObject({ content: { text: "# The second\n" } });
    await change({ One: { text: "# New\n" }, Two: { text: "# Newer\n", tasks: ["Read", "Write"] }, Three: {} });
    expect((await session.phase()).content.text).toBe("# Newer\n");
    expect((await session.phase(1)).content.text).toBe("# New\n");
  });

  it("are not those of another phase or task: what is gone is said", async () => {
    const { change, session } = await started();
    await change({ Two: { tasks: ["Write"] }, Three: {} });
    const gone = { code: "CONTENT_UNAVAILABLE", remedy: expect.stringContaining("`phasegate migrate`") };
    expect((await session.phase()).content.text).toBe(textOf("Two"));
    expect(await failure(session.phase(1))).toMatchObject({
      ...gone,
      message: 'the workflow "flow" has changed, and has no phase "One" any more',
    });
    expect(await failure(session.task(2, 1))).toMatchObject({
      ...gone,
      message: 'the workflow "flow" has changed, and has no task "Read" any more',
    });
    await change({ One: {} });
    expect(await failure(session.phase())).toMatchObject(gone);
    // A new name with other changes: nothing says that it is the same phase.
    await change({ One: {}, Security: {}, Deux: {}, Three: {} });
    expect(await failure(session.phase())).toMatchObject(gone);
  });
});

describe("the texts of a session whose folder has changed", () => {
  /** Three phases with a document each, which their texts name, and a session in the second. */
  async function started(phases: Phases = { One: {}, Two: {}, Three: {} }, passed = 1) {
    const linked = (named: Phases) =>
      Object.fromEntries(Object.keys(named).map((name) => [name, { text: `# ${name}\n\nRead [notes](notes.md).\n` }]));
    const source = await folder(linked(phases));
    const documents = (...names: readonly string[]) =>
      writeFiles(
        source.root,
        Object.fromEntries(names.map((name, at) => [`flow/phases/${at + 1}/notes.md`, `Notes of ${name}`])),
      );
    await documents(...Object.keys(phases));
    const engine = createEngine({ storage: new MemoryStorage(), content: source.content });
    const { sessionId } = await engine.start({ workflowType: "flow", target: "a" });
    const session = engine.session(sessionId);
    for (let phase = 1; phase <= passed; phase += 1) await session.completePhase(phase, {});
    const change = async (named: Phases) => {
      await source.change(linked(named));
      await documents(...Object.keys(named));
    };
    const read = async (path: string) => (await session.document(path)).content.text;
    return { ...source, change, session, read };
  }

  it("have their documents with them", async () => {
    const { change, session, read } = await started();
    await change({ Zero: {}, One: {}, Two: {}, Three: {} });
    expect((await session.phase()).documents).toMatchObject([{ path: "phases/3/notes.md" }]);
    expect(await read("notes.md")).toBe("Notes of Two");
    expect(await read("phases/2/notes.md")).toBe("Notes of One");
    expect(await read("phases/3/phase.md")).toContain("# Two");
    expect(await failure(read("phases/4/notes.md"))).toMatchObject({ code: "PHASE_LOCKED" });
    expect(await failure(read("phases/1/phase.md"))).toMatchObject({ code: "PATH_REFUSED" });
    expect(await failure(read("phases/1/notes.md"))).toMatchObject({ code: "PATH_REFUSED" });
    await change({ Two: {}, Three: {} });
    expect(await read("notes.md")).toBe("Notes of Two");
    for (const ahead of ["phases/2/phase.md", "phases/2/notes.md"])
      expect(await failure(read(ahead))).toMatchObject({ code: "PHASE_LOCKED" });
  });

  it("are told apart where phases share a name, as long as there are as many", async () => {
    const texts = async (session: { phase(): Promise<{ content: { sources: readonly string[] } }> }) =>
      (await session.phase()).content.sources;
    const names = ["Plan", "Review", "Build", "Review"];
    const root = await temporaryFolder();
    const write = async (...named: readonly string[]) => {
      await rm(join(root, "flow"), { recursive: true, force: true });
      const phases = named.map((phase_name, at) => ({ phase_number: at + 1, phase_name }));
      const metadata = { workflow_type: "flow", name: "Flow", description: "Changes", version: "1.0.0", phases };
      await writeFiles(root, { "flow/metadata.json": JSON.stringify(metadata) });
      for (const at of named.keys())
        await writeFiles(root, { [`flow/phases/${at + 1}/phase.md`]: `# ${named.length - at}\n` });
    };
    await write(...names);
    const engine = createEngine({
      storage: new MemoryStorage(),
      content: new FileContent({ roots: [root] }),
    });
    const { sessionId } = await engine.start({ workflowType: "flow", target: "a" });
    const session = engine.session(sessionId);
    for (const phase of [1, 2, 3]) await session.completePhase(phase, {});
    await write("Zero", ...names);
    expect(await texts(session)).toEqual(["phases/5/phase.md"]);
    await write("Zero", "Plan", "Build", "Review", "Ship");
    expect(await failure(session.phase())).toMatchObject({ code: "CONTENT_UNAVAILABLE" });
  });

  it("are not guessed while the definition is broken", async () => {
    const { root, change, session, read } = await started();
    await change({ Two: {}, Three: {} });
    await writeFiles(root, { "flow/phases/2/gate-definition.yaml": "evidence_schema: [" });
    expect(await failure(session.phase())).toMatchObject({
      code: "CONTENT_UNAVAILABLE",
      message: expect.stringContaining("can't be read"),
    });
    expect(await failure(read("phases/2/phase.md"))).toMatchObject({ code: "PATH_REFUSED" });
    expect(await failure(read("phases/2/notes.md"))).toMatchObject({ code: "PATH_REFUSED" });
  });

  it("in code are those of the session's own revision, while that is registered", async () => {
    const { change, session } = await (async () => {
      const source = await code({ One: {}, Two: {}, Three: {} }, { keeps: true });
      const engine = createEngine({ storage: new MemoryStorage(), content: source.content });
      const { sessionId } = await engine.start({ workflowType: "flow", target: "a" });
      await engine.session(sessionId).completePhase(1, {});
      return { ...source, session: engine.session(sessionId) };
    })();
    await change({ One: {}, Three: {} });
    expect((await session.phase()).content.text).toBe(textOf("Two"));
  });
});

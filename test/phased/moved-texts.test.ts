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
  return { content: new FileContent({ roots: [root] }), change };
}

/** Returns a workflow in code; each change registers a new revision beside those before it, as a host does. */
async function code(phases: Phases): Promise<Source> {
  const workflows: Workflow[] = [];
  const define = async (named: Phases) => {
    const definition = defineWorkflow({
      ...{ type: "flow", revision: `r${workflows.length}`, name: "Flow", description: "Changes" },
      phases: Object.entries(named).map(([name, { text = textOf(name), tasks = [] }]) => ({
        ...{ name, content: () => text },
        tasks: tasks.map((task) => ({ name: task, content: () => textOf(task) })),
      })),
    });
    workflows.push(definition);
  };
  await define(phases);
  const now = () => new MemoryContent({ workflows });
  const content: ContentProvider = {
    list: () => now().list(),
    definition: (...asked) => now().definition(...asked),
    text: (...asked) => now().text(...asked),
  };
  return { content, change: define };
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
  });
});

import { describe, expect, it } from "vitest";
import { defineRoutedWorkflow, routedWorkflows } from "../../src/workflow/files/define-routed-workflow.js";
import { routed, Script } from "../routed/engine/garden.js";
import { routedTools } from "../support/fits-schema.js";

const ROOM = 1000 * 4;
const LONG = Array.from({ length: 900 }, (_, line) => `Row ${line}: dig on.`).join("\n");

/** Creates a workflow with instructions that are too long for any answer. */
async function longGarden(...moves: ConstructorParameters<typeof Script>) {
  const workflows = routedWorkflows(
    defineRoutedWorkflow({
      name: "GARDEN",
      goal: "Peas. ".repeat(100),
      steps: [
        { name: "Dig", guidance: "Sow.", instructions: LONG },
        { name: "Sow", guidance: "Finish.", instructions: "Sow." },
      ],
    }),
  );
  const { engine } = routed(new Script(...moves), { workflows });
  const tools = routedTools(engine, { maxTokens: 1000 });
  const ask = async (name: string, input: object) => {
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    const { body, isError } = await tool.dispatch(input);
    expect(JSON.stringify(body).length).toBeLessThanOrEqual(ROOM);
    const answer: Record<string, unknown> = { ...body, isError };
    return answer;
  };
  const { sessionId } = await engine.start({ workflow: "GARDEN" });
  return { ask, engine, id: String(sessionId) };
}

/** Follows the pages of an answer to the end. */
async function wholeOf(ask: (input: object) => Promise<Record<string, unknown>>, input: object): Promise<unknown> {
  let text = "";
  for (let cursor: unknown; ; ) {
    const page = await ask(cursor === undefined ? input : { ...input, cursor });
    text += String(page.json_page);
    cursor = page.cursor;
    if (cursor === undefined) return JSON.parse(text);
  }
}

describe("answers within a budget", () => {
  it("leave out what does not fit, and name the call that returns it", async () => {
    const { ask } = await longGarden();
    const started = await ask("start_workflow", { workflow_name: "GARDEN", context: { notes: "n".repeat(9000) } });
    expect(started).toMatchObject({
      next_step: { step_name: "Dig", instructions: "" },
      left_out: ["current_context", "next_step.instructions"],
      next: { tool: "get_workflow_status", instance_id: started.instance_id },
    });
  });

  it("keep the instructions as long as they fit", async () => {
    const { ask, id } = await longGarden({ nextStep: "Sow", reasoning: "r".repeat(4000) });
    const context_updates = { notes: "n".repeat(9000) };
    const sown = await ask("advance_workflow", { instance_id: id, report: { status: "ok" }, context_updates });
    expect(sown).toMatchObject({ next_step: { step_name: "Sow", instructions: "Sow." }, status: "RUNNING" });
    expect(sown).toMatchObject({ left_out: expect.arrayContaining(["current_context"]) });
  });

  it("of reading calls are returned in pages, which together are the whole", async () => {
    const { ask, id } = await longGarden();
    const whole = await wholeOf((input) => ask("get_workflow_status", input), { instance_id: id });
    expect(whole).toMatchObject({ instance_id: id, next_step: { step_name: "Dig", instructions: LONG } });
    const first = await ask("get_workflow_status", { instance_id: id });
    expect(first).toMatchObject({ next: { tool: "get_workflow_status", instance_id: id, cursor: first.cursor } });
  });

  it("contain a history by entries, and a long entry in pages", async () => {
    const { ask, engine, id } = await longGarden("Sow", "Sow", "Sow");
    for (const message of ["a".repeat(2500), "b".repeat(2500), "c".repeat(9000)]) {
      await engine.session(id).advance({ report: { status: "ok", message } });
    }
    const seen: string[] = [];
    let cursor: unknown;
    do {
      const page = await ask("get_workflow_history", { instance_id: id, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.isError).toBe(false);
      seen.push(JSON.stringify(page.history ?? page.json_page));
      ({ cursor } = page);
    } while (cursor !== undefined);
    const all = seen.join("");
    for (const letter of ["a", "b", "c"]) {
      const [longest = ""] = [...all.matchAll(new RegExp(`${letter}{200,}`, "g"))].map(([run]) => run);
      expect(longest.length).toBeGreaterThan(199);
    }
    expect([...all.matchAll(/c/g)].length).toBeGreaterThanOrEqual(9000);
  });

  it("refuse an invalid cursor", async () => {
    const { ask, id } = await longGarden();
    for (const name of ["get_workflow_status", "get_workflow_history"]) {
      expect(await ask(name, { instance_id: id, cursor: "abc" })).toMatchObject({
        isError: true,
        error_code: "INVALID_FIELD",
      });
    }
    const { cursor } = await ask("get_workflow_status", { instance_id: id });
    expect(await ask("get_workflow_history", { instance_id: id, cursor })).toMatchObject({
      error_code: "INVALID_FIELD",
    });
    expect(await ask("get_workflow_status", { instance_id: id, cursor: 7 })).toMatchObject({ isError: true });
  });
});

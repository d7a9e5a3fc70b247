/** A small workflow, and a model that works on it as models do: it goes ahead, claims too much, and ends too early. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const phases = [
  { number: 1, name: "Test", content: "Run the tests.", gate: { evidence: z.object({ passed: z.int().min(1) }) } },
  { number: 2, name: "Ship", content: "Tag and publish.", gate: { evidence: z.object({ tag: z.string().min(2) }) } },
];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test, ship", phases });

export const engine = createEngine({
  storage: new MemoryStorage(),
  content: new MemoryContent({ workflows: [release] }),
});

/** The task, as the user gives it. */
export const task = "Release version 1.0.0 with the workflow release.";

/** What the model does next: a call of the tool, or a text that ends its turn. */
export type Move = { readonly input: Record<string, unknown> } | { readonly text: string };

const SESSION_ID = /release_changelog_md_\w+/;

/** Returns a model: a function from the conversation so far, as a text, to the next move. */
export function scriptedModel(): (conversation: string) => Move {
  const moves = [
    () => ({ input: { action: "start", workflow_type: "release", target_file: "CHANGELOG.md" } }),
    // A phase ahead: refused.
    (session_id?: string) => ({
      input: { action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } },
    }),
    // Evidence that does not pass.
    (session_id?: string) => ({ input: { action: "complete_phase", session_id, phase: 1, evidence: { passed: 0 } } }),
    () => ({ text: "All is done." }),
    (session_id?: string) => ({ input: { action: "complete_phase", session_id, phase: 1, evidence: { passed: 128 } } }),
    // An input that no schema allows: the tool itself says so.
    (session_id?: string) => ({ input: { action: "complete_phase", session_id, phase: "two" } }),
    (session_id?: string) => ({
      input: { action: "complete_phase", session_id, phase: 2, evidence: { tag: "v1.0.0" } },
    }),
    () => ({ text: "Released." }),
  ];
  return (conversation) => {
    const move = moves.shift();
    assert.ok(move, "the model was asked once too often");
    return move(SESSION_ID.exec(conversation)?.[0]);
  };
}

/**
 * Checks how a run has ended. `results` are the messages with the tool's answers, as JSON; `asked` are the requests that the model
 * got; `told` is how often the agent was told to go on.
 */
export async function checkRun(results: readonly string[], asked: readonly unknown[], told: number): Promise<void> {
  const answers = results.map((text) => text.replaceAll("\\", ""));
  const [, ahead, refused, passed, mistaken, complete] = answers;
  assert.equal(answers.length, 6, answers.join("\n"));
  assert.match(ahead ?? "", /PHASE_LOCKED/);
  assert.match(refused ?? "", /"checkpoint_passed":false/);
  assert.match(passed ?? "", /"checkpoint_passed":true/);
  assert.match(mistaken ?? "", /'phase' must be a whole number/);
  assert.match(complete ?? "", /"workflow_complete":true/);
  // The model has the whole schema of the tool.
  assert.match(JSON.stringify(asked), /"properties":\{"action":\{"type":"string","enum":\["list_workflows"/);
  assert.equal(told, 1);
  const { items } = await engine.listSessions();
  assert.deepEqual(
    items.map(({ status }) => status),
    ["completed"],
  );
  await engine.close();
}

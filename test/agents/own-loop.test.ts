import { type AgentTool, type Unfinished, unfinished, workflowTools } from "phasegate/agents";
import { expect, it } from "vitest";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
}

/** A model that calls tools until it has a text. */
type Ask = (messages: readonly Message[], tools: readonly AgentTool[]) => Promise<Move>;
type Move = { readonly text: string } | { readonly name: string; readonly input: unknown };

it("a loop of one's own goes on until its session is completed", async () => {
  const { engine } = makeEngine();
  const session_id = await startTwoPhases(engine);
  const moves: Move[] = [
    { text: "All is done." },
    { name: "pos_workflow", input: { action: "complete_phase", session_id, phase: 1, evidence: built } },
    { text: "Now all is done." },
    { name: "pos_workflow", input: { action: "complete_phase", session_id, phase: 2, evidence: {} } },
    { text: "Done." },
  ];
  const ask: Ask = async () => moves.shift() ?? { text: "I can't go on." };
  const signal = AbortSignal.timeout(60_000);

  // #region loop
  const tools = workflowTools(engine);
  const messages: Message[] = [{ role: "user", content: `Go on with the session ${session_id}.` }];
  let open: Unfinished | undefined;
  do {
    for (;;) {
      const move = await ask(messages, tools);
      messages.push({ role: "assistant", content: JSON.stringify(move) });
      if ("text" in move) break;
      const answer = await tools.find(({ name }) => name === move.name)?.call(move.input, { signal });
      messages.push({ role: "tool", content: JSON.stringify(answer?.body ?? "there is no such tool") });
    }
    open = await unfinished(engine, { conversation: messages }, { told: open });
    if (open) messages.push({ role: "user", content: open.message });
  } while (open);
  // #endregion loop

  expect(await engine.session(session_id).state()).toMatchObject({ status: "completed" });
  expect(messages.filter(({ role }) => role === "user")).toHaveLength(3);
});

it("it ends if the agent does nothing any more", async () => {
  const { engine } = makeEngine();
  const sessionId = await startTwoPhases(engine);
  const rounds: (Unfinished | undefined)[] = [];
  let told: Unfinished | undefined;
  do {
    told = await unfinished(engine, { sessionId }, { told });
    rounds.push(told);
  } while (told);
  expect(rounds).toMatchObject([{ sessionId }, undefined]);
});

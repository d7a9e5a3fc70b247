import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { CORPUS as PHASED } from "../workflow/corpus-workflow.js";
import { connectToBin, connectToServe } from "./serve-client.js";

const FOLDER = join(PHASED, "../../orchestrator");
/** Folder of routed workflows from real projects. */
export const CORPUS = join(FOLDER, "workflows");
/** The reason why tests on these workflows are skipped; empty if the folder exists. */
export const REASON = existsSync(FOLDER)
  ? ""
  : " (skipped: ../shared/corpus/orchestrator is not there, which is no part of the repository)";
if (REASON !== "") console.warn(REASON);

const expectedSchema = z.record(z.string(), z.object({ steps: z.array(z.tuple([z.string(), z.string()])) }));

/** Returns the steps of a workflow of the corpus, in order. */
export function stepsOf(workflow: string): string[] {
  const all = expectedSchema.parse(JSON.parse(readFileSync(join(FOLDER, "expected.json"), "utf8")));
  return (all[workflow]?.steps ?? []).map(([name]) => name);
}

/** Reads the current and the possible steps from a prompt, as a model would. */
export function standingIn(prompt: string): string {
  return /"current_step_name": "([^"]*)"/.exec(prompt)?.[1] ?? "";
}

/** Returns an answer that chooses the step after the current one of a prompt. */
export function nextIn(steps: readonly string[], prompt: string): string {
  const next = steps[steps.indexOf(standingIn(prompt)) + 1] ?? "FINISH";
  return JSON.stringify({ next_step_name: next, updated_context: [], status_suggestion: null, reasoning: "in order" });
}

/** Connects a client whose model answers like this, over one of the two transports. */
function connecting<C extends { readonly client: Client }>(
  connect: (...given: Parameters<typeof connectToServe>) => Promise<C>,
) {
  return async (
    flags: readonly string[],
    env: Record<string, string> = {},
    model?: (prompt: string) => string | Promise<string>,
  ) => {
    const prepare = (client: Client) => {
      if (model === undefined) return;
      client.registerCapabilities({ sampling: {} });
      client.setRequestHandler("sampling/createMessage", async ({ params }) => {
        const text = await model(JSON.stringify(params.messages).replaceAll("\\n", "\n").replaceAll('\\"', '"'));
        return { role: "assistant", model: "the client's", content: { type: "text", text } };
      });
    };
    const connected = await connect(flags, env, {}, prepare);
    const ask = async (name: string, input: Answer = {}) =>
      answerOf(await connected.client.callTool({ name, arguments: input }, { timeout: 30_000 }));
    return { ...connected, ask };
  };
}

/** Connects a client to the server in this process. */
export const connectRouted = connecting(connectToServe);
/** Connects a client to the bin in a child process. */
export const connectRoutedBin = connecting(connectToBin);

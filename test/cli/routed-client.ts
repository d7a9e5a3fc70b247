import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import * as z from "zod";
import { type Answer, answerOf } from "../mcp/connect-in-memory.js";
import { CORPUS as PHASED } from "../workflow/corpus-workflow.js";
import { connectToBin, connectToServe } from "./serve-client.js";

const FOLDER = join(PHASED, "../../orchestrator");
/** Routed workflows that people use. */
export const CORPUS = join(FOLDER, "workflows");
/** Why tests that need them are skipped; empty where they are there. */
export const REASON = existsSync(FOLDER)
  ? ""
  : " (skipped: ../shared/corpus/orchestrator is not there, which is no part of the repository)";
if (REASON !== "") console.warn(REASON);

const expectedSchema = z.record(z.string(), z.object({ steps: z.array(z.tuple([z.string(), z.string()])) }));

/** The steps of a workflow of the corpus, in their order. */
export function stepsOf(workflow: string): string[] {
  const all = expectedSchema.parse(JSON.parse(readFileSync(join(FOLDER, "expected.json"), "utf8")));
  return (all[workflow]?.steps ?? []).map(([name]) => name);
}

/** Reads a prompt as a model would: where the work stands, and what may follow. */
export function standingIn(prompt: string): string {
  return /"current_step_name": "([^"]*)"/.exec(prompt)?.[1] ?? "";
}

/** An answer that goes on with the step behind the one that a prompt says the work stands at. */
export function nextIn(steps: readonly string[], prompt: string): string {
  const next = steps[steps.indexOf(standingIn(prompt)) + 1] ?? "FINISH";
  return JSON.stringify({ next_step_name: next, updated_context: [], status_suggestion: null, reasoning: "in order" });
}

/** Connects a client whose model answers so, by one of the two ways to a server. */
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

/** A client of the server in this process. */
export const connectRouted = connecting(connectToServe);
/** A client of the bin, in a process of its own. */
export const connectRoutedBin = connecting(connectToBin);

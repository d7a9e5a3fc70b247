import { createWorkflowTool, type Engine, type WorkflowTool, type WorkflowToolOptions } from "phasegate";
import { expect } from "vitest";
import * as z from "zod";
import type { RoutedEngine } from "../../src/routed/engine.js";
import { ANSWERS, errorSchema } from "../../src/tools/routed/answers.js";
import { createRoutedTools, type RoutedToolsOptions } from "../../src/tools/routed/routed-tools.js";

type Schema = Parameters<typeof z.fromJSONSchema>[0];

/** Fails the test if an answer does not match the published schema. */
export function expectFits(schema: Schema, answer: unknown): void {
  const { error } = z.fromJSONSchema(schema).safeParse(JSON.parse(JSON.stringify(answer)));
  expect(error && `${z.prettifyError(error)} in ${JSON.stringify(answer).slice(0, 500)}`).toBeUndefined();
}

/** Creates the phased tool; each of its answers is checked against its published schema. */
export function workflowTool(engine: Engine, options?: WorkflowToolOptions): WorkflowTool {
  const tool = createWorkflowTool(engine, options);
  const dispatch: WorkflowTool["dispatch"] = async (...input) => {
    const answer = await tool.dispatch(...input);
    expectFits(tool.outputSchema, answer);
    return answer;
  };
  return { ...tool, dispatch };
}

/**
 * Creates the routed tools with the same check; a complete answer is also checked against the schema for HTTP. Answers
 * that were shortened or paged lack parts.
 */
export function routedTools(engine: RoutedEngine, options?: RoutedToolsOptions): ReturnType<typeof createRoutedTools> {
  return createRoutedTools(engine, options).map((tool) => ({
    ...tool,
    dispatch: async (...input: Parameters<typeof tool.dispatch>) => {
      const answer = await tool.dispatch(...input);
      expectFits(tool.outputSchema, answer.body);
      const [call] = tool.calls;
      if (tool.calls.length > 1 || call === undefined || isPart(answer.body)) return answer;
      const { error } = (answer.isError ? errorSchema.strict() : ANSWERS[call].strict()).safeParse(answer.body);
      expect(error && z.prettifyError(error)).toBeUndefined();
      return answer;
    },
  }));
}

function isPart(body: object): boolean {
  return "left_out" in body || "json_page" in body;
}

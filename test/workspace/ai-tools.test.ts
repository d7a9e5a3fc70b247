import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import { aiSdkTools, workspaceTools } from "phasegate/agents";
import { startModelServer } from "phasegate/testing";
import { expect, it, onTestFinished } from "vitest";
import { makeWorkspace } from "./make-workspace.js";

const PROVIDERS = {
  "OpenAI's responses": (url: string) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1` })("m"),
  "OpenAI's chat": (url: string) => createOpenAI({ apiKey: "none", baseURL: `${url}/v1` }).chat("m"),
  "Google's": (url: string) => createGoogleGenerativeAI({ apiKey: "none", baseURL: `${url}/v1beta` })("m"),
};

for (const [name, modelAt] of Object.entries(PROVIDERS)) {
  it(`the tools work with a model of the AI SDK, over ${name} wire format`, async () => {
    const { workspace } = await makeWorkspace();
    const server = await startModelServer([
      { toolCalls: [{ name: "read_file", arguments: { path: "{bundle-root}/workflows/intake/workflow.yaml" } }] },
      { toolCalls: [{ name: "save_output", arguments: { path: "x.md" } }] },
      { text: "Done." },
    ]);
    onTestFinished(() => server.close());
    const tools = aiSdkTools(workspaceTools(workspace.connect()));
    const { text, steps } = await generateText({
      model: modelAt(server.url),
      prompt: "Run the intake workflow.",
      tools,
      stopWhen: stepCountIs(5),
    });
    expect(text).toBe("Done.");
    expect(steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output))).toMatchObject([
      { success: true, content: "name: intake\n" },
      // The answer to an invalid call explains the mistake, and costs only a turn.
      { success: false, remedy: "It takes path, content." },
    ]);
    const asked = JSON.stringify(server.requests[0]?.body);
    for (const tool of Object.keys(tools)) expect(asked).toContain(tool);
    expect(JSON.stringify(server.requests[1]?.body)).toContain("name: intake");
  });
}

import type { DecisionRequest } from "../../../src/routed/decision/request.js";
import type { RoutedDefinition, RoutedStep } from "../../../src/workflow/routed-definition.js";
/** Returns a step whose text consists of its name and its guidance. */
export function step(name: string, parts: Partial<RoutedStep> = {}): RoutedStep {
  const { guidance = `Go on after ${name}.`, instructions = `Do ${name}.` } = parts;
  const content = `# Orchestrator Guidance\n${guidance}\n\n# Client Instructions\n${instructions}\n`;
  return { name, guidance, instructions, content, ...parts };
}

/** A garden in three steps: dig, sow, water. */
export const garden: RoutedDefinition = {
  name: "GARDEN",
  revision: "1",
  goal: "A bed with peas.",
  index: "# GARDEN\n\nA bed with peas.\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n- [Water](steps/water.md)\n",
  steps: [step("Dig"), step("Sow"), step("Water")],
};

/** The request to a decider after the first step. */
export function request(parts: Partial<DecisionRequest> = {}): DecisionRequest {
  return {
    operation: "advance",
    sessionId: "garden-1",
    workflow: garden,
    allowed: ["Dig", "Sow", "Water", "FINISH"],
    currentStep: "Dig",
    status: "active",
    context: { bed: "north" },
    history: [{ timestamp: "2026-01-02T03:04:05.006Z", stepName: "Dig", outcomeStatus: "failure" }],
    report: { status: "success", message: "dug" },
    ...parts,
  };
}

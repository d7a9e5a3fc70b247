/** The workflows that there are: phases, gates and graphs; of broken ones, what is wrong and where. */
import { draw, phasedGraph, routedGraph, toMermaid, toSvg } from "../graph/graph.js";
import type { Kind } from "../read/model.js";
import type { InspectorSources } from "../read/sources.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import type { GateDefinition, PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { DiagnosticText, GateLine, WorkflowDetail, WorkflowLine, WorkflowList, WorkflowView } from "./wire.js";

/** Returns the source text of a diagnostic around its line, for people. */
export type CodeFrame = (diagnostic: Diagnostic, workflow: string) => Promise<string | undefined>;

/** Lists all workflows by type. */
export async function workflowsOf({ engine, routed }: InspectorSources, frame: CodeFrame): Promise<WorkflowList> {
  const items: WorkflowLine[] = [];
  for (const listing of (await engine?.listWorkflows()) ?? []) {
    const { type, diagnostics } = listing;
    if (listing.status === "broken") items.push(await brokenWorkflow("phased", type, diagnostics, frame));
    else {
      const { name, description, phases } = listing.definition.structure;
      items.push({
        status: "ready",
        kind: "phased",
        type,
        name,
        description,
        steps: phases.length,
        warnings: diagnostics.length,
      });
    }
  }
  for (const listing of (await routed?.listWorkflows()) ?? []) {
    const { name: type, diagnostics } = listing;
    if (listing.status === "broken") items.push(await brokenWorkflow("routed", type, diagnostics, frame));
    else {
      const { goal = "", steps } = listing.definition;
      items.push({
        status: "ready",
        kind: "routed",
        type,
        name: type,
        description: goal,
        steps: steps.length,
        warnings: diagnostics.length,
      });
    }
  }
  return { items };
}

/** Returns one workflow, a broken one with its diagnostics; undefined if there is none. */
export async function workflowOf(
  { engine, routed }: InspectorSources,
  type: string,
  frame: CodeFrame,
): Promise<WorkflowView | undefined> {
  const phased = (await engine?.listWorkflows())?.find((one) => one.type === type);
  if (phased?.status === "ready") {
    return phasedWorkflow(phased.definition.structure, await textsOf(phased.diagnostics, type, frame));
  }
  const instance = (await routed?.listWorkflows())?.find((one) => one.name === type);
  if (instance?.status === "ready") {
    return routedWorkflow(instance.definition, await textsOf(instance.diagnostics, type, frame));
  }
  if (phased !== undefined) return brokenWorkflow("phased", type, phased.diagnostics, frame);
  return instance && brokenWorkflow("routed", type, instance.diagnostics, frame);
}

async function brokenWorkflow(
  kind: Kind,
  type: string,
  diagnostics: readonly Diagnostic[],
  frame: CodeFrame,
): Promise<Extract<WorkflowLine, { readonly status: "broken" }>> {
  return { status: "broken", kind, type, diagnostics: await textsOf(diagnostics, type, frame) };
}

function phasedWorkflow(structure: WorkflowStructure, diagnostics: readonly DiagnosticText[]): WorkflowDetail {
  const { type, name, description, version, phases } = structure;
  const graph = phasedGraph(structure);
  return {
    ...{ status: "ready", kind: "phased", type, name, description, version, diagnostics },
    ...pictures(graph),
    phases: phases.map((phase) => ({
      number: phase.number,
      name: phase.name,
      tasks: phase.tasks.map((task) => task.name),
      gate: gateLines(phase.gate),
      documents: documentsOf(phase),
    })),
  };
}

function routedWorkflow(definition: RoutedDefinition, diagnostics: readonly DiagnosticText[]): WorkflowDetail {
  const { name, goal = "", revision, steps } = definition;
  return {
    ...{
      status: "ready",
      kind: "routed",
      type: name,
      name,
      description: goal,
      version: revision.slice(0, 12),
      diagnostics,
    },
    ...pictures(routedGraph(definition)),
    phases: steps.map((step, index) => ({
      number: index + 1,
      name: step.name,
      tasks: [],
      gate: step.gate === undefined ? [] : gateLines(step.gate),
      documents: step.file === undefined ? [] : [step.file],
    })),
  };
}

function pictures(graph: Parameters<typeof draw>[0]): Pick<WorkflowDetail, "drawing" | "mermaid" | "svg"> {
  const drawing = draw(graph);
  return { drawing, mermaid: toMermaid(graph), svg: toSvg(drawing) };
}

function documentsOf({ file, tasks }: PhaseDefinition): readonly string[] {
  return [file, ...tasks.map((task) => task.file)].filter((path) => path !== undefined);
}

/** Returns what a gate asks for, a line for each field, rule, check and approval. */
function gateLines(gate: GateDefinition): readonly GateLine[] {
  switch (gate.kind) {
    case "open":
      return [{ what: "open", name: "", text: "Any evidence passes." }];
    case "schema":
      return [{ what: "field", name: "", text: "The evidence must pass a schema in code." }, ...checks(gate)];
    case "plan":
      return [
        ...gate.tasks.map(
          ({ id, optional }): GateLine => ({ what: "field", name: id, text: optional ? "optional task" : "task" }),
        ),
        ...gate.items.map((text): GateLine => ({ what: "field", name: "", text })),
        ...checks(gate),
      ];
    case "fields":
      return [
        ...gate.fields.flatMap(({ name, type, required, description = "", rules = [] }): GateLine[] => [
          {
            what: "field",
            name,
            text: [`${type}${required ? "" : ", optional"}`, description].filter(Boolean).join(": "),
          },
          ...rules.map(({ source }): GateLine => ({ what: "rule", name, text: source })),
        ]),
        ...(gate.rules ?? []).map(({ source }): GateLine => ({ what: "rule", name: "", text: source })),
        ...checks(gate),
      ];
  }
}

function checks(gate: Exclude<GateDefinition, { kind: "open" }>): readonly GateLine[] {
  const verify = (gate.verify ?? []).map(({ verifier, field, params }): GateLine => {
    const text = [field, Object.keys(params).length === 0 ? undefined : JSON.stringify(params)];
    return { what: "check", name: verifier, text: text.filter((part) => part !== undefined).join(" ") };
  });
  const approval = gate.kind === "plan" ? undefined : gate.approval;
  if (approval === undefined) return verify;
  const by = approval.approvers === undefined ? "" : ` (${approval.approvers.join(", ")})`;
  return [...verify, { what: "approval", name: "", text: `${approval.prompt}${by}` }];
}

/** Of more problems in a workflow, the others come without the lines around them. */
const FRAMES_MAX = 100;

async function textsOf(
  diagnostics: readonly Diagnostic[],
  workflow: string,
  frame: CodeFrame,
): Promise<readonly DiagnosticText[]> {
  return Promise.all(
    diagnostics.map(async (diagnostic, index) => {
      const { severity, code, message, hint, file, line, column } = diagnostic;
      const place = [file, line, line === undefined ? undefined : column]
        .filter((part) => part !== undefined)
        .join(":");
      const shown = index < FRAMES_MAX ? await frame(diagnostic, workflow) : undefined;
      return {
        severity,
        code,
        message,
        place,
        ...(hint === undefined ? {} : { hint }),
        ...(shown === undefined ? {} : { frame: shown }),
      };
    }),
  );
}

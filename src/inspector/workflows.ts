/** The workflows that there are: phases, gates and graphs; of broken ones, what is wrong and where. */
import { draw, phasedGraph, routedGraph, toMermaid, toSvg } from "../graph/graph.js";
import { countOlder } from "../phased/revisions.js";
import type { InspectorSources } from "../read/sources.js";
import { childWorkflowOf } from "../workflow/child-workflow.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import type { FieldGate, GateDefinition, VerifyDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { InspectorOptions } from "./options.js";
import type {
  BrokenWorkflow,
  DiagnosticText,
  GateLine,
  WorkflowDetail,
  WorkflowLine,
  WorkflowList,
  WorkflowView,
} from "./wire.js";

type CodeFrame = InspectorOptions["codeFrame"];

/** A workflow of either kind: its definition, or what is wrong with it. */
type Listing = { readonly type: string; readonly diagnostics: readonly Diagnostic[] } & (
  | { readonly kind: "phased"; readonly definition: WorkflowStructure | undefined }
  | { readonly kind: "routed"; readonly definition: RoutedDefinition | undefined }
);

async function listingsOf({ engine, routed }: InspectorSources): Promise<readonly Listing[]> {
  const phased = ((await engine?.listWorkflows()) ?? []).map((one): Listing => {
    const definition = one.status === "ready" ? one.definition.structure : undefined;
    return { kind: "phased", type: one.type, diagnostics: one.diagnostics, definition };
  });
  const others = ((await routed?.listWorkflows()) ?? []).map((one): Listing => {
    const definition = one.status === "ready" ? one.definition : undefined;
    return { kind: "routed", type: one.name, diagnostics: one.diagnostics, definition };
  });
  return [...phased, ...others];
}

export async function workflowsOf(sources: InspectorSources, frame: CodeFrame): Promise<WorkflowList> {
  const items: WorkflowLine[] = [];
  for (const listing of await listingsOf(sources)) {
    const { kind, type, definition, diagnostics } = listing;
    if (definition === undefined) items.push(await brokenWorkflow(listing, frame));
    else {
      const steps = "phases" in definition ? definition.phases.length : definition.steps.length;
      items.push({ status: "ready", kind, type, ...namesOf(definition), steps, warnings: diagnostics.length });
    }
  }
  return { items };
}

/** Returns undefined if there is no such workflow. */
export async function workflowOf(
  sources: InspectorSources,
  type: string,
  frame: CodeFrame,
): Promise<WorkflowView | undefined> {
  const named = (await listingsOf(sources)).filter((one) => one.type === type);
  const listing = named.find(({ definition }) => definition !== undefined) ?? named[0];
  if (listing === undefined) return undefined;
  const { kind, definition } = listing;
  if (definition === undefined) return brokenWorkflow(listing, frame);
  const older = kind === "phased" && sources.engine && (await countOlder(sources.engine, type));
  const graph = "phases" in definition ? phasedGraph(definition) : routedGraph(definition);
  const drawing = draw(graph);
  const parts = "phases" in definition ? definition.phases : definition.steps;
  return {
    ...{ status: "ready", kind, type, ...namesOf(definition) },
    diagnostics: await textsOf(listing.diagnostics, type, frame),
    version: "phases" in definition ? definition.version : definition.revision.slice(0, 12),
    ...(older && { older }),
    ...{ drawing, mermaid: toMermaid(graph), svg: toSvg(drawing) },
    planned: "phases" in definition ? plannedOf(definition) : undefined,
    phases: parts.map((part, index) => {
      const tasks = "tasks" in part ? part.tasks : [];
      return {
        number: index + 1,
        name: part.name,
        tasks: tasks.map((task) => task.name),
        gate: part.gate === undefined ? [] : gateLines(part.gate),
        documents: [part.file, ...tasks.map((task) => task.file)].filter((path) => path !== undefined),
      };
    }),
  };
}

/** Returns how the phases of a plan are made, and what the gate of each asks for; undefined if no phase comes from one. */
function plannedOf({ dynamic }: WorkflowStructure): WorkflowDetail["planned"] {
  if (dynamic === undefined) return undefined;
  const { sourcePathKey: option, templates, verify } = dynamic;
  return { option, templates: [templates.phase, templates.task], gate: checkLines(verify) };
}

function namesOf(definition: WorkflowStructure | RoutedDefinition) {
  const { name } = definition;
  return { name, description: "phases" in definition ? definition.description : (definition.goal ?? "") };
}

async function brokenWorkflow({ kind, type, diagnostics }: Listing, frame: CodeFrame): Promise<BrokenWorkflow> {
  return { status: "broken", kind, type, diagnostics: await textsOf(diagnostics, type, frame) };
}

function gateLines(gate: GateDefinition): readonly GateLine[] {
  switch (gate.kind) {
    case "open":
      return [{ what: "open" }];
    case "schema":
      return [{ what: "schema" }, ...checkLines(gate.verify), ...approvalLine(gate)];
    case "plan":
      return [
        ...gate.tasks.map((task) => ({ what: "task" as const, ...task })),
        ...gate.items.map((text) => ({ what: "item" as const, text })),
        ...checkLines(gate.verify),
      ];
    case "fields":
      return fieldGateLines(gate);
  }
}

function fieldGateLines(gate: FieldGate): readonly GateLine[] {
  const { fields, rules = [], verify = [], strict } = gate;
  const child = childWorkflowOf(gate);
  if (child !== undefined) return [{ what: "workflow", child }];
  const hasRules = rules.length > 0 || fields.some((field) => field.rules !== undefined);
  return [
    ...fields.map((field) => ({
      ...{ what: "field" as const, ...field, rules: field.rules ?? [] },
      checks: verify.filter((check) => check.field === field.name),
    })),
    ...rules.map((rule) => ({ what: "rule" as const, rule })),
    ...(strict || !hasRules ? [] : [{ what: "lenient" as const }]),
    ...checkLines(verify.filter((check) => !fields.some(({ name }) => name === check.field))),
    ...approvalLine(gate),
  ];
}

function checkLines(verify: readonly VerifyDefinition[] = []): readonly GateLine[] {
  return verify.map((check) => ({ what: "check", check }));
}

function approvalLine({ approval }: Pick<FieldGate, "approval">): readonly GateLine[] {
  return approval === undefined ? [] : [{ what: "approval", approval }];
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
      const shown = index < FRAMES_MAX ? await frame?.(diagnostic, workflow) : undefined;
      return { severity, code, message, place, hint, frame: shown };
    }),
  );
}

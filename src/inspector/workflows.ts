/** The workflows that there are: phases, gates and graphs; of broken ones, what is wrong and where. */
import { draw, phasedGraph, routedGraph, toMermaid, toSvg } from "../graph/graph.js";
import { countOlder } from "../phased/revisions.js";
import type { InspectorSources } from "../read/sources.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import type { GateDefinition, WorkflowStructure } from "../workflow/structure.js";
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
  const gate = checkLines({ kind: "plan", tasks: [], items: [], verify });
  return { option, templates: [templates.phase, templates.task], gate };
}

function namesOf(definition: WorkflowStructure | RoutedDefinition) {
  const { name } = definition;
  return { name, description: "phases" in definition ? definition.description : (definition.goal ?? "") };
}

async function brokenWorkflow({ kind, type, diagnostics }: Listing, frame: CodeFrame): Promise<BrokenWorkflow> {
  return { status: "broken", kind, type, diagnostics: await textsOf(diagnostics, type, frame) };
}

function gateLines(gate: GateDefinition): readonly GateLine[] {
  if (gate.kind === "open") return [{ what: "open", name: "", text: "Any evidence passes." }];
  return [...fieldLines(gate), ...checkLines(gate)];
}

type CheckedGate = Exclude<GateDefinition, { kind: "open" }>;

function fieldLines(gate: CheckedGate): readonly GateLine[] {
  const field = (name: string, text: string): GateLine => ({ what: "field", name, text });
  if (gate.kind === "schema") return [field("", "The evidence must pass a schema in code.")];
  if (gate.kind === "plan") {
    const tasks = gate.tasks.map(({ id, optional }) => field(id, optional ? "optional task" : "task"));
    return [...tasks, ...gate.items.map((text) => field("", text))];
  }
  const rules = (name: string, all: typeof gate.rules = []) =>
    all.map(({ source }): GateLine => ({ what: "rule", name, text: source }));
  const fields = gate.fields.flatMap(({ name, type, required, description = "", rules: own }) => {
    const text = [`${type}${required ? "" : ", optional"}`, description].filter(Boolean).join(": ");
    return [field(name, text), ...rules(name, own)];
  });
  return [...fields, ...rules("", gate.rules)];
}

function checkLines(gate: CheckedGate): readonly GateLine[] {
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
      const shown = index < FRAMES_MAX ? await frame?.(diagnostic, workflow) : undefined;
      return { severity, code, message, place, hint, frame: shown };
    }),
  );
}

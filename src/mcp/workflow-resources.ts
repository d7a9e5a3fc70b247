import { type McpServer, type Resource, ResourceTemplate } from "@modelcontextprotocol/server";
import { formatDiagnostic } from "../definition/diagnostic.js";
import type { Engine } from "../engine/engine.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import { pageItems } from "../tool/paging.js";
import { compact, type WireObject } from "../tool/wire-object.js";
import { guarded, readJson, registerJsonResources, variable } from "./json-resource.js";

/** The longest description in a list; the resource itself has it whole. */
const DESCRIPTION_MAX = 300;
/** Room for what a page of the list has beside its items. */
const ENVELOPE = 500;

/**
 * Workflows as `phasegate://workflow/{type}`. A resource names the phases and no more: what a phase
 * asks for is for those who are in it. The list is one page; where there are more, its last entry leads to them.
 */
export function registerWorkflowResources(server: McpServer, engine: Engine, room: number): void {
  const listed = async () => (await engine.listWorkflows()).map(workflowResource);
  registerJsonResources(server, {
    kind: "workflow",
    key: "type",
    title: "Workflow",
    description: "A workflow and its phases",
    room,
    // The server puts the lists of all resources together, and hands on no cursor: what is more is a resource itself.
    list: async () => {
      const { items, left, cursor } = pageItems(await guarded(undefined, listed), room - ENVELOPE, undefined);
      return { resources: cursor === undefined ? [...items] : [...items, moreWorkflows(left, cursor)] };
    },
    load: async (type) => {
      const listing = (await engine.listWorkflows()).find((candidate) => candidate.type === type);
      return listing === undefined ? undefined : workflowBody(listing);
    },
  });
  const template = new ResourceTemplate("phasegate://workflows/{cursor}", { list: undefined });
  const config = { title: "More workflows", description: "A page of workflows", mimeType: "application/json" };
  server.registerResource("phasegate-workflows", template, config, (uri, variables) =>
    readJson(uri, async () => {
      const all = await listed();
      const { items, cursor } = pageItems(all, room - ENVELOPE, variable(variables, "cursor"));
      const next = cursor === undefined ? undefined : placeOf(cursor);
      return compact({ workflows: items, total: all.length, next });
    }),
  );
}

function moreWorkflows(left: number, cursor: string): Resource {
  const description = "Read it for the next ones; each page names the one after it";
  return { uri: placeOf(cursor), name: `${left} more workflows`, title: "More workflows", description };
}

function placeOf(cursor: string): string {
  return `phasegate://workflows/${encodeURIComponent(cursor)}`;
}

function workflowResource(listing: WorkflowListing): Resource {
  const { type } = listing;
  const uri = `phasegate://workflow/${encodeURIComponent(type)}`;
  if (listing.status === "broken") return { uri, name: type, description: "broken: it can't be started" };
  const { name, description } = listing.definition.structure;
  return { uri, name: type, title: shortened(name), description: shortened(description) };
}

function shortened(text: string): string {
  if (text.length <= DESCRIPTION_MAX) return text;
  return `${text.slice(0, DESCRIPTION_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function workflowBody(listing: WorkflowListing): WireObject {
  const diagnostics = listing.diagnostics.length === 0 ? undefined : listing.diagnostics.map(formatDiagnostic);
  if (listing.status === "broken") return compact({ workflow_type: listing.type, broken: true, diagnostics });
  const { structure } = listing.definition;
  return compact({
    workflow_type: structure.type,
    name: structure.name,
    description: structure.description,
    category: structure.category,
    version: structure.version,
    revision: structure.revision,
    estimated_duration: structure.estimatedDuration,
    target_languages: structure.targetLanguages,
    artifacts: structure.artifacts,
    prerequisites: structure.prerequisites,
    tags: structure.tags,
    start_phase: structure.startPhase,
    phases: structure.phases.map(({ number, name }) => ({ phase_number: number, title: name })),
    diagnostics,
  });
}

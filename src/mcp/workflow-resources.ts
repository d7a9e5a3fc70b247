import { type McpServer, type Resource, ResourceTemplate } from "@modelcontextprotocol/server";
import { formatDiagnostic } from "../definition/diagnostic.js";
import type { Engine } from "../engine/engine.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import { compact, type WireObject } from "../tool/wire-object.js";
import { guarded, readJson, variable } from "./json-resource.js";

/**
 * Workflows as `phasegate://workflow/{type}`. A resource names the phases and no more: what a phase
 * asks for is for those who are in it.
 */
export function registerWorkflowResources(server: McpServer, engine: Engine): void {
  const list = async () => {
    const listings = await guarded(undefined, () => engine.listWorkflows());
    return { resources: listings.map(workflowResource) };
  };
  const template = new ResourceTemplate("phasegate://workflow/{type}", { list });
  const config = { title: "Workflow", description: "A workflow and its phases", mimeType: "application/json" };
  server.registerResource("phasegate-workflow", template, config, (uri, variables) =>
    readJson(uri, async () => {
      const type = variable(variables, "type");
      const listing = (await engine.listWorkflows()).find((candidate) => candidate.type === type);
      return listing === undefined ? undefined : workflowBody(listing);
    }),
  );
}

function workflowResource(listing: WorkflowListing): Resource {
  const { type } = listing;
  const uri = `phasegate://workflow/${encodeURIComponent(type)}`;
  if (listing.status === "broken") return { uri, name: type, description: "broken: it can't be started" };
  const { name, description } = listing.definition.structure;
  return { uri, name: type, title: name, description };
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

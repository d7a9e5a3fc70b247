import {
  type ListResourcesCallback,
  type ListResourcesResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  ResourceTemplate,
  type Variables,
} from "@modelcontextprotocol/server";
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { StateView } from "../phased/views.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { fits } from "../tools/budget.js";
import { pageItems, pageText } from "../tools/pages.js";
import { errorAnswer } from "../tools/phased/refusals.js";
import { historyEntry, unapprovedNews } from "../tools/phased/shapes.js";
import { compact, type WireObject } from "../tools/wire.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";

/** As many sessions as are listed at most: the newest. All others are there by their ids. */
const LISTED = 50;
const STATUSES = ["active", "paused", "completed", "failed"] as const;

/** Sessions as `phasegate://session/{id}`: where one stands, and every try at every phase. */
export function registerSessionResources(
  server: McpServer,
  engine: Engine,
  options: { readonly list: boolean; readonly room: number },
): void {
  const list = async (): Promise<ListResourcesResult> => {
    const { items } = await guarded(undefined, () => engine.listSessions({ status: STATUSES, limit: LISTED }));
    return { resources: [...pageItems(items.map(sessionResource), options.room, undefined).items] };
  };
  registerJsonResources(server, {
    kind: "session",
    key: "id",
    title: "Session",
    description: "Where a session stands",
    room: options.room,
    list: options.list ? list : undefined,
    load: async (id) => {
      const [state, history] = await Promise.all([engine.getState(id), engine.history(id)]);
      return { ...sessionBody(state), phase_history: history.map(historyEntry) };
    },
  });
}

function sessionResource(session: SessionSummary) {
  const { sessionId, workflowType, target, status, updatedAt } = session;
  return {
    uri: `phasegate://session/${sessionId}`,
    name: sessionId,
    description: `${workflowType} on ${target}: ${status}`,
    annotations: { lastModified: updatedAt },
  };
}

function sessionBody({
  sessionId,
  head,
  updatedAt,
  completedPhases,
  skippedPhases,
  unapproved,
}: StateView): WireObject {
  return compact({
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    status: head.status,
    current_phase: head.phase,
    total_phases: head.total,
    completed_phases: completedPhases,
    skipped_phases: skippedPhases.length === 0 ? undefined : skippedPhases,
    created_at: head.createdAt,
    last_updated: updatedAt,
    ...unapprovedNews(unapproved),
    completed_at: head.status === "completed" ? head.completedAt : undefined,
  });
}

/** The longest description in a list; the resource itself has it whole. */
const DESCRIPTION_MAX = 300;
/** Room for what a page of the list has beside its items. */
const LIST_ENVELOPE = 500;

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
      const { items, left, cursor } = pageItems(await guarded(undefined, listed), room - LIST_ENVELOPE, undefined);
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
      const { items, cursor } = pageItems(all, room - LIST_ENVELOPE, variable(variables, "cursor"));
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

/** Room for what stands around a page of JSON. */
const ENVELOPE = 700;

/** Resources of one kind, each read as JSON by its id. */
interface JsonResources {
  /** What stands in their URIs before what names one of them. */
  readonly kind: string;
  /** The template's variable for that name. */
  readonly key: "id" | "type";
  readonly title: string;
  readonly description: string;
  readonly list: ListResourcesCallback | undefined;
  /** The longest that one read gives, in characters of JSON. */
  readonly room: number;
  /** Undefined says that there is none. */
  load(id: string): Promise<object | undefined>;
}

/** Registers resources that are read as JSON; a long one comes in pages, of which each names the next one. */
function registerJsonResources(server: McpServer, { kind, key, list, room, load, ...about }: JsonResources): void {
  const config = { ...about, mimeType: "application/json" };
  const whole = `phasegate://${kind}/{${key}}`;
  const name = `phasegate-${kind}`;
  server.registerResource(name, new ResourceTemplate(whole, { list }), config, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), room, undefined));
  });
  const pages = {
    ...config,
    title: `${about.title}, a page`,
    description: `${about.description}: a page of a long one`,
  };
  const template = new ResourceTemplate(`${whole}/{cursor}`, { list: undefined });
  server.registerResource(`${name}-page`, template, pages, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), room, variable(variables, "cursor")));
  });
}

/** A page of a value's JSON; the value itself where it is short enough and no page of it was asked for. */
function pageOf(kind: string, id: string, found: object | undefined, room: number, cursor: string | undefined) {
  if (found === undefined || (cursor === undefined && fits(found, room))) return found;
  const page = pageText(JSON.stringify(found), room - ENVELOPE, cursor, { kind: "json" });
  return compact({
    json_page: page.text,
    json_range: { from: page.from, to: page.to, total: page.total },
    next:
      page.cursor === undefined
        ? undefined
        : `phasegate://${kind}/${encodeURIComponent(id)}/${encodeURIComponent(page.cursor)}`,
  });
}

/** Reads a resource as JSON; undefined from `load` says that there is none. */
async function readJson(uri: URL, load: () => Promise<object | undefined>): Promise<ReadResourceResult> {
  const found = await guarded(uri, load);
  if (found === undefined) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found) }] };
}

/** Runs what may fail: an error that is none of ours may hold a path or a stack, so its words stay here. */
async function guarded<T>(uri: URL | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = isPhasegateError(error) && isMissing(error.code);
    if (uri !== undefined && missing) throw new ResourceNotFoundError(uri.href);
    // Where `error` is a word for the kind, the sentence stands in `message`.
    const { error: kind, message = kind, code } = errorAnswer("", "", error);
    const kindOfError = code === "CURSOR_INVALID" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kindOfError, String(message), { code });
  }
}

/** The one value of a template's variable; `""`, which names nothing, if it can't be read. */
function variable(variables: Variables, name: string): string {
  const value = variables[name];
  try {
    return decodeURIComponent(typeof value === "string" ? value : "");
  } catch {
    return "";
  }
}

/** An id that can't be one is no resource either. */
function isMissing(code: string): boolean {
  return code === "SESSION_NOT_FOUND" || code === "WORKFLOW_NOT_FOUND" || code === "INVALID_INPUT";
}

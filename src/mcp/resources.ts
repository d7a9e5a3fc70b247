/** Workflows, sessions and documents as MCP resources, in pages if they are long; and completions for their URIs. */
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
import { pageItems, pageText } from "../tools/pages.js";
import { unapprovedNotice } from "../tools/phased/approval-notices.js";
import { errorAnswer } from "../tools/phased/refusals.js";
import { historyEntry } from "../tools/phased/shapes.js";
import { compact, fits, type WireObject } from "../tools/wire.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";

/** Maximum number of sessions in the list, which has the newest. The others can be read by their ids. */
const LISTED = 50;
const STATUSES = ["active", "paused", "completed", "failed"] as const;

/** Registers sessions as `phasegate://session/{id}`: the state, and every attempt at every phase. */
export function registerSessionResources(
  server: McpServer,
  engine: Engine,
  options: { readonly list: boolean; readonly maxChars: number },
): void {
  const list = async (): Promise<ListResourcesResult> => {
    const { items } = await guarded(undefined, () => engine.listSessions({ status: STATUSES, limit: LISTED }));
    return { resources: [...pageItems(items.map(sessionResource), options.maxChars, undefined, "sessions").items] };
  };
  registerJsonResources(server, {
    kind: "session",
    key: "id",
    title: "Session",
    description: "The state and history of a session",
    maxChars: options.maxChars,
    list: options.list ? list : undefined,
    complete: options.list ? (value) => sessionIds(engine, value) : undefined,
    load: async (id) => {
      const [state, history] = await Promise.all([engine.session(id).state(), engine.session(id).history()]);
      return { ...sessionBody(state), phase_history: history.map(historyEntry) };
    },
  });
}

/** Maximum number of proposals of a completion that MCP allows. */
const PROPOSALS = 100;

/** Returns the ids of sessions that begin with a text, newest first. */
function sessionIds(engine: Engine, idPrefix: string): Promise<string[]> {
  return guarded(undefined, async () => {
    const { items } = await engine.listSessions({ idPrefix, status: STATUSES, limit: PROPOSALS });
    return items.map(({ sessionId }) => sessionId);
  });
}

/** Returns the types of workflows that begin with a text. */
function workflowTypes(engine: Engine, prefix: string): Promise<string[]> {
  return guarded(undefined, async () => {
    const listings = await engine.listWorkflows();
    return listings.map(({ type }) => type).filter((type) => type.startsWith(prefix));
  });
}

/**
 * Registers the documents that a session may read as `phasegate://document/{id}/{path}`. They are not listed: which there
 * are depends on the phase. A long one comes in pages, each of which names the next one in its last line.
 */
export function registerDocumentResources(
  server: McpServer,
  engine: Engine,
  options: { readonly list: boolean; readonly maxChars: number },
): void {
  const complete = {
    ...(options.list && { id: (value: string) => sessionIds(engine, value) }),
    path: (value: string, context?: { readonly arguments?: Record<string, string> }) =>
      documentPaths(engine, context?.arguments?.id, value),
  };
  const about = { title: "Document", description: "A document of a session's workflow", mimeType: "text/markdown" };
  const read = (uri: URL, variables: Variables) =>
    guarded(uri, async () => {
      const [id, path] = [variable(variables, "id"), variable(variables, "path")];
      const { content } = await engine.session(id).document(path);
      const cursor = "cursor" in variables ? variable(variables, "cursor") : undefined;
      const page = pageText(content.text, options.maxChars - ENVELOPE, cursor);
      const next = [id, page.cursor ?? "", ...path.split("/")].map(encodeURIComponent).join("/");
      const more = page.cursor === undefined ? "" : `\n\n[more: phasegate://document-page/${next}]`;
      return { contents: [{ uri: uri.href, mimeType: about.mimeType, text: `${page.text}${more}` }] };
    });
  const whole = new ResourceTemplate("phasegate://document/{id}/{+path}", { list: undefined, complete });
  server.registerResource("phasegate-document", whole, about, read);
  const paged = new ResourceTemplate("phasegate://document-page/{id}/{cursor}/{+path}", { list: undefined, complete });
  const pages = { ...about, title: "Document, a page", description: "A page of a long document" };
  server.registerResource("phasegate-document-page", paged, pages, read);
}

/** Returns the paths of documents that the current phase of a session names and that begin with a text. */
async function documentPaths(engine: Engine, id: string | undefined, prefix: string): Promise<string[]> {
  if (id === undefined) return [];
  return guarded(undefined, async () => {
    const { documents } = await engine.session(id).phase();
    return documents.map(({ path }) => path).filter((path) => path.startsWith(prefix));
  }).catch((error: unknown) => {
    if (error instanceof ProtocolError) return [];
    throw error;
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
    ...unapprovedNotice(unapproved),
    completed_at: head.status === "completed" ? head.completedAt : undefined,
  });
}

/** The longest description in a list, in characters; the resource itself has the whole one. */
const DESCRIPTION_MAX = 300;
/** Characters reserved for the parts of a list page other than its items. */
const LIST_ENVELOPE = 500;

/**
 * Registers workflows as `phasegate://workflow/{type}`. A resource names the phases only: their tasks and gates are shown to
 * agents that are in them. The list is one page; if there are more, its last entry is the next one.
 */
export function registerWorkflowResources(server: McpServer, engine: Engine, maxChars: number): void {
  const listed = async () => (await engine.listWorkflows()).map(workflowResource);
  registerJsonResources(server, {
    kind: "workflow",
    key: "type",
    title: "Workflow",
    description: "A workflow and its phases",
    maxChars,
    // The server joins the lists of all resources, and passes on no cursor: so the next page is a resource itself.
    list: async () => {
      const { items, left, cursor } = pageItems(
        await guarded(undefined, listed),
        maxChars - LIST_ENVELOPE,
        undefined,
        ALL,
      );
      return { resources: cursor === undefined ? [...items] : [...items, moreWorkflows(left, cursor)] };
    },
    complete: (value) => workflowTypes(engine, value),
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
      const { items, cursor } = pageItems(all, maxChars - LIST_ENVELOPE, variable(variables, "cursor"), ALL);
      const next = cursor === undefined ? undefined : placeOf(cursor);
      return compact({ workflows: items, total: all.length, next });
    }),
  );
}

/** The list of workflows in pages. */
const ALL = "workflows";

function moreWorkflows(left: number, cursor: string): Resource {
  const description = "Read it for more workflows; each page names the next one";
  return { uri: placeOf(cursor), name: `${left} more workflows`, title: "More workflows", description };
}

function placeOf(cursor: string): string {
  return `phasegate://workflows/${encodeURIComponent(cursor)}`;
}

function workflowResource(listing: WorkflowListing): Resource {
  const { type } = listing;
  const uri = `phasegate://workflow/${encodeURIComponent(type)}`;
  if (listing.status === "broken") return { uri, name: type, description: "has errors: it cannot be started" };
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

/** Characters reserved for the object around a page of JSON. */
const ENVELOPE = 700;

/** Resources of one kind, each read as JSON by its id. */
interface JsonResources {
  /** The part of their URIs before the name of one of them. */
  readonly kind: string;
  /** The variable of the URI template for that name. */
  readonly key: "id" | "type";
  readonly title: string;
  readonly description: string;
  readonly list: ListResourcesCallback | undefined;
  /** Returns the names that begin with a text. */
  readonly complete: ((value: string) => Promise<string[]>) | undefined;
  /** Maximum size of the answer to one read, in characters of JSON. */
  readonly maxChars: number;
  /** Loads a resource. Returns undefined if it does not exist. */
  load(id: string): Promise<object | undefined>;
}

/** Registers resources that are read as JSON. A long one comes in pages, each of which names the next one. */
function registerJsonResources(server: McpServer, resources: JsonResources): void {
  const { kind, key, list, complete, maxChars, load, ...about } = resources;
  const completing = complete && { complete: { [key]: complete } };
  const config = { ...about, mimeType: "application/json" };
  const whole = `phasegate://${kind}/{${key}}`;
  const name = `phasegate-${kind}`;
  server.registerResource(name, new ResourceTemplate(whole, { list, ...completing }), config, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), maxChars, undefined));
  });
  const pages = {
    ...config,
    title: `${about.title}, a page`,
    description: `${about.description}: a page of a long one`,
  };
  const template = new ResourceTemplate(`${whole}/{cursor}`, { list: undefined, ...completing });
  server.registerResource(`${name}-page`, template, pages, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), maxChars, variable(variables, "cursor")));
  });
}

/** Returns a page of a value's JSON, or the value itself if it is short and no page was requested. */
function pageOf(kind: string, id: string, found: object | undefined, maxChars: number, cursor: string | undefined) {
  if (found === undefined || (cursor === undefined && fits(found, maxChars))) return found;
  const page = pageText(JSON.stringify(found), maxChars - ENVELOPE, cursor, { kind: "json" });
  return compact({
    json_page: page.text,
    json_range: { from: page.from, to: page.to, total: page.total },
    next:
      page.cursor === undefined
        ? undefined
        : `phasegate://${kind}/${encodeURIComponent(id)}/${encodeURIComponent(page.cursor)}`,
  });
}

/** Reads a resource as JSON. Throws if it does not exist. */
async function readJson(uri: URL, load: () => Promise<object | undefined>): Promise<ReadResourceResult> {
  const found = await guarded(uri, load);
  if (found === undefined) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found) }] };
}

/** Turns errors into those of MCP. The message of an unexpected error may contain a path, so it is not passed on. */
export async function guarded<T>(uri: URL | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = isPhasegateError(error) && MISSING.has(error.code);
    if (uri !== undefined && missing) throw new ResourceNotFoundError(uri.href);
    // If `error` is a kind of error, the sentence is in `message`.
    const { error: kind, message = kind, code } = errorAnswer({ name: "", actions: [] }, "", error);
    const kindOfError = code === "CURSOR_INVALID" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kindOfError, String(message), { code });
  }
}

/** Returns the value of a template's variable; `""`, which names nothing, if it cannot be decoded. */
function variable(variables: Variables, name: string): string {
  const value = variables[name];
  try {
    return decodeURIComponent(typeof value === "string" ? value : "");
  } catch {
    return "";
  }
}

/** The errors that mean "not found", for the client: an invalid id names no resource either. */
const MISSING: ReadonlySet<string> = new Set([
  "SESSION_NOT_FOUND",
  "WORKFLOW_NOT_FOUND",
  "INVALID_INPUT",
  "FILE_NOT_FOUND",
  "PHASE_LOCKED",
  "PHASE_OUT_OF_RANGE",
  "PATH_REFUSED",
]);

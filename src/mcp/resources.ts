/** Workflows, sessions and documents as MCP resources, in pages if they are long; and completions for their URIs. */
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { StateView } from "../phased/views.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { pageItems, pageText } from "../tools/pages.js";
import type { WireObject } from "../tools/wire.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import {
  type Complete,
  type Host,
  type ListedResource,
  McpFailure,
  PROPOSALS,
  type ResourceTemplate,
  resourceNotFound,
} from "./host.js";

/** Maximum number of sessions in the list, which has the newest. The others can be read by their ids. */
const LISTED = 50;
export const STATUSES = ["active", "paused", "completed", "failed"] as const;
/** Characters reserved for the object around a page of JSON. */
const ENVELOPE = 700;

interface ResourceOptions {
  readonly list: boolean;
  /** Maximum size of the answer to one read, in characters of JSON. */
  readonly maxChars: number;
}

/** Registers sessions as `phasegate://session/{id}`: the state, and every attempt at every phase. */
export function registerSessionResources(
  host: Host,
  engine: Engine,
  { list: isListed, maxChars }: ResourceOptions,
): void {
  const list = async () => {
    const { items } = await guarded(undefined, () => engine.listSessions({ status: STATUSES, limit: LISTED }));
    return [...pageItems(items.map(sessionResource), maxChars, undefined, "sessions").items];
  };
  const load = async (id: string) => {
    const session = engine.session(id);
    const [state, history] = await Promise.all([session.state(), session.history()]);
    // Loaded here: without the three imports of this file a server starts 15 ms sooner.
    const { historyEntry } = await import("../tools/phased/shapes.js");
    return { ...(await sessionBody(state)), phase_history: history.map(historyEntry) };
  };
  registerPaged(host, {
    ...jsonPages("session", "id", maxChars, load),
    title: "Session",
    description: "The state and history of a session",
    pageDescription: "The state and history of a session: a page of a long one",
    list: isListed ? list : undefined,
    complete: isListed ? { id: (value) => sessionIds(engine, value) } : undefined,
  });
}

/** Returns the newest first. */
export function sessionIds(
  engine: Engine,
  idPrefix: string,
  status: readonly SessionStatus[] = STATUSES,
): Promise<string[]> {
  return guarded(undefined, async () => {
    const { items } = await engine.listSessions({ idPrefix, status, limit: PROPOSALS });
    return items.map(({ sessionId }) => sessionId);
  });
}

/**
 * Registers the documents that a session may read as `phasegate://document/{id}/{path}`. They are not listed: which there
 * are depends on the phase. A long one comes in pages, each of which names the next one in its last line.
 */
export function registerDocumentResources(
  host: Host,
  engine: Engine,
  { list: isListed, maxChars }: ResourceOptions,
): void {
  const path: Complete = (value, others) => documentPaths(engine, others?.id, value);
  registerPaged(host, {
    kind: "document",
    uri: "phasegate://document/{id}/{+path}",
    pageUri: "phasegate://document-page/{id}/{cursor}/{+path}",
    title: "Document",
    description: "A document of a session's workflow",
    pageDescription: "A page of a long document",
    mimeType: "text/markdown",
    complete: isListed ? { id: (value) => sessionIds(engine, value), path } : { path },
    async read({ id = "", path = "", cursor }) {
      const { content } = await engine.session(id).document(path);
      const page = pageText(content.text, maxChars - ENVELOPE, cursor);
      if (page.cursor === undefined) return page.text;
      const next = [id, page.cursor, ...path.split("/")].map(encodeURIComponent).join("/");
      return `${page.text}\n\n[more: phasegate://document-page/${next}]`;
    },
  });
}

/** Returns the paths of documents that the current phase of a session names and that begin with a text. */
async function documentPaths(engine: Engine, id: string | undefined, prefix: string): Promise<string[]> {
  if (id === undefined) return [];
  try {
    const { documents } = await engine.session(id).phase();
    return documents.map(({ path }) => path).filter((path) => path.startsWith(prefix));
  } catch {
    return [];
  }
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

async function sessionBody({ sessionId, head, ...state }: StateView): Promise<WireObject> {
  const { unapprovedNotice } = await import("../tools/phased/approval-notices.js");
  return {
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    status: head.status,
    current_phase: head.phase,
    total_phases: head.total,
    completed_phases: state.completedPhases,
    skipped_phases: state.skippedPhases.length === 0 ? undefined : state.skippedPhases,
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    ...unapprovedNotice(state.unapproved),
    completed_at: head.status === "completed" ? head.completedAt : undefined,
  };
}

/** The longest description in a list, in characters; the resource itself has the whole one. */
const DESCRIPTION_MAX = 300;
/** Characters reserved for the parts of a list page other than its items. */
const LIST_ENVELOPE = 500;

/**
 * Registers workflows as `phasegate://workflow/{type}`. A resource names the phases only: their tasks and gates are shown to
 * agents that are in them. The list is one page; if there are more, its last entry is the next one.
 */
export function registerWorkflowResources(host: Host, engine: Engine, maxChars: number): void {
  const pageAt = async (at?: string) => {
    const all = (await engine.listWorkflows()).map(workflowResource);
    const { cursor, ...page } = pageItems(all, maxChars - LIST_ENVELOPE, at, "workflows");
    const next = cursor && `phasegate://workflows/${encodeURIComponent(cursor)}`;
    return { ...page, total: all.length, next };
  };
  const load = async (type: string) => {
    const listing = (await engine.listWorkflows()).find((candidate) => candidate.type === type);
    return listing && workflowBody(listing);
  };
  const complete = (prefix: string) =>
    guarded(undefined, async () => {
      const listings = await engine.listWorkflows();
      return listings.map(({ type }) => type).filter((type) => type.startsWith(prefix));
    });
  registerPaged(host, {
    ...jsonPages("workflow", "type", maxChars, load),
    title: "Workflow",
    description: "A workflow and its phases",
    pageDescription: "A workflow and its phases: a page of a long one",
    // The server joins the lists of all resources, and passes on no cursor: so the next page is a resource itself.
    list: async () => {
      const { items, left, next } = await guarded(undefined, pageAt);
      if (next === undefined) return [...items];
      const description = "Read it for more workflows; each page names the next one";
      const more = { uri: next, name: `${left} more workflows`, title: "More workflows", description };
      return [...items, more];
    },
    complete: { type: complete },
  });
  const readPage = async ({ cursor }: Values) => {
    const { items, total, next } = await pageAt(cursor);
    return JSON.stringify({ workflows: items, total, next });
  };
  host.resources({
    name: "phasegate-workflows",
    uri: "phasegate://workflows/{cursor}",
    title: "More workflows",
    description: "A page of workflows",
    mimeType: JSON_TYPE,
    read: reading(readPage),
  });
}

function workflowResource(listing: WorkflowListing): ListedResource {
  const { type } = listing;
  const uri = `phasegate://workflow/${encodeURIComponent(type)}`;
  if (listing.status === "broken") return { uri, name: type, description: "has errors: it cannot be started" };
  const { name, description } = listing.definition.structure;
  return { uri, name: type, title: shortened(name), description: shortened(description) };
}

export function shortened(text: string): string {
  if (text.length <= DESCRIPTION_MAX) return text;
  return `${text.slice(0, DESCRIPTION_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function workflowBody(listing: WorkflowListing): WireObject {
  const diagnostics = listing.diagnostics.length === 0 ? undefined : listing.diagnostics.map(formatDiagnostic);
  if (listing.status === "broken") return { workflow_type: listing.type, broken: true, diagnostics };
  const { structure } = listing.definition;
  return {
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
  };
}

const JSON_TYPE = "application/json";

type Values = Readonly<Record<string, string | undefined>>;

/** A resource that is read at one URI template, and in pages at another, with a cursor. */
interface PagedResource extends Omit<ResourceTemplate, "name" | "read"> {
  readonly kind: string;
  readonly pageUri: string;
  readonly pageDescription: string;
  /** Returns the text, or a page of it; undefined if there is no such resource. */
  read(values: Values): Promise<string | undefined>;
}

function registerPaged(host: Host, { kind, pageUri, pageDescription, ...resource }: PagedResource): void {
  const read = reading(resource.read);
  host.resources({ ...resource, name: `phasegate-${kind}`, read });
  const page = {
    name: `phasegate-${kind}-page`,
    uri: pageUri,
    title: `${resource.title}, a page`,
    description: pageDescription,
  };
  host.resources({ ...resource, ...page, list: undefined, read });
}

/** For resources whose JSON is read by one name. A long one comes in pages, each of which names the next one. */
function jsonPages(kind: string, key: string, maxChars: number, load: (name: string) => Promise<object | undefined>) {
  const uri = `phasegate://${kind}/{${key}}`;
  const read = async ({ [key]: name = "", cursor }: Values) => {
    const found = await load(name);
    const json = JSON.stringify(found);
    if (found === undefined || (cursor === undefined && json.length <= maxChars)) return json;
    const page = pageText(json, maxChars - ENVELOPE, cursor, { kind: "json" });
    const next = page.cursor && `phasegate://${kind}/${encodeURIComponent(name)}/${encodeURIComponent(page.cursor)}`;
    const { from, to, total } = page;
    return JSON.stringify({ json_page: page.text, json_range: { from, to, total }, next });
  };
  return { kind, uri, pageUri: `${uri}/{cursor}`, mimeType: JSON_TYPE, read };
}

function reading(read: PagedResource["read"]): ResourceTemplate["read"] {
  return async (uri, values) => {
    const text = await guarded(uri, () => read(values));
    if (text === undefined) throw resourceNotFound(uri.href);
    return text;
  };
}

/** Turns errors into those of MCP. The message of an unexpected error may contain a path, so it is not passed on. */
export async function guarded<T>(uri: URL | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (error instanceof McpFailure) throw error;
    const missing = isPhasegateError(error) && MISSING.has(error.code);
    if (uri !== undefined && missing) throw resourceNotFound(uri.href);
    const { errorAnswer } = await import("../tools/phased/refusals.js");
    // If `error` is a kind of error, the sentence is in `message`.
    const { error: kind, message = kind, code } = errorAnswer({ actions: [] }, "", error);
    const kindOfError = code === "CURSOR_INVALID" ? "invalid params" : "internal error";
    throw new McpFailure(kindOfError, String(message), { code });
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

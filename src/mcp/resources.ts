/** Workflows and sessions as MCP resources: JSON, in pages if it is long; and how clients are told that the list has changed. */
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
import type { EngineNotifications } from "../phased/notifications.js";
import { TIMER_MAX } from "../phased/verify/run-verifiers.js";
import type { StateView } from "../phased/views.js";
import type { ContentProvider, WorkflowListing } from "../ports/content-provider.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { pageItems, pageText } from "../tools/pages.js";
import { errorAnswer } from "../tools/phased/refusals.js";
import { historyEntry, unapprovedNews } from "../tools/phased/shapes.js";
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
    return { resources: [...pageItems(items.map(sessionResource), options.maxChars, undefined).items] };
  };
  registerJsonResources(server, {
    kind: "session",
    key: "id",
    title: "Session",
    description: "The state and history of a session",
    maxChars: options.maxChars,
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
      const { items, left, cursor } = pageItems(await guarded(undefined, listed), maxChars - LIST_ENVELOPE, undefined);
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
      const { items, cursor } = pageItems(all, maxChars - LIST_ENVELOPE, variable(variables, "cursor"));
      const next = cursor === undefined ? undefined : placeOf(cursor);
      return compact({ workflows: items, total: all.length, next });
    }),
  );
}

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
  /** Maximum size of the answer to one read, in characters of JSON. */
  readonly maxChars: number;
  /** Loads a resource. Returns undefined if it does not exist. */
  load(id: string): Promise<object | undefined>;
}

/** Registers resources that are read as JSON. A long one comes in pages, each of which names the next one. */
function registerJsonResources(server: McpServer, { kind, key, list, maxChars, load, ...about }: JsonResources): void {
  const config = { ...about, mimeType: "application/json" };
  const whole = `phasegate://${kind}/{${key}}`;
  const name = `phasegate-${kind}`;
  server.registerResource(name, new ResourceTemplate(whole, { list }), config, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), maxChars, undefined));
  });
  const pages = {
    ...config,
    title: `${about.title}, a page`,
    description: `${about.description}: a page of a long one`,
  };
  const template = new ResourceTemplate(`${whole}/{cursor}`, { list: undefined });
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
async function guarded<T>(uri: URL | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = isPhasegateError(error) && isMissing(error.code);
    if (uri !== undefined && missing) throw new ResourceNotFoundError(uri.href);
    // If `error` is a kind of error, the sentence is in `message`.
    const { error: kind, message = kind, code } = errorAnswer("", "", error);
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

/** Returns true for errors that mean "not found". An invalid id names no resource either. */
function isMissing(code: string): boolean {
  return code === "SESSION_NOT_FOUND" || code === "WORKFLOW_NOT_FOUND" || code === "INVALID_INPUT";
}

/** The notifications after which the list of sessions is different. */
const CHANGES: readonly (keyof EngineNotifications)[] = ["started", "completed", "failed", "deleted"];

/**
 * Tells a client that the list of resources has changed: when sessions start or end, and, if the host wishes, when polling
 * finds changed workflows. Returns a function that stops it.
 */
export function notifyListChanged(server: McpServer, engine: Engine, poll: WorkflowPoll | undefined): () => void {
  const notify = () => void sendListChanged(server);
  const stops = CHANGES.map((name) => engine.on(name, notify));
  if (poll !== undefined) stops.push(pollWorkflows(poll, notify));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Sends the notification. The client may disconnect at any time, which is not an error. */
async function sendListChanged(server: McpServer): Promise<void> {
  if (!server.isConnected()) return;
  try {
    await server.server.sendResourceListChanged();
  } catch {
    // The client has disconnected.
  }
}

/** Options for polling for changed workflows. */
export interface WorkflowPoll {
  /** The engine's own provider. It is called directly, so that polling does not appear in the engine's metrics. */
  readonly content: ContentProvider;
  /** The interval, in milliseconds. */
  readonly everyMs: number;
}

/** Calls `onChange` when the workflows have changed. Returns a function that stops the polling. */
function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  let seen: string | undefined;
  let stopped = false;
  let polling = false;
  const poll = async () => {
    // Polls that take longer than the interval must not run at the same time.
    if (polling) return;
    polling = true;
    const found = await fingerprint(content);
    polling = false;
    if (stopped || found === undefined) return;
    if (seen !== undefined && seen !== found) onChange();
    seen = found;
  };
  const timer = setInterval(() => void poll(), Math.min(everyMs, TIMER_MAX));
  letProcessEnd(timer);
  void poll();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Returns undefined if the provider fails: calls that need it report that. */
async function fingerprint(content: ContentProvider): Promise<string | undefined> {
  try {
    return JSON.stringify((await content.list()).map(stateOf));
  } catch {
    return undefined;
  }
}

function stateOf(listing: WorkflowListing): readonly unknown[] {
  const revision = listing.status === "ready" ? listing.definition.structure.revision : undefined;
  return [listing.type, revision, listing.diagnostics.map(formatDiagnostic)];
}

/** Lets the process end in spite of a timer. In Node a timer is an object that keeps it alive; elsewhere it is a number. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

/**
 * The inspector: a page for people on sessions and workflows, and its API, as a handler from `Request` to `Response`. This is
 * the entry file of the folder:
 *
 * - guard.ts: who may talk to it: Host, Origin, the login, the headers of every answer; people with tokens of their own
 * - options.ts: what a host may set, checked
 * - wire.ts: every answer and message as a type, for the page and the server; requests.ts: what requests say, checked
 * - workflows.ts: workflows and their graphs; sessions are read by read/
 * - passkeys.ts: what approvers sign, and how their passkeys are registered
 * - live.ts: the stream of changes
 * - page/: the page's sources, which run in the browser; page-files.js: what is built of them
 */
import type { Approvers } from "../approval/approvers.js";
import { type ErrorCode, isPhasegateError } from "../errors.js";
import type { Session } from "../phased/session.js";
import { type Access, type Actor, actorKey, byOwner } from "../ports/actor.js";
import { type FullClock, fullClock, systemClock } from "../ports/clock.js";
import { isResponse } from "../ports/login.js";
import { kindOf, listSessions, placeIn } from "../read/lists.js";
import { LogChecks } from "../read/log-checks.js";
import { attemptOf, attemptsOf, commitsOf, detailOf } from "../read/session.js";
import { SessionIndex } from "../read/session-index.js";
import { Activities, notThere, RecordedReader, type Source, sourcesOf } from "../read/sources.js";
import { type StatisticsRead, statisticsOf } from "../read/statistics.js";
import { timesOf } from "../read/times.js";
import { type Answered, answer, askedBy, askedOtherwise, Inboxes, waitingOf } from "../read/waiting.js";
import { checkRequest } from "../runtime/fetch.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import { act } from "./actions.js";
import { Guard, Refused, refusal, SECURITY_HEADERS } from "./guard.js";
import { Streams } from "./live.js";
import { checkInspectorOptions, type InspectorOptions } from "./options.js";
import { approversIn, challengeFor, placeOf, Registrations } from "./passkeys.js";
import {
  actionBody,
  answerBody,
  bodyOf,
  challengeBody,
  invalid,
  invitationBody,
  loginBody,
  numberIn,
  numberOf,
  originOf,
  segmentsOf,
} from "./requests.js";
import type { About, LoginAnswer } from "./wire.js";
import { workflowOf, workflowsOf } from "./workflows.js";

/** A page for people, and its API. */
export interface Inspector {
  /** Answers a request. Never rejects; throws `INVALID_INPUT` for what is no `Request`. */
  fetch(request: Request): Promise<Response>;
  /** Ends all streams. The engines stay the host's. */
  close(): void;
}

const URL_MAX = 8192;

/**
 * Creates an inspector, for Node, Hono and everything else that speaks `Request` and `Response`. It listens nowhere itself.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown or invalid, or there is nothing to show. A token needs 32
 * characters or more.
 */
export function createInspector(options: InspectorOptions): Inspector {
  checkInspectorOptions(options);
  const sources = sourcesOf(options);
  if (sources.length === 0)
    throw invalid("engine", "an engine, routed or recorded", "Give the inspector something to show.");
  const report = options.onError ?? (() => {});
  const clock = fullClock(options.clock ?? systemClock);
  const statistics: StatisticsRead = {};
  const logs = new LogChecks(options, statistics, clock, (kind, sessionId) => streams.touch(kind, sessionId));
  const streams = new Streams(sources, { clock, report, damaged: () => logs.damaged });
  const activities = new Activities(options, (kind, sessionId) => streams.touch(kind, sessionId));
  const { approvers: given = {} } = options;
  const approvers = typeof given === "function" ? given : () => given;
  const app: App = {
    ...{ options, sources, clock, streams, activities, approvers, inboxes: new Inboxes(), statistics, logs, report },
    base: `/${(options.basePath ?? "").split("/").filter(Boolean).join("/")}`.replace(/\/$/, ""),
    guard: new Guard(options.access, options.hosts),
    registrations: new Registrations(options.invitations, approvers, clock),
  };
  const secured = async (request: Request) => {
    const response = await answered(app, request).catch((error: unknown) => failed(error, report));
    // The host's own answers, such as `Response.redirect()`, may have headers that can't be changed.
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) headers.set(name, value);
    const { status, statusText } = response;
    return new Response(request.method === "HEAD" ? null : response.body, { status, statusText, headers });
  };
  return {
    fetch: (request) => {
      checkRequest("createInspector", request);
      return secured(request);
    },
    close: () => {
      logs.close();
      activities.close();
      streams.close();
    },
  };
}

interface App {
  readonly options: InspectorOptions;
  readonly sources: readonly Source[];
  readonly streams: Streams;
  readonly activities: Activities;
  readonly actor?: Actor;
  readonly inboxes: Inboxes;
  readonly statistics: StatisticsRead;
  readonly logs: LogChecks;
  readonly report: (error: unknown) => void;
  readonly base: string;
  readonly guard: Guard;
  readonly clock: FullClock;
  readonly approvers: () => Approvers;
  readonly registrations: Registrations;
}

/** Returns the inspector as an actor has it: the engines know only what the actor may see, and do what the roles allow. */
function appFor(app: App, actor: Actor | undefined): App {
  if (actor === undefined) return app;
  const { engine, routed, actions = [], unsigned = false } = app.options;
  const may = (action: Access) => byOwner({ actor, action, operation: "inspect" });
  const options: InspectorOptions = {
    ...app.options,
    engine: engine?.as(actor),
    routed: routed?.as(actor),
    actions: may("operate") ? actions : [],
    unsigned: unsigned && may("decide"),
  };
  return { ...app, options, sources: sourcesOf(options, actor), actor };
}

async function answered(app: App, request: Request): Promise<Response> {
  const { guard, base } = app;
  const { method, url } = request;
  if (url.length > URL_MAX) throw refusal(400, "URL_TOO_LONG", "The URL is too long.");
  guard.checkOrigin(request);
  const { pathname } = new URL(url);
  if (pathname !== base && !pathname.startsWith(`${base}/`)) {
    const remedy = `It is at ${base}, its option basePath: pass on requests with their whole path, which begins with this.`;
    throw refusal(404, "NOT_FOUND", "The inspector is not at this path.", remedy);
  }
  const path = pathname.slice(base.length + 1);
  const isRead = method === "GET" || method === "HEAD";
  const isPage = !path.startsWith("api/");
  if (!isRead && (isPage || method !== "POST")) throw wrongMethod();
  if (isPage) return page(path, base);
  const segments = segmentsOf(path.slice("api/".length));
  if (isRead) return call(READS, segments, appFor(app, await guard.admit(request)), request);
  guard.checkPost(request);
  if (routeOf(OPEN, segments) !== undefined) return call(OPEN, segments, app, request);
  return call(WRITES, segments, appFor(app, await guard.admit(request)), request);
}

const TYPES: Readonly<Record<string, string>> = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "icon.svg": "image/svg+xml",
  "licenses.txt": "text/plain; charset=utf-8",
};

/** Answers with a file of the page; for every path without a dot with the page itself, which finds its view by the URL. */
async function page(path: string, base: string): Promise<Response> {
  // Below a view, a dot belongs to the id of a session or the name of a workflow.
  const name = path.includes(".") && !path.includes("/") ? path : "index.html";
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) throw notFound();
  const { PAGE_FILES } = await import("./page-files.js");
  const file = PAGE_FILES[name];
  if (file === undefined) throw notFound();
  const body = name === "index.html" ? file.replaceAll('"./', `"${base}/`) : file;
  return new Response(body, { headers: { "content-type": type, "cache-control": "no-cache" } });
}

interface Call {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The part of the path that its route leaves open: the id of a session, or the type of a workflow. */
  readonly name: string;
  /** The same as the id of a session; throws `INVALID_INPUT` if it can't be one. */
  readonly id: SessionId;
  /** The second one: an attempt. */
  readonly index: string;
}

/** The functions that answer requests, by the paths below `api/`. Nothing is there if the answer is undefined. */
type Routes = Readonly<Record<string, (app: App, call: Call) => object | undefined | Promise<object | undefined>>>;

/** Returns the sessions that an actor may see: those that are kept up for a page of theirs, or else to be read. */
function indexIn({ streams, sources, logs, actor }: Pick<App, "streams" | "sources" | "logs" | "actor">): SessionIndex {
  return streams.indexFor(actor) ?? new SessionIndex(sources, { damaged: () => logs.damaged });
}

const READS: Routes = {
  about: ({ options, sources, approvers, actor }): About => {
    const { actions = [], unsigned = false, title = "phasegate" } = options;
    const kinds = sources.map(({ kind }) => kind);
    return { kinds, actions, approvers: approversIn(approvers()), unsigned, title, actor: actor?.name };
  },
  events: ({ streams, sources, guard, actor }, { request }) => {
    if (request.method === "HEAD") throw wrongMethod();
    return streams.open(actor, sources, request, () => guard.admit(request));
  },
  inbox: (app) => {
    const { inboxes, options, sources, actor } = app;
    const seesAll = actor === undefined || byOwner({ actor, action: "see", operation: "inspect" });
    // One inbox is read for all who may see the same.
    return inboxes.read(seesAll ? "all" : actorKey(actor), options, sources, () => indexIn(app));
  },
  statistics: async (app, { query }) => {
    const { options, statistics, logs, clock } = app;
    // What is read for the list need not be read twice. If that has failed, the list's request has said so.
    await logs.isDone.catch(() => {});
    return statisticsOf(options, indexIn(app), query.get("workflow") ?? undefined, statistics, clock.now());
  },
  workflows: ({ options }) => workflowsOf(options, options.codeFrame),
  "workflows/*": ({ options }, { name }) => workflowOf(options, name, options.codeFrame),
  sessions: async (app, { query }) => {
    const { streams, logs, actor, clock, report } = app;
    const isKept = streams.indexFor(actor) !== undefined;
    const index = indexIn(app);
    const reading = index.read();
    // A page is shown what is read by then, and asks again. For others, who keep no index, all are read.
    await (isKept ? Promise.race([reading, index.begun]) : reading);
    if (isKept) logs.follow(index).catch(report);
    return listSessions(index, query, clock.now());
  },
  "sessions/*": async ({ options, sources, activities, actor }, { id }) => {
    return { ...(await detailOf(options, sources, id, actor)), ...activities.of(id) };
  },
  "sessions/*/audit": async ({ options: { engine, routed, recorded }, sources, actor }, { id }) => {
    // Of a damaged session, too: the audit says where its log is damaged.
    const { kind } = await placeIn(sources, id);
    if (kind === "recorded") return recorded && new RecordedReader(recorded, actor).audit(id);
    return kind === "phased" ? engine?.session(id).audit() : routed?.session(id).audit();
  },
  "sessions/*/waiting": async ({ options, sources }, { id }) => {
    const waiting = await waitingOf(options, await kindOf(sources, id), id);
    if (waiting === undefined) throw notThere("it waits for nobody", id);
    return waiting;
  },
  "sessions/*/commits": async (app, { id, query }) =>
    commitsOf(await phasedSession(app, id), numberIn(query, "cursor")),
  "sessions/*/times": async (app, { id }) => timesOf(await phasedSession(app, id)),
  "sessions/*/attempts": async (app, { id, query }) =>
    attemptsOf(await phasedSession(app, id), numberIn(query, "cursor")),
  "sessions/*/attempts/*": async (app, { id, index }) =>
    attemptOf(await phasedSession(app, id), numberOf("attempt", index, "Give its index in the list of attempts.")),
};

async function phasedSession({ options: { engine }, sources }: App, id: SessionId): Promise<Session> {
  if ((await kindOf(sources, id)) !== "phased" || engine === undefined) throw notFound();
  return engine.session(id);
}

/** These need no login: an invited person need not know the token, as the invitation is a secret of its own. */
const OPEN: Routes = {
  login: async ({ guard, base }, { request }) => {
    const { token } = await bodyOf(request, loginBody);
    const login = await guard.loginBy(request, token, base === "" ? "/" : base);
    if (login !== undefined) return json({ key: login.key } satisfies LoginAnswer, { "set-cookie": login.cookie });
    const remedy = "Open the URL that the inspector has printed last, or enter your own token.";
    throw refusal(401, "TOKEN_WRONG", "This token does not open this inspector.", remedy);
  },
  "passkeys/begin": async ({ registrations }, { request }) =>
    registrations.begin((await bodyOf(request, invitationBody)).invitation, placeOf(request)),
  "passkeys/end": async ({ registrations }, { request }) => {
    const { invitation, response } = await bodyOf(request, invitationBody);
    return registrations.end(invitation, response, placeOf(request));
  },
};

const WRITES: Routes = {
  "sessions/*/challenge": async ({ options, sources, approvers, clock }, { id, request }) => {
    const body = await bodyOf(request, challengeBody);
    const asked = await askedBy(options, await kindOf(sources, id), id);
    if (asked?.question.request !== body.request) throw askedOtherwise(id);
    return challengeFor(asked.question, approvers(), body, originOf(request), clock);
  },
  "sessions/*/answer": async ({ options, sources, actor }, { id, request }) => {
    const said = await bodyOf(request, answerBody);
    if (said.signature === undefined && options.unsigned !== true) {
      const remedy = "Sign it with a passkey, or with `phasegate approve`, `waive` or `deny`.";
      throw refusal(403, "NOT_ALLOWED", "Answers must be signed here.", remedy);
    }
    const by = said.signature === undefined ? (actor?.name ?? said.by) : said.by;
    // The answer names the request that the person saw: the session may ask something else by now, even about the same evidence.
    const asked = await askedBy(options, await kindOf(sources, id), id);
    const isWaiver = asked?.what === "waiver";
    if (asked?.question.request !== said.request || isWaiver !== (said.what === "waiver")) throw askedOtherwise(id);
    return { status: statusAfter(await answer(asked, { ...said, by })) };
  },
  "sessions/*/action": async ({ options, sources, actor }, { id, request }) => {
    const body = await bodyOf(request, actionBody);
    if (options.actions?.includes(body.action) !== true) {
      const remedy = "Ask an operator, or the host: `phasegate inspect --allow-actions`.";
      throw refusal(403, "NOT_ALLOWED", `${body.action} is switched off here.`, remedy);
    }
    return act(options, await kindOf(sources, id), id, { ...body, by: actor?.name ?? body.by });
  },
};

function statusAfter({ what, result }: Answered): string {
  if (what === "step") return result.status;
  if (what === "waiver") return result.granted ? "granted" : "denied";
  return result.passed ? "passed" : "refused";
}

/** Returns the route of a path. Its `*` stand for any text but the empty one. */
function routeOf(routes: Routes, segments: readonly string[]): string | undefined {
  return Object.keys(routes).find((route) => {
    const parts = route.split("/");
    return (
      parts.length === segments.length &&
      parts.every((part, at) => (part === "*" ? segments[at] !== "" : part === segments[at]))
    );
  });
}

async function call(routes: Routes, segments: readonly string[], app: App, request: Request): Promise<Response> {
  const route = routeOf(routes, segments) ?? "";
  const query = new URL(request.url).searchParams;
  const [, name = "", , index = ""] = segments;
  const asked: Call = {
    ...{ request, query, name, index },
    get id() {
      return parseSessionId(name);
    },
  };
  const answer = await routes[route]?.(app, asked);
  if (answer === undefined) throw notFound();
  return isResponse(answer) ? answer : json(answer);
}

function notFound(): Refused {
  return refusal(404, "NOT_FOUND", "There is nothing here.");
}

function wrongMethod(): Refused {
  return refusal(405, "METHOD_NOT_ALLOWED", "Use GET, or POST for changes.");
}

function json(body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(body, { headers: { "cache-control": "no-store", ...headers } });
}

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  INVALID_INPUT: 400,
  CURSOR_INVALID: 400,
  SESSION_NOT_FOUND: 404,
  APPROVAL_REFUSED: 403,
  NOT_ALLOWED: 403,
  INTERNAL: 500,
  STORAGE_FAILED: 500,
};

/** The message of an error from outside phasegate may hold paths and secrets: only the host is told. */
function failed(error: unknown, report: (error: unknown) => void): Response {
  if (error instanceof Refused) return error.response;
  const isKnown = isPhasegateError(error);
  const status = isKnown ? (STATUS[error.code] ?? 409) : 500;
  if (status === 500) report(error);
  if (isKnown) return refusal(status, error.code, error.message, error.remedy).response;
  return refusal(500, "INTERNAL", "The inspector has failed. Its log says why.").response;
}

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
 * - page/: the page's sources, which run in the browser
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Approvers } from "../approval/approvers.js";
import { type ErrorCode, isPhasegateError } from "../errors.js";
import { type Access, type Actor, actorKey, byOwner } from "../ports/actor.js";
import { type FullClock, fullClock, systemClock } from "../ports/clock.js";
import { isResponse } from "../ports/login.js";
import { kindOf, listSessions, placeIn } from "../read/lists.js";
import { attemptOf, attemptsOf, commitsOf, detailOf } from "../read/session.js";
import { Activities, notThere, RecordedReader, type Source, sourcesOf } from "../read/sources.js";
import { type StatisticsRead, statisticsOf } from "../read/statistics.js";
import { type Answered, answer, askedBy, askedOtherwise, Inboxes, waitingOf } from "../read/waiting.js";
import { parseSessionId } from "../workflow/names.js";
import { act } from "./actions.js";
import { Guard, type Refusal, SECURITY_HEADERS } from "./guard.js";
import { ActorStreams, Live, Watches } from "./live.js";
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
import type { About, ApiError, LoginAnswer } from "./wire.js";
import { workflowOf, workflowsOf } from "./workflows.js";

/** A page for people, and its API. */
export interface Inspector {
  /** Answers a request. Never rejects. */
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
  const watches = new Watches(sources, clock, report);
  const live = new Live(watches, sources, { clock, report });
  const streams = new ActorStreams(watches, clock, report);
  const activities = new Activities(options, (kind, sessionId) => watches.touch(kind, sessionId));
  const { approvers: given = {} } = options;
  const approvers = typeof given === "function" ? given : () => given;
  const registrations = new Registrations(options.invitations, approvers, clock);
  const base = `/${(options.basePath ?? "").split("/").filter(Boolean).join("/")}`.replace(/\/$/, "");
  const guard = new Guard(options.access, options.hosts);
  const shown = { options, sources, live, streams, activities, inboxes: new Inboxes(), statistics: {} };
  const app: App = { ...shown, base, guard, clock, approvers, registrations };
  return {
    fetch: async (request) => {
      let response: Response;
      try {
        response = await answered(app, request);
      } catch (error) {
        response = failed(error, report);
      }
      // The host's own answers, such as `Response.redirect()`, may have headers that can't be changed.
      const headers = new Headers(response.headers);
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) headers.set(name, value);
      const { status, statusText } = response;
      return new Response(request.method === "HEAD" ? null : response.body, { status, statusText, headers });
    },
    close: () => {
      activities.close();
      live.close();
      streams.close();
    },
  };
}

interface App {
  readonly options: InspectorOptions;
  readonly sources: readonly Source[];
  readonly live: Live;
  /** The streams of those who log in: each gets what the actor may see. */
  readonly streams: ActorStreams;
  readonly activities: Activities;
  readonly actor?: Actor;
  readonly inboxes: Inboxes;
  readonly statistics: StatisticsRead;
  readonly base: string;
  readonly guard: Guard;
  readonly clock: FullClock;
  readonly approvers: () => Approvers;
  readonly registrations: Registrations;
}

/** Returns the inspector as an actor has it: engines that know only what they may see, and what their roles let them do. */
function appFor(app: App, actor: Actor | undefined): App {
  if (actor === undefined) return app;
  const { engine, routed, actions = [], unsigned = false, ...more } = app.options;
  const may = (action: Access) => byOwner({ actor, action, operation: "inspect" });
  const options: InspectorOptions = {
    ...more,
    ...(engine && { engine: engine.as(actor) }),
    ...(routed && { routed: routed.as(actor) }),
    actions: may("operate") ? actions : [],
    unsigned: unsigned && may("decide"),
  };
  return { ...app, options, sources: sourcesOf(options, actor), actor };
}

/** Names all who may see the same as an actor. */
function seenBy(actor: Actor | undefined): string {
  const seesAll = actor === undefined || byOwner({ actor, action: "see", operation: "inspect" });
  return seesAll ? "all" : actorKey(actor);
}

async function answered(app: App, request: Request): Promise<Response> {
  const { guard, base } = app;
  if (request.url.length > URL_MAX)
    return refuse({ status: 400, code: "URL_TOO_LONG", message: "The URL is too long." });
  const elsewhere = guard.sameOrigin(request);
  if (elsewhere !== undefined) return refuse(elsewhere);
  const { pathname, searchParams } = new URL(request.url);
  if (pathname !== base && !pathname.startsWith(`${base}/`)) return refuse(NOT_FOUND);
  const path = pathname.slice(base.length + 1);
  if (!path.startsWith("api/")) return page(request, path, base);
  if (request.method === "GET" || request.method === "HEAD") {
    const admitted = await guard.admit(request);
    if (admitted.refused !== undefined) return refuse(admitted.refused);
    return read(appFor(app, admitted.actor), path.slice(4), searchParams, request);
  }
  if (request.method !== "POST") return refuse(WRONG_METHOD);
  return write(app, path.slice(4), request);
}

const TYPES: Readonly<Record<string, string>> = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "plots.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

/** In the package the built page lies next to this code; where that is run from the sources, in the build. */
const FOLDERS = [new URL("./page/", import.meta.url), new URL("../../dist/page/", import.meta.url)];
const FOLDER = FOLDERS.find((folder) => existsSync(new URL("page.js", folder)));

/** Answers with a file of the page; for every path without a dot with the page itself, which finds its view by the URL. */
async function page(request: Request, path: string, base: string): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(WRONG_METHOD);
  // Below a view, a dot belongs to the id of a session or the name of a workflow.
  const name = path.includes(".") && !path.includes("/") ? path : "index.html";
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) return refuse(NOT_FOUND);
  if (FOLDER === undefined) throw new Error("the page is not built: run `npm run build`");
  const file = await readFile(new URL(name, FOLDER), "utf8");
  const body = name === "index.html" ? file.replaceAll('"./', `"${base}/`) : file;
  return new Response(request.method === "HEAD" ? null : body, {
    headers: { "content-type": type, "cache-control": "no-cache" },
  });
}

/** The number of parts that the paths below each name may have. */
const PARTS_MAX = new Map(Object.entries({ about: 1, events: 1, inbox: 1, statistics: 1, workflows: 2, sessions: 4 }));

async function read(app: App, path: string, query: URLSearchParams, request: Request): Promise<Response> {
  const { options, sources } = app;
  const segments = segmentsOf(path);
  const [what = "", name, part, index] = segments;
  if (segments.includes("") || segments.length > (PARTS_MAX.get(what) ?? 0)) return refuse(NOT_FOUND);
  const frame = options.codeFrame ?? (async () => undefined);
  switch (what) {
    case "about":
      return json(about(app));
    case "events":
      if (request.method === "HEAD") return refuse(WRONG_METHOD);
      return events(app, request);
    case "inbox":
      return json(await app.inboxes.read(seenBy(app.actor), options));
    case "statistics":
      return json(await statisticsOf(options, query.get("workflow") ?? undefined, app.statistics));
    case "workflows": {
      if (name === undefined) return json(await workflowsOf(options, frame));
      const workflow = await workflowOf(options, name, frame);
      return workflow === undefined ? refuse(NOT_FOUND) : json(workflow);
    }
    case "sessions": {
      if (name === undefined) return json(await listSessions(sources, query, app.clock.now()));
      return session(app, name, part, index, numberIn(query, "cursor"));
    }
    default:
      return refuse(NOT_FOUND);
  }
}

function events({ live, streams, sources, guard, actor }: App, request: Request): Promise<Response> {
  if (actor !== undefined) return streams.open(actor, sources, request, async () => (await guard.admit(request)).actor);
  return live.open(request, async () => (await guard.admit(request)).refused === undefined);
}

function about({ options, sources, approvers, actor }: App): About {
  const { actions = [], unsigned = false, title = "phasegate" } = options;
  const kinds = sources.map(({ kind }) => kind);
  return { kinds, actions, approvers: approversIn(approvers()), unsigned, title, actor: actor?.name };
}

async function session(
  app: App,
  given: string,
  part: string | undefined,
  index: string | undefined,
  before: number | undefined,
): Promise<Response> {
  const id = parseSessionId(given);
  if (index !== undefined && part !== "attempts") return refuse(NOT_FOUND);
  const { engine, routed, recorded } = app.options;
  if (part === "audit") {
    // Of a damaged session, too: the audit says where its log is damaged.
    const { kind } = await placeIn(app.sources, id);
    const report =
      kind === "phased" ? engine?.session(id).audit() : kind === "routed" ? routed?.session(id).audit() : undefined;
    return json(await (report ?? (recorded && new RecordedReader(recorded, app.actor).audit(id))));
  }
  if (part === undefined)
    return json({ ...(await detailOf(app.options, app.sources, id, app.actor)), ...app.activities.of(id) });
  const kind = await kindOf(app.sources, id);
  if (part === "waiting") {
    const waiting = await waitingOf(app.options, kind, id);
    if (waiting === undefined) throw notThere("it waits for nobody", id);
    return json(waiting);
  }
  if (kind !== "phased" || engine === undefined) return refuse(NOT_FOUND);
  if (part === "commits") return json(await commitsOf(engine, id, before));
  if (part !== "attempts") return refuse(NOT_FOUND);
  if (index === undefined) return json(await attemptsOf(engine, id, before));
  const attempt = numberOf("attempt", index, "Give its index in the list of attempts.");
  return json(await attemptOf(engine, id, attempt));
}

async function write(host: App, path: string, request: Request): Promise<Response> {
  const { guard, base, registrations } = host;
  const unsafe = guard.post(request);
  if (unsafe !== undefined) return refuse(unsafe);
  if (path === "login") {
    const login = await guard.loginBy(request, (await bodyOf(request, loginBody)).token, base === "" ? "/" : base);
    if (isResponse(login)) return login;
    if (login === undefined)
      return refuse({
        status: 401,
        code: "TOKEN_WRONG",
        message: "This token does not open this inspector.",
        remedy: "Open the URL that the inspector has printed last, or enter your own token.",
      });
    return json({ key: login.key } satisfies LoginAnswer, { "set-cookie": login.cookie });
  }
  // Who is invited need not know the token: the invitation is a secret of its own.
  if (path === "passkeys/begin" || path === "passkeys/end") {
    const { invitation, response } = await bodyOf(request, invitationBody);
    const place = placeOf(request);
    const isBegin = path === "passkeys/begin";
    return json(
      isBegin ? await registrations.begin(invitation, place) : await registrations.end(invitation, response, place),
    );
  }
  const admitted = await guard.admit(request);
  if (admitted.refused !== undefined) return refuse(admitted.refused);
  const app = appFor(host, admitted.actor);
  const [what, given = "", part, ...more] = segmentsOf(path);
  if (what !== "sessions" || more.length > 0) return refuse(NOT_FOUND);
  if (part !== "challenge" && part !== "answer" && part !== "action") return refuse(NOT_FOUND);
  const id = parseSessionId(given);
  if (part === "challenge") {
    const body = await bodyOf(request, challengeBody);
    const at = { origin: originOf(request), clock: app.clock };
    return json(await challengeFor(app.options, app.approvers(), await kindOf(app.sources, id), id, body, at));
  }
  if (part === "answer") {
    const said = await bodyOf(request, answerBody);
    if (said.signature === undefined && app.options.unsigned !== true) return refuse(UNSIGNED);
    const by = said.signature === undefined ? (app.actor?.name ?? said.by) : said.by;
    // The answer names the request that the person saw: the session may ask something else by now, even about the same evidence.
    const asked = await askedBy(app.options, await kindOf(app.sources, id), id);
    const isWaiver = asked?.what === "waiver";
    if (asked?.question.request !== said.request || isWaiver !== (said.what === "waiver")) throw askedOtherwise(id);
    return json({ status: statusAfter(await answer(app.options, asked, { ...said, by })) });
  }
  const body = await bodyOf(request, actionBody);
  if (app.options.actions?.includes(body.action) !== true) {
    const remedy = "Ask an operator, or the host: `phasegate inspect --allow-actions`.";
    return refuse({ status: 403, code: "NOT_ALLOWED", message: `${body.action} is switched off here.`, remedy });
  }
  return json(await act(app.options, await kindOf(app.sources, id), id, { ...body, by: app.actor?.name ?? body.by }));
}

function statusAfter({ what, result }: Answered): string {
  if (what === "step") return result.status;
  if (what === "waiver") return result.granted ? "granted" : "denied";
  return result.passed ? "passed" : "refused";
}

const UNSIGNED: Refusal = {
  status: 403,
  code: "NOT_ALLOWED",
  message: "Answers must be signed here.",
  remedy: "Sign it with a passkey, or with `phasegate approve`, `waive` or `deny`.",
};
const NOT_FOUND: Refusal = { status: 404, code: "NOT_FOUND", message: "There is nothing here." };
const WRONG_METHOD: Refusal = { status: 405, code: "METHOD_NOT_ALLOWED", message: "Use GET, or POST for changes." };

function refuse(refused: Refusal | Response): Response {
  if (isResponse(refused)) return refused;
  const { status, ...error } = refused;
  return Response.json({ error } satisfies ApiError, { status, headers: { "cache-control": "no-store" } });
}

function json(body: object | undefined, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(body ?? {}, { headers: { "cache-control": "no-store", ...headers } });
}

const STATUS: Readonly<Partial<Record<ErrorCode, Refusal["status"]>>> = {
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
  if (isPhasegateError(error)) {
    const { code, message, remedy } = error;
    if (STATUS[code] === 500) report(error);
    return refuse({ status: STATUS[code] ?? 409, code, message, remedy });
  }
  report(error);
  return refuse({ status: 500, code: "INTERNAL", message: "The inspector has failed. Its log says why." });
}

import type { EngineOptions, Workflow } from "phasegate";
import { createHttpApi, openApiDocument, type PhasedHttpApiOptions } from "phasegate/http";
import type { Login } from "../../src/ports/login.js";
import { ACTION_NAMES } from "../../src/tools/phased/actions.js";
import { makeEngine } from "../support/make-engine.js";
import { Documented, posting } from "./call-api.js";

/** All actions, also the one that is off by default. */
export const ALL = { tool: { actions: ACTION_NAMES } };
/** The document of all actions. */
export const PHASED = new Documented(openApiDocument("phased", ALL));
/** A start of the two-phase workflow. */
export const START = { workflow_type: "two_phases", target_file: "src/a.ts" };

/** Serves an engine with the two-phase workflow over HTTP, with all actions. */
export function served(
  http: PhasedHttpApiOptions = {},
  options: Partial<EngineOptions> = {},
  workflows?: readonly Workflow[],
) {
  const made = makeEngine(options, workflows);
  const api = createHttpApi(made.engine, { ...ALL, ...http });
  const get = (action: string, query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    PHASED.send(api, `/sessions/${action}?${new URLSearchParams(query)}`, { headers });
  const post = (action: string, body: unknown, headers: Record<string, string> = {}) =>
    PHASED.send(api, `/sessions/${action}`, posting(body, headers));
  const start = async (headers?: Record<string, string>) =>
    String((await post("start", START, headers)).body.session_id);
  return { ...made, api, get, post, start };
}

/** A login whose tokens are names. */
export const login: Login = {
  authenticate: async ({ headers }) => {
    const name = /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "")?.[1];
    if (name === undefined) return Response.json({ error: "invalid_token" }, { status: 401 });
    return { name, roles: [name === "vera" ? "viewer" : "agent"] };
  },
  metadata: ({ url }) => (url.endsWith("/.well-known/x") ? Response.json({ resource: "x" }) : undefined),
};

/** The header of somebody who has logged in. */
export const as = (name: string) => ({ authorization: `Bearer ${name}` });

/** The port by which a server over HTTP finds out who calls it. */
import { having } from "../workflow/host-options.js";
import { type Actor, isActor } from "./actor.js";

/** Tells who sends a request, before anything else of the request is read. */
export interface Login {
  /**
   * Returns the sender of the request, or the answer for a sender who is not let in: 401 without valid credentials, with a
   * `WWW-Authenticate` header that leads clients to them; 403 if these give no right to anything here. Reads no body.
   * Rejects when it could not find out.
   */
  authenticate(request: Request): Promise<Actor | Response>;
  /** Answers a request for a document that clients need before they log in; undefined for all other requests. */
  metadata?(request: Request): Response | undefined;
}

export const loginCheck = having("a login, such as createTokenLogin() makes", "authenticate");

/**
 * Asks a login who sends a request. Rejects if the login does, and if it returns neither an actor nor a response: a login of
 * the host's own may look a token up in a table, and return undefined for one that is not there.
 */
export async function askLogin(login: Pick<Login, "authenticate">, request: Request): Promise<Actor | Response> {
  const answer: unknown = await login.authenticate(request);
  if (isResponse(answer) || isActor(answer)) return answer;
  throw new TypeError("authenticate must return an actor, {name, team?, roles?: [...]}, or a Response such as a 401");
}

/** Returns true for a response of any class: a server may have replaced the runtime's with its own. */
export function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null || !("status" in value) || !("headers" in value)) return false;
  return typeof value.status === "number" && typeof Object(value.headers).get === "function";
}

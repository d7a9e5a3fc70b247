/** How a server over HTTP finds out who calls it. */
import type { Actor } from "./actor.js";

/** Tells who sends a request, before anything else of the request is read. */
export interface Login {
  /**
   * Returns who sends the request, or the answer to give to somebody who may not come in: 401 without valid credentials,
   * with a `WWW-Authenticate` header that leads clients to them; 403 if they give no right to anything here. Reads no body.
   * Rejects when it could not find out.
   */
  authenticate(request: Request): Promise<Actor | Response>;
  /** Answers a request for a document that clients need before they log in; undefined for all other requests. */
  metadata?(request: Request): Response | undefined;
}

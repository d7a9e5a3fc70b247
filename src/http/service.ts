/** What api.ts needs to know of one kind of sessions: their routes, their OpenAPI document, and how a call is executed. */
import type * as z from "zod/mini";
import type { Actor } from "../ports/actor.js";

/** One route of the HTTP API. */
export interface Route<Call extends string = string> {
  /** The call that it makes; also the name of the operation. */
  readonly call: Call;
  readonly method: "GET" | "POST";
  /** The path below the base path. */
  readonly path: string;
  readonly summary: string;
  /** Every status that it may answer with, except 200. */
  readonly refusals: readonly number[];
  /** What it takes: the query of a GET, or the JSON of a POST. */
  readonly request: z.core.$ZodObject;
  /** The name of its answer among the schemas of the document. */
  readonly answer: string;
}

/** An answer before it is sent; a refusal has an `error_code` in its body. */
export interface HttpAnswer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that has passed the checks of HTTP itself. */
export interface HttpCall<Call extends string> {
  readonly call: Call;
  readonly params: unknown;
  /** Who calls; undefined without a login. */
  readonly actor: Actor | undefined;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/** One kind of sessions over HTTP. */
export interface Service<Call extends string> {
  readonly routes: readonly Route<Call>[];
  /** The OpenAPI document. */
  readonly document: object;
  /** The codes that its clients know for some of the codes of refusals. */
  readonly codes: Readonly<Record<string, string | undefined>>;
  /** Executes a call. Rejects only if the login has given an actor whose name is not valid. */
  answer(call: HttpCall<Call>): Promise<HttpAnswer>;
  /** Tells the host of an error outside of a call. */
  reportError(operation: string, error: unknown): void;
}

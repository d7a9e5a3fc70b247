import * as z from "zod";
import { createHttpApi, type HttpApi, type HttpApiOptions, openApiDocument } from "../../src/http/api.js";
import type { StepDecider } from "../../src/ports/step-decider.js";
import type { RoutedEngineOptions } from "../../src/routed/options.js";
import { routed, Script } from "../routed/engine/garden.js";

/** An answer as a client gets it. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

const documentSchema = z.object({
  openapi: z.literal("3.1.0"),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).optional(),
        requestBody: z.unknown().optional(),
        responses: z.record(
          z.string(),
          z.object({ content: z.object({ "application/json": z.object({ schema: z.object({ $ref: z.string() }) }) }) }),
        ),
      }),
    ),
  ),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.json())) }),
});

/** A document after a JSON round trip, and what was seen of it. */
export class Documented {
  readonly document: z.infer<typeof documentSchema>;
  /** Every operation with every status that occurred, as `POST /workflows/start 200`. */
  readonly seen = new Set<string>();

  constructor(document: object) {
    this.document = documentSchema.parse(JSON.parse(JSON.stringify(document)));
  }

  /** Sends a request. Every answer of a documented operation must match the document. */
  async send(api: HttpApi, path: string, init: RequestInit = {}): Promise<Answered> {
    const response = await api(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    const body: Record<string, unknown> = text === "" ? {} : JSON.parse(text);
    if (text !== "") this.#check(init.method ?? "GET", path, response.status, body);
    return { status: response.status, headers: response.headers, body };
  }

  /** Reads a schema of the document from its JSON Schema. */
  schemaOf(name: string): z.ZodType {
    const schema = this.document.components.schemas[name];
    if (schema === undefined) throw new Error(`the document has no schema ${name}`);
    return z.fromJSONSchema(schema);
  }

  /** Throws for an answer that the document lacks, or that does not match it. */
  #check(method: string, path: string, status: number, body: unknown): void {
    const pathname = path.replace(/\?.*$/, "");
    const operation = this.document.paths[pathname]?.[method.toLowerCase()];
    if (operation === undefined) return;
    const response = operation.responses[String(status)];
    if (response === undefined) throw new Error(`${method} ${pathname} answers ${status}, which isn't documented`);
    const name = response.content["application/json"].schema.$ref.replace("#/components/schemas/", "");
    this.schemaOf(name).parse(body);
    this.seen.add(`${method} ${pathname} ${status}`);
  }
}

/** Returns the request that posts JSON. */
export function posting(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  };
}

/** The document of routed workflows. */
export const ROUTED = new Documented(openApiDocument("routed"));

/** Serves a garden over the HTTP API. */
export function served(
  moves: ConstructorParameters<typeof Script> | StepDecider = [],
  options: Partial<RoutedEngineOptions> = {},
  http: HttpApiOptions = {},
) {
  const decider = Array.isArray(moves) ? new Script(...moves) : moves;
  const made = routed(decider, options);
  const api = createHttpApi(made.engine, http);
  const send = (path: string, init: RequestInit = {}) => ROUTED.send(api, path, init);
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(`/workflows/${path}`, posting(body, headers));
  const start = async () => String((await post("start", { workflow_name: "GARDEN" })).body.instance_id);
  return { ...made, decider, api, send, post, start };
}

/** A report of success. */
export const DONE = { status: "success" };

import * as z from "zod";
import { createHttpApi, type HttpApiOptions, openApiDocument } from "../../src/http/api.js";
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

/** The document after a JSON round trip. */
export const DOCUMENT = documentSchema.parse(JSON.parse(JSON.stringify(openApiDocument("routed"))));

/** Every operation with every status that occurred, as `POST /workflows/start 200`. */
export const seen = new Set<string>();

/** Serves a garden over the HTTP API. Every answer of a documented operation must match the document. */
export function served(
  moves: ConstructorParameters<typeof Script> | StepDecider = [],
  options: Partial<RoutedEngineOptions> = {},
  http: HttpApiOptions = {},
) {
  const decider = Array.isArray(moves) ? new Script(...moves) : moves;
  const made = routed(decider, options);
  const api = createHttpApi(made.engine, http);
  const send = async (path: string, init: RequestInit = {}): Promise<Answered> => {
    const response = await api(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    const body: Record<string, unknown> = text === "" ? {} : JSON.parse(text);
    if (text !== "") documented(init.method ?? "GET", path, response.status, body);
    return { status: response.status, headers: response.headers, body };
  };
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(`/workflows/${path}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  const start = async () => String((await post("start", { workflow_name: "GARDEN" })).body.instance_id);
  return { ...made, decider, api, send, post, start };
}

/** Throws for an answer that the document lacks, or that does not match it. */
function documented(method: string, path: string, status: number, body: unknown): void {
  const pathname = path.replace(/\?.*$/, "");
  const operation = DOCUMENT.paths[pathname]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const response = operation.responses[String(status)];
  if (response === undefined) throw new Error(`${method} ${pathname} answers ${status}, which isn't documented`);
  const name = response.content["application/json"].schema.$ref.replace("#/components/schemas/", "");
  schemaOf(name).parse(body);
  seen.add(`${method} ${pathname} ${status}`);
}

/** Reads a schema of the document from its JSON Schema. */
export function schemaOf(name: string): z.ZodType {
  const schema = DOCUMENT.components.schemas[name];
  if (schema === undefined) throw new Error(`the document has no schema ${name}`);
  return z.fromJSONSchema(schema);
}

/** A report of success. */
export const DONE = { status: "success" };

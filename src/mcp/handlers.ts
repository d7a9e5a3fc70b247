/**
 * The handlers of requests that an SDK has set, for answers that it can't give: it lists only what was registered one by one.
 * Both SDKs keep them in the same way, and have no public way to them.
 */
import { PhasegateError } from "../errors.js";
import { isJsonObject } from "../workflow/json.js";
import { PROPOSALS, type PromptSource, promptAnswer } from "./host.js";

type Handlers = Map<string, (request: unknown, extra: unknown) => Promise<unknown>>;

/** Returns a server's handlers by method. Throws `UNSUPPORTED` for a version of the SDK that keeps them elsewhere. */
export function handlersOf({ server }: { readonly server: object }, operation: string): Handlers {
  const handlers: Handlers | undefined = Reflect.get(server, "_requestHandlers");
  if (handlers !== undefined) return handlers;
  throw new PhasegateError("UNSUPPORTED", "this version of the MCP SDK keeps its handlers elsewhere", {
    remedy: "Use @modelcontextprotocol/sdk from 1.20 to 1.32, or @modelcontextprotocol/server 2.x.",
    details: { operation },
  });
}

/** Adds the prompts of a source to those that are registered. One must be registered before: the SDK then sets its handlers. */
export function addPrompts(server: { readonly server: object }, source: PromptSource): void {
  const handlers = handlersOf(server, "registerPrompt");
  const extend = (method: string, answer: (params: object, otherwise: () => Promise<unknown>) => Promise<unknown>) => {
    const own = handlers.get(method);
    if (own !== undefined)
      handlers.set(method, (request, extra) => answer(paramsOf(request), () => own(request, extra)));
  };
  extend("prompts/list", async (params, otherwise) => {
    const cursor = textIn(params, "cursor");
    const page = await source.list(cursor);
    if (cursor !== undefined) return page;
    const listed = await otherwise();
    if (!isJsonObject(listed) || !Array.isArray(listed.prompts)) return listed;
    return { ...listed, ...page, prompts: [...listed.prompts, ...page.prompts] };
  });
  extend("prompts/get", async (params, otherwise) => {
    const text = await source.text(textIn(params, "name") ?? "", Reflect.get(params, "arguments"));
    return text === undefined ? otherwise() : promptAnswer(text);
  });
  extend("completion/complete", async (params, otherwise) => {
    const [prompt, argument]: unknown[] = [Reflect.get(params, "ref"), Reflect.get(params, "argument")];
    const [name = "", value = ""] = [textIn(argument, "name"), textIn(argument, "value")];
    const values = await source.complete(textIn(prompt, "name") ?? "", name, value);
    if (values === undefined) return otherwise();
    const total = values.length;
    return { completion: { values: values.slice(0, PROPOSALS), total, hasMore: total > PROPOSALS } };
  });
}

function paramsOf(request: unknown): object {
  return isJsonObject(request) && isJsonObject(request.params) ? request.params : {};
}

function textIn(object: unknown, key: string): string | undefined {
  const value = isJsonObject(object) ? object[key] : undefined;
  return typeof value === "string" ? value : undefined;
}

/**
 * The view of a session inside of a client that shows MCP Apps (the extension `io.modelcontextprotocol/ui`): a page that the
 * client reads as a resource, and what it shows of a session, which travels in `_meta` of an answer, where no model reads it.
 */
import { isPhasegateError } from "../errors.js";
import type { Engine } from "../phased/engine.js";
import type { WireObject } from "../tools/wire.js";
import { isSessionId } from "../workflow/names.js";
import type { ClientCall, Host } from "./host.js";

const EXTENSION = "io.modelcontextprotocol/ui";
const MIME_TYPE = "text/html;profile=mcp-app";
const URI = "ui://phasegate/session";
/** The key of the session in `_meta` of an answer. */
const SESSION = "phasegate/session";

/** `_meta` of the tool in the listing. The second key is the one of clients from before the extension's first version. */
export const VIEW_OF_TOOL = { ui: { resourceUri: URI }, "ui/resourceUri": URI };

/**
 * Registers the page, which is loaded when a client reads it. It is in no list of resources: a client finds it by the tool, and
 * a person who looks for something to give to a model should not.
 */
export function registerSessionView(host: Host): void {
  host.extension(EXTENSION, { mimeTypes: [MIME_TYPE] });
  host.resources({
    uri: URI,
    name: "phasegate-session-view",
    title: "Session view",
    description: "Shows a session inside of a client, for people",
    mimeType: MIME_TYPE,
    meta: { ui: { prefersBorder: true } },
    read: async () => (await import("./session-view-file.js")).SESSION_VIEW,
  });
}

/** The actions whose answers come with the session. */
const SHOWN: ReadonlySet<unknown> = new Set(["start", "get_state", "get_session", "complete_phase", "request_waiver"]);

/** Returns `_meta` of an answer to a call, for a client that shows views; undefined if there is nothing to show. */
export async function sessionForView(
  engine: Engine,
  call: ClientCall,
  input: WireObject,
  { action, status, code, verifying, session_id: id = input.session_id }: WireObject,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (call.capabilities()?.extensions?.[EXTENSION] === undefined) return undefined;
  if (!SHOWN.has(action) || !isSessionId(id) || (status === "error" && code !== "GATE_FAILED")) return undefined;
  try {
    const { sessionInShort } = await import("../read/in-short.js");
    return { [SESSION]: await sessionInShort(engine.session(id), { isVerifying: verifying !== undefined }) };
  } catch (error) {
    // The call itself is done: its answer does not depend on the view. Of its own errors the engine has told the host.
    if (!isPhasegateError(error)) engine.reportError("session view", error, id);
    return undefined;
  }
}

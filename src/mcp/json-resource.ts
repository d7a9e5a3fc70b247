import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type Variables,
} from "@modelcontextprotocol/server";
import { isPhasegateError } from "../errors.js";
import { errorAnswer } from "../tool/errors-on-wire.js";

/** Reads a resource as JSON; undefined from `load` says that there is none. */
export async function readJson(uri: URL, load: () => Promise<object | undefined>): Promise<ReadResourceResult> {
  const found = await guarded(uri, load);
  if (found === undefined) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found, undefined, 2) }] };
}

/** Runs what may fail: an error that is none of ours may hold a path or a stack, so its words stay here. */
export async function guarded<T>(uri: URL | undefined, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = isPhasegateError(error) && isMissing(error.code);
    if (uri !== undefined && missing) throw new ResourceNotFoundError(uri.href);
    // Where `error` is a word for the kind, the sentence stands in `message`.
    const { error: kind, message = kind, code } = errorAnswer("", "", error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, String(message), { code });
  }
}

/** The one value of a template's variable; `""`, which names nothing, if it can't be read. */
export function variable(variables: Variables, name: string): string {
  const value = variables[name];
  try {
    return decodeURIComponent(typeof value === "string" ? value : "");
  } catch {
    return "";
  }
}

/** An id that can't be one is no resource either. */
function isMissing(code: string): boolean {
  return code === "SESSION_NOT_FOUND" || code === "WORKFLOW_NOT_FOUND" || code === "INVALID_INPUT";
}

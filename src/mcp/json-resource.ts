import {
  type ListResourcesCallback,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
  type Variables,
} from "@modelcontextprotocol/server";
import { isPhasegateError } from "../errors.js";
import { errorAnswer } from "../tool/errors-on-wire.js";
import { pageText, surelyFits } from "../tool/paging.js";
import { compact } from "../tool/wire-object.js";

/** Room for what stands around a page of JSON. */
const ENVELOPE = 700;

/** Resources of one kind, each read as JSON by its id. */
export interface JsonResources {
  /** What stands in their URIs before what names one of them. */
  readonly kind: string;
  /** The template's variable for that name. */
  readonly key: "id" | "type";
  readonly title: string;
  readonly description: string;
  readonly list: ListResourcesCallback | undefined;
  /** The longest that one read gives, in characters of JSON. */
  readonly room: number;
  /** Undefined says that there is none. */
  load(id: string): Promise<object | undefined>;
}

/** Registers resources that are read as JSON; a long one comes in pages, of which each names the next one. */
export function registerJsonResources(
  server: McpServer,
  { kind, key, list, room, load, ...about }: JsonResources,
): void {
  const config = { ...about, mimeType: "application/json" };
  const whole = `phasegate://${kind}/{${key}}`;
  const name = `phasegate-${kind}`;
  server.registerResource(name, new ResourceTemplate(whole, { list }), config, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), room, undefined));
  });
  const pages = {
    ...config,
    title: `${about.title}, a page`,
    description: `${about.description}: a page of a long one`,
  };
  const template = new ResourceTemplate(`${whole}/{cursor}`, { list: undefined });
  server.registerResource(`${name}-page`, template, pages, (uri, variables) => {
    const id = variable(variables, key);
    return readJson(uri, async () => pageOf(kind, id, await load(id), room, variable(variables, "cursor")));
  });
}

/** A page of a value's JSON; the value itself where it is short enough and no page of it was asked for. */
function pageOf(kind: string, id: string, found: object | undefined, room: number, cursor: string | undefined) {
  if (found === undefined || (cursor === undefined && surelyFits(found, room))) return found;
  const json = JSON.stringify(found);
  if (cursor === undefined && json.length <= room) return found;
  const page = pageText(json, room - ENVELOPE, cursor, { kind: "json" });
  return compact({
    json_page: page.text,
    json_range: { from: page.from, to: page.to, total: page.total },
    next:
      page.cursor === undefined
        ? undefined
        : `phasegate://${kind}/${encodeURIComponent(id)}/${encodeURIComponent(page.cursor)}`,
  });
}

/** Reads a resource as JSON; undefined from `load` says that there is none. */
export async function readJson(uri: URL, load: () => Promise<object | undefined>): Promise<ReadResourceResult> {
  const found = await guarded(uri, load);
  if (found === undefined) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found) }] };
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
    const kindOfError = code === "CURSOR_INVALID" ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kindOfError, String(message), { code });
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

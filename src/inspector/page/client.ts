/**
 * The client around a view, by MCP Apps (protocol 2026-01-26): messages of JSON-RPC to and from the window that holds it.
 * Nothing else leaves a view: it has no network.
 */

/** What the client says of itself and of the call that the view is for. */
interface HostContext {
  readonly theme?: string;
  readonly styles?: { readonly variables?: Readonly<Record<string, string | undefined>> };
  readonly toolInfo?: { readonly tool?: { readonly name?: string } };
}

/** The result of a call of the tool. */
export interface ToolResult {
  readonly structuredContent?: unknown;
  readonly content?: readonly { readonly text?: string }[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** What a view may do in its client. */
export interface Client {
  /** Calls the tool that the view is for with `get_state`, which changes nothing; missing where the client passes on no calls. */
  readonly getState?: (sessionId: string) => Promise<ToolResult>;
  /** Opens a page in the person's browser; missing where the client opens none. Rejects if it does not want to. */
  readonly openLink?: (url: string) => Promise<void>;
}

interface Message {
  readonly jsonrpc: "2.0";
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: object;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string };
}

const METHOD_NOT_FOUND = -32601;

/** The requests that a view sends. */
type Request = "ui/initialize" | "ui/open-link" | "tools/call";

/** The colours and fonts of this page, and the names under which a client gives its own. */
const STYLES = {
  "--page": "--color-background-primary",
  "--panel": "--color-background-secondary",
  "--rule": "--color-border-primary",
  "--text": "--color-text-primary",
  "--quiet": "--color-text-secondary",
  "--sans": "--font-sans",
  "--mono": "--font-mono",
};

/** What a view hears of the call that it is for. */
interface Heard {
  onInput(input: { readonly arguments?: Readonly<Record<string, unknown>> }): void;
  onResult(result: ToolResult): void;
  onCancelled(): void;
}

/** Connects to the client. */
export async function connect({ onInput, onResult, onCancelled }: Heard): Promise<Client> {
  const open = new Map<unknown, { resolve(result: object): void; reject(error: Error): void }>();
  let requests = 0;
  const send = (message: Omit<Message, "jsonrpc">) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const request = <T extends object>(method: Request, params: object) =>
    new Promise<T>((resolve, reject) => {
      requests += 1;
      const id = requests;
      open.set(id, { resolve: (result) => resolve(result as T), reject });
      send({ id, method, params });
    });
  let context: HostContext = {};
  const adopt = (changed: HostContext) => {
    context = { ...context, ...changed };
    paint(context);
  };
  const notified: Readonly<Record<string, (params: object) => void>> = {
    "ui/notifications/tool-input": onInput,
    "ui/notifications/tool-result": onResult,
    "ui/notifications/tool-cancelled": onCancelled,
    "ui/notifications/host-context-changed": adopt,
  };
  addEventListener("message", ({ source, data }: MessageEvent<Message>) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params = {}, result, error } = data;
    if (method === undefined) {
      const waiting = open.get(id);
      open.delete(id);
      if (error === undefined) waiting?.resolve(result ?? {});
      else waiting?.reject(new Error(error.message));
    } else if (id === undefined) notified[method]?.(params);
    else if (method === "ping" || method === "ui/resource-teardown") send({ id, result: {} });
    else send({ id, error: { code: METHOD_NOT_FOUND, message: `a view has no ${method}` } });
  });
  const { hostContext, hostCapabilities = {} } = await request<{
    readonly hostContext?: HostContext;
    readonly hostCapabilities?: { readonly openLinks?: object; readonly serverTools?: object };
  }>("ui/initialize", {
    appInfo: { name: "phasegate", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
    protocolVersion: "2026-01-26",
  });
  adopt(hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    send({ method: "ui/notifications/size-changed", params: { height } });
  }).observe(document.body);
  const name = context.toolInfo?.tool?.name;
  return {
    getState:
      hostCapabilities.serverTools && name
        ? (id) => request("tools/call", { name, arguments: { action: "get_state", session_id: id, brief: true } })
        : undefined,
    openLink:
      hostCapabilities.openLinks &&
      (async (url) => {
        const { isError } = await request<{ readonly isError?: boolean }>("ui/open-link", { url });
        if (isError) throw new Error("The client does not open this page.");
      }),
  };
}

function paint({ theme, styles }: HostContext): void {
  const { style } = document.documentElement;
  style.colorScheme = theme === "light" || theme === "dark" ? theme : "light dark";
  for (const [own, given] of Object.entries(STYLES)) {
    const value = styles?.variables?.[given];
    if (value !== undefined) style.setProperty(own, value);
  }
}

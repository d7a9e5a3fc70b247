/** The host of a view, as a client has it: the official bridge to an iframe. It is bundled for the browser. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** What the host has of the test, which calls the server. */
declare global {
  function callTool(params: object): Promise<CallToolResult>;
  function messageLeft(message: object): Promise<void>;
  /** What the test has of the host. */
  const host: ViewHost;
}

/** What a test gives to the host. */
export interface Given {
  readonly html: string;
  readonly capabilities: { readonly openLinks?: object; readonly serverTools?: object };
  readonly context: object;
}

let bridge: AppBridge;
const opened: string[] = [];

async function open({ html, capabilities, context }: Given): Promise<void> {
  document.querySelector("iframe")?.remove();
  const iframe = document.createElement("iframe");
  iframe.setAttribute("sandbox", "allow-scripts");
  document.body.append(iframe);
  const view = iframe.contentWindow;
  if (view === null) throw new Error("no window");
  addEventListener("message", ({ source, data }) => {
    if (source === iframe.contentWindow) void messageLeft(data);
  });
  bridge = new AppBridge(
    null,
    { name: "test", version: "1.0.0" },
    { ...capabilities },
    { hostContext: { ...context } },
  );
  bridge.oncalltool = (params) => callTool(params);
  bridge.onopenlink = async ({ url }) => {
    opened.push(url);
    return {};
  };
  bridge.onsizechange = ({ height = 0 }) => {
    iframe.style.height = `${height}px`;
  };
  const ready = new Promise<void>((resolve) => {
    bridge.oninitialized = () => resolve();
  });
  await bridge.connect(new PostMessageTransport(view, view));
  iframe.srcdoc = html;
  await ready;
}

const made = {
  open,
  opened,
  /** Gives the view the call that it is for, and what came of it. */
  async show(input: object, result: object): Promise<void> {
    await bridge.sendToolInput({ arguments: { ...input } });
    await bridge.sendToolResult({ content: [], ...result });
  },
  setContext: (context: object) => bridge.setHostContext({ ...context }),
};
/** What a test does with the host. */
type ViewHost = typeof made;

Object.assign(globalThis, { host: made });

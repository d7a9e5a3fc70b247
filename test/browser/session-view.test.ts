/** The view of a session inside of a client, with the official host side of MCP Apps around it. */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { build } from "esbuild";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { registerWorkflowTool } from "phasegate/mcp";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { launch, picture, REASON, violations } from "./tabs.js";
import type { Given } from "./view-host.js";

const HOSTILE = `<img src=x onerror="parent.postMessage({jsonrpc:'2.0',id:9,method:'tools/call'},'*')">`;
const GATE = `evidence_schema:
  plan: {type: string, required: true, validator: min_length_20, description: "the steps"}
  reviewed: {type: boolean, required: true}
approval: {prompt: "Is this plan good enough? ${HOSTILE.replaceAll('"', '\\"')}", approvers: [ann]}
`;
const files = {
  "metadata.json": JSON.stringify({
    workflow_type: "change",
    name: "Change of the code",
    description: "A change",
    version: "1.0.0",
    phases: ["Read", HOSTILE, "Build and test", "Ship"].map((phase_name, at) => ({ phase_number: at + 1, phase_name })),
  }),
  ...Object.fromEntries([1, 2, 3, 4].map((number) => [`phases/${number}/phase.md`, "# Do it\n"])),
  "phases/2/gate-definition.yaml": GATE,
};
const PLAN = { plan: "1. Show it with a test\n2. Correct it", reviewed: true };
const EXTENSION = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

let browser: Browser;
let hostScript: string;

type Message = { readonly method?: string; readonly params?: { readonly arguments?: object } };
interface Shown extends Partial<Omit<Given, "html">> {
  readonly width?: number;
  /** Where people answer. */
  readonly approval?: "on a page" | "at a terminal";
}

/** A server with the tool, a client that shows MCP Apps, and a page with the view in it. */
async function open({
  width = 700,
  capabilities = { openLinks: {}, serverTools: {} },
  context = {},
  approval = "on a page",
}: Shown = {}) {
  const keys = await createApproverKeys();
  const engine = createEngine({
    storage: new MemoryStorage(),
    content: new MemoryContent({ sources: { change: files } }),
    approvers: { ann: keys.publicKey },
    ...(approval === "on a page" && { inspectorUrl: "https://gates.example.com/inspector" }),
  });
  const server = new McpServer({ name: "host", version: "1.0.0" });
  registerWorkflowTool(server, engine);
  const client = new Client({ name: "client", version: "1.0.0" }, { capabilities: { extensions: EXTENSION } });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  const call = (input: Record<string, unknown>) => client.callTool({ name: "pos_workflow", arguments: input });
  const [tool] = (await client.listTools()).tools;
  const [page] = (await client.readResource({ uri: "ui://phasegate/session" })).contents;
  if (tool === undefined || page === undefined || !("text" in page)) throw new Error("no view");

  const tab = await browser.newPage({ viewport: { width, height: 600 } });
  onTestFinished(() => tab.close());
  const problems: string[] = [];
  const left: Message[] = [];
  tab.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  tab.on("pageerror", (error) => problems.push(String(error.stack)));
  tab.on("request", (request) => {
    if (!request.url().startsWith("about:")) problems.push(`asks ${request.url()}`);
  });
  await tab.exposeFunction("callTool", (params: { name: string; arguments: Record<string, unknown> }) =>
    client.callTool(params),
  );
  await tab.exposeFunction("messageLeft", (message: Message) => void left.push(message));
  await tab.setContent("<style>body{margin:0}iframe{display:block;width:100%;border:0;color-scheme:normal}</style>");
  await tab.addScriptTag({ content: hostScript });
  const given: Given = { html: page.text, capabilities, context: { theme: "light", toolInfo: { tool }, ...context } };
  await tab.evaluate((value) => host.open(value), given);
  const show = (result: object, input: object = {}) =>
    tab.evaluate(([given, shown]) => host.show(given, shown), [input, result] as const);
  const view = tab.frameLocator("iframe");
  const start = async () => {
    const result = await call({ action: "start", workflow_type: "change", target_file: "src/a.ts" });
    return { result, id: String(Object(result.structuredContent).session_id) };
  };
  const submit = (id: string, phase: number, evidence: object) =>
    call({ action: "complete_phase", session_id: id, phase, evidence });
  /** Lets a session wait for Ann's approval. */
  const wait = async () => {
    const { id } = await start();
    await submit(id, 1, { done: true });
    return { id, result: await submit(id, 2, PLAN) };
  };
  const approve = async (id: string) => {
    const asked = await engine.session(id).approval();
    if (asked === undefined) throw new Error("nothing waits");
    const signature = await signApproval(asked, { decision: "approve", by: "ann", privateKey: keys.privateKey });
    await engine.session(id).approve({ by: "ann", evidenceHash: asked.evidenceHash, signature });
  };
  return { tab, view, call, show, start, submit, wait, approve, left, problems };
}

describe.skipIf(REASON !== "")(`a session inside of a client${REASON}`, () => {
  beforeAll(async () => {
    const built = await build({
      entryPoints: ["test/browser/view-host.ts"],
      ...{ bundle: true, write: false, format: "iife", platform: "browser" },
    });
    hostScript = built.outputFiles[0]?.text ?? "";
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("shows its phases, and no name of one ahead", async () => {
    const { view, show, start, submit, tab, problems } = await open();
    const { id, result } = await start();
    await show(result);
    await expect.poll(() => view.locator("h1").innerText()).toBe("Change of the code active");
    expect(await view.locator(".phases li").allInnerTexts()).toEqual(["1\nRead\nworking", "3 phases ahead, locked"]);
    await show(await submit(id, 1, { done: true }));
    await expect.poll(() => view.locator(".phases .state").allInnerTexts()).toEqual(["done", "working"]);
    await picture(tab, "view-phases");
    expect(problems).toEqual([]);
  });

  it("shows what was refused, and why", async () => {
    const { view, show, start, submit, call, tab, problems } = await open();
    const { id } = await start();
    await submit(id, 1, { done: true });
    await show(await submit(id, 2, { plan: HOSTILE.slice(0, 10), reviewed: true }));
    const refused = view.getByRole("region", { name: "Refused" });
    await expect.poll(() => refused.locator("h2").innerText()).toBe("Refused: phase 2, attempt 1");
    const texts = await refused.locator("li").allInnerTexts();
    expect(texts).toEqual([expect.stringContaining("plan")]);
    await picture(tab, "view-refused");
    // A later look at the state shows it again.
    await show(await call({ action: "list_workflows" }));
    await expect.poll(() => view.locator("main").count()).toBe(0);
    await show(await call({ action: "get_state", session_id: id }));
    await expect.poll(() => refused.locator("li").allInnerTexts()).toEqual(texts);
    // A call that is refused says why, too.
    await show(await call({ action: "get_phase", session_id: id, phase: 4 }));
    await expect.poll(() => view.locator(".notice").innerText()).toContain("locked");
    expect(problems).toEqual([]);
  });

  it("shows the question that waits, whose answer is given elsewhere, and the state after it", async () => {
    const { view, show, wait, approve, tab, left, problems } = await open();
    const { id, result } = await wait();
    await show(result);
    const asked = view.getByRole("region", { name: "Waits for a person" });
    await expect.poll(() => asked.locator("h2").innerText()).toBe("Phase 2 waits for an approval by ann");
    expect(await asked.locator("blockquote").innerText()).toBe(`Is this plan good enough? ${HOSTILE}`);
    expect(await view.getByRole("button").allInnerTexts()).toEqual(["Open the request", "Refresh"]);
    await asked.getByRole("button", { name: "Open the request" }).click();
    await expect
      .poll(() => tab.evaluate(() => host.opened))
      .toEqual([expect.stringMatching(`^https://gates.example.com/inspector/sessions/${id}[?]answer=[0-9a-f]{64}$`)]);
    await approve(id);
    await view.getByRole("button", { name: "Refresh" }).click();
    await expect.poll(() => view.locator(".phases .state").allInnerTexts()).toEqual(["done", "done", "working"]);
    expect(await asked.count()).toBe(0);
    // All that has left the view: it asks to be opened and to be shown the state, and says how high it is.
    expect([...new Set(left.map(({ method }) => method))].sort()).toEqual([
      "tools/call",
      "ui/initialize",
      "ui/notifications/initialized",
      "ui/notifications/size-changed",
      "ui/open-link",
    ]);
    const calls = left.filter(({ method }) => method === "tools/call");
    expect(calls.map(({ params }) => params?.arguments)).toEqual([
      { action: "get_state", session_id: id, brief: true },
    ]);
    expect(problems).toEqual([]);
  });

  it("gives the command to copy where its client opens no pages, and has no button", async () => {
    const { view, show, wait, problems } = await open({ capabilities: {}, approval: "at a terminal" });
    const { id, result } = await wait();
    await show(result);
    const command = `phasegate approve ${id} --state STATE --key KEY`;
    await expect.poll(() => view.locator(".copied").innerText()).toBe(command);
    expect(await view.getByRole("button").count()).toBe(0);
    // A click selects all of it.
    await view.locator(".copied").click();
    expect(await view.locator("body").evaluate(() => getSelection()?.toString())).toBe(command);
    expect(problems).toEqual([]);
  });

  it("shows what the answer itself has, where its client passes on no more", async () => {
    const { view, show, wait, submit, start, problems } = await open();
    const { id, result } = await wait();
    const { content, structuredContent, isError } = result;
    await show({ content, structuredContent, isError }, { action: "complete_phase", session_id: id });
    await expect.poll(() => view.locator("blockquote").innerText()).toContain("Is this plan good enough?");
    expect(await view.locator(".copied").innerText()).toContain(id);
    const other = await start();
    const refused = await submit(other.id, 2, {});
    await show({ content: refused.content, structuredContent: refused.structuredContent });
    await expect.poll(() => view.locator(".notice").innerText()).toContain("locked");
    expect(problems).toEqual([]);
  });

  it.each([390, 320])("fits into %i pixels, light and dark, and is readable", async (width) => {
    const { view, show, wait, tab, problems } = await open({ width, context: { theme: "dark" } });
    await show((await wait()).result);
    await view.locator("blockquote").waitFor();
    const [, frame] = tab.frames();
    if (frame === undefined) throw new Error("no view");
    const ground = () => frame.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(await ground()).toBe("rgb(21, 23, 28)");
    expect(await violations(frame)).toEqual([]);
    await picture(tab, `view-${width}-dark`);
    await tab.evaluate(() => host.setContext({ theme: "light" }));
    await expect.poll(ground).toBe("rgb(255, 255, 255)");
    expect(await violations(frame)).toEqual([]);
    await picture(tab, `view-${width}-light`);
    const variables = { "--color-background-primary": "rgb(250, 240, 230)" };
    await tab.evaluate((given) => host.setContext({ theme: "light", styles: { variables: given } }), variables);
    await expect.poll(ground).toBe("rgb(250, 240, 230)");
    const [inner, all] = await frame.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    expect(all).toBeLessThanOrEqual(inner ?? 0);
    expect(problems).toEqual([]);
  });
});

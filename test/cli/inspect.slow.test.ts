import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, readdir, readFile, stat } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { createEngine, MemoryContent } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { About, WorkflowList } from "../../src/inspector/wire.js";
import type { Inbox, SessionList } from "../../src/read/model.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles, people } from "../support/approvals.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { GARDENS } from "./routed-folders.js";
import { run } from "./run-cli.js";
import { FAULTY, SMALL } from "./workflow-folders.js";

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

/** Starts `phasegate inspect`, and returns its URL, and what asks it as a browser that has logged in. */
async function inspect(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [BIN, "inspect", ...args], { env: { ...process.env, ...env } });
  running.push(child);
  const printed: string = await new Promise((resolve, reject) => {
    child.stdout.once("data", (chunk) => resolve(String(chunk)));
    child.once("exit", (code) => reject(new Error(`it has ended with ${code}`)));
  });
  const [, origin = "", token = ""] = /^(http:\/\/localhost:\d+)\/#token=(\S+)\n$/.exec(printed) ?? [];
  const headers = { "content-type": "application/json", "x-phasegate": "1" };
  const login = await fetch(`${origin}/api/login`, { method: "POST", headers, body: JSON.stringify({ token }) });
  const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const { key } = await login.json();
  const pass = { cookie, "x-phasegate": String(key) };
  const get = async <T>(path: string): Promise<T> => (await fetch(`${origin}/api/${path}`, { headers: pass })).json();
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, origin, token, pass, get, ended };
}

/** Returns a server that has taken a port, as another program would. */
async function listens(host: string, port: number): Promise<Server> {
  const server = createServer().listen(port, host);
  await once(server, "listening");
  return server;
}

describe("phasegate inspect", () => {
  it("shows a state to whoever has its URL, as it changes, and ends on SIGTERM", async () => {
    const folder = await temporaryFolder();
    const state = join(folder, "state");
    await writeFiles(join(folder, "workflows"), SMALL);
    const storage = await FileStorage.open(state);
    const keys = await people();
    const content = new MemoryContent({ sources: { asking: askingFiles } });
    const engine = createEngine({ storage, content, approvers: { ann: keys.ann.publicKey } });
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });

    const { child, origin, pass, get, ended } = await inspect([
      ...["--state", state, "--workflows", join(folder, "workflows")],
      ...["--approver", `ann=${keys.ann.publicKey}`],
    ]);
    expect((await get<SessionList>("sessions")).items).toMatchObject([{ sessionId, status: "active" }]);
    expect(await get<About>("about")).toMatchObject({
      title: state,
      actions: [],
      unsigned: false,
      approvers: [{ name: "ann", keys: ["ed25519"] }],
    });
    expect((await fetch(`${origin}/api/sessions`)).status).toBe(401);

    const end = new AbortController();
    const stream = await fetch(`${origin}/api/events`, { headers: pass, signal: end.signal });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    let text = "";
    while (!text.includes('"waitsFor":["approval"]')) text += (await reader?.read())?.value ?? "";
    expect((await get<Inbox>("inbox")).items).toMatchObject([{ sessionId, what: "approval" }]);

    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    await expect(reader?.read()).resolves.toMatchObject({ done: true });
    await storage.close?.();
  });

  it("is the only one on its port, also where `localhost` leads to IPv6", async ({ skip }) => {
    const state = join(await temporaryFolder(), "state");
    await (await FileStorage.open(state)).close?.();
    const hasIpv6 = await listens("::1", 0).then(
      (server) => server.close(),
      () => undefined,
    );
    skip(hasIpv6 === undefined, "this machine has no IPv6, and no second address that another program could take");
    const { origin, child, ended } = await inspect(["--state", state]);
    const port = Number(new URL(origin).port);
    for (const name of ["127.0.0.1", "[::1]", "localhost"])
      expect((await fetch(`http://${name}:${port}/`)).status, name).toBe(200);
    for (const host of ["127.0.0.1", "::1"]) await expect(listens(host, port)).rejects.toThrow("EADDRINUSE");
    child.kill("SIGTERM");
    expect(await ended).toBe(0);

    const taken = await listens("::1", port);
    await expect(inspect(["--state", state, "--port", String(port)])).rejects.toThrow("it has ended with 3");
    taken.close();
  });

  it("shows broken workflows with the code around their errors, as `phasegate validate` does", async () => {
    const folder = await temporaryFolder();
    const [phased, routed, state] = ["phased", "routed", "state"].map((name) => join(folder, name));
    if (phased === undefined || routed === undefined || state === undefined) throw new Error("no folders");
    await writeFiles(phased, FAULTY);
    await writeFiles(routed, { "lost/index.md": "# Lost\n\n## Steps\n\n1. [One](steps/none.md)\n" });
    await (await FileStorage.open(state)).close?.();
    const { get } = await inspect(["--state", state, "--workflows", phased, "--routed", routed]);
    const { items } = await get<WorkflowList>("workflows");
    for (const [type, place] of [
      ["small", phased],
      ["lost", routed],
    ] as const) {
      const item = items.find((one) => one.type === type);
      const frames = item?.status === "broken" ? item.diagnostics.flatMap(({ frame }) => frame ?? []) : [];
      expect(frames.length).toBeGreaterThan(0);
      const { stdout } = await run("validate", place);
      for (const frame of frames) expect(stdout).toContain(frame.replace(/^/gm, "  "));
    }
  });

  it("opens the page by a file of this user, since all users see the arguments of a process", async ({ skip }) => {
    skip(process.platform !== "linux", "other desktops have other commands");
    const [folder, temporary] = [await temporaryFolder(), await temporaryFolder()];
    await (await FileStorage.open(join(folder, "state"))).close?.();
    const said = join(folder, "said");
    await writeFiles(folder, { "xdg-open": `#!/bin/sh\nprintf '%s\\n' "$@" > ${said}.new\nmv ${said}.new ${said}\n` });
    await chmod(join(folder, "xdg-open"), 0o755);
    const env = { PATH: `${folder}:${process.env.PATH}`, TMPDIR: temporary };
    const { child, origin, token, ended } = await inspect(["--state", join(folder, "state"), "--open"], env);
    await vi.waitFor(() => access(said));
    const opened = (await readFile(said, "utf8")).trim();
    expect(opened).not.toContain(token);
    expect(await readFile(opened, "utf8")).toContain(`content="0; url=${origin}/#token=${token}"`);
    expect([(await stat(opened)).mode & 0o777, (await stat(dirname(opened))).mode & 0o777]).toEqual([0o600, 0o700]);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
  });

  it("reports a state that is missing, a port that is in use, and a token that can be guessed", async () => {
    const folder = await temporaryFolder();
    const missing = await run("inspect", "--state", join(folder, "none"));
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining("none")]);
    const state = join(folder, "state");
    await (await FileStorage.open(state)).close?.();
    const { origin } = await inspect(["--state", state]);
    const taken = await run("inspect", "--state", state, "--port", new URL(origin).port);
    expect([taken.code, taken.stderr]).toEqual([3, expect.stringContaining("--port 0")]);
    vi.stubEnv("PHASEGATE_INSPECTOR_TOKEN", "secret");
    const short = await run("inspect", "--state", state);
    expect([short.code, short.stderr]).toEqual([2, expect.stringContaining("32 characters")]);
  });
});

describe("phasegate serve --inspector", () => {
  /** Starts a server, and returns the URL of the page as its log has it. */
  async function serve(env: Readonly<Record<string, string>> = {}) {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, "workflows"), SMALL);
    const args = ["--workflows", join(folder, "workflows"), "--state", join(folder, "state"), "--inspector", "0"];
    const child = spawn(process.execPath, [BIN, "serve", ...args], { env: { ...process.env, ...env } });
    running.push(child);
    let log = "";
    const url: string = await new Promise((resolve) => {
      child.stderr.on("data", (chunk) => {
        log += String(chunk);
        const found = /"url":"([^"]*#token=[^"]*)"/.exec(log)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    return { child, url, log: () => log };
  }

  it("keeps a secret that a variable has out of the log", async () => {
    const token = "0123456789abcdef0123456789abcdef";
    const { url, log } = await serve({ PHASEGATE_INSPECTOR_TOKEN: token });
    expect(url).toMatch(/^http:\/\/localhost:\d+\/#token=\$PHASEGATE_INSPECTOR_TOKEN$/);
    expect(log()).not.toContain(token);
    const headers = { "content-type": "application/json", "x-phasegate": "1" };
    const body = JSON.stringify({ token });
    expect((await fetch(`${new URL(url).origin}/api/login`, { method: "POST", headers, body })).status).toBe(200);
  });

  it("serves the page next to the tools, and its URL is in the log", async () => {
    const { child, url } = await serve();
    expect((await fetch(`${new URL(url).origin}/api/sessions`)).status).toBe(401);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin.end();
    expect(await ended).toBe(0);
  });
});

describe("phasegate graph", () => {
  it("prints a workflow or a session, as Mermaid or as SVG", async () => {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, "phased"), SMALL);
    await writeFiles(join(folder, "routed"), GARDENS);
    const places = ["--workflows", join(folder, "phased"), "--routed", join(folder, "routed")];
    const phased = await run("graph", "small", ...places);
    expect([phased.code, phased.stdout]).toEqual([0, expect.stringMatching(/^flowchart TD\n {2}n0\["1\. /)]);
    const routed = await run("graph", "GARDEN", ...places, "--svg");
    expect([routed.code, routed.stdout]).toEqual([0, expect.stringMatching(/^<svg .*Dig.*<\/svg>\n$/s)]);

    const state = join(folder, "state");
    const storage = await FileStorage.open(state);
    const engine = createEngine({ storage, content: new MemoryContent({ sources: { asking: askingFiles } }) });
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    const session = await run("graph", sessionId, "--state", state);
    expect([session.code, session.stdout]).toEqual([0, expect.stringContaining(":::current")]);
    await storage.close?.();

    const missing = await run("graph", "none", ...places);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("--starters")]);
    for (const name of ["none", "No Name"]) {
      const neither = await run("graph", name, "--state", state);
      expect(neither).toMatchObject({ code: 1, stderr: expect.stringContaining(`no workflow and no session ${name}`) });
      expect(neither.stderr).toContain("--starters");
    }
  });

  it("takes several folders from the variable, and includes files from the roots that are given", async () => {
    const folder = await temporaryFolder();
    await writeFiles(join(folder, "phased"), SMALL);
    await writeFiles(join(folder, "routed"), GARDENS);
    vi.stubEnv("PHASEGATE_WORKFLOWS", ["", folder, join(folder, "phased")].join(delimiter));
    expect((await run("graph", "small")).code).toBe(0);
    const routed = ["graph", "SHARED", "--routed", join(folder, "routed")];
    expect(await run(...routed)).toMatchObject({ code: 1, stderr: expect.stringContaining("has errors") });
    expect((await run(...routed, "--include-root", "shared")).code).toBe(0);
  });
});

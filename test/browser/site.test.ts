/** Opens every page of the built site in a browser, as its readers do. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium } from "../support/chromium.js";

const SITE = fileURLToPath(new URL("../../site/dist", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".png": "image/png",
  ".txt": "text/plain; charset=utf-8",
};

/** The page of a name, which that of its entry point leads to. */
const OF_A_NAME = /^\/api\/.+\/.+\//;

const executablePath = findChromium();
const REASON = executablePath === undefined ? " (skipped: no Chromium; apt-get install chromium)" : "";

/** Serves the files of the site and nothing else. */
function serve(): Promise<Server> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const path = join(SITE, decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname));
    const type = TYPES[extname(path)];
    if (type === undefined || !path.startsWith(SITE) || !existsSync(path)) {
      response.writeHead(404).end("not found");
    } else {
      response.writeHead(200, { "content-type": type }).end(readFileSync(path));
    }
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** What a page was found to have. */
interface Visited {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
}

describe.skipIf(REASON !== "")(`the site${REASON}`, () => {
  const pages = globSync("**/*.html", { cwd: SITE }).map((file) => `/${file.replaceAll("\\", "/")}`);
  const problems: string[] = [];
  let server: Server;
  let browser: Browser;
  let origin: string;

  beforeAll(async () => {
    server = await serve();
    const { port } = server.address() as AddressInfo;
    origin = `http://127.0.0.1:${port}`;
    browser = await chromium.launch({ executablePath: String(executablePath), args: ["--no-sandbox"] });
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  /** Opens a tab that adds every error, failed request, and request to another server to the problems. */
  async function openTab(): Promise<Page> {
    const context = await browser.newContext();
    const tab = await context.newPage();
    const add = (problem: string) => problems.push(`${new URL(tab.url()).pathname}: ${problem}`);
    tab.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) add(message.text());
    });
    tab.on("pageerror", (error) => add(error.message));
    tab.on("requestfailed", (request) => add(`${request.url()} failed: ${request.failure()?.errorText}`));
    tab.on("response", (response) => {
      if (response.status() >= 400) add(`${response.url()} answered ${response.status()}`);
    });
    tab.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== "data:") add(`asked another server: ${url}`);
    });
    return tab;
  }

  it("has a page for each document, each entry point and each error code", () => {
    expect(pages).toEqual(
      expect.arrayContaining([
        ...["/index.html", "/overview.html", "/start.html", "/errors.html", "/design/log.html"],
        ...["/api/index/index.html", "/api/index/functions/createEngine.html"],
      ]),
    );
    expect(pages.length).toBeGreaterThan(400);
  });

  it("opens without an error, a failed request, a request to another server or a dead link", async () => {
    problems.length = 0;
    const visited = new Map<string, Visited>();
    // Of the pages of names, which are made alike, every tenth.
    const opened = pages.filter((page, index) => !OF_A_NAME.test(page) || index % 10 === 0);
    const waiting = [...opened];
    const visit = async () => {
      const tab = await openTab();
      for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
        await tab.goto(origin + page, { waitUntil: "load" });
        // The page was there before its scripts, which may fail.
        await tab.waitForFunction(() => "__vue_app__" in Object(document.querySelector("#app")));
        const ids = await tab.$$eval("[id]", (all) => all.map(({ id }) => id));
        const links = await tab.$$eval("a[href]", (all) => all.map((link) => (link as HTMLAnchorElement).href));
        visited.set(page, { ids: new Set(ids), links });
      }
      await tab.context().close();
    };
    await Promise.all([visit(), visit()]);
    expect([...visited.keys()].sort()).toEqual([...opened].sort());

    let checked = 0;
    for (const [page, { links }] of visited) {
      for (const link of new Set(links)) {
        const { origin: where, pathname, hash } = new URL(link);
        if (where !== origin) continue;
        checked += 1;
        const target = visited.get(pathname.endsWith("/") ? `${pathname}index.html` : pathname);
        const isFile = existsSync(join(SITE, pathname)) && !pathname.endsWith("/");
        if (target === undefined && !isFile) problems.push(`${page}: dead link ${pathname}`);
        const id = decodeURIComponent(hash.slice(1));
        if (target !== undefined && id !== "" && !target.ids.has(id))
          problems.push(`${page}: dead link ${pathname}${hash}`);
      }
    }
    expect(checked).toBeGreaterThan(2000);
    expect(problems).toEqual([]);
  });

  it("finds an error code by its search, and shows its entry", async () => {
    problems.length = 0;
    const tab = await openTab();
    await tab.goto(origin);
    await tab.click("#local-search button");
    await tab.fill("#localsearch-input", "EVIDENCE_TOO_LARGE");
    await tab.click('a[href$="/errors.html#evidence_too_large"]');
    await tab.waitForURL(`${origin}/errors.html#evidence_too_large`);
    await expect.poll(() => tab.innerText("h2#evidence_too_large")).toContain("EVIDENCE_TOO_LARGE");
    expect(problems).toEqual([]);
  });

  it("has a dark mode that is kept", async () => {
    problems.length = 0;
    const tab = await openTab();
    await tab.goto(origin);
    const isDark = () => tab.evaluate(() => document.documentElement.classList.contains("dark"));
    expect(await isDark()).toBe(false);
    await tab.click(".VPNavBar .VPSwitchAppearance");
    await expect.poll(isDark).toBe(true);
    await tab.goto(`${origin}/errors.html`);
    await expect.poll(isDark).toBe(true);
    expect(problems).toEqual([]);
  });

  it("has llms.txt, which lists every page of the documentation", () => {
    const listed = [...readFileSync(join(SITE, "llms.txt"), "utf8").matchAll(/\]\((\/[^)]*)\)/g)].map(
      ([, url = ""]) => url,
    );
    const expected = pages
      .map((page) => page.replace(/index\.html$/, ""))
      .filter(
        (page) => !OF_A_NAME.test(page) && !["/404.html", "/", "/overview.html", "/contents.html"].includes(page),
      );
    expect(listed.sort()).toEqual(expected.sort());
    expect(readFileSync(join(SITE, "llms-full.txt"), "utf8")).toContain("# Error codes");
  });
});

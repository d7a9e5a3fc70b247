/** Tabs of a browser on an inspector, which note everything that should not happen. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Frame, type Page } from "playwright-core";
import { findChromium } from "../support/chromium.js";
import type { Inspected } from "./inspected.js";

const executablePath = findChromium();
/** Stands in the names of tests that are skipped. */
export const REASON = executablePath === undefined ? " (skipped: no Chromium; apt-get install chromium)" : "";

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: String(executablePath), args: ["--no-sandbox"] });
}

/** A tab, and what went wrong in it: errors, requests to other servers, violations of the policy. */
export interface Tab {
  readonly page: Page;
  readonly problems: string[];
  /** Opens a view by its path below the base path. */
  visit(path: string): Promise<void>;
  close(): Promise<void>;
}

/** Logs in by the URL that the inspector prints. */
export async function openTab(
  browser: Browser,
  { origin, url, base = "/inspector" }: Pick<Inspected, "origin" | "url"> & { readonly base?: string },
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin", ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error.stack)));
  page.on("dialog", (dialog) => {
    problems.push(`a dialog opens: ${dialog.message()}`);
    dialog.dismiss().catch(() => undefined);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}${base}/`)) problems.push(`asks ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error(`policy: ${violatedDirective} ${blockedURI}`),
    );
  });
  const visit = async (path: string) => {
    await page.goto(`${origin}${base}/${path}`);
    await settled(page);
  };
  await page.goto(url);
  await settled(page);
  return { page, problems, visit, close: () => context.close() };
}

/** Waits until the view shows what it has to show. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  await page.waitForFunction(() => document.querySelector(".loading") === null);
}

/** Returns what axe-core finds wrong with a page or a frame in it, in words. */
export async function violations(page: Page | Frame): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { run } = Reflect.get(globalThis, "axe");
    const found: { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] } = await run();
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  });
}

/** Takes a picture of the whole page, if PHASEGATE_SCREENSHOTS names a folder for them. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.PHASEGATE_SCREENSHOTS;
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

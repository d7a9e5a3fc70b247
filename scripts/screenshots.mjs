/**
 * Takes the pictures of the inspector in docs/images.
 *
 *     node --import ./scripts/run-sources.mjs scripts/screenshots.mjs
 *     node --import ./scripts/run-sources.mjs scripts/screenshots.mjs --crowded FOLDER
 *
 * With --crowded it takes those of much of everything, in light, dark and on a phone, to be looked at. It needs the built page
 * (`node scripts/build-page.mjs`) and Chromium.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { inspect, populate, UNDERSTOOD } from "../test/browser/inspected.ts";
import { findChromium } from "../test/support/chromium.ts";
import { CROWD, crowd, LONG } from "../test/support/crowded.ts";

/** Sessions that fill the list. */
const MORE = [
  "src/plan/rows.ts",
  "src/cli/options.ts",
  "docs/storage.md",
  "src/sandbox/read.ts",
  "src/rules/cost.ts",
  "test/log/replay.test.ts",
  "src/http/api.ts",
];
const VIEWPORT = { width: 1280, height: 800 };
const crowded = process.argv.indexOf("--crowded");
const folder = crowded === -1 ? "docs/images" : process.argv[crowded + 1];
mkdirSync(folder, { recursive: true });

// The sessions of the pictures were begun a while ago, and go on by a little with each look at the clock.
const step = crowded === -1 ? 40_000 : 280_000;
let ahead = crowded === -1 ? 3_000_000 : 40 * 86_400_000;
const now = () => {
  ahead = Math.max(0, ahead - step);
  return Date.now() - ahead;
};
const world = await inspect({ sources: { long_march: LONG }, clock: { now } });
const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
try {
  if (crowded === -1) {
    for (const target of MORE) {
      const { sessionId } = await world.engine.start({ workflowType: "change", target });
      await world.engine.session(sessionId).completePhase(1, UNDERSTOOD);
    }
    const ids = await populate(world);
    ahead = 0;
    await takePictures(ids);
  } else await takeCrowded(await crowd(world, CROWD));
} finally {
  await browser.close();
  await world.close();
}

async function open(options) {
  const page = await (await browser.newContext({ viewport: VIEWPORT, locale: "en-GB", ...options })).newPage();
  await page.goto(world.url);
  await page.waitForSelector("h1");
  return async (path, name, prepare = async () => {}) => {
    await page.goto(`${world.origin}/inspector/${path}`);
    await page.waitForSelector("h1");
    await page.waitForFunction(() => document.querySelector(".loading") === null);
    await prepare(page);
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(folder, `${name}.png`) });
  };
}

async function takePictures({ refused }) {
  const take = await open({});
  await take("sessions", "inspector-sessions");
  await take(`sessions/${refused}`, "inspector-attempt", (page) => page.waitForSelector(".attempt[open] .tree"));
}

async function takeCrowded({ long, large }) {
  const forms = {
    light: {},
    dark: { colorScheme: "dark" },
    phone: { viewport: { width: 390, height: 844 } },
  };
  for (const [form, options] of Object.entries(forms)) {
    const take = await open(options);
    await take("sessions", `${form}-sessions`);
    await take("inbox", `${form}-inbox`);
    await take(`sessions/${long}`, `${form}-long`);
    await take(`sessions/${long}?tab=graph`, `${form}-long-graph`);
    await take(`sessions/${large}`, `${form}-large`, async (page) => {
      const closed = page.locator(".attempt:not([open]) > summary");
      while ((await closed.count()) > 0) await closed.first().click();
      await page.waitForTimeout(500);
    });
    await take("statistics", `${form}-statistics`);
    await take("workflows", `${form}-workflows`);
    await take("workflows/train", `${form}-workflow`);
  }
}

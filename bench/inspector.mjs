/**
 * The inspector's page in Chromium, which is begun anew for each figure: the first of 5,000 sessions, of each storage, from a server
 * that has just started; a session with 10,000 commits, scrolling; the bytes of the page; and how fast the server gives the first
 * and the hundredth page of 100,000 sessions.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { PAGE_FILES } from "../src/inspector/page-files.js";
import { KINDS, opened, serve, TOKEN } from "./inspector-host.mjs";
import { inFolder, median, ratio, row, time } from "./measure.mjs";

const LISTED = 5000;
const MANY = 100_000;
const COMMITS = 10_000;
const ROUNDS = 5;
const FIRST_MS = 400;
const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";
const HOST = fileURLToPath(new URL("inspector-host.mjs", import.meta.url));

/** Opens a view in a browser that has nothing cached; returns the microseconds until it has drawn something, and what `use` finds. */
async function shown(origin, path, selector, use = async () => undefined) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.addInitScript(markDrawn, selector);
    await page.goto(`${origin}/${path}#token=${TOKEN}`, { waitUntil: "commit" });
    const drawn = await page.waitForFunction(() => performance.getEntriesByName("drawn")[0]?.startTime);
    return { microseconds: (await drawn.jsonValue()) * 1000, used: await use(page) };
  } finally {
    await browser.close();
  }
}

/** In the page: marks the time, counted from the navigation, when a frame has been drawn with what a selector finds. */
function markDrawn(selector) {
  const changes = new MutationObserver(() => {
    if (document.querySelector(selector) === null) return;
    changes.disconnect();
    // A task that is made before a frame runs after it.
    requestAnimationFrame(() => setTimeout(() => performance.mark("drawn")));
  });
  changes.observe(document, { childList: true, subtree: true });
}

/** Returns the microseconds until the list is drawn, of a server in a process of its own that nobody has asked before. */
async function firstShown(kind, folder) {
  const host = fork(HOST, [kind, folder, String(LISTED)]);
  try {
    const [origin] = await once(host, "message");
    return (await shown(origin, "sessions", ".sessions tbody th a")).microseconds;
  } finally {
    host.kill();
    await once(host, "exit");
  }
}

/** Scrolls through the list; returns the longest time between two frames, in microseconds. */
function scroll(page) {
  return page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let longest = 0;
    let last = await frame();
    for (let step = 0; step < 300; step += 1) {
      scrollBy(0, 120);
      const now = await frame();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest * 1000;
  });
}

function pageBytes() {
  const files = Object.entries(PAGE_FILES).filter(([name]) => name !== "licenses.txt");
  return files.reduce((bytes, [, text]) => bytes + gzipSync(text, { level: 9 }).length, 0);
}

/** Asks the server for page after page; returns the microseconds of the first one and of the hundredth. */
async function paged({ inspector }) {
  const headers = { "content-type": "application/json", "x-phasegate": "1" };
  const body = JSON.stringify({ token: TOKEN });
  const at = "http://localhost/api";
  const login = await inspector.fetch(new Request(`${at}/login`, { method: "POST", headers, body }));
  const cookie = login.headers.get("set-cookie").split(";")[0];
  let cursor = "";
  const times = [];
  for (let page = 0; page < 100; page += 1) {
    const begun = performance.now();
    const response = await inspector.fetch(
      new Request(`${at}/sessions?limit=100&cursor=${cursor}`, { headers: { cookie } }),
    );
    ({ cursor } = await response.json());
    times.push((performance.now() - begun) * 1000);
  }
  return { first: times[0], hundredth: times[99] };
}

/** Returns a row for each storage. */
function listRows() {
  return inFolder(async (folder) => {
    for (const kind of KINDS) await (await opened(kind, folder, LISTED)).close();
    const found = KINDS.map(() => []);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [index, kind] of KINDS.entries()) found[index].push(await firstShown(kind, folder));
    return KINDS.map((kind, index) => {
      const drawn = median(found[index]);
      const what = `inspector, first of 5,000 sessions drawn, a new server, ${kind}`;
      return row(what, time(drawn), `limit ${FIRST_MS} ms`, ratio(drawn, FIRST_MS * 1000), 1);
    });
  });
}

/** Returns the median time until a long session is drawn, and that of the longest frame while a list is scrolled. */
function longViews() {
  return inFolder(async (folder) => {
    const few = await opened("SQLite", folder, LISTED);
    const id = await few.start("src/long.ts");
    for (let commit = 1; commit < COMMITS; commit += 2) {
      await few.engine.session(id).pause();
      await few.engine.session(id).resume();
    }
    const { origin, close } = await serve(few.inspector);
    const found = { session: [], frame: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      found.frame.push((await shown(origin, "sessions", ".sessions tbody th a", scroll)).used);
      found.session.push((await shown(origin, `sessions/${id}`, ".timeline .state")).microseconds);
    }
    close();
    await few.close();
    return { session: median(found.session), frame: median(found.frame) };
  });
}

/** Returns the median times of the first and of the hundredth page of many sessions. */
function manyPages() {
  return inFolder(async (folder) => {
    const many = await opened("SQLite", folder, MANY);
    await paged(many);
    const found = { first: [], hundredth: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      const { first, hundredth } = await paged(many);
      found.first.push(first);
      found.hundredth.push(hundredth);
    }
    await many.close();
    return { first: median(found.first), hundredth: median(found.hundredth) };
  });
}

/** `only` names a part: "list" gives the rows of the list alone. */
export async function run(only) {
  const lists = await listRows();
  if (only === "list") return lists;
  const { session, frame } = await longViews();
  const { first, hundredth } = await manyPages();
  const bytes = pageBytes();
  return [
    ...lists,
    row("inspector, session with 10,000 commits on screen", time(session), "limit 1.5 s", ratio(session, 1.5e6), 1),
    row("inspector, longest frame while scrolling", time(frame), "limit 50 ms", ratio(frame, 50_000), 1),
    row("inspector, its page gzipped", `${(bytes / 1000).toFixed(1)} kB`, "limit 47.6 kB", ratio(bytes, 47_600), 1),
    row(
      "inspector, hundredth page of 100,000 sessions",
      time(hundredth),
      `first page ${time(first)}`,
      ratio(hundredth, first),
      1.5,
    ),
  ];
}

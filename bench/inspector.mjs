/**
 * The inspector's page in Chromium, which is begun anew for each figure: the list of 5,000 sessions, a session with 10,000
 * commits, scrolling; the bytes of the page; and how fast the server gives the first and the hundredth page of 100,000 sessions.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import { createInspector } from "phasegate/inspector";
import { SqliteStorage } from "phasegate/sqlite";
import { chromium } from "playwright-core";
import { atOnce, median, ratio, row, time } from "./measure.mjs";
import { benchTool } from "./workflow.mjs";

const LISTED = 5000;
const MANY = 100_000;
const COMMITS = 10_000;
const ROUNDS = 5;
/** So many sessions are started at the same time: their commits share transactions. */
const AT_ONCE = 100;
const TOKEN = "a-token-of-more-than-thirty-two-characters";
const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";

/** Opens a database with so many sessions, and an inspector on it. */
async function filled(folder, sessions) {
  const database = new DatabaseSync(join(folder, `${sessions}.db`));
  // A sync for each commit would take minutes, and nothing here is about disks.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const storage = await SqliteStorage.open(database);
  const { engine, type } = benchTool(6, storage);
  const start = async (target) => (await engine.start({ workflowType: type, target })).sessionId;
  await atOnce(AT_ONCE, 0, sessions, (index) => start(`src/part-${index % 40}/file-${index}.ts`));
  const inspector = createInspector({ engine, access: { token: TOKEN } });
  const close = async () => {
    inspector.close();
    await storage.close();
    database.close();
  };
  return { engine, start, inspector, close };
}

async function serve(inspector) {
  const server = createServer(async (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const chunks = await incoming.toArray();
    const end = new AbortController();
    outgoing.once("close", () => end.abort());
    const body = method === "POST" ? { body: Buffer.concat(chunks) } : {};
    const request = new Request(`http://${headers.host}${url}`, { method, headers, signal: end.signal, ...body });
    const response = await inspector.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    await pipeline(response.body ?? [], outgoing).catch(() => outgoing.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, close };
}

/** Opens a view in a browser that has nothing cached; returns the page, and the microseconds until it shows something. */
async function opened(origin, path, selector, use = async () => undefined) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    const begun = performance.now();
    await page.goto(`${origin}/${path}#token=${TOKEN}`, { waitUntil: "commit" });
    await page.waitForSelector(selector);
    const microseconds = (performance.now() - begun) * 1000;
    return { microseconds, used: await use(page) };
  } finally {
    await browser.close();
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

async function pageBytes() {
  const folder = new URL("../dist/page/", import.meta.url);
  let bytes = 0;
  for (const name of await readdir(folder)) {
    if (name !== "licenses.txt") bytes += gzipSync(await readFile(new URL(name, folder)), { level: 9 }).length;
  }
  return bytes;
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

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-inspector-"));
  const few = await filled(folder, LISTED);
  const id = await few.start("src/long.ts");
  for (let commit = 1; commit < COMMITS; commit += 2) {
    await few.engine.session(id).pause();
    await few.engine.session(id).resume();
  }
  const { origin, close } = await serve(few.inspector);
  const found = { list: [], session: [], frame: [], first: [], hundredth: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const list = await opened(origin, "sessions", ".sessions tbody th a", scroll);
    found.list.push(list.microseconds);
    found.frame.push(list.used);
    found.session.push((await opened(origin, `sessions/${id}`, ".timeline .state")).microseconds);
  }
  close();
  await few.close();
  const many = await filled(folder, MANY);
  await paged(many);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { first, hundredth } = await paged(many);
    found.first.push(first);
    found.hundredth.push(hundredth);
  }
  await many.close();
  await rm(folder, { recursive: true, force: true });
  const [list, session, frame] = [found.list, found.session, found.frame].map(median);
  const [first, hundredth] = [found.first, found.hundredth].map(median);
  const bytes = await pageBytes();
  return [
    row("inspector, first of 5,000 sessions on screen, Chromium", time(list), "limit 1 s", ratio(list, 1e6), 1),
    row("inspector, session with 10,000 commits on screen", time(session), "limit 1.5 s", ratio(session, 1.5e6), 1),
    row("inspector, longest frame while scrolling", time(frame), "limit 50 ms", ratio(frame, 50_000), 1),
    row("inspector, its page gzipped", `${(bytes / 1000).toFixed(1)} kB`, "limit 90 kB", ratio(bytes, 90_000), 1),
    row(
      "inspector, hundredth page of 100,000 sessions",
      time(hundredth),
      `first page ${time(first)}`,
      ratio(hundredth, first),
      1.5,
    ),
  ];
}

/** Sessions by the million for scale.mjs and ten-million.mjs, and what is done among them. */
import { createHash } from "node:crypto";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { refusingWorkflow } from "./contention-workflow.mjs";
import { median, ratio } from "./measure.mjs";
import { benchWorkflow, evidenceOf } from "./workflow.mjs";

const PHASES = 2;
/** The first session is made then, the others in equal steps. */
export const FIRST = Date.UTC(2021, 0, 1);
const PAGE = 50;
/** Of 1,000 sessions the hundredth page is one of ten. */
const SHORT_PAGE = 10;
const STEPS = 200;

const content = new MemoryContent({ workflows: [benchWorkflow(PHASES), refusingWorkflow] });
const limits = { maxActiveSessions: Infinity, maxAttempts: 1e9, maxAttemptsTotal: 1e9 };
const evidence = evidenceOf(512);
export const engineOn = (storage) => createEngine({ storage, content, limits });

/** What is replaced in the commits of a template. */
export const [OLD_TARGET, OLD_TIME] = ["src/TARGET.ts", "2001-01-01T00:00:00.000Z"];

/** The commits that an engine makes of one session, with a time and a target that can be replaced. */
async function template(commands) {
  const storage = new MemoryStorage();
  const clock = { now: () => Date.parse(OLD_TIME) };
  const engine = createEngine({ storage, content, clock, limits });
  const { sessionId } = await engine.start({ workflowType: `bench_${PHASES}`, target: OLD_TARGET });
  await commands(engine, sessionId);
  const commits = [];
  for await (const commit of storage.log(sessionId)) commits.push(commit);
  return { sessionId, commits };
}

/** The same session under another id, so many milliseconds after the one before. */
export function renamed({ sessionId, commits }, index, apart) {
  const id = `${sessionId.slice(0, -8)}${index.toString(16).padStart(8, "0")}`;
  const at = new Date(FIRST + index * apart).toISOString();
  const own = (text) =>
    text.replaceAll(sessionId, id).replaceAll(OLD_TARGET, `src/${index}.ts`).replaceAll(OLD_TIME, at);
  let previousHash = "";
  return commits.map((commit) => {
    const body = own(commit.body);
    const hash = createHash("sha256").update(`${previousHash}\n${body}`).digest("hex");
    const summary = JSON.parse(own(JSON.stringify(commit.summary)));
    const made = { ...commit, sessionId: id, at, summary, body, previousHash, hash };
    previousHash = hash;
    return made;
  });
}

/** A completed session, a paused one and an active one. */
export async function templates() {
  return {
    whole: await template(async (engine, id) => {
      for (let phase = 1; phase <= PHASES; phase += 1) await engine.session(id).completePhase(phase, evidence);
    }),
    paused: await template((engine, id) => engine.session(id).pause()),
    active: await template(() => undefined),
  };
}

/** Where the hundredth page of so many begins. */
async function hundredthCursor(storage, limit) {
  let cursor;
  for (let page = 1; page < 100; page += 1) {
    ({ cursor } = await storage.list({ limit, ...(cursor === undefined ? {} : { cursor }) }));
  }
  return cursor;
}

async function fullPage(storage, query) {
  const { items } = await storage.list(query);
  if (items.length !== query.limit) throw new Error(`a page of ${items.length}`);
}

/** What is done among sessions that were made so many milliseconds after each other. */
export async function tasksAmong(storage, apart) {
  const engine = engineOn(storage);
  for (const status of ["completed", "paused", "active"]) {
    const [first] = (await storage.list({ status: [status], limit: 1 })).items;
    if (!(await engine.session(first.sessionId).audit()).intact)
      throw new Error("a session is not as an engine writes it");
  }
  const cursor = await hundredthCursor(storage, SHORT_PAGE);
  let started = 0;
  const start = async () => {
    started += 1;
    const { sessionId } = await engine.start({ workflowType: `bench_${PHASES}`, target: `src/new-${started}.ts` });
    return sessionId;
  };
  let fresh = "";
  // Of no kind there are none: without a position, all of a kind have changed.
  let { position } = await storage.changes("of no kind");
  let counted;
  let removed = 0;
  return {
    "list, first page of 50": { fn: () => fullPage(storage, { limit: PAGE }) },
    "list, first page of 50 active": { fn: () => fullPage(storage, { status: ["active"], limit: PAGE }) },
    "list, hundredth page of 10": { fn: () => fullPage(storage, { limit: SHORT_PAGE, cursor }) },
    start: { fn: start },
    "complete a phase": {
      before: async () => {
        fresh = await start();
      },
      once: () => engine.session(fresh).completePhase(1, evidence),
    },
    "what has changed since one commit": {
      before: start,
      once: async () => {
        const changes = await storage.changes("phased", position);
        if (changes.sessionIds.length === 0) throw new Error("nothing has changed");
        ({ position } = changes);
      },
    },
    "statistics, one new session": {
      before: async () => {
        counted ??= (await engine.statistics()).cursor;
        await start();
      },
      once: async () => {
        ({ cursor: counted } = await engine.statistics({ cursor: counted }));
      },
    },
    "cleanup of one session": {
      once: async () => {
        // The oldest one that there is: it is older than the next one.
        const end = FIRST + removed * apart + apart / 2;
        const cleaned = await engine.cleanup({ olderThan: Date.now() - end });
        if (cleaned.removed.length !== 1) throw new Error(`${cleaned.removed.length} sessions were removed`);
        removed += 1;
      },
    },
  };
}

/** Times what can be done only so often, in both in turn. */
export async function inTurn(few, many) {
  const times = [[], []];
  for (let step = 0; step < STEPS; step += 1) {
    for (const [index, { before, once }] of [few, many].entries()) {
      await before?.();
      const begun = performance.now();
      await once();
      times[index].push((performance.now() - begun) * 1000);
    }
  }
  const [fewer, more] = times.map(median);
  return { few: fewer, many: more, ratio: ratio(more, fewer) };
}

/** The bytes that the tables of a schema take, with their indexes. */
export async function bytesOf(pool, schema) {
  const tables =
    "SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace";
  const { rows } = await pool.query(tables, [schema]);
  return Number(rows[0].bytes);
}

/** The rows as a table in Markdown. */
export function tableOf(rows) {
  const lines = rows.map(
    ({ what, figure, baseline, ratio: found, bar }) =>
      `| ${what} | ${figure} | ${baseline} | ${found} | ${bar} | ${found <= bar ? "yes" : "no"} |`,
  );
  return `| what | measured | baseline | ratio | bar | held |\n|---|---|---|---|---|---|\n${lines.join("\n")}`;
}

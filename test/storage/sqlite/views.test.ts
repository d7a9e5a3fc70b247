import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { collect, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { routed, Script } from "../../routed/engine/garden.js";
import { makeEngine, startTwoPhases } from "../../support/make-engine.js";
import { built } from "../../support/workflows.js";
import { ROUTED_INSTANCE, ROUTED_REPORTS, reportRow, routedReports } from "../common/routed-reports.js";
import { newDatabases, query } from "./new-database.js";

const newDatabase = newDatabases();

it("the views show the sessions of an engine as the log has them", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const { engine, clock } = makeEngine({ storage });
  const id = await startTwoPhases(engine);
  clock.advance(1000);
  await engine.session(id).completePhase(1, {});
  await engine.session(id).completePhase(1, built);
  await engine.session(id).pause();
  clock.advance(1000);
  await engine.session(id).resume();
  await engine.session(id).rollback(1);
  const log = await collect(storage.log(parseSessionId(id)));
  const newest = log.at(-1)?.summary;
  expect(query(file, "SELECT * FROM workflow_instances")).toEqual([
    {
      instance_id: id,
      workflow_name: "two_phases",
      current_step_name: "1",
      status: "RUNNING",
      context: '{"kind":"phased","target":"src/a.ts","total":2}',
      created_at: newest?.createdAt,
      updated_at: newest?.updatedAt,
      completed_at: null,
      version: 6,
    },
  ]);
  const history = query(file, "SELECT * FROM workflow_history ORDER BY history_entry_id");
  expect(history.map((row) => [row.step_name, row.outcome_status, row.determined_next_step])).toEqual([
    ["1", "gate_failed", "1"],
    ["1", "gate_passed", "2"],
    ["2", "paused", "2"],
    ["2", "RESUMING", "2"],
    ["2", "rolled_back", "1"],
  ]);
  expect(history.map((row) => row.timestamp)).toEqual(log.slice(1).map(({ at }) => at));
  for (const [index, row] of history.entries()) {
    const { events } = JSON.parse(log[index + 1]?.body ?? "");
    expect(JSON.parse(String(row.user_report))).toEqual(events);
  }
  // The question that docs/storage/sqlite.md has.
  const failed = await readFile(new URL("documented/failed-gates.sql", import.meta.url), "utf8");
  expect(query(file, failed)).toEqual([{ session_id: id, at: log[1]?.at, phase: 1 }]);
  const events = query(file, "SELECT version, event FROM phasegate_events ORDER BY version, place");
  const said = log.flatMap(({ version, body }) =>
    JSON.parse(body).events.map((event: unknown) => ({ version, event })),
  );
  expect(events.map(({ version, event }) => ({ version, event: JSON.parse(String(event)) }))).toEqual(said);
  await engine.close();
  await storage.close();
});

it("the views show each status by its own word, and the time at which a session ended", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const at = (minute: number) => `2026-01-02T03:${String(minute).padStart(2, "0")}:00.000Z`;
  let last = makeCommit({ at: at(0), body: "{}" });
  await storage.append(last);
  const rows: unknown[] = [];
  for (const [minute, status] of (
    ["active", "paused", "active", "failed", "failed", "active", "completed"] as const
  ).entries()) {
    last = nextCommit(last, { at: at(minute + 1), body: "{}", summary: { status, current: minute } });
    await storage.append(last);
    const [row] = query(
      file,
      "SELECT status, current_step_name AS step, updated_at, completed_at FROM workflow_instances",
    );
    rows.push(Object.values(row ?? {}));
  }
  expect(rows).toEqual([
    ["RUNNING", "0", at(1), null],
    ["SUSPENDED", "1", at(2), null],
    ["RUNNING", "2", at(3), null],
    ["FAILED", "3", at(4), at(4)],
    ["FAILED", "4", at(5), at(4)],
    ["RUNNING", "5", at(6), null],
    ["COMPLETED", "6", at(7), at(7)],
  ]);
  const outcomes = query(file, "SELECT outcome_status AS outcome FROM workflow_history ORDER BY history_entry_id");
  expect(outcomes.map(({ outcome }) => outcome)).toEqual([
    "RUNNING",
    "SUSPENDED",
    "RESUMING",
    "FAILED",
    "FAILED",
    "RUNNING",
    "COMPLETED",
  ]);
  await storage.close();
});

it("the views accept bodies of any content", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  let last = makeCommit({ body: "no JSON" });
  await storage.append(last);
  const events = JSON.stringify({ events: [{ type: "said", text: "x".repeat(2000) }] });
  for (const body of ["still none", "\0{}", "[]", '{"events":1}', events, '{"events":[{"type":"short"}]}']) {
    last = nextCommit(last, { body });
    await storage.append(last);
  }
  const history = query(file, "SELECT user_report AS report, outcome_status AS outcome FROM workflow_history");
  expect(history.map(Object.values)).toEqual([
    [null, "RUNNING"],
    [null, "RUNNING"],
    [null, "RUNNING"],
    ["1", "RUNNING"],
    [JSON.stringify([{ type: "said", text: "x".repeat(2000) }]), "said"],
    ['[{"type":"short"}]', "short"],
  ]);
  expect(query(file, "SELECT version, place, type FROM phasegate_events")).toMatchObject([
    { version: 5, type: null },
    { version: 6, place: 1, type: "said" },
    { version: 7, place: 1, type: "short" },
  ]);
  expect((await collect(storage.log(last.sessionId))).map(({ body }) => body)[2]).toBe("\0{}");
  await storage.close();
});

it("the views show the context of a routed workflow, and each report with its outcome and the decided step", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const id = await routedReports(storage);
  expect(query(file, "SELECT * FROM workflow_instances")).toMatchObject([ROUTED_INSTANCE]);
  const history = query(file, "SELECT * FROM workflow_history ORDER BY history_entry_id");
  expect(history.map(reportRow)).toEqual(ROUTED_REPORTS);
  expect(await storage.hint(id)).toBe((await collect(storage.log(id))).length);
  await storage.close();
});

describe("the outcome of a commit is the type of its first event, or the session's status", () => {
  it.each<[string, object, string]>([
    ["events inside something else", { more: { events: [{ type: "inner" }] }, events: [{ type: "outer" }] }, "outer"],
    ["events in a list", { more: [{ events: [{ type: "inner" }] }] }, "RUNNING"],
    ["a text that looks like them", { text: '"events":[{"type":"said"', events: [{ type: "outer" }] }, "outer"],
    ["a name that ends like them", { 'an "events": [': 1, 'more"events': [{ type: "inner" }] }, "RUNNING"],
    ["an event whose type comes later", { events: [{ at: 1, type: "later" }] }, "later"],
    ["a type with quotes", { events: [{ type: 'a "word"' }] }, 'a "word"'],
    ["a type that is not a text", { events: [{ type: 1 }] }, "RUNNING"],
    ["no event", { events: [] }, "RUNNING"],
  ])("%s", async (_name, value, outcome) => {
    const file = await newDatabase();
    const storage = await SqliteStorage.open(file);
    const first = makeCommit({ body: "{}" });
    await storage.append(first);
    await storage.append(nextCommit(first, { body: JSON.stringify(value) }));
    expect(query(file, "SELECT outcome_status FROM workflow_history")).toEqual([{ outcome_status: outcome }]);
    await storage.close();
  });
});

it("one damaged commit does not keep the views from showing the others", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  let last = makeCommit();
  await storage.append(last);
  for (let count = 0; count < 3; count += 1) {
    last = nextCommit(last);
    await storage.append(last);
  }
  query(file, "UPDATE phasegate_commits SET summary = 'no JSON', body = '{' WHERE version = 3");
  expect(query(file, "SELECT history_entry_id, step_name, user_report FROM workflow_history")).toMatchObject([
    { history_entry_id: 2, step_name: "1" },
    { history_entry_id: 3, step_name: "1", user_report: null },
    { history_entry_id: 4, step_name: null },
  ]);
  expect(query(file, "SELECT status FROM workflow_instances")).toEqual([{ status: "RUNNING" }]);
  await storage.close();
});

it("the views show texts that SQLite can't hold in hexadecimal", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  await storage.append(makeCommit({ summary: { target: "a\0b" } }));
  expect(query(file, "SELECT context FROM workflow_instances")).toMatchObject([
    { context: expect.stringContaining('"target":"610000006200"') },
  ]);
  await storage.close();
});

it("an audit misses the last commits of a routed session, which have no rows in the history", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const id = await routedReports(storage);
  await storage.close();
  const database = new DatabaseSync(file);
  database.exec("DELETE FROM phasegate_commits WHERE seq = (SELECT max(seq) FROM phasegate_commits)");
  database.close();
  const again = await SqliteStorage.open(file);
  const { engine } = routed(new Script(), { storage: again });
  expect(await engine.session(id).audit()).toMatchObject({ intact: false });
  await again.close();
});

it("the views show nothing of a deleted session", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const first = makeCommit();
  const second = nextCommit(first);
  for (const commit of [first, second, nextCommit(second, { summary: { status: "deleted" } })]) {
    await storage.append(commit);
  }
  expect(query(file, "SELECT * FROM workflow_instances")).toEqual([]);
  expect(query(file, "SELECT * FROM workflow_history")).toEqual([]);
  expect(await collect(storage.log(first.sessionId))).toHaveLength(3);
  await storage.close();
});

it("an audit detects a log whose end was cut off", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  const { engine } = makeEngine({ storage });
  const id = await startTwoPhases(engine);
  await engine.session(id).completePhase(1, {});
  expect(await engine.session(id).audit()).toMatchObject({ intact: true, versions: 2 });
  query(file, "DELETE FROM phasegate_commits WHERE seq = 2");
  expect(await engine.session(id).audit()).toMatchObject({
    intact: false,
    reason: expect.stringContaining("commit 2"),
  });
  await engine.session(id).delete();
  expect(await storage.hint(parseSessionId(id))).toBe(0);
  await engine.close();
  await storage.close();
});

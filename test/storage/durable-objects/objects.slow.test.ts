/** DurableStorage in workerd: what an object keeps when it ends, texts that are larger than a row, and its tables. */
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { digest } from "../../../src/workflow/json.js";
import { temporaryRoots } from "../files/temporary-root.js";
import { RemoteStorage } from "./remote-storage.js";
import { bundled, type RunningWorker, startWorker } from "./workerd.js";

const MEBIBYTE = 1024 * 1024;
const newRoot = temporaryRoots();

let script: string;
let worker: RunningWorker;
beforeAll(async () => {
  script = await bundled("storage-object.ts");
  worker = await startWorker(script, { className: "Sessions", isNode: true });
});
afterAll(() => worker.stop());

const payloadOf = (body: string) => ({ hash: digest(body), body });

describe("an object that has ended", () => {
  const first = makeCommit({ payloads: [payloadOf("x".repeat(3 * MEBIBYTE))] });
  const { payloads: [payload] = [], ...stored } = first;

  async function expectAll(sessions: RemoteStorage): Promise<void> {
    expect(await sessions.call("read", first.sessionId)).toEqual(stored);
    expect((await sessions.call("payload", first.sessionId, payload?.hash ?? "")) === payload?.body).toBe(true);
    expect((await sessions.call("list", {})).items).toEqual([first.summary]);
    await expect(sessions.call("append", first)).rejects.toMatchObject({ code: "CONFLICT" });
    const gone = makeCommit({ sessionId: "gone" });
    await expect(sessions.call("append", gone)).rejects.toMatchObject({ code: "CONFLICT" });
  }
  async function fill(sessions: RemoteStorage): Promise<void> {
    await sessions.call("append", first);
    const gone = makeCommit({ sessionId: "gone" });
    await sessions.call("append", gone);
    await sessions.call("remove", gone.sessionId);
  }

  it("has everything when it begins anew", async () => {
    const sessions = new RemoteStorage(worker.url, "evicted");
    await fill(sessions);
    await sessions.evict();
    await expectAll(sessions);
    await sessions.call("append", nextCommit(first));
  });

  it("has everything in another runtime", async () => {
    const folder = await newRoot();
    const before = await startWorker(script, { className: "Sessions", isNode: true, folder });
    await fill(new RemoteStorage(before.url, "moved")).finally(before.stop);
    const after = await startWorker(script, { className: "Sessions", isNode: true, folder });
    await expectAll(new RemoteStorage(after.url, "moved")).finally(after.stop);
  });
});

describe("a text that is larger than a row", () => {
  const PART = 500_000;

  it.each([
    ["as long as a part", "x".repeat(PART)],
    ["one longer than a part", "x".repeat(PART + 1)],
    ["of exactly two parts", "x".repeat(2 * PART)],
    ["of 15 MiB", "0123456789abcdef".repeat((15 * MEBIBYTE) / 16)],
    ["of wide characters", "\uffff".repeat(3 * PART)],
    ["with a pair of surrogates where it is cut", `${"x".repeat(PART - 1)}\u{1f331}${"y".repeat(PART)}`],
    ["with lone surrogates and U+0000", `\ud800\0${"\udc00".repeat(PART)}`],
  ])("comes back exactly, %s", async (name, text) => {
    const sessions = new RemoteStorage(worker.url, name.replaceAll(" ", "-"));
    const first = makeCommit({ body: text });
    const second = nextCommit(first, { body: "", payloads: [payloadOf(text)] });
    await sessions.call("append", first);
    await sessions.call("append", second);
    const [read, last] = await sessions.call("log", first.sessionId);
    expect(read?.body === text).toBe(true);
    expect(last?.body).toBe("");
    expect((await sessions.call("payload", first.sessionId, digest(text))) === text).toBe(true);
    const { commits, bytes } = (await sessions.call("size", first.sessionId)) ?? { commits: 0, bytes: 0 };
    expect(commits).toBe(2);
    expect(bytes).toBeGreaterThan(2 * text.length);
  });

  it("is delivered by a watch whose session is removed", async () => {
    const first = makeCommit({ body: "x".repeat(MEBIBYTE) });
    const watched = await new RemoteStorage(worker.url, "watched").call("watchRemoval", first);
    expect(watched).toHaveLength(2);
    expect(watched[0]).toBe(`${first.hash} ${MEBIBYTE}`);
  });

  it("is damaged if its parts are missing", async () => {
    const sessions = new RemoteStorage(worker.url, "damaged");
    const first = makeCommit({ body: "x".repeat(MEBIBYTE) });
    await sessions.call("append", first);
    await sessions.sql("DELETE FROM phasegate_payloads");
    await expect(sessions.call("read", first.sessionId)).rejects.toMatchObject({
      code: "TAMPERED",
      message: expect.stringContaining("its body is missing"),
    });
  });
});

describe("the tables of an object", () => {
  test("show the log to people", async () => {
    const sessions = new RemoteStorage(worker.url, "people");
    await sessions.call("append", makeCommit());
    expect(await sessions.sql("SELECT instance_id, status FROM workflow_instances")).toEqual([
      { instance_id: "session_1", status: "RUNNING" },
    ]);
  });

  test("may have a prefix, beside a table of the object's", async () => {
    const sessions = new RemoteStorage(worker.url, "prefix", "acme_");
    await sessions.sql("CREATE TABLE workflow_history (x)");
    await sessions.call("append", makeCommit());
    expect(await sessions.sql("SELECT instance_id FROM acme_workflow_instances")).toHaveLength(1);
  });

  test("are refused if a table of the object's has their name, and nothing is made", async () => {
    const sessions = new RemoteStorage(worker.url, "taken");
    await sessions.sql("CREATE TABLE workflow_history (x)");
    await expect(sessions.call("list", {})).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      remedy: expect.stringContaining("tablePrefix"),
    });
    const made = "SELECT name FROM sqlite_schema WHERE name >= 'phasegate' AND name < 'phasegatf'";
    expect(await sessions.sql(made)).toEqual([]);
  });

  test("of a newer version are refused", async () => {
    const sessions = new RemoteStorage(worker.url, "newer");
    await sessions.call("list", {});
    await sessions.sql("INSERT INTO phasegate_migrations VALUES (99, 'later')");
    await sessions.evict();
    await expect(sessions.call("list", {})).rejects.toMatchObject({ code: "FORMAT_TOO_NEW" });
  });
});

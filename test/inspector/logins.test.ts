import { createInspector } from "phasegate/inspector";
import { createToken, createTokenLogin, tokensText } from "phasegate/login";
import { describe, expect, it, vi } from "vitest";
import type { About, LiveMessage } from "../../src/inspector/wire.js";
import type { Role } from "../../src/ports/actor.js";
import type { Inbox, SessionDetail, SessionList } from "../../src/read/model.js";
import { Recorder } from "../../src/workspace/session/machine.js";
import { startTwoPhases } from "../support/make-engine.js";
import { makeHouse, ORIGIN } from "./house.js";

const PEOPLE = { amy: "agent", ben: "agent", vera: "viewer", ann: "approver", olga: "operator" } as const;
type Name = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as Name[];

/** A house where each person has a token. Amy has a session, Ben has one that waits for an approval. */
async function shared() {
  const { engine, routed, storage } = await makeHouse();
  const made = NAMES.map((name) => createToken({ name, roles: [PEOPLE[name] as Role] }, Date.now()));
  const tokens = new Map(NAMES.map((name, index) => [name, made[index]?.token ?? ""]));
  const revoked = new Set<string>();
  const read = () => tokensText(made.map(({ entry }) => entry).filter(({ name }) => !revoked.has(name)));
  const inspector = createInspector({
    ...{ engine, routed, recorded: { storage } },
    access: { login: createTokenLogin({ read }) },
    basePath: "/inspector",
    actions: ["pause", "delete"],
    unsigned: true,
  });
  const send = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    inspector.fetch(new Request(`${ORIGIN}/inspector/${path}`, init));
  const headers = { "content-type": "application/json", "x-phasegate": "1" };
  const post = (path: string, body: object, more: Record<string, string> = {}) =>
    send(`api/${path}`, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
  const bearer = (name: Name) => ({ authorization: `Bearer ${tokens.get(name)}` });
  const get = async <T>(name: Name, path: string): Promise<T> =>
    (await send(`api/${path}`, { headers: bearer(name) })).json();
  const status = async (name: Name, path: string) => (await send(`api/${path}`, { headers: bearer(name) })).status;
  const amySession = await startTwoPhases(engine.as({ name: "amy" }));
  const asking = await engine.as({ name: "ben" }).start({ workflowType: "asking", target: "src/b.ts" });
  await engine.as({ name: "ben" }).session(asking.sessionId).completePhase(1, { tests_pass: true });
  return {
    engine,
    storage,
    inspector,
    tokens,
    revoked,
    send,
    post,
    bearer,
    get,
    status,
    amySession,
    asking: asking.sessionId,
  };
}

describe("the inspector behind a login of the server", () => {
  it("shows agents their own sessions, and the others those of all, by owner", async () => {
    const { get, status, amySession, asking } = await shared();
    const listed = async (name: Name, query = "") =>
      (await get<SessionList>(name, `sessions?${query}`)).items.map(({ sessionId }) => sessionId).toSorted();
    expect(await listed("amy")).toEqual([amySession]);
    expect(await listed("ben")).toEqual([asking]);
    for (const name of ["vera", "ann", "olga"] as const) {
      expect(await listed(name)).toEqual([amySession, asking].toSorted());
      expect(await listed(name, "owner=amy")).toEqual([amySession]);
      expect(await get<SessionDetail>(name, `sessions/${amySession}`)).toMatchObject({ summary: { owner: "amy" } });
    }
    expect(await listed("ben", "owner=amy")).toEqual([]);
    expect(await get<SessionList>("ben", "sessions")).toMatchObject({ total: 1 });
    for (const path of ["", "/commits", "/attempts", "/waiting", "/audit"]) {
      expect(await status("ben", `sessions/${amySession}${path}`)).toBe(404);
    }
    expect((await get<Inbox>("amy", "inbox")).items).toEqual([]);
    expect((await get<Inbox>("vera", "inbox")).items).toMatchObject([{ sessionId: asking }]);
    expect((await get<About>("vera", "about")).actor).toBe("vera");
  });

  it("shows recorded sessions with their owners, to agents their own, and old ones to those who see all", async () => {
    const { storage, get, status, send, bearer } = await shared();
    const recorder = new Recorder({ storage, clock: { now: Date.now } });
    await recorder.open("of_amy", { owner: { name: "amy", team: "red" }, acts: [] });
    await recorder.open("of_ben", { owner: { name: "ben" }, acts: [] });
    await recorder.open("of_nobody", { acts: [] });
    const listed = async (name: Name, query = "") => {
      const { items, total } = await get<SessionList>(name, `sessions?kind=recorded${query}`);
      expect(total).toBe(items.length);
      return items.map(({ sessionId }) => sessionId).toSorted();
    };
    expect(await listed("amy")).toEqual(["of_amy"]);
    expect(await listed("ben")).toEqual(["of_ben"]);
    expect(await listed("ben", "&owner=amy")).toEqual([]);
    for (const name of ["vera", "ann", "olga"] as const) {
      expect(await listed(name)).toEqual(["of_amy", "of_ben", "of_nobody"]);
      expect(await listed(name, "&owner=amy")).toEqual(["of_amy"]);
      const detail = await get<SessionDetail>(name, "sessions/of_amy");
      expect(detail).toMatchObject({ kind: "recorded", summary: { owner: "amy", team: "red" } });
    }
    expect(await get<SessionDetail>("amy", "sessions/of_amy")).toMatchObject({ summary: { owner: "amy" } });
    expect(await get("amy", "sessions/of_amy/audit")).toMatchObject({ intact: true });
    for (const id of ["of_ben", "of_nobody"]) {
      expect([await status("amy", `sessions/${id}`), await status("amy", `sessions/${id}/audit`)]).toEqual([404, 404]);
      const refused = await send(`api/sessions/${id}`, { headers: bearer("amy") });
      const missing = await send("api/sessions/of_zoe", { headers: bearer("amy") });
      expect((await refused.text()).replaceAll(id, "ID")).toBe((await missing.text()).replaceAll("of_zoe", "ID"));
    }
    // The stream of an agent does not even name what changes elsewhere.
    const { body } = await send("api/events", { headers: bearer("amy") });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    await recorder.record("of_ben", { type: "listed", path: "x", entries: 1 });
    await recorder.record("of_amy", { type: "listed", path: "x", entries: 1 });
    let told = "";
    while (!told.includes("of_amy")) told += (await reader?.read())?.value ?? "";
    expect(told).not.toContain("of_ben");
    await reader?.cancel();
  });

  it("lets approvers answer, and operators act, each under their own name", async () => {
    const { engine, get, post, bearer, amySession, asking } = await shared();
    const { request = "" } = (await get<Inbox>("ann", "inbox")).items[0] ?? {};
    const { evidenceHash } = (await engine.session(asking).approval()) ?? {};
    const yes = { what: "approval", decision: "approve", by: "somebody else", request, evidenceHash };
    for (const name of ["amy", "ben", "vera"] as const) {
      const refused = await post(`sessions/${asking}/answer`, yes, bearer(name));
      expect([403, 404]).toContain(refused.status);
    }
    expect((await engine.session(asking).state()).head.phase).toBe(1);
    expect(await post(`sessions/${asking}/answer`, yes, bearer("ann"))).toMatchObject({ status: 200 });
    expect(JSON.stringify(await engine.session(asking).commits())).toContain('"by":"ann"');
    expect(JSON.stringify(await engine.session(asking).commits())).not.toContain("somebody else");
    const pause = { action: "pause", by: "somebody else", note: "lunch" };
    for (const name of ["amy", "ben", "vera", "ann"] as const) {
      expect((await post(`sessions/${amySession}/action`, pause, bearer(name))).status).toBe(403);
      expect((await get<About>(name, "about")).actions).toEqual([]);
    }
    expect((await post(`sessions/${amySession}/action`, pause, bearer("olga"))).status).toBe(200);
    expect((await engine.session(amySession).state()).head.status).toBe("paused");
    expect(JSON.stringify(await engine.session(amySession).commits())).toContain('"olga"');
  });

  it("takes a token once for a cookie and a key, needs both, and ends with the token", async () => {
    const { send, post, tokens, revoked, amySession } = await shared();
    const url = `sessions/${amySession}/action`;
    expect((await post("login", { token: "pgt_wrong" })).status).toBe(401);
    expect((await post("login", { token: "two words" })).status).toBe(401);
    const entered = await post("login", { token: tokens.get("olga") });
    const set = entered.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/; Path=\/inspector; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(tokens.get("olga"));
    const cookie = set.split(";")[0] ?? "";
    const { key } = await entered.json();
    const pass = { cookie, "x-phasegate": String(key) };
    const pause = { action: "pause", by: "", note: "lunch" };
    expect((await send("api/sessions", { headers: pass })).status).toBe(200);
    expect((await send("api/sessions", { headers: { cookie } })).status).toBe(401);
    expect((await post(url, pause, { cookie })).status).toBe(401);
    expect((await post(url, pause, pass)).status).toBe(200);
    // The keys of two logins are not the same.
    const other = await (await post("login", { token: tokens.get("olga") })).json();
    expect((await post(url, pause, { cookie, "x-phasegate": other.key })).status).toBe(401);
    revoked.add("olga");
    expect((await send("api/sessions", { headers: pass })).status).toBe(401);
    revoked.clear();
    expect((await send("api/sessions", { headers: pass })).status).toBe(401);
    expect((await send("api/sessions")).status).toBe(401);
    expect((await send("api/sessions", { headers: { ...pass, cookie: cookie.replace(/=.*/, "=x") } })).status).toBe(
      401,
    );
  });

  it.each([
    { where: "behind a proxy with TLS", host: "gates.example", origin: "https://gates.example", secure: true },
    { where: "under a name of its own, to a client that names no origin", host: "gates.example:8080", secure: true },
    { where: "on this machine", host: "localhost:7000", origin: "http://localhost:7000", secure: false },
    {
      where: "without TLS, where the browser would drop it",
      host: "10.1.2.3",
      origin: "http://10.1.2.3",
      secure: false,
    },
  ])("gives a cookie $where", async ({ host, origin, secure }) => {
    const { engine } = await makeHouse();
    const login = { authenticate: async () => ({ name: "amy" }) };
    const inspector = createInspector({ engine, access: { login }, hosts: [host] });
    const named: Record<string, string> = origin === undefined ? { host } : { host, origin };
    const headers = { "content-type": "application/json", "x-phasegate": "1", ...named };
    const body = JSON.stringify({ token: "any" });
    // As the command line's server has it: its URL has this machine's address, whatever the client has called it.
    const request = new Request("http://127.0.0.1:8080/api/login", { method: "POST", headers, body });
    const cookie = (await inspector.fetch(request)).headers.get("set-cookie");
    expect(cookie).toMatch(secure ? /; SameSite=Strict; Secure$/ : /; SameSite=Strict$/);
  });

  it("goes on with a stream as long as the token counts, and closes it soon after", async () => {
    const timers = new Set<{ readonly milliseconds: number; readonly callback: () => void }>();
    const after = (milliseconds: number, callback: () => void) => {
      const timer = { milliseconds, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    };
    const { engine } = await makeHouse();
    const made = createToken({ name: "vera", roles: ["viewer"] }, Date.now());
    let tokens = tokensText([made.entry]);
    const login = createTokenLogin({ read: () => tokens });
    const inspector = createInspector({ engine, access: { login }, clock: { now: Date.now, after } });
    const headers = { authorization: `Bearer ${made.token}` };
    const { body } = await inspector.fetch(new Request(`${ORIGIN}/api/events`, { headers }));
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toMatchObject({ value: expect.stringContaining("open") });
    const beat = async () => {
      // The login has long answered the question of the beat before.
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (const timer of timers) {
        if (timer.milliseconds < 10_000) continue;
        timers.delete(timer);
        timer.callback();
      }
      return reader?.read();
    };
    // Two minutes, and nothing is opened anew.
    for (let beats = 0; beats < 8; beats += 1) expect(await beat()).toMatchObject({ value: ": beat\n\n" });
    tokens = tokensText([]);
    await beat();
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
    inspector.close();
  });

  it("tells an agent of changes of its own sessions alone; the storage has one watcher for all who look", async () => {
    const { engine, inspector, send, bearer, amySession, asking, storage } = await shared();
    const watching = vi.spyOn(storage, "watch");
    const open = async (name: Name) => {
      const end = new AbortController();
      const { body } = await send("api/events", { headers: bearer(name), signal: end.signal });
      let text = "";
      const reading = (async () => {
        for await (const part of body ?? []) text += new TextDecoder().decode(part);
      })();
      return { text: () => text, end: () => end.abort(), reading };
    };
    const [ben, vera] = [await open("ben"), await open("vera")];
    await expect.poll(() => ben.text() !== "" && vera.text() !== "").toBe(true);
    await engine.session(amySession).pause({});
    await expect.poll(() => vera.text()).toContain(amySession);
    await engine.session(asking).deny({
      ...{ by: "ann", note: "no" },
      evidenceHash: (await engine.session(asking).approval())?.evidenceHash ?? "",
    });
    await expect.poll(() => ben.text()).toContain(asking);
    expect(ben.text()).not.toContain(amySession);
    await engine.session(amySession).delete({});
    await expect.poll(() => vera.text()).toContain('"gone"');
    await engine.session(asking).delete({});
    await expect.poll(() => ben.text()).toContain('"gone"');
    expect(ben.text()).not.toContain(amySession);
    expect(watching).toHaveBeenCalledTimes(1);
    inspector.close();
    await Promise.all([ben.reading, vera.reading]);
  });

  it("tells an agent whose session is given to another one that it is gone, and no more of it", async () => {
    const { engine, storage, inspector, send, bearer, amySession } = await shared();
    const open = async (name: Name) => {
      const { body } = await send("api/events", { headers: bearer(name) });
      const told: LiveMessage[] = [];
      const reading = (async () => {
        for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? [])
          for (const [, data = ""] of text.matchAll(/^data: (.*)$/gm)) told.push(JSON.parse(data));
      })();
      return { told, reading };
    };
    const [amy, ben, vera] = [await open("amy"), await open("ben"), await open("vera")];
    const logs = vi.spyOn(storage, "log");
    await engine.session(amySession).assign({ name: "ben" }, { by: "olga" });
    await expect.poll(() => [amy, ben, vera].map(({ told }) => told.length)).toEqual([1, 1, 1]);
    expect(amy.told).toEqual([{ type: "gone", sessionId: amySession }]);
    expect(ben.told).toMatchObject([{ type: "session", session: { sessionId: amySession, owner: "ben" } }]);
    expect(logs.mock.calls.filter(([, options]) => options?.limit === 1)).toHaveLength(1);
    // One that neither of them has had.
    const { sessionId } = await engine.as({ name: "zoe" }).start({ workflowType: "two_phases", target: "src/z.ts" });
    await engine.session(sessionId).assign({ name: "yan" }, { by: "olga" });
    await engine.session(amySession).pause({});
    await engine.session(amySession).delete({});
    await expect.poll(() => ben.told.at(-1)).toEqual({ type: "gone", sessionId: amySession });
    await expect.poll(() => vera.told.at(-1)).toEqual({ type: "gone", sessionId: amySession });
    expect(amy.told).toHaveLength(1);
    expect(JSON.stringify(ben.told)).not.toContain(sessionId);
    inspector.close();
    await Promise.all([amy, ben, vera].map(({ reading }) => reading));
  });

  it("reads the inbox once for many requests of those who may see the same, and for nobody else", async () => {
    const { get, storage, asking } = await shared();
    const lists = vi.spyOn(storage, "list");
    const readings = async (names: readonly Name[]) => {
      lists.mockClear();
      const read = await Promise.all(
        names.map(async (name) => [name, (await get<Inbox>(name, "inbox")).items] as const),
      );
      for (const [name, items] of read)
        expect(items.map(({ sessionId }) => sessionId)).toEqual(name === "amy" ? [] : [asking]);
      return lists.mock.calls.length;
    };
    const many = <T>(items: readonly T[]) => Array.from({ length: 10 }, () => items).flat();
    const one = await readings(["vera"]);
    // Those who come while it is read share the next reading.
    expect(await readings(many(["vera", "ann", "olga"]))).toBe(2 * one);
    expect(await readings(many(["ben"]))).toBe(2 * one);
    expect(await readings(many(["ben", "vera", "amy"]))).toBe(6 * one);
  });
});

import { createInspector } from "phasegate/inspector";
import { describe, expect, it } from "vitest";
import { makeHouse, ORIGIN, TOKEN } from "./house.js";

const LOGIN = { method: "POST", body: JSON.stringify({ token: TOKEN }) };

describe("a request", () => {
  it("under another name is refused, the page itself included", async () => {
    const { inspector, cookie } = await makeHouse();
    for (const path of ["", "api/sessions", "page.js"]) {
      const asked = new Request(`http://127.0.0.1:7000/${path}`, { headers: { host: "evil.example:7000", cookie } });
      const response = await inspector.fetch(asked);
      expect([response.status, await response.json()]).toMatchObject([403, { error: { code: "HOST_REFUSED" } }]);
    }
  });

  it("of another web page is refused, with the cookie or without", async () => {
    const { send, pass, write } = await makeHouse();
    const others: Record<string, string>[] = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:7001" },
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" },
      { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" },
    ];
    for (const headers of others) {
      expect((await send("api/sessions", { headers: { ...pass, ...headers } })).status).toBe(403);
      expect((await send("api/login", { ...LOGIN, headers: { ...headers, ...write } })).status).toBe(403);
    }
  });

  it("without a login is refused, and so is one with the token in place of the cookie", async () => {
    const { send, cookie } = await makeHouse();
    const [name = ""] = cookie.split("=");
    for (const wrong of [undefined, `${name}=${TOKEN}`, `${name}=`, `x${cookie}`]) {
      const headers: Record<string, string> = wrong === undefined ? {} : { cookie: wrong };
      expect((await send("api/sessions", { headers })).status).toBe(401);
      expect((await send("api/events", { headers })).status).toBe(401);
    }
    expect((await send(`api/sessions?token=${TOKEN}`)).status).toBe(401);
  });

  it("that changes something needs a header that no form can send, and JSON", async () => {
    const { send, cookie, write } = await makeHouse();
    const body = JSON.stringify({});
    const path = "api/sessions/two_phases_a_20260101_000000/answer";
    const { "x-phasegate": _, ...json } = write;
    expect((await send(path, { method: "POST", headers: { ...json, cookie }, body })).status).toBe(403);
    const form = { ...write, "content-type": "application/x-www-form-urlencoded" };
    expect((await send(path, { method: "POST", headers: { ...form, cookie }, body })).status).toBe(415);
    expect((await send(path, { method: "POST", headers: write, body })).status).toBe(401);
    expect((await send(path, { method: "PUT", headers: { ...write, cookie }, body })).status).toBe(405);
  });

  it("with the cookie alone, which other servers on this machine get as well, reads and changes nothing", async () => {
    const { send, cookie, pass, write, engine } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    const { request } = await (await send(`api/sessions/${sessionId}/waiting`, { headers: pass })).json();
    const body = JSON.stringify({ what: "waiver", decision: "approve", by: "ann", request });
    const answer = (key: string) =>
      send(`api/sessions/${sessionId}/answer`, {
        method: "POST",
        headers: { ...write, cookie, "x-phasegate": key },
        body,
      });
    const [, value = ""] = cookie.split("=");
    for (const key of ["1", "", value, TOKEN]) {
      expect((await answer(key)).status).toBe(401);
      for (const path of ["about", "sessions", `sessions/${sessionId}`, "inbox", "events"]) {
        expect((await send(`api/${path}`, { headers: { cookie, "x-phasegate": key } })).status).toBe(401);
      }
    }
    expect((await send("api/sessions", { headers: { cookie } })).status).toBe(401);
    expect((await engine.session(sessionId).state()).waitsForWaiver).toBe(true);
    expect((await answer(write["x-phasegate"])).status).toBe(200);
  });

  it("with the cookie and the key of an inspector that has ended is refused by the next one with the same token", async () => {
    const { pass, write } = await makeHouse();
    const next = await makeHouse({ actions: ["pause"] });
    const { sessionId } = await next.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect((await next.send("api/sessions", { headers: pass })).status).toBe(401);
    const body = JSON.stringify({ action: "pause", by: "ann", note: "lunch" });
    const pause = (headers: Record<string, string>) =>
      next.send(`api/sessions/${sessionId}/action`, { method: "POST", headers: { ...write, ...headers }, body });
    expect((await pause(pass)).status).toBe(401);
    expect((await next.engine.session(sessionId).state()).head.status).toBe("active");
    expect((await pause(next.pass)).status).toBe(200);
  });

  it("for a path with broken escapes, or a file outside of the page, is refused", async () => {
    const { send, pass, errors } = await makeHouse();
    for (const path of ["api/sessions/%E0%A4%A", "api/workflows/%"]) {
      expect((await send(path, { headers: pass })).status).toBe(400);
    }
    for (const path of ["..%2f..%2fpackage.json", "%2e%2e%2fpage.js", "constructor.name", "page.js%00"]) {
      expect((await send(path)).status).toBe(404);
    }
    expect(errors).toEqual([]);
  });

  it("with a body that is too large or no JSON is refused", async () => {
    const { send, cookie, pass, write } = await makeHouse();
    const path = "api/sessions/two_phases_a_20260101_000000/answer";
    const post = (body: string) => send(path, { method: "POST", headers: { ...write, cookie }, body });
    for (const body of ["{", "", "[]", `"${"x".repeat(70_000)}"`, "[".repeat(60_000)]) {
      expect((await post(body)).status).toBe(400);
    }
    expect((await send(`api/sessions?text=${"x".repeat(10_000)}`, { headers: pass })).status).toBe(400);
  });
});

describe("a login", () => {
  it("gives a cookie that scripts and other sites can't use, for the right token only", async () => {
    const { send, write } = await makeHouse();
    const right = await send("api/login", { ...LOGIN, headers: write });
    expect(right.headers.get("set-cookie")).toMatch(
      /^phasegate-[0-9a-f]{8}=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(right.headers.get("set-cookie")).not.toContain(TOKEN);
    for (const token of ["", "x", `${TOKEN} `, null, [TOKEN]]) {
      const wrong = await send("api/login", { method: "POST", headers: write, body: JSON.stringify({ token }) });
      expect([400, 401]).toContain(wrong.status);
      expect(wrong.headers.get("set-cookie")).toBeNull();
    }
  });

  it("can be the host's own", async () => {
    let allowed: boolean | Response = true;
    const { send } = await makeHouse({ access: { authorize: () => allowed } });
    expect((await send("api/sessions")).status).toBe(200);
    allowed = false;
    expect((await send("api/sessions")).status).toBe(401);
    allowed = new Response("log in at /login", { status: 302, headers: { location: "/login" } });
    const elsewhere = await send("api/sessions");
    expect([elsewhere.status, elsewhere.headers.get("location")]).toEqual([302, "/login"]);
    allowed = Response.redirect("https://login.example.com/", 307);
    const away = await send("api/sessions");
    expect([away.status, away.headers.get("location")]).toEqual([307, "https://login.example.com/"]);
    expect(away.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("needs a token that can't be guessed", async () => {
    const { engine } = await makeHouse();
    expect(() => createInspector({ engine, access: { token: "secret" } })).toThrow(
      "it has 6 characters, and 32 or more are needed",
    );
    expect(() => createInspector({ access: { token: TOKEN } })).toThrow("engine");
  });

  it.each([
    [
      { token: undefined },
      "access.token is not valid: it is undefined",
      /PHASEGATE_INSPECTOR_TOKEN.*phasegate inspect/,
    ],
    [{ authorize: undefined }, "access.authorize is not valid: it is undefined", /^Give the function/],
    [{}, "access is not valid: it names no way in", /^Say who may use the inspector/],
    [
      { token: TOKEN, authorize: () => true },
      "access is not valid: it names more than one way in: token, authorize",
      /^Leave all but one out/,
    ],
    [{ token: "secret" }, "access.token is not valid: it has 6 characters, and 32 or more are needed", /openssl rand/],
    [{ token: 12_345 }, "access.token is not valid: it is no text", /openssl rand/],
  ])("says what is wrong with the way in: %j", async (access, message, remedy) => {
    const { engine } = await makeHouse();
    const refusal = expect.objectContaining({ code: "INVALID_INPUT", message, remedy: expect.stringMatching(remedy) });
    expect(() => createInspector({ engine, access: access as never })).toThrow(refusal);
  });

  it.each([{}, undefined, { token: undefined }, { token: 12_345 }, { authorize: true }, { login: "ann" }])(
    "is never missing: %j is refused",
    async (access) => {
      const { engine } = await makeHouse();
      expect(() => createInspector({ engine, access: access as never })).toThrow(/access/);
    },
  );

  it.each([undefined, null, 0, 1, "", "yes", {}])(
    "of the host's own lets in with true alone, and not with %j",
    async (answer) => {
      const { send } = await makeHouse({ access: { authorize: async () => answer as never } });
      expect((await send("api/sessions")).status).toBe(401);
    },
  );

  it.each([undefined, null, {}, "ann", { name: "" }, { name: "ann", roles: "operator" }, { roles: ["operator"] }])(
    "that answers with %j lets nobody in, least of all as the host",
    async (actor) => {
      const errors: unknown[] = [];
      const { engine } = await makeHouse();
      const login = { authenticate: async () => actor as never };
      const inspector = createInspector({ engine, access: { login }, onError: (error) => errors.push(error) });
      const headers = { authorization: "Bearer x" };
      expect((await inspector.fetch(new Request(`${ORIGIN}/api/sessions`, { headers }))).status).toBe(500);
      expect(String(errors)).toContain("authenticate must return an actor");
    },
  );

  it("ends other logins of the same actor if there are too many, and those of nobody else", async () => {
    const { engine } = await makeHouse();
    const login = {
      authenticate: async ({ headers }: Request) => ({ name: headers.get("authorization")?.slice(7) ?? "" }),
    };
    const inspector = createInspector({ engine, access: { login } });
    const headers = { "content-type": "application/json", "x-phasegate": "1" };
    const enter = async (token: string) => {
      const body = JSON.stringify({ token });
      const answer = await inspector.fetch(new Request(`${ORIGIN}/api/login`, { method: "POST", headers, body }));
      const { key } = await answer.json();
      return { cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "", "x-phasegate": String(key) };
    };
    const status = async (pass: Record<string, string>) =>
      (await inspector.fetch(new Request(`${ORIGIN}/api/about`, { headers: pass }))).status;
    const [ben, first] = [await enter("ben"), await enter("amy")];
    for (let more = 0; more < 20; more += 1) await enter("amy");
    const last = await enter("amy");
    expect([await status(ben), await status(first), await status(last)]).toEqual([200, 401, 200]);
  });
});

describe("every answer", () => {
  it("has headers that allow nothing but the page's own files", async () => {
    const { send, pass } = await makeHouse();
    for (const path of ["api/sessions", "api/nothing", "api/events"]) {
      const { headers } = await send(path, { headers: pass });
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(headers.get("content-security-policy")).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      // A server that compresses would hold events back.
      const kept = path === "api/events" ? "no-store, no-transform" : "no-store";
      expect(headers.get("cache-control")).toBe(kept);
    }
  });

  it("is under the path at which it is mounted, and nowhere else", async () => {
    const { inspector } = await makeHouse({ basePath: "/tools/inspector/" });
    const status = async (path: string) => (await inspector.fetch(new Request(`${ORIGIN}${path}`))).status;
    expect(await status("/tools/inspector/api/about")).toBe(401);
    expect(await status("/tools/inspectors/api/about")).toBe(404);
    expect(await status("/api/about")).toBe(404);
    const elsewhere = await inspector.fetch(new Request(`${ORIGIN}/`));
    expect((await elsewhere.json()).error.remedy).toContain("It is at /tools/inspector, its option basePath");
  });

  it("tells nothing of an error from outside phasegate but that it happened", async () => {
    const { engine, get, errors } = await makeHouse();
    engine.listSessions = () => Promise.reject(new Error("password=secret"));
    await expect(get("inbox")).rejects.toThrow(/^500 .*The inspector has failed/);
    await expect(get("inbox")).rejects.not.toThrow("secret");
    expect(errors).toHaveLength(2);
  });
});

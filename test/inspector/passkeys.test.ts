import { join } from "node:path";
import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createInspector } from "phasegate/inspector";
import { createRoutedEngine } from "phasegate/routed";
import { describe, expect, it } from "vitest";
import { ApproversFile } from "../../src/cli/approvers.js";
import type { About, Challenge, InvitationView } from "../../src/inspector/wire.js";
import type { Inbox, Waiting } from "../../src/read/model.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { askingFiles } from "../support/approvals.js";
import { Authenticator, type Lies } from "../support/authenticator.js";
import { DEPTH_GATE, gardenWith } from "../support/gated-garden.js";
import { TOKEN } from "./house.js";

const ORIGIN = "http://localhost:7000";
const HEADERS = { "content-type": "application/json", "x-phasegate": "1", origin: ORIGIN, host: "localhost:7000" };

/** An inspector whose approvers are invited, a session that waits for Ann, and Ann's browser. */
async function makeDesk() {
  const file = new ApproversFile(join(await temporaryFolder(), "approvers.json"));
  const approvers = () =>
    file.current((error) => {
      throw error;
    });
  const content = new MemoryContent({ sources: { asking: askingFiles } });
  const storage = new MemoryStorage();
  const { secret } = await file.invite("ann", 60_000);
  const engine = createEngine({ storage, content, approvers });
  const decider = new ScriptedDecider(["Sow", "FINISH"]);
  const workflows = gardenWith({ ...DEPTH_GATE, approval: { prompt: "Is it deep enough?", approvers: ["ann"] } });
  const routed = createRoutedEngine({ storage, workflows, decider, approvers });
  const inspector = createInspector({ engine, routed, approvers, invitations: file, access: { token: TOKEN } });
  let key = "1";
  const post = async (path: string, body: object, more: Readonly<Record<string, string>> = {}) => {
    const headers = { ...HEADERS, "x-phasegate": key, ...more };
    const request = new Request(`${ORIGIN}/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const response = await inspector.fetch(request);
    const answer = await response.json();
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    return { status: response.status, answer, cookie };
  };
  const login = await post("login", { token: TOKEN });
  const { cookie } = login;
  key = login.answer.key;
  const get = async (path: string) =>
    (
      await inspector.fetch(
        new Request(`${ORIGIN}/api/${path}`, { headers: { ...HEADERS, cookie, "x-phasegate": key } }),
      )
    ).json();
  const start = async () => {
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    return sessionId;
  };
  const device = await Authenticator.make();
  const register = async (invitation = secret, lies: Lies = {}) => {
    const begun = await post("passkeys/begin", { invitation });
    if (begun.status !== 200) return begun;
    const view: InvitationView = begun.answer;
    const place = { rpId: "localhost", origin: ORIGIN };
    const response = device.registration(view.options.challenge, { ...place, ...lies });
    return post("passkeys/end", { invitation, response });
  };
  /** Answers as Ann's browser does. */
  const answer = async (
    sessionId: string,
    decision: "approve" | "deny",
    lies: Lies = {},
    note = "seen",
    what = "approval",
  ) => {
    const { request, evidenceHash }: Waiting = await get(`sessions/${sessionId}/waiting`);
    const said = { decision, by: "ann", note, request };
    const asked = await post(`sessions/${sessionId}/challenge`, said, { cookie });
    const { challenge, signedAt }: Challenge = asked.answer;
    const signature = await device.assertion(challenge, { rpId: "localhost", origin: ORIGIN, ...lies });
    const body = { ...said, what, evidenceHash, signature: { ...signature, signedAt } };
    return { body, result: await post(`sessions/${sessionId}/answer`, body, { cookie }) };
  };
  return { file, secret, engine, routed, post, get, cookie, start, device, register, answer };
}

describe("an invitation", () => {
  it("registers a passkey once, which then approves", async () => {
    const { engine, get, start, register, answer, secret, post } = await makeDesk();
    expect(await register()).toMatchObject({ status: 200, answer: { name: "ann" } });
    expect(((await get("about")) as About).approvers).toEqual([{ name: "ann", keys: ["passkey"] }]);
    expect(await post("passkeys/begin", { invitation: secret })).toMatchObject({
      status: 400,
      answer: { error: { message: "the invitation was used already" } },
    });
    const sessionId = await start();
    expect((await answer(sessionId, "approve")).result).toMatchObject({ status: 200, answer: { status: "passed" } });
    const audit = await engine.session(sessionId).audit();
    expect(audit.approvals).toMatchObject([{ by: "ann", authenticated: true, key: { kind: "passkey" } }]);
  });

  it("makes another approver, and the statistics go on", async () => {
    const { get, start, register } = await makeDesk();
    await start();
    const before = await get("statistics");
    expect(before).toMatchObject({ workflows: [{ workflowType: "asking" }] });
    await register();
    for (const _ of [1, 2]) expect(await get("statistics")).toEqual(before);
  });

  it("that nobody has given, or for another challenge or page, registers nothing", async () => {
    const { register, get, post, secret } = await makeDesk();
    expect(await register("x".repeat(43))).toMatchObject({ status: 400 });
    for (const lies of [{ challenge: "AAAA" }, { origin: "https://evil.example" }, { verified: false }]) {
      expect(await register(secret, lies)).toMatchObject({ status: 400 });
    }
    const again = await post("passkeys/end", { invitation: secret, response: {} });
    expect(again).toMatchObject({ status: 400 });
    expect(((await get("about")) as About).approvers).toEqual([]);
    const address = await post(
      "passkeys/begin",
      { invitation: secret },
      {
        host: "127.0.0.1:7000",
        origin: "http://127.0.0.1:7000",
      },
    );
    expect(address).toMatchObject({ status: 400, answer: { error: { remedy: expect.stringContaining("localhost") } } });
  });
});

describe("an answer with a passkey", () => {
  it("counts for exactly what was signed", async () => {
    const { start, register, answer, post, cookie, get } = await makeDesk();
    await register();
    const [one, other] = [await start(), await start()];
    for (const lies of [{ verified: false }, { origin: "https://evil.example" }, { challenge: "AAAA" }]) {
      expect((await answer(one, "approve", lies)).result).toMatchObject({ status: 403 });
    }
    const { body } = await answer(one, "deny", {}, "add the tests");
    expect(await post(`sessions/${other}/answer`, body, { cookie })).toMatchObject({ status: 409 });
    const { request }: Waiting = await get(`sessions/${other}/waiting`);
    for (const decision of ["approve", "deny"]) {
      const turned = await post(`sessions/${other}/answer`, { ...body, request, decision }, { cookie });
      expect(turned.status).toBe(403);
    }
    expect((await answer(other, "approve")).result).toMatchObject({ status: 200 });
  });

  it("denies and approves a step of a routed session, for the request that was seen alone", async () => {
    const { routed, register, answer, get, post, cookie } = await makeDesk();
    await register();
    const { sessionId: id } = await routed.start({ workflow: "GARDEN" });
    const dig = (depth: number) => routed.session(id).advance({ report: { status: "success", details: { depth } } });
    await dig(20);
    expect(((await get("inbox")) as Inbox).items).toMatchObject([
      { kind: "routed", sessionId: id, phaseName: "Dig", question: "Is it deep enough?", approvers: ["ann"] },
    ]);
    const seen: Waiting = await get(`sessions/${id}/waiting`);
    expect(seen).toMatchObject({ evidence: { depth: 20 } });
    for (const lies of [{ verified: false }, { origin: "https://evil.example" }, { challenge: "AAAA" }]) {
      expect((await answer(id, "approve", lies)).result).toMatchObject({ status: 403 });
    }
    const { request, evidenceHash } = seen;
    const unsigned = { what: "approval", decision: "approve", by: "ann", request, evidenceHash };
    expect(await post(`sessions/${id}/answer`, unsigned, { cookie })).toMatchObject({ status: 403 });
    const denied = await answer(id, "deny", {}, "dig deeper");
    expect(denied.result).toMatchObject({ status: 200 });
    expect(((await get("inbox")) as Inbox).items).toEqual([]);
    expect(JSON.stringify(await get(`sessions/${id}`))).toContain("dig deeper");

    // The same evidence once more: neither the old answer nor the old request counts.
    await dig(20);
    expect(await post(`sessions/${id}/answer`, denied.body, { cookie })).toMatchObject({ status: 409 });
    expect((await routed.session(id).state()).awaiting?.request).not.toBe(request);
    expect((await answer(id, "approve")).result).toMatchObject({ status: 200 });
    expect((await routed.session(id).state()).awaiting).toBeUndefined();
    const { approvals } = await routed.session(id).audit();
    expect(approvals).toMatchObject([{ step: "Dig", by: "ann", authenticated: true, key: { kind: "passkey" } }]);
  });

  it("grants and denies a waiver", async () => {
    const { engine, register, answer } = await makeDesk();
    await register();
    const { sessionId } = await engine.start({ workflowType: "asking", target: "src/a.ts" });
    const ask = () => engine.session(sessionId).requestWaiver(1, { fields: ["tests_pass"], reason: "no runner here" });
    await ask();
    expect((await answer(sessionId, "approve", { verified: false }, "", "waiver")).result).toMatchObject({
      status: 403,
    });
    const denied = (await answer(sessionId, "deny", {}, "run them", "waiver")).result;
    expect(denied).toMatchObject({ status: 200, answer: { status: "denied" } });
    await ask();
    const granted = (await answer(sessionId, "approve", {}, "seen", "waiver")).result;
    expect(granted).toMatchObject({ status: 200, answer: { status: "granted" } });
  });

  it("is not asked for on a page where it would not count", async () => {
    const { start, register, post, cookie, get } = await makeDesk();
    await register();
    const sessionId = await start();
    const { request }: Waiting = await get(`sessions/${sessionId}/waiting`);
    const elsewhere = { cookie, host: "localhost:7001", origin: "http://localhost:7001" };
    const asked = await post(`sessions/${sessionId}/challenge`, { decision: "approve", by: "ann", request }, elsewhere);
    expect(asked).toMatchObject({
      status: 400,
      answer: {
        error: { message: "ann has no passkey for http://localhost:7001", remedy: expect.stringContaining(ORIGIN) },
      },
    });
  });

  it("is not asked of somebody without one, or for a request that is answered", async () => {
    const { start, register, post, cookie, get } = await makeDesk();
    await register();
    const sessionId = await start();
    const [waiting] = ((await get("inbox")) as Inbox).items;
    const said = { decision: "approve", by: "bob", request: waiting?.request };
    expect(await post(`sessions/${sessionId}/challenge`, said, { cookie })).toMatchObject({
      status: 400,
      answer: { error: { message: "bob has no passkey here" } },
    });
    const stale = { ...said, by: "ann", request: "0".repeat(64) };
    expect(await post(`sessions/${sessionId}/challenge`, stale, { cookie })).toMatchObject({ status: 409 });
    expect(await post(`sessions/${sessionId}/challenge`, said)).toMatchObject({ status: 401 });
  });
});

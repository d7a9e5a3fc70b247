import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineOptions } from "phasegate";
import {
  type ApprovalSignature,
  approvalMessage,
  createApproverKeys,
  readRegistration,
  signApproval,
} from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { ApproversFile } from "../../src/cli/approvers.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { Authenticator, type Lies } from "../support/authenticator.js";
import { failure } from "../support/failure.js";
import { aGate } from "./a-gate.js";

const GATE = `
evidence_schema:
  report: {type: string, description: path of the report, verify: file_exists}
approval: {prompt: Is the report good?, approvers: [ann]}
`;
const TRUTH = { report: "report.md" };
const files = { "report.md": "# Report\n\nAll is well.\n" };

/** Starts a session that waits for Ann, whose passkey the host knows, and Bob's. */
async function asking(algorithm: "ES256" | "Ed25519" = "ES256", more: Partial<EngineOptions> = {}) {
  const [ann, bob] = [await Authenticator.make(algorithm), await Authenticator.make(algorithm)];
  const approvers = { ann: ann.passkey(), bob: bob.passkey() };
  const made = await aGate({ gate: GATE, files, engine: { approvers, ...more } });
  const { engine, id, claim, phase } = made;
  await claim(TRUTH);
  const question = async () => {
    const found = await engine.session(id).approval();
    if (found === undefined) throw new Error("nothing waits");
    return found;
  };
  /** Returns Ann's approval of the waiting evidence, by the device and with the lies that are given. */
  const yes = async (lies: Lies = {}, device = ann) => {
    const asked = await question();
    const signature: ApprovalSignature = await device.sign(asked, { decision: "approve", by: "ann" }, lies);
    return { by: "ann", evidenceHash: asked.evidenceHash, signature };
  };
  /** Expects that an approval is refused for this reason, and that Ann's own is accepted afterwards. */
  const refuses = async (word: Awaited<ReturnType<typeof yes>> & { readonly note?: string }, why: RegExp) => {
    const refused = await failure(engine.session(id).approve(word));
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "signature" } });
    expect(String(refused.cause)).toMatch(why);
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes())).toMatchObject({ passed: true, authenticated: true });
    expect(await phase()).toBe(2);
  };
  return { ...made, ann, bob, question, yes, refuses };
}

describe("an approval by passkey", () => {
  it.each(["ES256", "Ed25519"] as const)("of %s lets an honest agent through", async (algorithm) => {
    const { engine, id, yes, phase, ann } = await asking(algorithm);
    expect(await engine.session(id).approve(await yes())).toMatchObject({
      passed: true,
      authenticated: true,
      by: "ann",
    });
    expect(await phase()).toBe(2);
    expect(await engine.session(id).audit()).toMatchObject({
      intact: true,
      approvals: [{ by: "ann", authenticated: true, key: { kind: "passkey", counter: 1 } }],
      warnings: [],
    });
    expect(ann.counter).toBe(2);
  });

  it("is refused for another request: after a rollback, the same evidence asks anew", async () => {
    const { engine, id, yes, claim, refuses } = await asking();
    const word = await yes();
    await engine.session(id).approve(word);
    await engine.session(id).rollback(1);
    await claim(TRUTH);
    await refuses(word, /challenge/);
  });

  it("is refused with the challenge of another session", async () => {
    const { engine, question, yes, refuses, ann, id } = await asking();
    const other = await engine.start({ workflowType: "honest_v1", target: "src/other.ts" });
    await engine.session(other.sessionId).completePhase(1, TRUTH);
    const asked = await engine.session(other.sessionId).approval();
    if (asked === undefined) throw new Error("nothing waits");
    expect(asked.evidenceHash).toBe((await question()).evidenceHash);
    expect(asked.sessionId).not.toBe(id);
    await refuses(
      { ...(await yes()), signature: await ann.sign(asked, { decision: "approve", by: "ann" }) },
      /challenge/,
    );
  });

  it("is refused from a page of another origin", async () => {
    for (const origin of [
      "https://gates.example.com.evil.example",
      "http://gates.example.com",
      "https://evil.example",
    ]) {
      const { refuses, yes } = await asking();
      await refuses(await yes({ origin }), /origin/);
    }
  });

  it("is refused from a page that another page has embedded", async () => {
    for (const lies of [{ crossOrigin: true }, { crossOrigin: true, topOrigin: "https://evil.example" }]) {
      const { refuses, yes } = await asking();
      await refuses(await yes(lies), /embedded|cross-origin/);
    }
  });

  it("is refused for another relying party", async () => {
    const { refuses, yes } = await asking();
    await refuses(await yes({ rpId: "evil.example" }), /RP ID/);
  });

  it("is refused by a passkey that nobody has invited", async () => {
    const { refuses, yes } = await asking();
    await refuses(await yes({}, await Authenticator.make()), /not by this passkey/);
  });

  it("is refused by the passkey of another approver", async () => {
    const { refuses, yes, bob } = await asking();
    await refuses(await yes({}, bob), /not by this passkey/);
  });

  it("is refused if the device has not verified its user", async () => {
    const { refuses, yes } = await asking();
    await refuses(await yes({ verified: false }), /could not be verified/);
  });

  it("is refused if nobody was present", async () => {
    const { refuses, yes } = await asking();
    await refuses(await yes({ present: false }), /not present/);
  });

  it("is refused if it was made to register a passkey", async () => {
    const { refuses, yes } = await asking();
    await refuses(await yes({ type: "webauthn.create" }), /type/);
  });

  it("is refused with client data that was changed", async () => {
    for (const lies of [{ challenge: "x".repeat(43) }, { origin: "https://evil.example" }]) {
      const { refuses, yes } = await asking();
      const word = await yes(lies);
      const { clientData } = (await yes()).signature;
      await refuses({ ...word, signature: { ...word.signature, clientData } }, /not by this passkey/);
    }
  });

  it("is refused with authenticator data that was changed: its counter, its flags", async () => {
    for (const lies of [{ counter: 4_000_000_000 }, { verified: false }, { present: false }]) {
      const { refuses, yes } = await asking();
      const word = await yes(lies);
      const data = Buffer.from(word.signature.authenticatorData ?? "", "base64url");
      data[32] = 0x05;
      data.writeUInt32BE(9, 33);
      const authenticatorData = data.toString("base64url");
      await refuses({ ...word, signature: { ...word.signature, authenticatorData } }, /not by this passkey/);
    }
  });

  it("is refused without one of its members", async () => {
    for (const member of ["authenticatorData", "clientData"] as const) {
      const { refuses, yes } = await asking();
      const word = await yes();
      const { [member]: _, ...signature } = word.signature;
      await refuses({ ...word, signature }, /belong together/);
    }
  });

  it("is refused with members that are too long, before they are read", async () => {
    const long = "A".repeat(10_000_000);
    for (const member of ["authenticatorData", "clientData", "value", "signedAt"] as const) {
      const { refuses, yes } = await asking();
      const word = await yes();
      await refuses({ ...word, signature: { ...word.signature, [member]: long } }, /too long/);
    }
  });

  it("stores no members that a signature does not have", async () => {
    const { engine, id, yes, state } = await asking();
    const word = await yes();
    const signature = { ...word.signature, more: "x".repeat(1000) };
    await engine.session(id).approve({ ...word, signature });
    // The index of lists is written after the answer.
    await engine.close();
    const entries = await readdir(state, { recursive: true, withFileTypes: true });
    const stored = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const texts = (await Promise.all(stored.map((path) => readFile(path, "utf8")))).join("");
    expect(texts).toContain(word.signature.clientData);
    expect(texts).not.toContain("xxxxxxxxxx");
  });

  it("is refused as a denial, and a denial is refused as an approval", async () => {
    const { engine, id, yes, refuses, question, ann, phase } = await asking();
    const word = await yes();
    expect(await failure(engine.session(id).deny({ ...word, note: "no" }))).toMatchObject({
      details: { reason: "signature" },
    });
    expect(await phase()).toBe(1);
    const denial = await ann.sign(await question(), { decision: "deny", by: "ann", note: "no" });
    await refuses({ ...word, note: "no", signature: denial }, /challenge/);
  });

  it("is refused with another note than the one that was signed", async () => {
    const { yes, refuses } = await asking();
    await refuses({ ...(await yes()), note: "and merge it" }, /challenge/);
  });

  it("is refused if it is the plain Ed25519 signature of the text", async () => {
    const { yes, refuses, ann, question } = await asking("Ed25519");
    const word = await yes();
    const { signedAt } = word.signature;
    const text = approvalMessage(await question(), { decision: "approve", by: "ann", signedAt });
    const value = (await ann.signature(Buffer.from(text))).toString("base64url");
    await refuses({ ...word, signature: { ...word.signature, value } }, /not by this passkey/);
  });

  it("is refused from an approver who has an Ed25519 key, and the other way round", async () => {
    const keys = await createApproverKeys();
    const made = await asking("Ed25519", { approvers: { ann: keys.publicKey } });
    const { engine, id, question, yes, phase } = made;
    const byPasskey = await failure(engine.session(id).approve(await yes()));
    expect(byPasskey).toMatchObject({ details: { reason: "signature" } });
    const asked = await question();
    const signature = await signApproval(asked, { decision: "approve", by: "ann", privateKey: keys.privateKey });
    const word = { by: "ann", evidenceHash: asked.evidenceHash, signature };
    const other = await asking("Ed25519");
    expect(await failure(other.engine.session(other.id).approve(word))).toMatchObject({ code: "APPROVAL_REFUSED" });
    const both = { ...word, signature: { ...signature, authenticatorData: "AAAA", clientData: "AAAA" } };
    expect(await failure(engine.session(id).approve(both))).toMatchObject({ details: { reason: "signature" } });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(word)).toMatchObject({ passed: true });
  });

  it("that another process has recorded with its own passkey for Ann is not accepted", async () => {
    const { engine, id, yes, open, claim } = await asking();
    const agent = await Authenticator.make();
    const theirs = await open({ approvers: { ann: agent.passkey() } });
    await theirs.session(id).approve(await yes({}, agent));
    expect(await failure(engine.session(id).phase())).toMatchObject({ details: { reason: "signature" } });
    expect((await engine.session(id).audit()).approvals).toMatchObject([{ by: "ann", distrust: "signature" }]);
    await engine.session(id).rollback(1);
    await claim(TRUTH);
    expect(await engine.session(id).approve(await yes())).toMatchObject({ passed: true });
  });

  it("by a copy of a passkey, whose counter goes back, gets a warning in the audit", async () => {
    for (const [counter, again] of [
      [9, 5],
      [9, 9],
      [9, 0],
    ] as const) {
      const { engine, id, yes, claim } = await asking();
      await engine.session(id).approve(await yes({ counter }));
      await engine.session(id).rollback(1);
      await claim(TRUTH);
      await engine.session(id).approve(await yes({ counter: again }));
      const { warnings, approvals } = await engine.session(id).audit();
      expect(warnings).toMatchObject([{ by: "ann", counter: again, before: { counter } }]);
      expect(approvals.every(({ distrust }) => distrust === undefined)).toBe(true);
    }
  });
});

describe("an invitation", () => {
  const place = { rpId: "gates.example.com", origins: ["https://gates.example.com"] };

  async function invited(now = () => Date.now()) {
    const path = join(await temporaryFolder(), "approvers.json");
    const file = new ApproversFile(path, now);
    const { secret } = await file.invite("ann", 60_000);
    return { path, file, secret };
  }

  it("registers one passkey, and is refused a second time", async () => {
    const { file, secret, path } = await invited();
    const [first, second] = [await Authenticator.make(), await Authenticator.make()];
    expect(await file.accept(secret, first.passkey())).toEqual({ name: "ann" });
    const refused = await failure(file.accept(secret, second.passkey()));
    expect(refused).toMatchObject({ code: "INVALID_INPUT", message: "the invitation has been used" });
    expect(await file.find(secret)).toEqual({ state: "used" });
    expect(Object.keys(JSON.parse(await readFile(path, "utf8")))).toEqual(["ann"]);
    expect(file.list().invitations).toEqual([]);
  });

  it("that two browsers use at once registers one passkey", async () => {
    const { path, secret } = await invited();
    const devices = await Promise.all([1, 2, 3, 4, 5].map(() => Authenticator.make()));
    const outcomes = await Promise.allSettled(
      devices.map((device) => new ApproversFile(path).accept(secret, device.passkey())),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { ann } = JSON.parse(await readFile(path, "utf8"));
    expect(ann).toMatchObject({ kind: "passkey" });
  });

  it("that is still stored after a crash, although its passkey is registered, is refused", async () => {
    const { path, file, secret } = await invited();
    const stored = await readFile(`${path}.invitations`, "utf8");
    await file.accept(secret, (await Authenticator.make()).passkey());
    await writeFile(`${path}.invitations`, stored);
    expect(await file.find(secret)).toEqual({ state: "used" });
    const again = await failure(file.accept(secret, (await Authenticator.make()).passkey()));
    expect(again.message).toBe("the invitation has been used");
    await writeFile(`${path}.invitations`, stored);
    await file.remove("ann");
    expect(await file.find(secret)).toEqual({ state: "unknown" });
  });

  it("is refused after its time", async () => {
    let now = 1_000_000_000_000;
    const { file, secret } = await invited(() => now);
    expect(await file.find(secret)).toMatchObject({ state: "open", name: "ann" });
    now += 60_000;
    expect(await file.find(secret)).toEqual({ state: "expired" });
    const refused = await failure(file.accept(secret, (await Authenticator.make()).passkey()));
    expect(refused.message).toBe("the invitation has expired");
  });

  it("is refused if the secret was guessed, or its stored digest is given", async () => {
    const { path, file } = await invited();
    const [{ secretHash }] = JSON.parse(await readFile(`${path}.invitations`, "utf8"));
    for (const secret of ["", "x", secretHash, Buffer.from(secretHash, "hex").toString("base64url")]) {
      expect(await file.find(secret)).toEqual({ state: "unknown" });
      expect((await failure(file.accept(secret, (await Authenticator.make()).passkey()))).code).toBe("INVALID_INPUT");
    }
    expect(file.list().approvers).toEqual({});
  });

  it("of a person who was removed no longer counts", async () => {
    const { file, secret } = await invited();
    expect(await file.remove("ann")).toEqual({ keys: 0, invitations: 1 });
    expect(await file.find(secret)).toEqual({ state: "unknown" });
  });

  it("does not register a passkey that is an approver's already", async () => {
    const { file, secret } = await invited();
    const device = await Authenticator.make();
    await file.accept(secret, device.passkey());
    const bobs = await file.invite("bob", 60_000);
    expect((await failure(file.accept(bobs.secret, device.passkey()))).message).toMatch(/approver's already/);
  });

  it.each([
    ["with another challenge", { challenge: "y".repeat(43) }, /challenge/],
    ["on a page of another origin", { origin: "https://evil.example" }, /origin/],
    ["for another relying party", { rpId: "evil.example" }, /RP ID/],
    ["by a device that has not verified its user", { verified: false }, /could not be verified/],
    ["with nobody present", { present: false }, /not present/],
    ["by an assertion", { type: "webauthn.get" }, /type/],
    ["in a page that another page has embedded", { crossOrigin: true }, /embedded/],
    ["with certificates", { fmt: "packed", x5c: true }, /certificates/],
    ["with an attestation of another format", { fmt: "apple" }, /certificates/],
  ] as const)("registers no passkey %s", async (_, lies, why) => {
    const device = await Authenticator.make();
    const challenge = "x".repeat(43);
    const refused = await failure(readRegistration(device.registration(challenge, lies), { challenge, ...place }));
    expect(refused.code).toBe("INVALID_INPUT");
    expect(refused.message).toMatch(why);
    expect(await readRegistration(device.registration(challenge), { challenge, ...place })).toEqual(device.passkey());
  });

  it("registers nothing for what is not an answer, or is too long", async () => {
    const device = await Authenticator.make();
    const challenge = "x".repeat(43);
    const answer = device.registration(challenge);
    const long = { ...answer, response: { ...answer.response, attestationObject: "A".repeat(100_000) } };
    for (const other of [undefined, null, "", {}, { ...answer, type: "x" }, { ...answer, response: {} }, long]) {
      expect((await failure(readRegistration(other, { challenge, ...place }))).code).toBe("INVALID_INPUT");
    }
  });
});

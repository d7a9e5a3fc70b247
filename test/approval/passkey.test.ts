import { passkeyChallenge, readRegistration, registrationOptions } from "phasegate/approval";
import { describe, expect, it, vi } from "vitest";
import { requireDecision } from "../../src/approval/decision.js";
import { keyIdOf } from "../../src/approval/keys.js";
import { approvalMessage } from "../../src/approval/message.js";
import { digest } from "../../src/workflow/json.js";
import { Authenticator } from "../support/authenticator.js";
import { failure } from "../support/failure.js";

const question = {
  ...{ sessionId: "s1", workflowType: "garden", revision: "r1", phase: 2, request: "c0ffee" },
  evidenceHash: "e1",
};
const place = { rpId: "gates.example.com", origins: ["https://gates.example.com"] };

describe("a passkey", () => {
  for (const algorithm of ["ES256", "Ed25519"] as const) {
    it(`of ${algorithm} is registered, and approves`, async () => {
      const device = await Authenticator.make(algorithm);
      const { challenge } = await registrationOptions({ name: "ann", rpId: place.rpId });
      const passkey = await readRegistration(device.registration(challenge), { challenge, ...place });
      expect(passkey).toEqual(device.passkey());
      const word = { decision: "approve", by: "ann", note: "fine" } as const;
      const signature = await device.sign(question, word);
      const host = { approvers: new Map([["ann", [passkey]]]), unsigned: false };
      expect(await requireDecision(host, question, { ...word, signature })).toEqual({
        authenticated: true,
        signature,
        keyId: keyIdOf(passkey),
      });
    });
  }

  it("of a person with several keys approves like the others", async () => {
    const [phone, laptop] = [await Authenticator.make(), await Authenticator.make("Ed25519")];
    const host = { approvers: new Map([["ann", [phone.passkey(), laptop.passkey()]]]), unsigned: false };
    for (const device of [phone, laptop]) {
      const word = { decision: "approve", by: "ann" } as const;
      const signature = await device.sign(question, word);
      expect(await requireDecision(host, question, { ...word, signature })).toMatchObject({
        keyId: keyIdOf(device.passkey()),
      });
    }
  });

  it("signs the SHA-256 of the text that Ed25519 keys sign", () => {
    const answer = { decision: "deny", by: "ann", signedAt: "2026-03-04T05:06:07.000Z" } as const;
    const { challenge } = passkeyChallenge(question, answer);
    expect(Buffer.from(challenge, "base64url").toString("hex")).toBe(digest(approvalMessage(question, answer)));
  });

  it("needs a package that the error names if it is missing", async () => {
    vi.doMock("@simplewebauthn/server", () => {
      throw new Error("not found");
    });
    vi.resetModules();
    const { loadWebAuthn } = await import("../../src/approval/passkey.js");
    const missing = await failure(loadWebAuthn());
    vi.doUnmock("@simplewebauthn/server");
    expect(missing).toMatchObject({ code: "INTERNAL", details: { cause: "@simplewebauthn/server" } });
    expect(missing.remedy).toBe("Install it next to phasegate: npm install @simplewebauthn/server@latest");
  });
});

describe("a passkey that a host gives", () => {
  it("is refused with the name of a member that is wrong, before it checks anything", async () => {
    const device = await Authenticator.make();
    const right = device.passkey();
    const other = (await Authenticator.make("Ed25519")).passkey();
    const wrong: readonly (readonly [string, object])[] = [
      ["credentialId", { credentialId: "" }],
      ["credentialId", { credentialId: "a b" }],
      ["credentialId", { credentialId: "a".repeat(1365) }],
      ["publicKey", { publicKey: other.publicKey }],
      ["publicKey", { publicKey: `${right.publicKey}A` }],
      ["publicKey", { publicKey: `A${right.publicKey}` }],
      ["publicKey", { publicKey: `${other.publicKey}A`, algorithm: "Ed25519" }],
      ["publicKey", { publicKey: `A${other.publicKey}`, algorithm: "Ed25519" }],
      ["publicKey", { publicKey: 7 }],
      ["algorithm", { algorithm: "RS256" }],
      ["publicKey", { algorithm: "Ed25519" }],
      ["rpId", { rpId: "Gates.example.com" }],
      ["rpId", { rpId: "https://gates.example.com" }],
      ["rpId", { rpId: "a".repeat(254) }],
      ["origins", { origins: [] }],
      ["origins", { origins: Array.from({ length: 21 }, () => "https://gates.example.com") }],
      ["origins", { origins: ["http://gates.example.com"] }],
      ["origins", { origins: ["https://gates.example.com/"] }],
      ["origins", { origins: ["https://evilgates.example.com"] }],
      ["origins", { origins: ["https://gates.example.com.evil.example"] }],
      ["origins", { origins: ["https://gates.example.com", "https://example.org"] }],
      ["origins", { origins: ["http://localhost.evil.example"], rpId: "evil.example" }],
      ["origins", { origins: ["ftp://localhost"], rpId: "localhost" }],
      ["origins", { origins: ["nothing"] }],
      ["invitation", { invitation: "x" }],
      ["invitation", { invitation: "0".repeat(65) }],
      ["invitation", { invitation: `x${"0".repeat(64)}` }],
      ["counter", { counter: 7 }],
    ];
    for (const [member, change] of wrong) {
      const { ann } = JSON.parse(JSON.stringify({ ann: [{ ...right, ...change }] }));
      const approvers = new Map([["ann", ann]]);
      const word = { decision: "approve", by: "ann" } as const;
      const signature = await device.sign(question, word);
      const refused = await failure(requireDecision({ approvers, unsigned: false }, question, { ...word, signature }));
      expect(refused, JSON.stringify(change)).toMatchObject({
        code: "INVALID_INPUT",
        message: `approvers."ann" is a passkey with a wrong "${member}"`,
        details: { field: `approvers.ann.${member}` },
      });
    }
  });

  it("may be for a page on this machine, and on several origins", async () => {
    for (const [rpId, origins] of [
      ["localhost", ["http://localhost:4000", "http://localhost:5000"]],
      ["example.com", ["https://example.com", "https://gates.example.com:8443"]],
      ["app.localhost", ["http://app.localhost"]],
    ] as const) {
      const device = await Authenticator.make();
      const host = { approvers: new Map([["ann", [device.passkey({ rpId, origins })]]]), unsigned: false };
      for (const origin of origins) {
        const word = { decision: "approve", by: "ann" } as const;
        const signature = await device.sign(question, word, { rpId, origin });
        expect(await requireDecision(host, question, { ...word, signature })).toMatchObject({ authenticated: true });
      }
    }
  });
});

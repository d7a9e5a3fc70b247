import { passkeyChallenge, readRegistration, registrationOptions } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { keyIdOf } from "../../src/approval/approvers.js";
import { requireDecision } from "../../src/approval/decision.js";
import { approvalMessage } from "../../src/approval/message.js";
import { loadWebAuthn } from "../../src/approval/passkey.js";
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
    const missing = await failure(loadWebAuthn(() => Promise.reject(new Error("not found"))));
    expect(missing).toMatchObject({ code: "INTERNAL", details: { cause: "@simplewebauthn/server" } });
    expect(missing.remedy).toBe("Install it next to phasegate: npm install @simplewebauthn/server@14");
  });
});

import { type PasskeyPlace, readRegistration, registrationOptions } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { requirePasskey } from "../../src/approval/passkey.js";
import { Authenticator } from "../support/authenticator.js";
import { failure } from "../support/failure.js";

const place = { rpId: "gates.example.com", origins: ["https://gates.example.com"] };
const challenge = "x".repeat(43);

const register = (response: unknown, at: PasskeyPlace = place) => readRegistration(response, { challenge, ...at });

/** Expects that an answer of a browser is refused as a whole, for this reason. */
async function refuses(response: unknown, why: string, at: PasskeyPlace = place) {
  const refused = await failure(register(response, at));
  expect(refused).toMatchObject({
    ...{ code: "INVALID_INPUT", message: `the passkey can't be registered: ${why}` },
    details: { field: "response", expected: "the answer of the browser to the registration options" },
  });
  expect(refused.cause).toEqual(new Error(why));
}

describe("what a browser needs to make a passkey", () => {
  it("asks for a key of an algorithm that counts, behind a fingerprint, a face or a PIN, and for no certificates", async () => {
    const options = await registrationOptions({ name: "ann", rpId: "gates.example.com" });
    expect(options).toMatchObject({
      rp: { name: "phasegate", id: "gates.example.com" },
      user: { name: "ann", displayName: "ann" },
      attestation: "none",
      authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
      excludeCredentials: [],
    });
    expect(options.pubKeyCredParams).toEqual([
      { alg: -7, type: "public-key" },
      { alg: -8, type: "public-key" },
    ]);
  });

  it("has another challenge of 32 bytes each time", async () => {
    const request = { name: "ann", rpId: "localhost" };
    const [one, other] = [await registrationOptions(request), await registrationOptions(request)];
    expect(Buffer.from(one.challenge, "base64url")).toHaveLength(32);
    expect(other.challenge).not.toBe(one.challenge);
  });

  it("names the passkeys that the person has, so that no device registers a second one", async () => {
    const known = [(await Authenticator.make()).passkey(), (await Authenticator.make("Ed25519")).passkey()];
    const { excludeCredentials } = await registrationOptions({ name: "ann", rpId: place.rpId, known });
    expect(excludeCredentials).toMatchObject(
      known.map(({ credentialId }) => ({ id: credentialId, type: "public-key" })),
    );
  });
});

describe("a registration", () => {
  it("of a browser that knows nothing of frames counts", async () => {
    const device = await Authenticator.make();
    const old = device.registration(challenge, { crossOrigin: "left out" });
    expect(await register(old)).toEqual(device.passkey());
  });

  it("that the device has attested with its own key counts, if that signature is right", async () => {
    for (const algorithm of ["ES256", "Ed25519"] as const) {
      const [device, other] = [await Authenticator.make(algorithm), await Authenticator.make(algorithm)];
      expect(await register(await device.selfAttested(challenge))).toEqual(device.passkey());
      await refuses(await device.selfAttested(challenge, other), "it is not verified");
    }
  });

  it("counts on the page of any of the origins, and is stored with all of them", async () => {
    const origins = ["https://gates.example.com", "https://gates.example.com:8443"];
    const device = await Authenticator.make();
    for (const origin of origins) {
      const passkey = await register(device.registration(challenge, { origin }), { ...place, origins });
      expect(passkey).toEqual(device.passkey({ origins }));
    }
  });

  it("without a member, with one of another type, of another alphabet or too long is refused", async () => {
    const answer = (await Authenticator.make()).registration(challenge);
    const { response } = answer;
    const without = "a member is missing, of another type, or too long";
    for (const wrong of [
      "",
      "a b",
      `!${answer.id}`,
      `${answer.id}!`,
      `${answer.id}=`,
      "a".repeat(1365),
      7,
      undefined,
    ]) {
      await refuses({ ...answer, id: wrong }, without);
      await refuses({ ...answer, rawId: wrong }, without);
      await refuses({ ...answer, id: wrong, rawId: wrong }, without);
    }
    const { clientDataJSON, attestationObject } = response;
    const wrongTexts = (right: string, max: number) => [
      "",
      `!${right}`,
      `${right}!`,
      `${right}=`,
      "A".repeat(max + 1),
      7,
    ];
    for (const wrong of wrongTexts(clientDataJSON, 4096)) {
      await refuses({ ...answer, response: { ...response, clientDataJSON: wrong } }, without);
    }
    for (const wrong of wrongTexts(attestationObject, 16_384)) {
      await refuses({ ...answer, response: { ...response, attestationObject: wrong } }, without);
    }
    for (const other of [undefined, null, "", [], { ...answer, type: "password" }, { ...answer, response: null }]) {
      await refuses(other, without);
    }
  });

  it("of a key in another form than authenticators have is refused: the host could not tell it from other keys", async () => {
    const device = await Authenticator.make("Ed25519");
    // The same key, with the algorithm before the kind of the key.
    const publicKey = Buffer.concat([Buffer.from("a4032701012006215820", "hex"), device.publicKey.subarray(10)]);
    await refuses(device.registration(challenge, { publicKey }), "its key is neither ES256 nor Ed25519");
  });

  it("gives a passkey that the host can use, or is refused", async () => {
    const device = await Authenticator.make();
    const longest = await register(device.registration(challenge, { credentialId: Buffer.alloc(1023, 7) }));
    expect(() => requirePasskey("ann", longest)).not.toThrow();
    const tooLong = device.registration(challenge, { credentialId: Buffer.alloc(1024, 7) });
    await refuses(tooLong, "a host could not use it, because of its credentialId");
    const elsewhere = ["https://gates.example.com", "https://example.org"];
    const origins = "a host could not use it, because of its origins";
    await refuses(device.registration(challenge), origins, { ...place, origins: elsewhere });
    const rpId = "Gates.example.com";
    await refuses(device.registration(challenge, { rpId }), "a host could not use it, because of its rpId", {
      ...place,
      rpId,
    });
  });
});

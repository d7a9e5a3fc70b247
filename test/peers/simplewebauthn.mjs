/** A passkey is registered, with an authenticator that is made of keys. */
import assert from "node:assert/strict";
import { readRegistration, registrationOptions } from "phasegate/approval";
import { Authenticator } from "./authenticator.ts";

const place = { rpId: "gates.example.com", origins: ["https://gates.example.com"] };
for (const algorithm of ["ES256", "Ed25519"]) {
  const device = await Authenticator.make(algorithm);
  const { challenge } = await registrationOptions({ name: "ann", rpId: place.rpId });
  assert.deepEqual(await readRegistration(device.registration(challenge), { challenge, ...place }), device.passkey());
}

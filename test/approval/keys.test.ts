import { describe, expect, it } from "vitest";
import { createKeys, isSignedBy, keyIdOf, readPrivateKey } from "../../src/approval/keys.js";
import { failure } from "../support/failure.js";

/** The first test key of RFC 8032, as OpenSSL writes it, and its public half. */
const PEM = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
`;
const PUBLIC = "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

describe("a private key", () => {
  it("of OpenSSL signs for its public key, with line ends of any system around it", async () => {
    for (const pem of [PEM, `\n ${PEM}\n`, PEM.replaceAll("\n", "\r\n"), PEM.trim()]) {
      const signer = await readPrivateKey(pem);
      expect(signer.publicKey).toBe(PUBLIC);
      expect(await isSignedBy(PUBLIC, "text", await signer.sign("text"))).toBe(true);
    }
  });

  it("is refused with other text around it, or in another format", async () => {
    const [, body] = PEM.split("\n");
    const texts = [
      `text ${PEM}`,
      `${PEM}text`,
      PEM.replaceAll("PRIVATE", "PUBLIC"),
      "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
      `${body}`,
      "",
    ];
    for (const text of texts) {
      const refused = await failure(readPrivateKey(text));
      expect(refused, text).toMatchObject({ code: "INVALID_INPUT", details: { field: "key" } });
      expect(refused.details).toHaveProperty("expected", "-----BEGIN PRIVATE KEY-----");
      expect(refused.cause).toBeUndefined();
    }
  });

  it("that no key can be read from is refused with the cause", async () => {
    const refused = await failure(readPrivateKey(PEM.replace("MC4C", "AAAA")));
    expect(refused.code).toBe("INVALID_INPUT");
    expect(refused.cause).toBeInstanceOf(Error);
  });
});

describe("a signature", () => {
  it("is valid for its text and its key only", async () => {
    const [keys, others] = await Promise.all([createKeys(), createKeys()]);
    const signature = await (await readPrivateKey(keys.privateKey)).sign("text");
    expect(await isSignedBy(keys.publicKey, "text", signature)).toBe(true);
    expect(await isSignedBy(keys.publicKey, "other text", signature)).toBe(false);
    expect(await isSignedBy(others.publicKey, "text", signature)).toBe(false);
  });

  it("is not valid with anything before or after it, or in another alphabet", async () => {
    const keys = await createKeys();
    const signature = await (await readPrivateKey(keys.privateKey)).sign("text");
    const others = [
      "",
      "A".repeat(85),
      `${signature}A`,
      `A${signature}`,
      `!${signature}`,
      `${signature}\n`,
      `${signature.slice(1)}=`,
    ];
    for (const other of others) expect(await isSignedBy(keys.publicKey, "text", other), other).toBe(false);
  });
});

it("the id of a public key is the first half of the SHA-256 of its 32 bytes", () => {
  expect(keyIdOf(PUBLIC)).toBe("21fe31dfa154a261626bf854046fd227");
});

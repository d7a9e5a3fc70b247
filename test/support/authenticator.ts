import { createHash } from "node:crypto";
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type Passkey,
  passkeyChallenge,
  type WaiverQuestion,
} from "phasegate/approval";

/** What an authenticator or a browser may say that is not so. */
export interface Lies {
  readonly type?: string;
  readonly challenge?: string;
  readonly origin?: string;
  readonly rpId?: string;
  /** Browsers that know nothing of frames leave it out. */
  readonly crossOrigin?: boolean | "left out";
  readonly topOrigin?: string;
  /** Flags: user present, user verified. Default: both true. */
  readonly present?: boolean;
  readonly verified?: boolean;
  readonly counter?: number;
}

/** What may be wrong with a new credential besides. */
interface RegistrationLies extends Lies {
  readonly fmt?: string;
  readonly x5c?: boolean;
  /** The id and the key in the authenticator data. */
  readonly credentialId?: Buffer;
  readonly publicKey?: Buffer;
}

export type Algorithm = Passkey["algorithm"];

const RP = "gates.example.com";
const ORIGIN = "https://gates.example.com";

const ALGORITHMS = {
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  Ed25519: { name: "Ed25519" },
};

/** A software authenticator with one credential, and the browser in front of it. Both say what they are told to say. */
export class Authenticator {
  readonly algorithm: Algorithm;
  readonly credentialId: string;
  readonly #key: CryptoKey;
  readonly #publicKey: Buffer;
  /** The counter of the next signature is one more; 0 for an authenticator that does not count. */
  counter: number;

  private constructor(algorithm: Algorithm, key: CryptoKey, publicKey: Buffer, counter: number) {
    this.algorithm = algorithm;
    this.counter = counter;
    this.credentialId = createHash("sha256").update(publicKey).digest("base64url");
    this.#key = key;
    this.#publicKey = publicKey;
  }

  static async make(algorithm: Algorithm = "ES256", counter = 1): Promise<Authenticator> {
    const pair = await crypto.subtle.generateKey(ALGORITHMS[algorithm], true, ["sign", "verify"]);
    if (!("privateKey" in pair)) throw new Error("no pair of keys");
    const { x = "", y = "" } = await crypto.subtle.exportKey("jwk", pair.publicKey);
    return new Authenticator(algorithm, pair.privateKey, coseKey(algorithm, x, y), counter);
  }

  /** Returns the passkey as the host stores it. */
  passkey(change: Partial<Passkey> = {}): Passkey {
    const { algorithm, credentialId } = this;
    const publicKey = this.#publicKey.toString("base64url");
    return { kind: "passkey", credentialId, publicKey, algorithm, rpId: RP, origins: [ORIGIN], ...change };
  }

  /** Returns the public key as COSE. */
  get publicKey(): Buffer {
    return this.#publicKey;
  }

  /** Signs an answer to a question. */
  async sign(question: ApprovalQuestion | WaiverQuestion, answer: Answer, lies: Lies = {}) {
    const { signedAt = "2026-03-04T05:06:07.000Z", ...word } = answer;
    const { challenge } = passkeyChallenge(question, { ...word, signedAt });
    return { signedAt, ...(await this.assertion(challenge, lies)) };
  }

  /** Signs a challenge, as `navigator.credentials.get` has it done. */
  async assertion(challenge: string, lies: Lies = {}) {
    const clientData = clientDataOf("webauthn.get", challenge, lies);
    const authenticatorData = this.#authenticatorData(lies);
    const signed = Buffer.concat([authenticatorData, createHash("sha256").update(clientData).digest()]);
    return {
      value: (await this.signature(signed)).toString("base64url"),
      authenticatorData: authenticatorData.toString("base64url"),
      clientData: clientData.toString("base64url"),
    };
  }

  /** Signs bytes of any kind, which a real authenticator never does. */
  async signature(bytes: Uint8Array): Promise<Buffer> {
    const raw = Buffer.from(await crypto.subtle.sign(ALGORITHMS[this.algorithm], this.#key, Uint8Array.from(bytes)));
    return this.algorithm === "ES256" ? der(raw) : raw;
  }

  /** Makes the credential, as `navigator.credentials.create` has it done. */
  registration(challenge: string, lies: RegistrationLies = {}) {
    const { fmt = "none", x5c = false } = lies;
    const statement = x5c
      ? Buffer.concat([Buffer.from([0xa1]), cborText("x5c"), Buffer.from([0x80])])
      : Buffer.from([0xa0]);
    return this.#attested(challenge, lies, fmt, statement);
  }

  /** Makes the credential and attests it with its own key, as some devices do although nobody asks for it. */
  async selfAttested(challenge: string, signer: Authenticator = this) {
    const clientData = clientDataOf("webauthn.create", challenge, {});
    const hash = createHash("sha256").update(clientData).digest();
    const signature = await signer.signature(Buffer.concat([this.#credential({}), hash]));
    const statement = Buffer.concat([
      ...[Buffer.from([0xa2]), cborText("alg"), Buffer.from([this.algorithm === "ES256" ? 0x26 : 0x27])],
      ...[cborText("sig"), Buffer.from([0x58, signature.length]), signature],
    ]);
    return this.#attested(challenge, {}, "packed", statement);
  }

  /** Returns the authenticator data of a new credential. */
  #credential(lies: RegistrationLies): Buffer {
    const { credentialId: id = Buffer.from(this.credentialId, "base64url"), publicKey = this.#publicKey } = lies;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    return Buffer.concat([
      ...[this.#authenticatorData({ counter: 0, ...lies }, 0x40), Buffer.alloc(16)],
      ...[length, id, publicKey],
    ]);
  }

  #attested(challenge: string, lies: RegistrationLies, fmt: string, statement: Buffer) {
    const authData = this.#credential(lies);
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3]),
      ...[cborText("fmt"), cborText(fmt), cborText("attStmt"), statement, cborText("authData")],
      ...[Buffer.from([0x59, authData.length >> 8, authData.length & 0xff]), authData],
    ]);
    return {
      id: this.credentialId,
      rawId: this.credentialId,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientDataOf("webauthn.create", challenge, lies).toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
      },
    };
  }

  #authenticatorData({ rpId = RP, present = true, verified = true, counter }: Lies, more = 0): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter ?? this.counter);
    if (counter === undefined && this.counter > 0) this.counter += 1;
    const flags = (present ? 0x01 : 0) | (verified ? 0x04 : 0) | more;
    return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.from([flags]), count]);
  }
}

type Answer = Omit<ApprovalAnswer, "signedAt"> & { readonly signedAt?: string };

function clientDataOf(type: string, challenge: string, lies: Lies): Buffer {
  const { crossOrigin = false, topOrigin } = lies;
  const said = { type: lies.type ?? type, challenge: lies.challenge ?? challenge, origin: lies.origin ?? ORIGIN };
  const framed = crossOrigin === "left out" ? {} : { crossOrigin };
  return Buffer.from(JSON.stringify({ ...said, ...framed, ...(topOrigin === undefined ? {} : { topOrigin }) }));
}

/** Encodes a public key in the canonical form that authenticators use. */
function coseKey(algorithm: Algorithm, x: string, y: string): Buffer {
  const [one, other] = [Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
  if (algorithm === "Ed25519") return Buffer.concat([Buffer.from("a4010103272006215820", "hex"), one]);
  return Buffer.concat([Buffer.from("a5010203262001215820", "hex"), one, Buffer.from("225820", "hex"), other]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}

/** Encodes an ECDSA signature of 64 bytes as ASN.1 DER, as authenticators do. */
function der(raw: Buffer): Buffer {
  const integer = (bytes: Buffer) => {
    let start = 0;
    while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
    const rest = bytes.subarray(start);
    const positive = (rest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), rest]) : rest;
    return Buffer.concat([Buffer.from([0x02, positive.length]), positive]);
  };
  const both = Buffer.concat([integer(raw.subarray(0, 32)), integer(raw.subarray(32))]);
  return Buffer.concat([Buffer.from([0x30, both.length]), both]);
}

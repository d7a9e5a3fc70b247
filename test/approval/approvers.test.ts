import { createHash } from "node:crypto";
import { type Approvers, createApproverKeys, type Passkey } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import {
  acceptInvitation,
  checkApprovers,
  currentApprovers,
  invitationFor,
  keysOf,
  personWith,
  stateOf,
} from "../../src/approval/approvers.js";
import { Authenticator } from "../support/authenticator.js";

const { publicKey: KEY } = await createApproverKeys();
const PHONE = (await Authenticator.make()).passkey();
const LAPTOP = (await Authenticator.make("Ed25519")).passkey();

it("the person with a key is one of all approvers, or of those that are named", () => {
  const approvers: Approvers = { ann: PHONE, bob: [LAPTOP, KEY], cat: KEY };
  expect(personWith(KEY, approvers)).toBe("bob");
  expect(personWith(KEY, approvers, ["ann", "cat"])).toBe("cat");
  expect(personWith(KEY, approvers, ["ann"])).toBeUndefined();
});

it("an approver has one key or several, and only those that the host gives for exactly that name", () => {
  const approvers: Approvers = { ann: KEY, bob: PHONE, cat: [KEY, PHONE], dan: [] };
  expect(keysOf(approvers, "ann")).toEqual([KEY]);
  expect(keysOf(approvers, "bob")).toEqual([PHONE]);
  expect(keysOf(approvers, "cat")).toEqual([KEY, PHONE]);
  for (const name of ["dan", "eve", "Ann", "toString", ""]) expect(keysOf(approvers, name)).toEqual([]);
});

describe("approvers' keys", () => {
  /** Returns the details that name an approver whose key is refused. */
  const refused = (name: string, fault = "is no Ed25519 public key, and no passkey") =>
    expect.objectContaining({
      ...{ code: "INVALID_INPUT", message: `approvers."${name}" ${fault}` },
      details: { field: `approvers.${name}`, expected: "ed25519:<base64url of 32 bytes>" },
    });

  it("are taken as they are given: one, or 1 to 20", () => {
    const twenty = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? KEY : PHONE));
    expect([...checkApprovers({ ann: KEY, bob: PHONE, cat: [KEY], "Dan D.": twenty })]).toEqual([
      ["ann", [KEY]],
      ["bob", [PHONE]],
      ["cat", [KEY]],
      ["Dan D.", twenty],
    ]);
    expect(checkApprovers({}).size).toBe(0);
  });

  it("are refused if one of them is no key, or if there are none or too many", () => {
    const bytes = KEY.slice("ed25519:".length);
    const wrong: readonly unknown[] = [
      ...[
        "",
        "nonsense",
        bytes,
        `x${KEY}`,
        `${KEY}A`,
        ` ${KEY}`,
        `${KEY}\n`,
        KEY.slice(0, -1),
        `ed25519:+${bytes.slice(1)}`,
      ],
      ...[undefined, null, 7, true, {}, { kind: "ed25519" }, { publicKey: PHONE.publicKey }],
      ...[[KEY, "nonsense"], [null, KEY], [[KEY]]],
    ];
    for (const key of wrong) expect(() => checkApprovers({ ann: key }), JSON.stringify(key)).toThrow(refused("ann"));
    for (const count of [0, 21]) {
      const keys = Array.from({ length: count }, () => KEY);
      expect(() => checkApprovers({ ann: keys })).toThrow(refused("ann", `has ${count} keys`));
    }
  });

  it("are refused under a name that nobody can read, and the first that is wrong is named", () => {
    for (const name of ["", " ", "\t"]) {
      const details = expect.objectContaining({ field: `approvers.${name}` });
      const message = expect.stringMatching(/has a name that is blank$/);
      expect(() => checkApprovers({ [name]: KEY })).toThrow(
        expect.objectContaining({ code: "INVALID_INPUT", message, details }),
      );
    }
    expect(() => checkApprovers({ ann: KEY, bob: "x", cat: "y" })).toThrow(refused("bob"));
  });

  it("that change are checked anew, and those that stay are the same, so that no log is read again", () => {
    let approvers: Approvers = { ann: KEY };
    const current = currentApprovers(() => approvers);
    const before = current();
    expect(current()).toBe(before);
    approvers = { ann: KEY, bob: LAPTOP };
    expect([...current()]).toEqual([
      ["ann", [KEY]],
      ["bob", [LAPTOP]],
    ]);
    expect(current()).toBe(current());
    approvers = { ann: "nonsense" };
    for (const _ of [1, 2]) expect(current).toThrow(refused("ann"));
    approvers = { cat: PHONE };
    expect([...current()]).toEqual([["cat", [PHONE]]]);
    expect(() => currentApprovers(() => ({ bob: "nonsense" }))).toThrow(refused("bob"));
  });
});

describe("an invitation", () => {
  const SECRET = "s".repeat(43);
  const OTHER = "t".repeat(43);
  const END = "2026-03-04T05:06:07.000Z";
  const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");
  const invitations = [invitationFor(OTHER, "bob", END), invitationFor(SECRET, "ann", END)];
  const before = Date.parse(END) - 1;
  const nobody = checkApprovers({});
  const registered = (secret: string): Passkey => ({ ...LAPTOP, invitation: hashOf(secret) });
  const ASK = "Ask the person who runs this for a new invitation: phasegate approvers invite NAME.";
  const refused = (field: string, message: string, expected: string, remedy = ASK) =>
    expect.objectContaining({ code: "INVALID_INPUT", message, remedy, details: { field, expected } });

  it("is stored without its secret", () => {
    expect(invitationFor(SECRET, "ann", END)).toStrictEqual({
      name: "ann",
      secretHash: hashOf(SECRET),
      expiresAt: END,
    });
  });

  it("is open for its approver until it expires, and only for who knows the secret", () => {
    expect(stateOf(SECRET, invitations, nobody, before)).toEqual({ state: "open", name: "ann", expiresAt: END });
    expect(stateOf(OTHER, invitations, nobody, before)).toEqual({ state: "open", name: "bob", expiresAt: END });
    for (const now of [before + 1, before + 2]) {
      expect(stateOf(SECRET, invitations, nobody, now)).toEqual({ state: "expired" });
    }
    for (const secret of ["", hashOf(SECRET), SECRET.toUpperCase()]) {
      expect(stateOf(secret, invitations, nobody, before)).toEqual({ state: "unknown" });
    }
  });

  it("is used once a key of anybody says that it was registered with it, even when it is not stored any more", () => {
    const used = checkApprovers({ cat: KEY, ann: [KEY, PHONE, registered(SECRET)] });
    for (const stored of [invitations, []]) {
      for (const now of [before, before + 1]) expect(stateOf(SECRET, stored, used, now)).toEqual({ state: "used" });
    }
    expect(stateOf(OTHER, invitations, used, before)).toMatchObject({ state: "open" });
  });

  it("gives the passkey to the person who is invited, with its mark", () => {
    const known = checkApprovers({ ann: [KEY, LAPTOP], cat: KEY });
    const marked: Passkey = { ...PHONE, invitation: hashOf(OTHER) };
    for (const passkey of [PHONE, marked]) {
      expect(acceptInvitation(SECRET, passkey, invitations, known, before)).toStrictEqual({
        name: "ann",
        key: { ...PHONE, invitation: hashOf(SECRET) },
      });
    }
  });

  it("that is not open registers nothing, and says why", () => {
    const used = checkApprovers({ ann: registered(SECRET) });
    const open = "an invitation that is open";
    for (const [what, stored, known, now] of [
      ["does not exist", [], nobody, before],
      ["has expired", invitations, nobody, before + 1],
      ["has been used", invitations, used, before],
    ] as const) {
      expect(() => acceptInvitation(SECRET, PHONE, stored, known, now)).toThrow(
        refused("invitation", `the invitation ${what}`, open),
      );
    }
  });

  it("registers no passkey that is an approver's already, whoever that is, by its id or its key", () => {
    const twins: readonly Passkey[] = [
      PHONE,
      { ...LAPTOP, credentialId: PHONE.credentialId },
      { ...PHONE, credentialId: LAPTOP.credentialId },
    ];
    for (const approvers of [{ ann: PHONE }, { bob: PHONE }, { cat: KEY, bob: [KEY, PHONE] }]) {
      for (const twin of twins) {
        const accept = () => acceptInvitation(SECRET, twin, invitations, checkApprovers(approvers), before);
        const remedy = "Open the same link again, and register another passkey.";
        expect(accept).toThrow(refused("passkey", "this passkey is an approver's already", "a new passkey", remedy));
      }
    }
  });
});

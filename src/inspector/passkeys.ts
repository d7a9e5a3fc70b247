/**
 * Passkeys on the page: what an approver signs for an answer, and the registration of a passkey by an invitation. approval/
 * decides what counts as a signature.
 */
import { type Approvers, type Invitations, keysOf, type Passkey } from "../approval/approvers.js";
import { type PasskeyPlace, passkeyChallenge, readRegistration, registrationOptions } from "../approval/passkey.js";
import { PhasegateError } from "../errors.js";
import type { FullClock } from "../ports/clock.js";
import type { Asked } from "../read/waiting.js";
import { originOf } from "./requests.js";
import type { About, Challenge, ChallengeBody, InvitationView } from "./wire.js";

/** How long a person may take to register a passkey, in milliseconds. */
const REGISTER_MS = 5 * 60_000;
/** Registrations that are under way at once; the oldest is given up. */
const UNDER_WAY = 100;

export function approversIn(approvers: Approvers): About["approvers"] {
  return Object.keys(approvers).map((name) => {
    const kinds = keysOf(approvers, name).map((key) => (typeof key === "string" ? "ed25519" : "passkey"));
    return { name, keys: [...new Set(kinds)] };
  });
}

function passkeysOf(approvers: Approvers, name: string): readonly Passkey[] {
  return keysOf(approvers, name).filter((key) => typeof key !== "string");
}

/** Returns what an approver signs with a passkey for an answer to a question, on a page of an origin. */
export function challengeFor(
  question: Asked["question"],
  approvers: Approvers,
  { decision, by, note }: ChallengeBody,
  origin: string,
  clock: FullClock,
): Challenge {
  const all = passkeysOf(approvers, by);
  if (all.length === 0) {
    const remedy = "Ask for an invitation: `phasegate approvers invite NAME`. Or sign with `phasegate approve`.";
    throw refused(`${by} has no passkey here`, remedy, "by", "an approver with a passkey");
  }
  // What a browser signs on another page does not count.
  const [first, ...others] = all.filter(({ origins }) => origins.includes(origin));
  if (first === undefined) {
    const elsewhere = [...new Set(all.flatMap(({ origins }) => origins))].join(", ");
    const remedy = `It was registered at ${elsewhere}: open the page there. Or ask for another invitation.`;
    throw refused(`${by} has no passkey for ${origin}`, remedy, "by", "an approver with a passkey for this page");
  }
  const signedAt = new Date(clock.now()).toISOString();
  const { challenge } = passkeyChallenge(question, { decision, by, note, signedAt });
  const ids = [first, ...others].filter(({ rpId }) => rpId === first.rpId).map(({ credentialId }) => credentialId);
  return { signedAt, challenge, rpId: first.rpId, credentials: ids };
}

export class Registrations {
  readonly #invitations: Invitations | undefined;
  readonly #approvers: () => Approvers;
  readonly #clock: FullClock;
  /** The challenges that were given out, each for one answer, by the secret of the invitation. */
  readonly #challenges = new Map<string, { readonly challenge: string; readonly until: number }>();

  constructor(invitations: Invitations | undefined, approvers: () => Approvers, clock: FullClock) {
    this.#invitations = invitations;
    this.#approvers = approvers;
    this.#clock = clock;
  }

  /** Returns what the browser needs to make a passkey, for whoever has an open invitation. */
  async begin(secret: string, { rpId }: PasskeyPlace): Promise<InvitationView> {
    const found = (await this.#invitations?.find(secret)) ?? { state: "unknown" };
    if (found.state !== "open") throw notOpen(found.state);
    const { name } = found;
    const options = await registrationOptions({ name, rpId, known: passkeysOf(this.#approvers(), name) });
    const oldest = this.#challenges.keys().next();
    if (this.#challenges.size >= UNDER_WAY && !oldest.done) this.#challenges.delete(oldest.value);
    this.#challenges.set(secret, { challenge: options.challenge, until: this.#clock.now() + REGISTER_MS });
    return { name, options };
  }

  /** Stores the passkey that the browser has made, as a key of the approver. Uses the invitation up. */
  async end(secret: string, response: unknown, place: PasskeyPlace): Promise<{ readonly name: string }> {
    const given = this.#challenges.get(secret);
    this.#challenges.delete(secret);
    if (this.#invitations === undefined || given === undefined || given.until < this.#clock.now()) {
      throw notOpen("unknown");
    }
    const passkey = await readRegistration(response, { ...place, challenge: given.challenge });
    return this.#invitations.accept(secret, passkey);
  }
}

/** Returns where a page's passkeys are registered: the domain and the origin that its requests come from. */
export function placeOf(request: Request): PasskeyPlace {
  const origin = originOf(request);
  const { hostname } = new URL(origin);
  if (/^[\d.]+$|^\[/.test(hostname)) {
    const remedy = "Open the page as http://localhost with the same port.";
    throw refused(`passkeys need a name, and ${hostname} is an address`, remedy, "host", "a name such as localhost");
  }
  return { rpId: hostname, origins: [origin] };
}

function notOpen(state: string): PhasegateError<"INVALID_INPUT"> {
  const why = state === "used" ? "was used already" : state === "expired" ? "has expired" : "is not known";
  const remedy = "Ask for another one: `phasegate approvers invite NAME`.";
  return refused(`the invitation ${why}`, remedy, "invitation", "an open invitation");
}

function refused(message: string, remedy: string, field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, { remedy, details: { field, expected } });
}

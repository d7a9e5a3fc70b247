/** Passkeys in the browser: signing an answer, and registering a passkey by an invitation. */
import { useSignal } from "@preact/signals";
import {
  type PublicKeyCredentialCreationOptionsJSON,
  startAuthentication,
  startRegistration,
} from "@simplewebauthn/browser";
import type { AnswerBody, Challenge, ChallengeBody, InvitationView, RegistrationBody } from "../wire.js";
import { about, asFailure, type Failure, post } from "./api.js";
import { href } from "./router.js";
import { line } from "./text.js";
import { Failed } from "./view.js";

/**
 * Signs an answer with the passkey of the person. Returns undefined where there is none: the answer is then sent without a
 * signature, and the host decides whether it counts.
 */
export async function sign(sessionId: string, answer: AnswerBody): Promise<AnswerBody["signature"]> {
  const { decision, by, note, request } = answer;
  const approver = about.value.approvers.find(({ name }) => name === by);
  if (approver?.keys.includes("passkey") !== true) return undefined;
  const body: ChallengeBody = { decision, by, note, request };
  const { challenge, signedAt, rpId, credentials } = await post<Challenge>(`sessions/${sessionId}/challenge`, body);
  const allowCredentials = credentials.map((id) => ({ id, type: "public-key" as const }));
  const { response } = await startAuthentication({
    optionsJSON: { challenge, rpId, allowCredentials, userVerification: "required" },
  });
  const { signature: value, authenticatorData, clientDataJSON: clientData } = response;
  return { signedAt, value, authenticatorData, clientData };
}

export function Invitation({ secret }: { readonly secret: string }) {
  const state = useSignal<{ readonly isBusy?: boolean; readonly name?: string; readonly error?: Failure }>({});
  const { isBusy = false, name, error } = state.value;
  const register = async () => {
    state.value = { isBusy: true };
    try {
      const { options } = await post<InvitationView>("passkeys/begin", { invitation: secret });
      const response = await startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON });
      const body: RegistrationBody = { invitation: secret, response };
      state.value = await post<{ readonly name: string }>("passkeys/end", body);
    } catch (failure) {
      state.value = { error: asFailure(failure) };
    }
  };
  if (name !== undefined) {
    return (
      <main id="main" class="login">
        <h1>Your passkey is registered</h1>
        <p>
          You can approve as <strong>{line(name, 200)}</strong> with this device from now on.
        </p>
        <p>
          {/* With a target the page is loaded anew: this one is the invitation's. */}
          <a href={href(["inbox"])} target="_self">
            Go to the inbox
          </a>
        </p>
      </main>
    );
  }
  return (
    <main id="main" class="login">
      <h1>You are invited to approve</h1>
      <p>
        Register a passkey: your phone, this computer's sensor, or a security key. It signs what you approve, and asks
        you each time. The invitation works once.
      </p>
      <p>
        <button type="button" disabled={isBusy} onClick={register}>
          Register a passkey
        </button>
      </p>
      {error !== undefined && <Failed error={error} />}
    </main>
  );
}

/** Passkeys in the browser: signing an answer, and registering a passkey by an invitation. */
import { useSignal } from "@preact/signals";
import {
  type PublicKeyCredentialCreationOptionsJSON,
  startAuthentication,
  startRegistration,
} from "@simplewebauthn/browser";
import type { AnswerBody, Challenge, ChallengeBody, InvitationView, RegistrationBody } from "../wire.js";
import { about, post } from "./api.js";
import { href } from "./router.js";
import { line } from "./text.js";
import { Failed, useTask } from "./view.js";

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
  const name = useSignal<string | undefined>(undefined);
  const { isBusy, error, run } = useTask();
  const register = async () => {
    const { options } = await post<InvitationView>("passkeys/begin", { invitation: secret });
    const response = await startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON });
    const body: RegistrationBody = { invitation: secret, response };
    name.value = (await post<{ readonly name: string }>("passkeys/end", body)).name;
  };
  if (name.value !== undefined) {
    return (
      <main id="main" class="login">
        <h1>Your passkey is registered</h1>
        <p>
          You can approve as <strong>{line(name.value, 200)}</strong> with this device from now on.
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
      <button type="button" disabled={isBusy} onClick={() => run(register)}>
        Register a passkey
      </button>
      <Failed error={error} />
    </main>
  );
}

/** The host's actions on a session, if they are switched on: each asks for a name and a reason before it is done. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { ShownDetail } from "../../read/model.js";
import type { ActionBody } from "../wire.js";
import { about, post } from "./api.js";
import { go, href } from "./router.js";
import { Line } from "./text.js";
import { announce, Failed, Form, useTask } from "./view.js";
import { NameField, nameIn } from "./waiting.js";

type Action = ActionBody["action"];

const WORDS: Readonly<Record<Action, readonly [button: string, question: string, text: string]>> = {
  retry: ["Retry", "Retry the phase?", "The session goes on at this phase, with attempts granted anew."],
  skip: [
    "Skip",
    "Skip the phase?",
    "The session goes on at the next phase. This one counts as skipped, without evidence.",
  ],
  override: ["Override", "Override the gate?", "The phase counts as done, although its gate has not passed."],
  pause: ["Pause", "Pause the session?", "The agent can do nothing on it until it is resumed."],
  resume: ["Resume", "Resume the session?", "The agent can go on."],
  delete: ["Delete", "Delete the session?", "Its log is removed. This can't be undone."],
};

function possible(detail: ShownDetail): readonly Action[] {
  const { status } = detail.summary;
  if (detail.kind === "recorded") return [];
  const isPhased = detail.kind === "phased";
  const may = isPhased ? detail.may : { skip: false, override: false };
  const wanted: readonly (readonly [Action, boolean])[] = [
    ["retry", status === "failed" || (isPhased && status === "active")],
    ["skip", may.skip && status === "active"],
    ["override", may.override && status === "active"],
    ["pause", status === "active"],
    ["resume", status === "paused"],
    ["delete", true],
  ];
  return wanted.flatMap(([action, is]) => (is && about.value.actions.includes(action) ? [action] : []));
}

/** The action that a session needs to go on stands out. */
function classOf(action: Action, { summary: { status } }: ShownDetail): string {
  if (action === "delete") return "danger";
  return (action === "retry" && status === "failed") || action === "resume" ? "main" : "";
}

export function Actions({ detail, onDone }: { readonly detail: ShownDetail; readonly onDone: () => void }) {
  const actions = possible(detail);
  const asked = useSignal<Action>("pause");
  // The phase that the person sees when the dialog opens: the session may go on meanwhile.
  const seen = useSignal<number | undefined>(undefined);
  const { error, run, reset } = useTask();
  const dialog = useRef<HTMLDialogElement>(null);
  if (actions.length === 0) return null;
  const { sessionId, target, current } = detail.summary;
  const ask = (action: Action) => {
    asked.value = action;
    seen.value = detail.kind === "phased" && typeof current === "number" ? current : undefined;
    reset();
    dialog.current?.querySelector("form")?.reset();
    dialog.current?.showModal();
  };
  const [button, question, text] = WORDS[asked.value];
  const carryOut = async (data: FormData) => {
    const action = asked.value;
    const body: ActionBody = { action, by: nameIn(data), note: String(data.get("note")), phase: seen.value };
    await post(`sessions/${sessionId}/action`, body);
    dialog.current?.close();
    announce(`${button}: done`);
    if (action === "delete") go(href(["sessions"]));
    else onDone();
  };
  return (
    <>
      <div class="buttons">
        {actions.map((action) => (
          <button type="button" key={action} class={classOf(action, detail)} onClick={() => ask(action)}>
            {WORDS[action][0]}…
          </button>
        ))}
      </div>
      <dialog ref={dialog} aria-labelledby="action-question">
        <Form class="form" onSubmit={(data) => run(() => carryOut(data))}>
          <h2 id="action-question">{question}</h2>
          <p>
            <strong>
              <Line text={target || sessionId} max={200} />
            </strong>
            {seen.value !== undefined && `, at phase ${seen.value}`}
          </p>
          <p>{text} It is recorded with your name.</p>
          <NameField names={[]} />
          <label>
            <span>Reason</span>
            <textarea name="note" required rows={3} maxLength={2000} />
          </label>
          <Failed error={error} />
          <div class="buttons">
            <button type="submit" class={asked.value === "delete" ? "danger" : "main"}>
              {button}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </Form>
      </dialog>
    </>
  );
}

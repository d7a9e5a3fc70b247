/** What waits for a person, with all that the person has to see; and the answer. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { UNCHECKED } from "../../gate/unchecked.js";
import type { Waiting, WaitingLine } from "../../read/model.js";
import type { About, AnswerBody } from "../wire.js";
import { about, asFailure, type Failure, post, readAbout } from "./api.js";
import { Notes, Problems, Verifications } from "./findings.js";
import { sign } from "./passkey.js";
import { Line, Long, line } from "./text.js";
import { Differences, Tree } from "./tree.js";
import { announce, Failed, Part } from "./view.js";

/** Whoever answered or acted last on this page: the name for the next time. */
const given = signal("");

/** Returns the name of who uses this page; the empty text if nobody has said it. */
function ownName(): string {
  return about.value.actor ?? given.value;
}

/** Returns who sends a form, and keeps the name. */
export function nameIn(form: FormData): string {
  const by = form.get("by");
  if (typeof by !== "string") return ownName();
  given.value = by;
  return by;
}

export function Matter({ waiting }: { readonly waiting: Waiting }) {
  const {
    what,
    question,
    fields = [],
    differences,
    evidence,
    unchecked = [],
    verification,
    warnings,
    before,
  } = waiting;
  const { problems = [], notes = [] } = before ?? {};
  // A denial is a note and a problem of the same words.
  const found = notes.some(({ event }) => event === "denied")
    ? problems.filter(({ problem }) => problem !== "denied")
    : problems;
  return (
    <div class="parts">
      <blockquote class="question">
        <Long text={question === "" ? (what === "approval" ? "May this go on?" : "No reason was given.") : question} />
      </blockquote>
      {fields.length > 0 && (
        <Part title="To be waived">
          <ul class="problems">
            {fields.map(({ name, text }) => (
              <li key={name}>
                <Line text={name} code /> <Long text={text} />
              </li>
            ))}
          </ul>
        </Part>
      )}
      {differences !== undefined && (
        <Part title="Changed since the last refusal">
          <Differences items={differences} since="the last refusal" />
        </Part>
      )}
      <Verifications items={verification} title="What verifiers saw" />
      <Problems items={warnings} title="Warnings" />
      {evidence !== undefined && (
        <Part title={what === "approval" ? "Evidence" : "Evidence that was refused last"}>
          <Tree value={evidence} />
        </Part>
      )}
      {unchecked.length > 0 && (
        <Part title={UNCHECKED}>
          <p>
            <Line text={unchecked.join(", ")} code />
          </p>
        </Part>
      )}
      {found.length + notes.length > 0 && (
        <Part title="The attempt before">
          <Problems items={found} />
          <Notes items={notes} />
        </Part>
      )}
    </div>
  );
}

/** The names to choose from: where answers must be signed, those with a passkey. None if any name may be given. */
function namesFor({ approvers }: Waiting, { approvers: known, unsigned }: About): readonly string[] {
  const names = known.filter(({ keys }) => unsigned || keys.includes("passkey")).map(({ name }) => name);
  if (approvers === undefined) return names;
  return known.length === 0 ? approvers : approvers.filter((name) => names.includes(name));
}

export function AnswerForm({ waiting, onDone }: { readonly waiting: Waiting; readonly onDone: () => void }) {
  const { what, sessionId, request, evidenceHash } = waiting;
  const { approvers, unsigned } = about.value;
  const names = namesFor(waiting, about.value);
  const state = useSignal<{ readonly isSending?: boolean; readonly error?: Failure }>({});
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // Who may approve may have changed since the page was opened. What is known is shown if that can't be read.
    readAbout().catch(() => undefined);
  }, []);
  const [yes, no] = what === "approval" ? ["Approve", "Deny"] : ["Grant the waiver", "Deny the waiver"];

  if (!unsigned && !approvers.some(({ keys }) => keys.includes("passkey"))) {
    return (
      <p class="notice">
        This host counts signed answers alone, and no approver has a passkey. Sign one with your key:{" "}
        <code>phasegate {what === "approval" ? "approve" : "waive"} --key</code>.
      </p>
    );
  }
  if (names.length === 0 && (waiting.approvers ?? []).length > 0 && approvers.length > 0) {
    return (
      <p class="notice">
        Only {line((waiting.approvers ?? []).join(", "), 200)} may answer, and this host has no{" "}
        {unsigned ? "key" : "passkey"} of theirs.
      </p>
    );
  }

  const send = async (decision: AnswerBody["decision"]) => {
    const note = form.current?.elements.namedItem("note");
    if (!(note instanceof HTMLTextAreaElement) || form.current === null) return;
    const isMissing = decision === "deny" && note.value.trim() === "";
    note.setCustomValidity(isMissing ? "Say what is to be fixed: the agent reads it." : "");
    if (!form.current.reportValidity()) return;
    const by = nameIn(new FormData(form.current));
    const body: AnswerBody = {
      ...{ what, decision, by, request, evidenceHash },
      note: note.value.trim() === "" ? undefined : note.value,
    };
    state.value = { isSending: true };
    try {
      const signature = await sign(sessionId, body);
      await post(`sessions/${sessionId}/answer`, { ...body, ...(signature === undefined ? {} : { signature }) });
      announce(decision === "approve" ? (what === "approval" ? "Approved" : "Waiver granted") : "Denied");
      onDone();
    } catch (error) {
      state.value = { error: asFailure(error) };
    }
  };
  const isSending = state.value.isSending === true;
  return (
    <form
      ref={form}
      class="answer"
      aria-label="Your answer"
      onSubmit={(event) => {
        event.preventDefault();
        send("approve");
      }}
    >
      <NameField names={names} />
      <label class="wide">
        <span>Note {what === "approval" ? "(needed to deny)" : "(needed to deny; the agent reads it)"}</span>
        <textarea
          name="note"
          rows={2}
          maxLength={2000}
          onInput={({ currentTarget }) => currentTarget.setCustomValidity("")}
        />
      </label>
      <div class="buttons">
        <button type="submit" class="main" disabled={isSending}>
          {yes}
        </button>
        <button type="button" class="danger" disabled={isSending} onClick={() => send("deny")}>
          {no}
        </button>
      </div>
      {state.value.error !== undefined && <Failed error={state.value.error} />}
    </form>
  );
}

/** Who it is: one of some names, or any name. Who has logged in is asked only if they must sign under another name. */
export function NameField({ names }: { readonly names: readonly string[] }) {
  const own = ownName();
  const id = useId();
  const { actor } = about.value;
  if (actor !== undefined && (names.length === 0 || names.includes(actor))) return null;
  return (
    <div class="field">
      <label for={id}>Your name</label>
      {names.length === 0 ? (
        <input id={id} name="by" required maxLength={200} defaultValue={own} autocomplete="name" />
      ) : (
        <select id={id} name="by" required defaultValue={names.includes(own) ? own : ""}>
          <option value="">Choose…</option>
          {names.map((name) => (
            <option value={name} key={name} selected={name === own}>
              {line(name, 80)}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

/** What a session waits for, on its own page. With `answer` in the URL it gets the focus. */
export function WaitingNow({
  waiting,
  isWanted,
  onDone,
}: {
  readonly waiting: Waiting;
  readonly isWanted: boolean;
  readonly onDone: () => void;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    heading.current?.scrollIntoView();
    heading.current?.focus();
  }, [isWanted]);
  return (
    <section class="waiting" aria-labelledby="waiting">
      <h2 id="waiting" ref={heading} tabIndex={-1}>
        Waits for {waiting.what === "approval" ? "an approval" : "a waiver"}
        <WhoMay waiting={waiting} />
      </h2>
      <Matter waiting={waiting} />
      <AnswerForm waiting={waiting} onDone={onDone} key={waiting.request} />
    </section>
  );
}

/** Who may answer, if not everybody. */
export function WhoMay({ waiting: { approvers } }: { readonly waiting: WaitingLine }) {
  return approvers === undefined ? null : <span class="quiet"> by {line(approvers.join(" or "), 200)}</span>;
}

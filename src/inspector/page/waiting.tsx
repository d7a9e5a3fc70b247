/** What waits for a person: a request with all that the person has to see, and the answer. */
import { signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { UNCHECKED } from "../../gate/unchecked.js";
import type { Waiting, WaitingLine } from "../../read/model.js";
import type { About, AnswerBody } from "../wire.js";
import { about, post, readAbout } from "./api.js";
import { Notes, Problems, Verifications } from "./attempts.js";
import { sign } from "./passkey.js";
import { Line, Long, line, Time } from "./text.js";
import { Differences, Tree } from "./tree.js";
import { announce, Failed, List, Notice, Part, useTask } from "./view.js";

interface WaitingNowProps {
  readonly waiting: Waiting;
  readonly isWanted: boolean;
  readonly onDone: OnDone;
}

/** What a session waits for, on its own page. With `answer` in the URL it gets the focus. */
export function WaitingNow({ waiting, isWanted, onDone }: WaitingNowProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    heading.current?.scrollIntoView();
    heading.current?.focus();
  }, [isWanted]);
  return (
    <section class="waiting" aria-labelledby="waiting">
      <h2 id="waiting" ref={heading} tabIndex={-1}>
        {waiting.what === "approval" ? "To be approved" : "To be waived"}
      </h2>
      <Matter waiting={waiting} />
      <AnswerForm waiting={waiting} onDone={onDone} />
    </section>
  );
}

export function WhoMay({ waiting: { approvers } }: { readonly waiting: WaitingLine }) {
  return approvers === undefined ? null : <span class="quiet">, asked of {line(approvers.join(" or "), 200)}</span>;
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
  const { askedAt, owner } = waiting;
  const { problems = [], notes = [] } = before ?? {};
  // A denial is a note and a problem of the same words.
  const isDenied = notes.some(({ event }) => event === "denied");
  const found = isDenied ? problems.filter(({ problem }) => problem !== "denied") : problems;
  return (
    <div class="parts">
      <blockquote class="question">
        <Long text={question || (what === "approval" ? "May this go on?" : "No reason was given.")} />
      </blockquote>
      <p class="quiet">
        Asked by the agent
        <Line before=" of " text={owner} max={80} />, <Time at={askedAt} />
      </p>
      <List items={fields} title="What is to be waived" class="problems" what="field">
        {({ name, text }) => (
          <>
            <Line text={name} code /> <Long text={text} />
          </>
        )}
      </List>
      <Differences items={differences} since="the last refusal" />
      <Verifications items={verification} title="What verifiers saw" />
      <Problems items={warnings} title="Warnings" />
      {evidence !== undefined && (
        <Part title={what === "approval" ? "Evidence" : "Evidence that was refused last"}>
          <Tree value={evidence} />
        </Part>
      )}
      {unchecked.length > 0 && (
        <Part title={UNCHECKED}>
          <Line text={unchecked.join(", ")} code />
        </Part>
      )}
      {found.length + notes.length > 0 && (
        <Part title={what === "waiver" ? "Why it was refused" : "The attempt before"}>
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

/** Called with what was answered, in words. */
export type OnDone = (said: string) => void;

export function AnswerForm({ waiting, onDone }: { readonly waiting: Waiting; readonly onDone: OnDone }) {
  const { what, sessionId, request, evidenceHash, approvers: allowed = [] } = waiting;
  const { approvers, unsigned } = about.value;
  const names = namesFor(waiting, about.value);
  const { isBusy, isDone, error, run } = useTask();
  const isSent = isBusy || isDone;
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The approvers may have changed since the page was opened. If they can't be read, those that are known are shown.
    readAbout().catch(() => undefined);
  }, []);
  const isApproval = what === "approval";
  if (!unsigned && !approvers.some(({ keys }) => keys.includes("passkey"))) {
    return (
      <Notice>
        This host counts signed answers alone, and no approver has a passkey. Sign one with your key:{" "}
        <code>phasegate {isApproval ? "approve" : "waive"} --key</code>.
      </Notice>
    );
  }
  if (names.length === 0 && allowed.length > 0 && approvers.length > 0) {
    return (
      <Notice>
        Only {line(allowed.join(", "), 200)} may answer, and this host has no {unsigned ? "key" : "passkey"} of theirs.
      </Notice>
    );
  }
  const send = (decision: AnswerBody["decision"]) => {
    const field = form.current?.elements.namedItem("note");
    if (!(field instanceof HTMLTextAreaElement) || form.current === null) return;
    const note = field.value.trim() === "" ? undefined : field.value;
    const isMissing = decision === "deny" && note === undefined;
    field.setCustomValidity(isMissing ? "Say what is to be fixed: the agent reads it." : "");
    if (!form.current.reportValidity()) return;
    const by = nameIn(new FormData(form.current));
    run(async () => {
      const body: AnswerBody = { what, decision, by, request, evidenceHash, note };
      await post(`sessions/${sessionId}/answer`, { ...body, signature: await sign(sessionId, body) });
      const said = `${decision === "deny" ? "Denied" : isApproval ? "Approved" : "Waiver granted"} as ${by}`;
      announce(said);
      onDone(said);
    });
  };
  return (
    <form
      ref={form}
      class="form answer"
      aria-label="Your answer"
      onSubmit={(event) => {
        event.preventDefault();
        send("approve");
      }}
    >
      <NameField names={names} />
      <label class="grow">
        <span>Note {isApproval ? "(needed to deny)" : "(needed to deny; the agent reads it)"}</span>
        <textarea name="note" rows={1} maxLength={2000} onInput={sayNothing} />
      </label>
      <div class="buttons">
        <button type="submit" class="main" disabled={isSent}>
          {isApproval ? "Approve" : "Grant the waiver"}
        </button>
        <button type="button" class="danger" disabled={isSent} onClick={() => send("deny")}>
          {isApproval ? "Deny" : "Deny the waiver"}
        </button>
      </div>
      <Failed error={error} />
    </form>
  );
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
type FieldEvent = { readonly currentTarget: Field };

/** Makes what a field says when it is not filled in, in the place of the browser's words. */
const sayWhen =
  (text: string) =>
  ({ currentTarget }: FieldEvent) =>
    currentTarget.setCustomValidity(text);

const sayNothing = ({ currentTarget }: FieldEvent) => currentTarget.setCustomValidity("");

/** The name of the person who answered or acted last on this page, for the next time. */
const given = signal("");

/** Returns who sends a form, and keeps the name. */
export function nameIn(form: FormData): string {
  const by = form.get("by");
  if (typeof by === "string") given.value = by;
  return typeof by === "string" ? by : (about.value.actor ?? given.value);
}

/** Asks for one of some names, or any name. A person who has logged in is asked only if they must sign under another name. */
export function NameField({ names }: { readonly names: readonly string[] }) {
  const id = useId();
  const { actor } = about.value;
  const own = actor ?? given.value;
  if (actor !== undefined && (names.length === 0 || names.includes(actor))) return null;
  return (
    <div class="field">
      <label for={id}>Your name</label>
      {names.length === 0 ? (
        <input
          id={id}
          name="by"
          required
          maxLength={200}
          defaultValue={own}
          autocomplete="name"
          onInvalid={sayWhen("Say who you are")}
          onInput={sayNothing}
        />
      ) : (
        <select
          id={id}
          name="by"
          required
          defaultValue={names.includes(own) ? own : ""}
          onInvalid={sayWhen("Choose who you are")}
          onInput={sayNothing}
        >
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

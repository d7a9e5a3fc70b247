/** What a gate has found: problems, what verifiers saw, notes and waivers. */

import type { ComponentChildren } from "preact";
import type { AttemptNote, Problem, Verification } from "../../read/model.js";
import { Line, Long, Some, State, Time } from "./text.js";
import { Part } from "./view.js";

interface ListProps<T> {
  readonly items: readonly T[];
  /** The title of the part that the list is; it stands alone without one. */
  readonly title?: string;
}

/** A list of findings, of which a long one is cut; nothing if there are none. */
function Findings<T>({
  items,
  title,
  name,
  what,
  children,
}: ListProps<T> & {
  readonly name: string;
  readonly what: string;
  readonly children: (item: T) => ComponentChildren;
}) {
  if (items.length === 0) return null;
  const list = (
    <ul class={name}>
      <Some items={items} what={what}>
        {(item, index) => <li key={index}>{children(item)}</li>}
      </Some>
    </ul>
  );
  return title === undefined ? list : <Part title={title}>{list}</Part>;
}

export function Problems(props: ListProps<Problem>) {
  return (
    <Findings {...props} name="problems" what="problem">
      {({ field, message, got, expected }) => (
        <>
          {field !== "" && (
            <>
              <Line text={field} code />{" "}
            </>
          )}
          <Long text={message} />
          {got !== undefined && !message.includes(got) && (
            <p class="quiet">
              got <Line text={got} code />
            </p>
          )}
          {expected !== undefined && !message.includes(expected) && (
            <p class="quiet">
              expected <Line text={expected} code />
            </p>
          )}
        </>
      )}
    </Findings>
  );
}

/** What verifiers saw: what was run, how it ended, the lines of its output. */
export function Verifications(props: ListProps<Verification>) {
  return (
    <Findings {...props} name="verifications" what="check">
      {({ verifier, field, ok, failed, unrecorded, message, ran, exit, output, at }) => (
        <>
          <p>
            <State
              of={ok ? "ok" : "failed"}
              word={ok ? "passed" : failed ? "not possible" : unrecorded ? "no snapshot" : "failed"}
            />{" "}
            <strong>
              <Line text={verifier} />
            </strong>
            {field !== undefined && (
              <>
                {" "}
                on <Line text={field} code />
              </>
            )}{" "}
            <span class="quiet">
              <Time at={at} />
            </span>
          </p>
          <Long text={message} />
          {ran !== undefined && (
            <p class="quiet">
              <Line text={ran} code />
              {exit !== undefined && ` ended with ${exit}`}
            </p>
          )}
          {output !== undefined && output.length > 0 && <Long text={output.join("\n")} code />}
        </>
      )}
    </Findings>
  );
}

const SAID: Readonly<Record<AttemptNote["event"], string>> = {
  approved: "approved",
  denied: "denied",
  waiver_requested: "asked for a waiver",
  waiver_granted: "granted the waiver",
  waiver_denied: "denied the waiver",
  task_completed: "completed a task",
  task_given_up: "gave up a task",
  paused: "paused",
  resumed: "resumed",
  retried: "granted a retry",
  assigned: "handed over",
  plan_synced: "read the changed plan",
};

export function Notes(props: ListProps<AttemptNote>) {
  return (
    <Findings {...props} name="notes" what="note">
      {({ at, event, by = "agent", note, task, fields, authenticated }) => (
        <>
          <p>
            <strong>
              <Line text={by} max={80} />
            </strong>{" "}
            {SAID[event]}
            {task !== undefined && ` ${task}`}
            {fields !== undefined && (
              <>
                {" "}
                for <Line text={fields.join(", ")} code />
              </>
            )}{" "}
            <span class="quiet">
              {authenticated !== undefined && (authenticated ? "signed, " : "not signed, ")}
              <Time at={at} />
            </span>
          </p>
          {note !== undefined && (
            <blockquote>
              <Long text={note} />
            </blockquote>
          )}
        </>
      )}
    </Findings>
  );
}

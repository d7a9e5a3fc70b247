/** What a gate has found: problems, what verifiers saw, notes and waivers. */
import type { AttemptNote, Problem, Verification } from "../../read/model.js";
import { Line, Long, Some, State, Time } from "./text.js";

export function Problems({ items }: { readonly items: readonly Problem[] }) {
  return (
    <ul class="problems">
      <Some items={items} what="problem">
        {({ field, message, got, expected }, index) => (
          <li key={index}>
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
          </li>
        )}
      </Some>
    </ul>
  );
}

/** What verifiers saw: what was run, how it ended, the lines of its output. */
export function Verifications({ items }: { readonly items: readonly Verification[] }) {
  return (
    <ul class="verifications">
      <Some items={items} what="check">
        {({ verifier, field, ok, failed, unrecorded, message, ran, exit, output, at }, index) => (
          <li key={index}>
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
          </li>
        )}
      </Some>
    </ul>
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

export function Notes({ items }: { readonly items: readonly AttemptNote[] }) {
  return (
    <ul class="notes">
      <Some items={items} what="note">
        {({ at, event, by = "agent", note, task, fields, authenticated }, index) => (
          <li key={index}>
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
          </li>
        )}
      </Some>
    </ul>
  );
}

/** The attempts of a phased session, newest first; and what gates found: problems, what verifiers saw, notes. */
import { useEffect } from "preact/hooks";
import { excerpt } from "../../gate/excerpt.js";
import { attemptWord } from "../../read/attempt-words.js";
import type {
  AttemptDetail,
  AttemptLine,
  AttemptList,
  AttemptNote,
  PhaseLine,
  Problem,
  Verification,
} from "../../read/model.js";
import { type NotedText, notedTexts } from "../../read/noted.js";
import { useData } from "./api.js";
import { usePages } from "./records.js";
import { href, hrefWith, place } from "./router.js";
import { Ago, counted, duration, Line, Long, State, Time } from "./text.js";
import { Code, Differences, Tree } from "./tree.js";
import { Empty, Fold, List, Loading, Part, Quote } from "./view.js";

interface Findings<T> {
  readonly items?: readonly T[];
  readonly title?: string;
}

export function Problems({ items = [], title }: Findings<Problem>) {
  return (
    <List items={items} title={title} class="problems" what="problem">
      {({ field, message, got, expected }) => (
        <>
          {field !== "" && !message.includes(`'${field}'`) && <Line text={field} code />} <Long text={message} />
          {got !== undefined && !message.includes(got) && <Quiet before="got " text={got} />}
          {expected !== undefined && !message.includes(expected) && <Quiet before="expected " text={expected} />}
        </>
      )}
    </List>
  );
}

function Quiet({ before, text }: { readonly before: string; readonly text: string }) {
  return (
    <p class="quiet">
      <Line before={before} text={text} code />
    </p>
  );
}

/** The lines of a check's output that are shown at first: of a failed one, and of one that has passed. */
const [LINES, LINES_MET] = [8, 2];

/** What verifiers saw: what was run, how it ended, the lines of its output. */
export function Verifications({ items = [], title }: Findings<Verification>) {
  return (
    <List items={items} title={title} class="rows" what="check">
      {({ verifier, field, ok, failed, unrecorded, message, ran, exit, output = [], at }) => (
        <>
          <p>
            <State
              of={ok ? "ok" : "failed"}
              word={ok ? "passed" : failed ? "not possible" : unrecorded ? "no snapshot" : "failed"}
            />{" "}
            <strong>
              <Line text={verifier} />
            </strong>
            <Line before=" on " text={field} code />{" "}
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
          {output.length > 0 && (
            <Long text={(ok ? output.slice(-LINES_MET) : excerpt(output, LINES)).join("\n")} code />
          )}
          {output.length > (ok ? LINES_MET : LINES) && (
            <Fold
              isFirst={false}
              summary={(isOpen) => (isOpen ? "All lines that were kept" : "Show all lines that were kept")}
            >
              {() => <Code text={output.join("\n")} />}
            </Fold>
          )}
        </>
      )}
    </List>
  );
}

interface WaiverWordsProps {
  readonly by: string;
  readonly reason: string;
  readonly note?: string;
}

/** Why the agent has asked for a waiver, and what the person has noted who granted it. */
export function WaiverWords({ by, reason, note }: WaiverWordsProps) {
  return (
    <div class="waiver">
      <div>
        The agent’s reason: <Long text={reason} />
      </div>
      {note !== undefined && (
        <div>
          <Line text={by} max={80} />
          ’s note: <Long text={note} />
        </div>
      )}
    </div>
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
  migrated: "moved it to another revision",
  plan_synced: "read the changed plan",
};

export function Notes({ items = [], title }: Findings<AttemptNote>) {
  return (
    <List items={items} title={title} class="rows" what="note">
      {({ at, event, by = "agent", note, task, fields, authenticated }) => (
        <>
          <p>
            <strong>
              <Line text={by} max={80} />
            </strong>{" "}
            {SAID[event]}
            {task !== undefined && ` ${task}`}
            <Line before=" for " text={fields?.join(", ")} code />{" "}
            <span class="quiet">
              {authenticated !== undefined && (authenticated ? "signed, " : "not signed, ")}
              <Time at={at} />
            </span>
          </p>
          <Quote text={note} />
        </>
      )}
    </List>
  );
}

/** What the host has noted on a submission, or the sums of that. */
export function NotedList({ items = [], title }: Findings<NotedText>) {
  return (
    <List items={items} title={title} what="value">
      {({ label, text }) => (
        <>
          <Line text={label} />
          <Line before=": " text={text} />
        </>
      )}
    </List>
  );
}

interface AttemptsProps {
  readonly id: string;
  readonly version: number;
  readonly phases: readonly Pick<PhaseLine, "number" | "name" | "state">[];
  /** The phase whose attempt waits for a person. */
  readonly waitingPhase?: number;
  /** The checks of the gate that run now. */
  readonly verifying?: readonly string[];
}

export function Attempts({ id, version, phases, waitingPhase, verifying }: AttemptsProps) {
  const { items, older, ...pages } = usePages<AttemptLine, AttemptList>(
    `sessions/${id}/attempts`,
    version,
    ({ index }) => index,
  );
  /** The attempt that the URL names. */
  const named = Number(place.value.query.get("attempt") ?? Number.NaN);
  // One on which nothing was submitted yet has nothing to show, and one that waits for a person stands above.
  const first = waitingPhase === undefined ? items.find(({ status }) => status !== "active")?.index : undefined;
  const opened = Number.isNaN(named) ? first : named;
  const oldest = items.at(-1)?.index;
  useEffect(() => {
    if (oldest !== undefined && named < oldest) older?.();
  }, [named, oldest]);
  if (pages.isEmpty) return <Empty>There are no attempts.</Empty>;
  const summary = (attempt: AttemptLine) => {
    const { phase, gone, startedAt, durationSeconds, problems = [], waived = [] } = attempt;
    const at = gone === undefined ? phases.find(({ number }) => number === phase) : undefined;
    const word = attemptWord(attempt, at?.state, verifying !== undefined);
    return (
      <>
        <State of={word} />
        <span>
          Phase {phase} <Line text={gone ?? at?.name ?? ""} max={80} />
          {gone !== undefined && <span class="quiet"> (gone)</span>}
          <span class="quiet">
            {" "}
            attempt {attempt.attempt}
            {word === "verifying" && <Line before=", runs " text={verifying?.join(", ")} max={200} />}
            {problems.length > 0 && `, ${counted(problems.length, "problem")}`}
            {word === "waived" && (
              <Line before=", passed without " text={waived.flatMap(({ fields }) => fields).join(", ")} max={200} />
            )}
          </span>
        </span>
        <span class="quiet right">
          {attempt.status === "active" ? (
            ["since ", <Ago key="since" at={startedAt} suffix=" ago" />]
          ) : (
            <Time at={startedAt} />
          )}
          {durationSeconds !== undefined && `, ${duration(durationSeconds)}`}
        </span>
      </>
    );
  };
  return (
    <>
      <ol aria-label="Attempts, newest first">
        {items.map((attempt) => (
          <li key={attempt.index}>
            <Fold
              class="attempt"
              isFirst={attempt.index === opened}
              hasFocus={attempt.index === named}
              summary={() => summary(attempt)}
            >
              {() => <Attempt id={id} version={version} attempt={attempt} />}
            </Fold>
          </li>
        ))}
      </ol>
      {pages.more}
    </>
  );
}

interface AttemptProps {
  readonly id: string;
  readonly version: number;
  readonly attempt: AttemptLine;
}

/** One attempt. Its evidence and the differences are read when it is opened. */
function Attempt({ id, version, attempt }: AttemptProps) {
  const {
    index,
    status,
    problems,
    verification,
    notes,
    waived = [],
    children = [],
    proofs = [],
    noted,
    reason,
    by,
  } = attempt;
  // One that has ended does not change any more.
  const path = `sessions/${id}/attempts/${index}${status === "active" ? `?version=${version}` : ""}`;
  const detail = useData<AttemptDetail>(path, () => false);
  return (
    <div class="parts">
      <p class="quiet">
        <a href={hrefWith({ attempt: String(index) })}>Link to this attempt</a>
      </p>
      {reason !== undefined && (
        <Part title={["Reason", <Line key="by" before=" given by " text={by} max={80} />]}>
          <Long text={reason} />
        </Part>
      )}
      <Problems items={problems} title="Problems" />
      <Verifications items={verification} title="What verifiers saw" />
      <Notes items={notes} title="Notes" />
      <List items={waived} title="Waived" what="waiver">
        {({ fields, reason, note, by, authenticated }) => (
          <>
            <Line text={fields.join(", ")} code />
            <Line before=" by " text={by} max={80} />
            {authenticated ? ", signed" : ", not signed"}
            <WaiverWords by={by} reason={reason} note={note} />
          </>
        )}
      </List>
      <List items={children} title="Completed by" what="session">
        {({ sessionId, version }) => (
          <>
            <a href={href(["sessions", sessionId])}>
              <Line text={sessionId} code max={80} />
            </a>
            , version {version}
          </>
        )}
      </List>
      <List items={proofs} title="Proofs" what="proof">
        {({ field, proof }) => (
          <>
            <Line text={field} code />
            <Line before=": " text={proof} />
          </>
        )}
      </List>
      <NotedList items={notedTexts(noted)} title="Noted on the submission" />
      <Loading of={detail} what="the evidence">
        {({ evidence, differences, artifact }) => (
          <>
            <Differences items={differences} since="the attempt before" />
            <Part title="Evidence">
              {evidence === undefined ? <p class="quiet">Nothing was submitted.</p> : <Tree value={evidence} />}
            </Part>
            {artifact !== undefined && (
              <Part title="Artifact: what later phases get, as the gate’s schema has made it">
                <Tree value={artifact} />
              </Part>
            )}
          </>
        )}
      </Loading>
    </div>
  );
}

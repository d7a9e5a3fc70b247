/** Routed and recorded sessions: what was reported and decided, entry by entry. */
import type { JsonObject, RecordedDetail, RoutedDetail } from "../../read/model.js";
import { Problems, Verifications } from "./findings.js";
import { Picture } from "./graph.js";
import { AnsweredAgain, Audit } from "./records.js";
import { counted, duration, Line, Long, number, Some, State, Time } from "./text.js";
import { Tree } from "./tree.js";
import { Empty, Tabs } from "./view.js";

export function Routed({ detail }: { readonly detail: RoutedDetail }) {
  const { summary, version, drawing, context } = detail;
  return (
    <Tabs
      label="Parts of the session"
      tabs={{
        Entries: <Entries detail={detail} />,
        Graph: (
          <>
            <Picture drawing={drawing} label="Steps, and the path taken" />
            <Path detail={detail} />
          </>
        ),
        Context: <Tree value={context} />,
        Audit: <Audit id={summary.sessionId} version={version} />,
      }}
    />
  );
}

function Entries({ detail: { entries, verifying, replays = {} } }: { readonly detail: RoutedDetail }) {
  if (entries.length === 0 && verifying === undefined) return <Empty>Nothing was reported yet.</Empty>;
  return (
    <>
      {verifying !== undefined && (
        <p class="entry-head">
          <State of="verifying" /> <Line text={verifying.join(", ")} max={200} />
        </p>
      )}
      <ol class="entries" aria-label="Entries, newest first">
        <Some items={entries.toReversed()} what="entry">
          {(entry) => <RoutedEntry entry={entry} replays={replays[entry.version]} key={entry.version} />}
        </Some>
      </ol>
    </>
  );
}

/** The way that the session went, and why. */
function Path({ detail: { entries } }: { readonly detail: RoutedDetail }) {
  const steps = entries.filter(({ determinedNextStep }) => determinedNextStep !== undefined);
  return (
    <ol class="notes" aria-label="The path taken, oldest first">
      <Some items={steps} what="step">
        {({ version, stepName, determinedNextStep = "", decision }) => (
          <li key={version}>
            <p>
              <Line text={stepName === "" ? "Start" : stepName} max={80} /> →{" "}
              <strong>
                <Line text={determinedNextStep} max={80} />
              </strong>
            </p>
            {decision?.reasoning !== undefined && (
              <blockquote>
                <Long text={decision.reasoning} />
              </blockquote>
            )}
          </li>
        )}
      </Some>
    </ol>
  );
}

function RoutedEntry({
  entry,
  replays,
}: {
  readonly entry: RoutedDetail["entries"][number];
  readonly replays: number | undefined;
}) {
  const {
    timestamp,
    stepName,
    report,
    outcomeStatus,
    determinedNextStep,
    decision,
    problems = [],
    verification = [],
    reason,
    by,
  } = entry;
  return (
    <li>
      <p class="entry-head">
        <State of={stateOf(outcomeStatus, entry.problems !== undefined)} word={outcomeStatus.toLowerCase()} />
        <strong>
          <Line text={stepName === "" ? "Start" : stepName} max={80} />
        </strong>
        {determinedNextStep !== undefined && (
          <span>
            → <Line text={determinedNextStep} max={80} />
          </span>
        )}
        <AnsweredAgain times={replays} />
        <span class="quiet right">
          <Time at={timestamp} />
        </span>
      </p>
      {decision?.reasoning !== undefined && (
        <blockquote>
          <Long text={decision.reasoning} />
        </blockquote>
      )}
      {reason !== undefined && (
        <blockquote>
          <Long text={reason} />
          {by !== undefined && (
            <p class="quiet">
              <Line text={by} max={80} />
            </p>
          )}
        </blockquote>
      )}
      <Problems items={problems} />
      <Verifications items={verification} />
      {(report !== undefined || decision !== undefined) && (
        <details>
          <summary>Report and decision</summary>
          {report !== undefined && <Tree value={JSON.parse(JSON.stringify(report))} />}
          {decision !== undefined && <Decision decision={decision} />}
        </details>
      )}
    </li>
  );
}

function Decision({
  decision: { contextUpdates, milliseconds, usage, notes = [] },
}: {
  readonly decision: NonNullable<RoutedDetail["entries"][number]["decision"]>;
}) {
  const { model, inputTokens, outputTokens } = usage ?? {};
  return (
    <>
      <p class="quiet">
        Decided in {duration(milliseconds / 1000)}
        {model !== undefined && (
          <>
            {" "}
            by <Line text={model} max={80} />
          </>
        )}
        {inputTokens !== undefined && `, ${number(inputTokens)} tokens in`}
        {outputTokens !== undefined && `, ${number(outputTokens)} out`}.
      </p>
      {notes.map((note) => (
        <p key={note} class="quiet">
          <Line text={note} max={1000} />
        </p>
      ))}
      {Object.keys(contextUpdates).length > 0 && (
        <>
          <h3>Context after it</h3>
          <Tree value={contextUpdates} />
        </>
      )}
    </>
  );
}

function stateOf(outcome: string, isRefused: boolean): string {
  if (isRefused || /^(?:fail|error|cancel|denied)/i.test(outcome)) return "failed";
  if (/^(?:success|completed|approved)/i.test(outcome)) return "done";
  return /^suspended/i.test(outcome) ? "paused" : "current";
}

export function Recorded({ detail: { entries, summary, version } }: { readonly detail: RecordedDetail }) {
  return (
    <Tabs
      label="Parts of the session"
      tabs={{
        Entries: (
          <ol class="entries" aria-label="Entries, newest first">
            <Some items={entries.toReversed()} what="entry" first={200}>
              {(entry, index) => (
                <li key={index}>
                  <RecordedEntry entry={entry} />
                </li>
              )}
            </Some>
          </ol>
        ),
        Audit: <Audit id={summary.sessionId} version={version} />,
      }}
    />
  );
}

function RecordedEntry({ entry }: { readonly entry: RecordedDetail["entries"][number] }) {
  const { type, version, at, ...facts } = entry;
  const path = "path" in entry ? entry.path : "step" in entry ? entry.step : undefined;
  const size = "bytes" in entry ? `, ${counted(entry.bytes, "byte")}` : "";
  const rest: JsonObject = JSON.parse(JSON.stringify({ ...facts, path: undefined, bytes: undefined }));
  return (
    <>
      <p class="entry-head">
        <strong>{type}</strong>
        {path !== undefined && <Line text={path} code />}
        <span class="quiet">
          version {version}
          {size}
        </span>
        <span class="quiet right">
          <Time at={at} />
        </span>
      </p>
      {Object.keys(rest).length > 0 && (
        <details>
          <summary>Details</summary>
          <Tree value={rest} />
        </details>
      )}
    </>
  );
}

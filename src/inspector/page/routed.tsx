/** Routed and recorded sessions: what was reported and decided, entry by entry. */
import type { ComponentChildren } from "preact";
import type { JsonObject, RecordedDetail, RoutedDetail } from "../../read/model.js";
import { Problems, Verifications } from "./attempts.js";
import { Picture } from "./graph.js";
import { AnsweredAgain, Audit } from "./records.js";
import { counted, duration, Line, number, State, Time } from "./text.js";
import { Tree } from "./tree.js";
import { type Children, Empty, List, Quote, Tabs } from "./view.js";

type Entry = RoutedDetail["entries"][number];

export function Routed({ detail }: { readonly detail: RoutedDetail }) {
  const { summary, version, drawing, context, entries, verifying, replays = {} } = detail;
  return (
    <Tabs
      tabs={{
        Entries: (
          <>
            {entries.length === 0 && verifying === undefined && <Empty>Nothing was reported yet.</Empty>}
            {verifying !== undefined && (
              <p>
                <State of="verifying" /> <Line text={verifying.join(", ")} max={200} />
              </p>
            )}
            <Entries items={entries} keyOf={({ version }) => version}>
              {(entry) => <RoutedEntry entry={entry} replays={replays[entry.version]} />}
            </Entries>
          </>
        ),
        Graph: (
          <>
            <Picture drawing={drawing} label="Steps, and the path taken" />
            <Path entries={entries} />
          </>
        ),
        Context: <Tree value={context} />,
        Audit: <Audit id={summary.sessionId} version={version} />,
      }}
    />
  );
}

interface EntriesProps<T> {
  /** Oldest first. */
  readonly items: readonly T[];
  readonly keyOf?: (item: T) => number;
  readonly children: (item: T) => ComponentChildren;
}

function Entries<T>({ items, keyOf, children }: EntriesProps<T>) {
  return (
    <List
      items={items.toReversed()}
      class="rows entries"
      label="Entries, newest first"
      what="entry"
      first={200}
      keyOf={keyOf}
    >
      {children}
    </List>
  );
}

function Path({ entries }: Pick<RoutedDetail, "entries">) {
  const steps = entries.filter(({ determinedNextStep }) => determinedNextStep !== undefined);
  return (
    <List items={steps} class="rows" label="The path taken, oldest first" what="step">
      {({ stepName, determinedNextStep, decision }) => (
        <>
          <Line text={stepName || "Start"} max={80} /> →{" "}
          <strong>
            <Line text={determinedNextStep} max={80} />
          </strong>
          <Quote text={decision?.reasoning} />
        </>
      )}
    </List>
  );
}

function EntryHead({ at, children }: Children & { readonly at: string }) {
  return (
    <p class="entry-head">
      {children}
      <span class="quiet right">
        <Time at={at} />
      </span>
    </p>
  );
}

function RoutedEntry({ entry, replays }: { readonly entry: Entry; readonly replays?: number }) {
  const { timestamp, stepName, report, outcomeStatus, determinedNextStep, decision } = entry;
  const { problems, verification, reason, by } = entry;
  return (
    <>
      <EntryHead at={timestamp}>
        <State of={stateOf(outcomeStatus, problems !== undefined)} word={outcomeStatus.toLowerCase()} />
        <strong>
          <Line text={stepName || "Start"} max={80} />
        </strong>
        <span>
          <Line before="→ " text={determinedNextStep} max={80} />
        </span>
        <AnsweredAgain times={replays} />
      </EntryHead>
      <Quote text={decision?.reasoning} />
      <Quote text={reason}>
        <p class="quiet">
          <Line text={by} max={80} />
        </p>
      </Quote>
      <Problems items={problems} />
      <Verifications items={verification} />
      {(report !== undefined || decision !== undefined) && (
        <details>
          <summary>Report and decision</summary>
          {report !== undefined && <Tree value={JSON.parse(JSON.stringify(report))} />}
          {decision !== undefined && <Decision decision={decision} />}
        </details>
      )}
    </>
  );
}

function Decision({ decision }: { readonly decision: NonNullable<Entry["decision"]> }) {
  const { contextUpdates, milliseconds, usage, notes = [] } = decision;
  const { model, inputTokens, outputTokens } = usage ?? {};
  return (
    <>
      <p class="quiet">
        Decided in {duration(milliseconds / 1000)}
        <Line before=" by " text={model} max={80} />
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
      tabs={{
        Entries: <Entries items={entries}>{(entry) => <RecordedEntry entry={entry} />}</Entries>,
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
      <EntryHead at={at}>
        <strong>{type}</strong>
        <Line text={path} code />
        <span class="quiet">
          version {version}
          {size}
        </span>
      </EntryHead>
      {Object.keys(rest).length > 0 && (
        <details>
          <summary>Details</summary>
          <Tree value={rest} />
        </details>
      )}
    </>
  );
}

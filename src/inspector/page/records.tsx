/** A session's log, page by page, and its audit. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Activity, CommitLine, CommitList, Findings } from "../../read/model.js";
import { asFailure, type Failure, get } from "./api.js";
import { href } from "./router.js";
import { counted, Line, line, number, State, Time } from "./text.js";
import { Empty, Failed, List, Notice, Quote, Table, useTask, Waiting } from "./view.js";

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string;
  readonly total: number;
}

/** Reads a list page by page, newest first. A new version of the session brings its newest items. */
export function usePages<Item, Page extends PageOf<Item>>(
  path: string,
  version: number,
  keyOf: (item: Item) => number,
) {
  const state = useSignal<Partial<PageOf<Item>> & { readonly error?: Failure }>({});
  const isReading = useSignal(false);
  const read = async (cursor: string | undefined, isNewest: boolean, signal?: AbortSignal) => {
    isReading.value = true;
    try {
      const page = await get<Page>(`${path}${cursor === undefined ? "" : `?cursor=${cursor}`}`, signal);
      const { items = [], cursor: before } = state.peek();
      const last = page.items.at(-1);
      const [newest] = items;
      // More have come than a page has: what lies between would be missing.
      const isApart = last !== undefined && newest !== undefined && keyOf(newest) < keyOf(last) - 1;
      const older = isNewest && last !== undefined && !isApart ? items.filter((item) => keyOf(item) < keyOf(last)) : [];
      state.value = isNewest
        ? { items: [...page.items, ...older], cursor: older.length > 0 ? before : page.cursor, total: page.total }
        : { items: [...items, ...page.items], cursor: page.cursor, total: page.total };
    } catch (error) {
      if (signal?.aborted !== true) state.value = { ...state.peek(), error: asFailure(error) };
    }
    isReading.value = false;
  };
  useEffect(() => {
    const end = new AbortController();
    read(undefined, true, end.signal);
    return () => end.abort();
  }, [path, version]);
  const { items = [], cursor, total, error } = state.value;
  const more = (
    <>
      <Failed error={error} reload={() => read(cursor, cursor === undefined)} />
      {total === undefined && error === undefined && <Waiting>Reading…</Waiting>}
      {cursor !== undefined && error === undefined && (
        <p class="end">
          <button type="button" disabled={isReading.value} onClick={() => read(cursor, false)}>
            Older ({number((total ?? 0) - items.length)} left)
          </button>
        </p>
      )}
    </>
  );
  const older = cursor === undefined || error !== undefined ? undefined : () => read(cursor, false);
  return { items, more, older, isEmpty: total === 0 };
}

export function AnsweredAgain({ times }: { readonly times?: number }) {
  return times === undefined ? null : <span class="quiet"> (answered again {counted(times, "time")})</span>;
}

interface LogProps {
  readonly id: string;
  readonly version: number;
  /** How often a commit was the answer to a repeated call. */
  readonly replays?: Activity["replays"];
}

export function Log({ id, version, replays = {} }: LogProps) {
  const { items, more } = usePages<CommitLine, CommitList>(
    `sessions/${id}/commits`,
    version,
    (commit) => commit.version,
  );
  return (
    <>
      <Table
        class="log"
        label="Commits, newest first"
        columns={["Version", "Time", "What happened", "Hash"]}
        rows={items.map(({ version, at, events, note, hash }) => [
          version,
          [
            version,
            <Time key="time" at={at} />,
            <>
              {events.map((event, index) => (
                <div key={index}>
                  <Line text={event} />
                </div>
              ))}
              <AnsweredAgain times={replays[version]} />
              <Quote text={note} />
            </>,
            <Hash key="hash" hash={hash} />,
          ],
        ])}
      />
      {more}
    </>
  );
}

export function Hash({ hash }: { readonly hash: string }) {
  return <code title={hash}>{hash.slice(0, 10)}</code>;
}

export function Audit({ id, version }: { readonly id: string; readonly version: number }) {
  const done = useSignal<{ readonly version: number; readonly report: Findings } | undefined>(undefined);
  const { isBusy, error, run } = useTask();
  const audit = async () => {
    done.value = { version, report: await get<Findings>(`sessions/${id}/audit`) };
  };
  const report = error === undefined ? done.value?.report : undefined;
  return (
    <>
      <p>
        The audit reads the whole log, checks that each commit follows the one before, and checks every approval again.
      </p>
      <button type="button" onClick={() => run(audit)} disabled={isBusy}>
        {isBusy ? "Reading the log…" : report === undefined ? "Run the audit" : "Run it again"}
      </button>
      <div aria-live="polite">
        <Failed error={error} />
        {report !== undefined && (
          <>
            {done.value?.version !== version && <Notice>The session has changed since this audit.</Notice>}
            <Report report={report} />
          </>
        )}
      </div>
    </>
  );
}

function Report({ report }: { readonly report: Findings }) {
  const count = counted(report.versions, "commit");
  return (
    <>
      <p>
        <State of={report.intact ? "ok" : "failed"} word={report.intact ? "intact" : "not intact"} />
        {": "}
        {report.intact
          ? `${count}, each follows the one before.`
          : `the first ${count} are intact. ${line(report.reason, 1000)}`}
      </p>
      {report.intact && report.receipt !== undefined && (
        <p class="quiet">
          Receipt: version {report.receipt.version}, <code>{report.receipt.hash}</code>
        </p>
      )}
      {report.approvals.length === 0 && <Empty>No gate has passed with an approval or a waiver.</Empty>}
      <List<Findings["approvals"][number]> items={report.approvals} class="rows approvals" what="approval">
        {(pass) => <Approval pass={pass} />}
      </List>
      {"accepted" in report &&
        report.accepted?.map(({ name, is, reason, by, version }) => (
          <p key={`${version} ${name}`} class="quiet">
            <Line text={by} max={80} /> has accepted in version {version} that <Line text={name} max={80} /> is {is}:{" "}
            <Line text={reason} max={1000} />
          </p>
        ))}
      {"children" in report &&
        report.children?.map(({ phase, sessionId, version, intact, reason, gone }) => (
          <p key={sessionId}>
            <State
              of={gone ? "warning" : intact ? "ok" : "failed"}
              word={gone ? "gone" : intact ? "intact" : "not intact"}
            />{" "}
            Phase {phase} passed with{" "}
            <a href={href(["sessions", sessionId])}>
              <Line text={sessionId} code max={80} />
            </a>
            , version {version}. {reason !== undefined && line(reason, 1000)}
          </p>
        ))}
      {report.warnings.map(({ by, version, counter, before }) => (
        <Notice key={version}>
          A passkey of <Line text={by} max={80} /> may have been copied: version {version} is its signature number{" "}
          {number(counter)}, and version {before.version} was already number {number(before.counter)}.
        </Notice>
      ))}
    </>
  );
}

function Approval({ pass }: { readonly pass: Findings["approvals"][number] }) {
  const { by, at, version, authenticated, distrust } = pass;
  const what = "on" in pass ? pass.on : "approval";
  const why = distrust === "unsigned" ? "it is not signed" : distrust?.replaceAll("_", " ");
  return (
    <>
      <State of={why === undefined ? "ok" : "failed"} word={why === undefined ? "accepted" : "not accepted"} />{" "}
      {"step" in pass ? <Line text={pass.step} max={80} /> : `Phase ${pass.phase}`}:{" "}
      {by === undefined ? (
        `the log has no ${what}`
      ) : (
        <>
          {what} by <Line text={by} max={80} />, {authenticated ? "signed" : "not signed"}
          {why !== undefined && ` (${why})`}
        </>
      )}{" "}
      <span class="quiet">
        <Time at={at} />, version {version}
      </span>
    </>
  );
}

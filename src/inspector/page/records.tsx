/** A session's log, page by page, and its audit. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Activity, CommitLine, CommitList, Findings } from "../../read/model.js";
import { asFailure, type Failure, get } from "./api.js";
import { counted, Line, Long, line, number, State, Time } from "./text.js";
import { Columns, Empty, Failed } from "./view.js";

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string | undefined;
  readonly total: number;
}

/** Reads a list page by page, newest first. A new version of the session brings its newest items. */
export function usePages<Item, Page extends PageOf<Item>>(
  path: string,
  version: number,
  keyOf: (item: Item) => number,
) {
  const state = useSignal<{ items: readonly Item[]; cursor?: string | undefined; total?: number; error?: Failure }>({
    items: [],
  });
  const isReading = useSignal(false);
  const read = async (cursor: string | undefined, isNewest: boolean, signal?: AbortSignal) => {
    isReading.value = true;
    try {
      const page = await get<Page>(`${path}${cursor === undefined ? "" : `?cursor=${cursor}`}`, signal);
      const { items, cursor: before } = state.peek();
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
  const { items, cursor, total, error } = state.value;
  const more: ComponentChildren = (
    <>
      {error !== undefined && <Failed error={error} reload={() => read(cursor, cursor === undefined)} />}
      {total === undefined && error === undefined && <p class="loading">Reading…</p>}
      {cursor !== undefined && error === undefined && (
        <p class="end">
          <button type="button" disabled={isReading.value} onClick={() => read(cursor, false)}>
            Older ({number((total ?? 0) - items.length)} left)
          </button>
        </p>
      )}
    </>
  );
  return { items, more, isEmpty: total === 0 };
}

export function AnsweredAgain({ times }: { readonly times: number | undefined }) {
  return times === undefined ? null : <span class="quiet"> (answered again {counted(times, "time")})</span>;
}

export function Log({
  id,
  version,
  replays = {},
}: {
  readonly id: string;
  readonly version: number;
  /** How often a commit was the answer to a repeated call. */
  readonly replays?: Activity["replays"];
}) {
  const { items, more } = usePages<CommitLine, CommitList>(
    `sessions/${id}/commits`,
    version,
    (commit) => commit.version,
  );
  return (
    <>
      <table class="log" aria-label="Commits, newest first">
        <Columns names={["Version", "Time", "Events", "By", "Hash"]} />
        <tbody>
          {items.map(({ version, at, events, by, note, hash }) => (
            <tr key={version}>
              <th scope="row">{version}</th>
              <td>
                <Time at={at} />
              </td>
              <td>
                {events.map((event) => event.replaceAll("_", " ")).join(", ")}
                <AnsweredAgain times={replays[version]} />
                {note !== undefined && (
                  <blockquote>
                    <Long text={note} />
                  </blockquote>
                )}
              </td>
              <td>{by !== undefined && <Line text={by} max={80} />}</td>
              <td>
                <code title={hash}>{hash.slice(0, 10)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

const DISTRUST: Readonly<Record<string, string>> = {
  unsigned: "it is not signed",
};

export function Audit({ id, version }: { readonly id: string; readonly version: number }) {
  const state = useSignal<{ version: number; report?: Findings; error?: Failure } | undefined>(undefined);
  const isRunning = useSignal(false);
  const run = async () => {
    isRunning.value = true;
    try {
      state.value = { version, report: await get<Findings>(`sessions/${id}/audit`) };
    } catch (error) {
      state.value = { version, error: asFailure(error) };
    }
    isRunning.value = false;
  };
  const { report, error } = state.value ?? {};
  return (
    <>
      <p>
        The audit reads the whole log, checks that each commit follows the one before, and checks every approval again.
      </p>
      <button type="button" onClick={run} disabled={isRunning.value}>
        {isRunning.value ? "Reading the log…" : report === undefined ? "Run the audit" : "Run it again"}
      </button>
      <div aria-live="polite">
        {error !== undefined && <Failed error={error} />}
        {report !== undefined && (
          <>
            {state.value?.version !== version && <p class="notice">The session has changed since this audit.</p>}
            <p>
              <State of={report.intact ? "ok" : "failed"} word={report.intact ? "intact" : "not intact"} />
              {": "}
              {report.intact
                ? `${counted(report.versions, "commit")}, each follows the one before.`
                : `the first ${counted(report.versions, "commit")} are intact. ${line(report.reason, 1000)}`}
            </p>
            {report.intact && report.receipt !== undefined && (
              <p class="quiet">
                Receipt: version {report.receipt.version}, <code class="hash">{report.receipt.hash}</code>
              </p>
            )}
            <Approvals items={report.approvals} />
            {report.warnings.map(({ by, version, counter, before }) => (
              <p class="notice" key={version}>
                A passkey of <Line text={by} max={80} /> may have been copied: version {version} is its signature number{" "}
                {number(counter)}, and version {before.version} was already number {number(before.counter)}.
              </p>
            ))}
          </>
        )}
      </div>
    </>
  );
}

function Approvals({ items }: { readonly items: Findings["approvals"] }) {
  if (items.length === 0) return <Empty>No gate has passed with an approval or a waiver.</Empty>;
  return (
    <ul class="approvals">
      {items.map((pass) => {
        const { by, at, version, authenticated, distrust } = pass;
        const what = "on" in pass ? pass.on : "approval";
        return (
          <li key={`${version} ${what}`}>
            <State
              of={distrust === undefined ? "ok" : "failed"}
              word={distrust === undefined ? "accepted" : "not accepted"}
            />{" "}
            {"step" in pass ? <Line text={pass.step} max={80} /> : `Phase ${pass.phase}`}:{" "}
            {by === undefined ? (
              `the log has no ${what}`
            ) : (
              <>
                {what} by <Line text={by} max={80} />, {authenticated ? "signed" : "not signed"}
                {distrust !== undefined && ` (${DISTRUST[distrust] ?? distrust.replaceAll("_", " ")})`}
              </>
            )}{" "}
            <span class="quiet">
              <Time at={at} />, version {version}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

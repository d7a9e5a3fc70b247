/** The rows of the list of sessions, of which only those on the screen are in the document. */
import { signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { waivedWords } from "../../read/filter.js";
import type { BrokenSession, ListedSession } from "../../read/model.js";
import { orderOf, type Sort } from "../../read/order.js";
import { standingOf, standingText } from "../../read/standing.js";
import { onMessage } from "./api.js";
import { listed, noteMessage, readMore } from "./list.js";
import { href, hrefWith, place } from "./router.js";
import { Ago, counted, Line, line, MiddleCut, Standing, unchanged } from "./text.js";
import { announce, Failed } from "./view.js";

const WIDE = matchMedia("(min-width: 760px)");
/** Returns the height of a row in pixels, as page.css has it. */
const heightNow = () => (WIDE.matches ? 38 : 76);
const rowHeight = signal(heightNow());
WIDE.addEventListener("change", () => {
  rowHeight.value = heightNow();
});
/** Rows above and below the screen that are there, too. */
const AROUND = 12;

/** The rows that are on the screen, as a range. */
function useWindow(rows: { readonly current: HTMLElement | null }, height: number) {
  const top = useSignal(0);
  const screen = useSignal(innerHeight);
  useEffect(() => {
    const look = () => {
      const above = -(rows.current?.getBoundingClientRect().top ?? 0);
      top.value = Math.floor(above / height);
      screen.value = innerHeight;
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rows, height, top, screen]);
  return useComputed(() => {
    const first = Math.max(0, top.value - AROUND);
    return { first, end: first + Math.ceil(screen.value / height) + 2 * AROUND };
  });
}

/** `damaged` are the sessions that can't be shown and stand above the others. */
export function Rows({ damaged }: { readonly damaged: readonly BrokenSession[] }) {
  const height = rowHeight.value;
  const body = useRef<HTMLTableSectionElement>(null);
  const range = useWindow(body, height);
  useLive(height, body, damaged.length);
  const { rows, cursor, isReading, error } = listed.value;
  const count = damaged.length + rows.length;
  const end = Math.min(range.value.end, count);
  const first = Math.min(range.value.first, Math.max(0, end - 1));
  const isNearEnd = end >= count - AROUND;
  useEffect(() => {
    if (isNearEnd && cursor !== undefined && error === undefined && !isReading) readMore();
  }, [isNearEnd, cursor, error, isReading]);
  if (count === 0) return null;
  const sessions = rows.slice(Math.max(0, first - damaged.length), Math.max(0, end - damaged.length));
  const before = Math.max(first, damaged.length);
  return (
    <>
      <table class="sessions" aria-label="Sessions" aria-rowcount={cursor === undefined ? count + 1 : -1}>
        <Heads />
        <tbody ref={body} id="rows" tabIndex={-1} onKeyDown={moveFocus}>
          <Space rows={first} height={height} />
          {damaged.slice(first, end).map((session, index) => (
            <Damaged session={session} index={first + index} key={session.sessionId} />
          ))}
          {sessions.map((session, index) => (
            <Row session={session} index={before + index} key={session.sessionId} />
          ))}
          <Space rows={count - end} height={height} />
        </tbody>
      </table>
      <Failed error={error} reload={readMore} />
      {cursor !== undefined && error === undefined && (
        <p class="end">
          <button type="button" onClick={readMore} disabled={isReading}>
            {isReading ? "Reading more…" : "More"}
          </button>
        </p>
      )}
    </>
  );
}

/** Stands for rows that are not in the document. */
function Space({ rows, height }: { readonly rows: number; readonly height: number }) {
  return rows === 0 ? null : <tr class="space" style={{ height: `${rows * height}px` }} />;
}

/** The columns, by what they are sorted by. */
export const COLUMNS: readonly (readonly [Sort, string])[] = [
  ["status", "Status"],
  ["target", "Target"],
  ["phase", "Phase"],
  ["workflow", "Workflow"],
  ["owner", "Owner"],
  ["changed", "Last change"],
  ["started", "Age"],
];

/** Returns the `sort` of the query that a click on a head asks for: times begin with the newest, texts with the first. */
function nextSort(name: Sort): string {
  const { sort, isDescending } = orderOf(place.value.query) ?? {};
  const isTime = name === "changed" || name === "started";
  return (sort === name ? !isDescending : isTime) ? `-${name}` : name;
}

function Heads() {
  const { sort, isDescending } = orderOf(place.value.query) ?? {};
  return (
    <thead>
      <tr>
        {COLUMNS.map(([name, text]) => {
          // An age is the less the later something was started.
          const isUp = name === "started" ? isDescending : !isDescending;
          return (
            <th
              scope="col"
              class={`c-${name}`}
              key={name}
              aria-sort={sort !== name ? undefined : isUp ? "ascending" : "descending"}
            >
              <a href={hrefWith({ sort: nextSort(name) })}>{text}</a>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Applies messages to the list. Rows that come in above the screen do not move what is on it. */
function useLive(height: number, body: { readonly current: HTMLElement | null }, damaged: number): void {
  useEffect(() => {
    let fresh = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onMessage((message) => {
      const focused = document.activeElement;
      const { from, to } = noteMessage(message);
      // A row that is moved loses the focus.
      if (body.current?.contains(focused) && focused instanceof HTMLElement)
        setTimeout(() => document.activeElement === document.body && focused.focus({ preventScroll: true }));
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const isAbove = (index: number) => index !== -1 && (index + damaged) * height < top;
      if (from !== to) scrollBy(0, height * (Number(isAbove(to)) - Number(isAbove(from))));
      if (from !== -1 || to === -1) return;
      fresh += 1;
      clearTimeout(timer);
      timer = setTimeout(() => {
        announce(counted(fresh, "new session"));
        fresh = 0;
      }, 1000);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [height, body, damaged]);
}

function Row({ session, index }: { readonly session: ListedSession; readonly index: number }) {
  const { sessionId, workflowType, workflowName = workflowType, owner, target, createdAt, updatedAt } = session;
  const name = line(target || sessionId, 1000);
  const still = unchanged(session);
  return (
    <tr aria-rowindex={index + 2}>
      <td class="c-status">
        <Standing of={standingOf(session)} word={standingText(session)} />
        {still !== undefined && [
          " ",
          <span class="unchanged" key="unchanged">
            {still}
          </span>,
        ]}
      </td>
      <th scope="row" class="c-target">
        <a href={href(["sessions", sessionId])} title={target.length > 40 ? name : undefined} aria-label={name}>
          <MiddleCut text={name} />
        </a>
      </th>
      <td class="c-phase">
        <span class="progress">
          <Progress of={session} />
          {session.waived && (
            <span class="tag" title={line(waivedWords(session) ?? "")}>
              waived
            </span>
          )}
        </span>
      </td>
      <td class="c-workflow" title={line(workflowType)}>
        <Line text={workflowName} max={80} />
      </td>
      <td class="c-owner">
        <Line text={owner} max={80} />
      </td>
      <td class="c-changed">
        <Ago at={updatedAt} />
      </td>
      <td class="c-started">
        <Ago at={createdAt} />
      </td>
    </tr>
  );
}

/** A session whose log can't be trusted, or not be read, and why. */
function Damaged({ session, index }: { readonly session: BrokenSession; readonly index: number }) {
  const { sessionId, code, message } = session;
  return (
    <tr aria-rowindex={index + 2} class="damaged">
      <td class="c-status">
        <Standing of="damaged" word={code === "TAMPERED" ? "Damaged" : "Not shown"} />
      </td>
      <th scope="row" class="c-target">
        <a href={href(["sessions", sessionId])} aria-label={line(sessionId, 1000)}>
          <MiddleCut text={sessionId} />
        </a>
      </th>
      <td colSpan={COLUMNS.length - 3} class="c-why" title={line(message, 1000)}>
        {line(message)}
      </td>
      {/* The last column is not on every screen. */}
      <td class="c-started" />
    </tr>
  );
}

/** As many phases are drawn one by one. */
const SEGMENTS_MAX = 12;

/** How far a session is: a bar, and the phase that it is in. */
function Progress({ of: session }: { readonly of: ListedSession }) {
  const { status, current, total, phaseName } = session;
  if (typeof current === "string" || total === undefined)
    return (
      <span>
        <Line text={typeof current === "string" ? current : `phase ${current}`} max={80} />
      </span>
    );
  const isDone = status === "completed";
  const done = isDone ? total : current - 1;
  const standing = `is-${standingOf(session)}`;
  return (
    <>
      <span class={`bar ${standing}`} aria-hidden="true" title={`${current} of ${total}`}>
        {total > SEGMENTS_MAX ? (
          <i class="done" style={{ flexGrow: 0, flexBasis: `${(100 * done) / total}%` }} />
        ) : (
          Array.from({ length: total }, (_, index) => (
            <i key={index} class={index < done ? "done" : index === done ? "now" : ""} />
          ))
        )}
      </span>
      {isDone ? (
        <span>{counted(total, "phase")}</span>
      ) : (
        <span>
          {current} <Line text={phaseName} max={80} />
        </span>
      )}
      <span class="unseen"> of {total}</span>
    </>
  );
}

/** Up and down move between the rows' links. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step !== undefined && moveRow(step)) event.preventDefault();
}

/** Moves the focus to a row before or behind the one that has it, or to the first one. Returns false if there is none. */
export function moveRow(step: number): boolean {
  const links = [...document.querySelectorAll<HTMLElement>(".sessions tbody th a")];
  const at = links.findIndex((link) => link.matches(":focus"));
  const next = at === -1 ? links[0] : links[at + step];
  next?.focus();
  return next !== undefined;
}

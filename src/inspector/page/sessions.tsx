/** The list of sessions: filters, the rows as far as they were read, of which only those on the screen are in the document. */
import { signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { FILTERS, filterOf, isChosen } from "../../read/filter.js";
import type { BrokenSession, ListedSession, SessionList } from "../../read/model.js";
import type { LiveMessage, WorkflowList } from "../wire.js";
import { about, asFailure, type Failure, get, onMessage, useData } from "./api.js";
import { go, href, hrefWith, place } from "./router.js";
import { Ago, counted, Line, line, number, State } from "./text.js";
import { announce, Columns, Empty, Failed, Heading, Waiting } from "./view.js";

interface Listed {
  readonly query: string;
  readonly rows: readonly ListedSession[];
  readonly broken: readonly BrokenSession[];
  readonly cursor?: string;
  readonly total?: number;
  readonly isReading: boolean;
  readonly error?: Failure;
}

const NOTHING: Listed = { query: "", rows: [], broken: [], isReading: true };

/** The list that was shown last: "back" from a session finds it as it was. */
const listed = signal<Listed>(NOTHING);

const PAGE = 100;
/** As many rows are read anew after a lost connection; a person who has scrolled further scrolls again. */
const AGAIN_MAX = 1000;

/** The query that is read: what is shown may still answer the one before. */
let wanted = "";

/** Begins a list, or reads it anew up to as many rows as it has. The shown rows stay until then. */
async function readList(query: string): Promise<void> {
  wanted = query;
  const before = listed.peek();
  const rows = before.query === query ? Math.min(before.rows.length, AGAIN_MAX) : 0;
  listed.value = { ...before, isReading: true, error: undefined };
  let read: Listed = { ...NOTHING, query };
  try {
    do {
      read = joined(read, await pageOf(read));
    } while (read.rows.length < rows && read.cursor !== undefined && wanted === query);
    if (wanted === query) listed.value = { ...read, isReading: false };
  } catch (error) {
    if (wanted === query) listed.value = { ...NOTHING, query, isReading: false, error: asFailure(error) };
  }
}

async function readMore(): Promise<void> {
  const before = listed.peek();
  if (before.isReading || before.cursor === undefined) return;
  listed.value = { ...before, isReading: true, error: undefined };
  try {
    const page = await pageOf(before);
    const now = listed.peek();
    if (wanted === before.query && now.cursor === before.cursor)
      listed.value = { ...joined(now, page), isReading: false };
  } catch (error) {
    if (wanted === before.query) listed.value = { ...listed.peek(), isReading: false, error: asFailure(error) };
  }
}

function pageOf({ query, cursor }: Listed): Promise<SessionList> {
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(PAGE));
  if (cursor !== undefined) parameters.set("cursor", cursor);
  return get<SessionList>(`sessions?${parameters}`);
}

function joined(before: Listed, page: SessionList): Listed {
  const known = new Set(before.rows.map(({ sessionId }) => sessionId));
  const broken = new Map([...before.broken, ...page.broken].map((one) => [one.sessionId, one]));
  return {
    ...before,
    rows: [...before.rows, ...page.items.filter(({ sessionId }) => !known.has(sessionId))],
    broken: [...broken.values()],
    cursor: page.cursor,
    total: before.total ?? page.total,
  };
}

/** Changes the list by a message. Returns the number of rows that came in above the first one, to keep the place. */
function applyMessage(message: LiveMessage): number {
  if (message.type === "reset") {
    readList(wanted);
    return 0;
  }
  const before = listed.peek();
  const { rows, total, cursor } = before;
  /** Shows other rows; a total that is known changes with their number. */
  const show = (now: readonly ListedSession[]) => {
    const added = now.length - rows.length;
    listed.value = { ...before, rows: now, total: total === undefined ? undefined : total + added };
    return Math.max(0, added);
  };
  const id = message.type === "gone" ? message.sessionId : message.session.sessionId;
  const at = rows.findIndex(({ sessionId }) => sessionId === id);
  const filter = filterOf(new URLSearchParams(before.query));
  // What has just changed is not stuck.
  const isShown = message.type === "session" && filter.stuck === undefined && isChosen(message.session, filter);
  if (!isShown) return at === -1 ? 0 : show(rows.toSpliced(at, 1));
  const { session } = message;
  if (at !== -1) return show(rows.with(at, session));
  const place = rows.findIndex(({ createdAt }) => createdAt <= session.createdAt);
  // It is older than everything that was read, and comes with a later page.
  if (place === -1 && cursor !== undefined) return 0;
  return show(rows.toSpliced(place === -1 ? rows.length : place, 0, session));
}

const WIDE = matchMedia("(min-width: 760px)");
/** Returns the height of a row in pixels, as page.css has it. */
const heightNow = () => (WIDE.matches ? 38 : 76);
const rowHeight = signal(heightNow());
WIDE.addEventListener("change", () => {
  rowHeight.value = heightNow();
});
/** Rows above and below the screen that are there, too. */
const AROUND = 12;

export function Sessions() {
  const query = new URLSearchParams(Object.entries(filterOf(place.value.query))).toString();
  useEffect(() => {
    readList(query);
  }, [query]);
  const { total, rows, cursor } = listed.value;
  const shown = total === undefined ? `${number(rows.length)}${cursor === undefined ? "" : "+"}` : number(total);
  return (
    <>
      <Heading title="Sessions" count={listed.value.isReading && rows.length === 0 ? "" : shown} />
      <Filters />
      <Rows />
      <Broken />
    </>
  );
}

const STUCK = [
  ["600", "10 minutes"],
  ["3600", "an hour"],
  ["86400", "a day"],
  ["604800", "a week"],
] as const;
const WAITING = [
  ["any", "anything"],
  ["approval", "an approval"],
  ["waiver", "a waiver"],
  ["host", "the host"],
] as const;
const STATUSES = ["active", "paused", "failed", "completed"] as const;

function ClearFilters() {
  return <a href={href(["sessions"])}>Clear filters</a>;
}

function Filters() {
  const { query } = place.value;
  const value = (name: (typeof FILTERS)[number]) => query.get(name) ?? "";
  const set = (changes: Readonly<Record<string, string>>) => go(hrefWith(changes));
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  const type = (name: string) => (event: { readonly currentTarget: HTMLInputElement }) => {
    const text = event.currentTarget.value;
    clearTimeout(typing.current);
    typing.current = setTimeout(() => go(hrefWith({ [name]: text }), { replace: true }), 200);
  };
  useEffect(() => () => clearTimeout(typing.current), []);
  const chosen = value("status") === "" ? [] : value("status").split(",");
  const toggle = (status: string) =>
    set({ status: STATUSES.filter((one) => chosen.includes(one) !== (one === status)).join(",") });
  const isFiltered = FILTERS.some((name) => value(name) !== "");
  return (
    <search class="form">
      <label class="grow">
        <span>Text</span>
        <input type="search" value={value("text")} onInput={type("text")} placeholder="Id, workflow or target" />
      </label>
      <fieldset>
        <legend>Status</legend>
        {STATUSES.map((status) => (
          <label key={status} class="toggle">
            <input type="checkbox" checked={chosen.includes(status)} onChange={() => toggle(status)} />
            {status}
          </label>
        ))}
      </fieldset>
      <WorkflowSelect value={value("workflow")} onChange={(workflow) => set({ workflow })} />
      <label class="short">
        <span>Phase or step</span>
        <input value={value("phase")} onInput={type("phase")} />
      </label>
      <label class="short">
        <span>Owner</span>
        <input value={value("owner")} onInput={type("owner")} />
      </label>
      <Select label="Waits for" options={WAITING} value={value("waiting")} onChange={(waiting) => set({ waiting })} />
      <Select label="No change for" options={STUCK} value={value("stuck")} onChange={(stuck) => set({ stuck })} />
      {about.value.kinds.length > 1 && (
        <Select
          label="Kind"
          options={about.value.kinds.map((kind) => [kind, kind])}
          value={value("kind")}
          onChange={(kind) => set({ kind })}
        />
      )}
      {isFiltered && <ClearFilters />}
    </search>
  );
}

interface SelectProps {
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A choice of one option, or any. Another value in the URL is one option more. */
function Select({ label, options, value, onChange }: SelectProps) {
  const isOwn = value === "" || options.some(([option]) => option === value);
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">any</option>
        {!isOwn && <option value={value}>{line(value, 40)}</option>}
        {options.map(([option, text]) => (
          <option value={option} key={option}>
            {line(text, 40)}
          </option>
        ))}
      </select>
    </label>
  );
}

export function WorkflowSelect({ value, onChange }: Pick<SelectProps, "value" | "onChange">) {
  const { data } = useData<WorkflowList>("workflows");
  const types = [...new Set(data?.items.map(({ type }) => type))].sort();
  return <Select label="Workflow" options={types.map((type) => [type, type])} value={value} onChange={onChange} />;
}

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

function Rows() {
  const height = rowHeight.value;
  const body = useRef<HTMLTableSectionElement>(null);
  const range = useWindow(body, height);
  useLive(height, body);
  const { rows, cursor, isReading, error } = listed.value;
  const end = Math.min(range.value.end, rows.length);
  const first = Math.min(range.value.first, Math.max(0, end - 1));
  const isNearEnd = end >= rows.length - AROUND;
  useEffect(() => {
    if (isNearEnd && cursor !== undefined && error === undefined) readMore();
    // A page may have brought no rows, where filters are applied to a part of the sessions at a time: then the next one is read.
  }, [isNearEnd, cursor, error]);
  if (rows.length === 0) return <NoRows />;
  return (
    <>
      <table
        class="sessions"
        aria-label="Sessions, newest first"
        aria-rowcount={cursor === undefined ? rows.length + 1 : -1}
      >
        <Columns names={["Status", "Target", "Workflow", "At", "Waits for", "Last change", "Age"]} />
        <tbody ref={body} onKeyDown={moveFocus}>
          <Space rows={first} height={height} />
          {rows.slice(first, end).map((session, index) => (
            <Row session={session} index={first + index} key={session.sessionId} />
          ))}
          <Space rows={rows.length - end} height={height} />
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

/** Applies messages to the list. Rows that come in above the screen do not move what is on it. */
function useLive(height: number, body: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    let fresh = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onMessage((message) => {
      const added = applyMessage(message);
      if (added === 0) return;
      if ((body.current?.getBoundingClientRect().top ?? 0) < 0) scrollBy(0, height);
      fresh += added;
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
  }, [height, body]);
}

function Row({ session, index }: { readonly session: ListedSession; readonly index: number }) {
  const { sessionId, workflowType, owner, target, status, current, total, waitsFor, createdAt, updatedAt } = session;
  const at = total === undefined ? `phase ${current}` : `${current} of ${total}`;
  return (
    <tr aria-rowindex={index + 2}>
      <td class="c-status">
        <State of={status} />
      </td>
      <th scope="row" class="c-target">
        <a href={href(["sessions", sessionId])} title={target.length > 40 ? line(target) : undefined}>
          <Line text={target || sessionId} />
        </a>
      </th>
      <td class="c-workflow">
        <Line text={workflowType} />
        <Line before=" of " text={owner} />
      </td>
      <td class="c-phase">{typeof current === "number" ? at : <Line text={current} />}</td>
      <td class="c-waits">{waitsFor !== undefined && <State of="waiting" word={waitsFor.join(", ")} />}</td>
      <td class="c-changed">
        <Ago at={updatedAt} />
      </td>
      <td class="c-age">
        <Ago at={createdAt} />
      </td>
    </tr>
  );
}

/** Up and down move between the rows' links. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  if (step === undefined || row === null) return;
  const next = step === 1 ? row.nextElementSibling : row.previousElementSibling;
  const link = next?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus();
}

function NoRows() {
  const { cursor, isReading, error, query, broken } = listed.value;
  if (error !== undefined) return <Failed error={error} reload={() => readList(query)} />;
  if (cursor !== undefined) return <Waiting>Nothing found yet. Searching older sessions…</Waiting>;
  if (isReading) return <Waiting>Reading the sessions…</Waiting>;
  if (query === "" && broken.length > 0) return null;
  if (query === "") return <Empty>There are no sessions yet. One appears here as soon as an agent starts it.</Empty>;
  return (
    <Empty>
      No session matches these filters. <ClearFilters />
    </Empty>
  );
}

function Broken() {
  const { broken } = listed.value;
  if (broken.length === 0) return null;
  return (
    <section aria-labelledby="broken">
      <h2 id="broken">
        Can’t be shown <span class="count">{number(broken.length)}</span>
      </h2>
      <ul class="rows">
        {broken.map(({ sessionId, code, message }) => (
          <li key={sessionId}>
            <a href={href(["sessions", sessionId])}>
              <Line text={sessionId} code />
            </a>{" "}
            <code>{code}</code>
            <p>{line(message, 1000)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

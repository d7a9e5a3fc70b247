/** The list of sessions: how many there are, the search, the filters. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { FILTERS, filterOf, STUCK_SECONDS } from "../../read/filter.js";
import type { BrokenSession } from "../../read/model.js";
import { orderOf } from "../../read/order.js";
import { LISTED, STANDING_WORDS } from "../../read/standing.js";
import { about } from "./api.js";
import { Search, Select, useTyping, useWorkflowNames, WorkflowSelect } from "./filters.js";
import { listed, readList } from "./list.js";
import { go, href, hrefWith, place } from "./router.js";
import { COLUMNS, Rows } from "./rows.js";
import { counted, Line, number } from "./text.js";
import { Empty, Failed, Heading, Notice, Waiting } from "./view.js";

export function Sessions() {
  const { query } = place.value;
  const sort = query.get("sort");
  const filter = filterOf(query);
  const asked = new URLSearchParams({ ...filter, ...(sort && { sort }) }).toString();
  // Asked for before the first frame is drawn.
  useLayoutEffect(() => {
    readList(asked);
  }, [asked]);
  const { total, counts, broken, read, rows } = listed.value;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <Heading title="Sessions" count={counts && number(total)} />
      {counts !== undefined && counts.broken > 0 && <Untrusted items={broken} count={counts.broken} />}
      <StandingTabs />
      <Filters />
      {read?.state === "cut" && (
        <Notice>
          These are the newest {number(read.sessions)} sessions, of which the list checks the last commits alone.{" "}
          <code>phasegate sessions</code> lists the older ones.
        </Notice>
      )}
      <p class="reading" role="status">
        {read?.state === "reading" && rows.length > 0 && "Reading older sessions…"}
      </p>
      <Rows damaged={isFiltered ? [] : broken} />
      <NoRows />
    </>
  );
}

const LINKED = 3;
const WHY: Readonly<Record<string, string>> = {
  TAMPERED: "its log was damaged or edited",
  APPROVAL_REFUSED: "this host does not accept an approval in it",
  FORMAT_TOO_NEW: "a newer version has written it",
};

/** Sessions whose logs were damaged, or that this host does not accept. */
function Untrusted({ items, count }: { readonly items: readonly BrokenSession[]; readonly count: number }) {
  const isDoubted = items.some(({ code }) => code === "TAMPERED" || code === "APPROVAL_REFUSED");
  return (
    <Notice tone="bad">
      <strong>
        {counted(count, "session")} can’t be {isDoubted ? "trusted" : "shown"}:
      </strong>{" "}
      {items.slice(0, LINKED).map(({ sessionId, code }, index) => (
        <span key={sessionId}>
          {index > 0 && ", "}
          <a href={href(["sessions", sessionId])}>
            <Line text={sessionId} max={80} />
          </a>{" "}
          ({WHY[code] ?? code})
        </span>
      ))}
      {count > LINKED && `, and ${number(count - LINKED)} more`}
    </Notice>
  );
}

/** What the tabs ask for, and what each says when no session is under it. */
const TABS = [
  ["all", "All", {}, "There are no sessions yet. One appears here as soon as an agent starts it."],
  ["needs_you", "Needs you", { status: "needs_you" }, "No session needs you."],
  ["failed", "Failed", { status: "failed" }, "No session has failed."],
  ["stuck", "Stuck", { stuck: String(STUCK_SECONDS) }, "No session is stuck."],
] as const;

/** Returns the tab that is shown; undefined for statuses that have none. */
function currentTab(): (typeof TABS)[number] | undefined {
  const { status, stuck } = filterOf(place.value.query);
  return TABS.find(([, , asked]) => {
    const wanted: { readonly status?: string; readonly stuck?: string } = asked;
    return wanted.status === status && wanted.stuck === stuck;
  });
}

function StandingTabs() {
  const { counts } = listed.value;
  const current = currentTab();
  return (
    <nav class="tabs" aria-label="Sessions by how they stand">
      {TABS.map((tab) => {
        const [id, label, asked] = tab;
        return (
          <a
            href={hrefWith({ status: undefined, stuck: undefined, ...asked })}
            key={id}
            aria-current={tab === current ? "true" : undefined}
            title={id === "stuck" ? "At work, no change for an hour" : undefined}
          >
            {label}
            {counts !== undefined && <span class="count"> {number(counts[id])}</span>}
          </a>
        );
      })}
    </nav>
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

const WAIVED = [["yes", "granted"]] as const;

type FilterName = (typeof FILTERS)[number];

/** The filters that are chosen in the panel, and their words on a chip. */
const WORDS: Readonly<Record<Exclude<FilterName, "text">, string>> = {
  status: "Status",
  workflow: "Workflow",
  phase: "Phase or step",
  owner: "Owner",
  waiting: "Waits for",
  waived: "Waivers",
  stuck: "No change for",
  kind: "Kind",
};

function ClearFilters() {
  const sort = place.value.query.get("sort") ?? undefined;
  return <a href={href(["sessions"], { sort })}>Clear filters</a>;
}

function Filters() {
  const { query } = place.value;
  const value = (name: FilterName) => query.get(name) ?? "";
  const set = (changes: Readonly<Record<string, string>>) => go(hrefWith(changes));
  const type = useTyping();
  const chosen = value("status") === "" ? [] : value("status").split(",");
  const toggle = (status: string) =>
    set({ status: LISTED.filter((one) => chosen.includes(one) !== (one === status)).join(",") });
  const { sort, isDescending } = orderOf(query) ?? {};
  const isOpen = useSignal(false);
  return (
    <search>
      <Search placeholder="Search targets, phases, owners, workflows, waivers, ids" />
      <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        Filter
      </button>
      {isOpen.value && (
        <div class="form">
          <fieldset>
            <legend>Status</legend>
            {LISTED.map((status) => (
              <label key={status} class="toggle">
                <input type="checkbox" checked={chosen.includes(status)} onChange={() => toggle(status)} />
                {STANDING_WORDS[status]}
              </label>
            ))}
          </fieldset>
          <WorkflowSelect value={value("workflow")} onChange={(workflow) => set({ workflow })} />
          <label class="short">
            <span>{WORDS.phase}</span>
            <input value={value("phase")} onInput={type("phase")} />
          </label>
          <label class="short">
            <span>{WORDS.owner}</span>
            <input value={value("owner")} onInput={type("owner")} />
          </label>
          <Select
            label={WORDS.waiting}
            options={WAITING}
            value={value("waiting")}
            onChange={(waiting) => set({ waiting })}
          />
          <Select
            label={WORDS.waived}
            options={WAIVED}
            value={value("waived")}
            onChange={(waived) => set({ waived })}
          />
          <Select label={WORDS.stuck} options={STUCK} value={value("stuck")} onChange={(stuck) => set({ stuck })} />
          {about.value.kinds.length > 1 && (
            <Select
              label={WORDS.kind}
              options={about.value.kinds.map((kind) => [kind, kind])}
              value={value("kind")}
              onChange={(kind) => set({ kind })}
            />
          )}
          <label>
            <span>Sorted by</span>
            <select
              value={`${isDescending ? "-" : ""}${sort}`}
              onChange={({ currentTarget }) => set({ sort: currentTarget.value })}
            >
              {COLUMNS.flatMap(([name, text]) => [
                <option value={name} key={name}>
                  {text}, {name === "changed" || name === "started" ? "oldest first" : "first to last"}
                </option>,
                <option value={`-${name}`} key={`-${name}`}>
                  {text}, {name === "changed" || name === "started" ? "newest first" : "last to first"}
                </option>,
              ])}
            </select>
          </label>
        </div>
      )}
      <Chips />
    </search>
  );
}

/** The filters that are in force, besides those of the tab; a click removes one. */
function Chips() {
  const filter = filterOf(place.value.query);
  const isTab = currentTab() !== undefined;
  const shown = FILTERS.flatMap((name) => {
    const value = filter[name];
    if (value === undefined || name === "text" || (isTab && (name === "status" || name === "stuck"))) return [];
    return [[name, wordOf(name, value)] as const];
  });
  if (shown.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters in force">
      {shown.map(([name, word]) => (
        <li key={name}>
          <a href={hrefWith({ [name]: undefined })} title="Remove this filter">
            {WORDS[name]}: {name === "workflow" ? <WorkflowName type={word} /> : <Line text={word} max={60} />}{" "}
            <span aria-hidden="true">×</span>
          </a>
        </li>
      ))}
      <li>
        <ClearFilters />
      </li>
    </ul>
  );
}

function WorkflowName({ type }: { readonly type: string }) {
  return <Line text={useWorkflowNames().get(type) ?? type} max={60} />;
}

function wordOf(name: FilterName, value: string): string {
  const known = { stuck: STUCK, waiting: WAITING, waived: WAIVED };
  const words = new Map<string, string>(name in known ? known[name as keyof typeof known] : []);
  if (name !== "status") return words.get(value) ?? value;
  return LISTED.flatMap((one) => (value.split(",").includes(one) ? [STANDING_WORDS[one]] : [])).join(" or ");
}

function NoRows() {
  const { rows, isReading, error, query, counts } = listed.value;
  if (rows.length > 0) return null;
  if (error !== undefined) return <Failed error={error} reload={() => readList(query)} />;
  if (isReading) return <Waiting>Reading the sessions…</Waiting>;
  const tab = currentTab();
  const asked = tab === undefined ? [] : Object.keys(tab[2]);
  if (tab === undefined || Object.keys(filterOf(place.value.query)).some((name) => !asked.includes(name))) {
    return (
      <Empty>
        No session matches these filters. <ClearFilters />
      </Empty>
    );
  }
  if (tab[0] === "all" && counts !== undefined && counts.broken > 0) return null;
  return (
    <Empty>
      {tab[3]}
      {tab[0] === "failed" && counts !== undefined && counts.refused > 0 && (
        <>
          {" "}
          <a href={hrefWith({ status: "refused" })}>
            {number(counts.refused)} {counts.refused === 1 ? "is" : "are"} refused.
          </a>
        </>
      )}
    </Empty>
  );
}

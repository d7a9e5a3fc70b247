/** The inbox: all requests for a person, which are opened and answered one by one. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Inbox as Items, Waiting, WaitingLine } from "../../read/model.js";
import { changesInbox, noteInbox, useData } from "./api.js";
import { Search, Select, WorkflowSelect } from "./filters.js";
import { go, href, hrefWith, place } from "./router.js";
import { Ago, ends, Line, line, number, State } from "./text.js";
import { type Children, Empty, Fold, Heading, List, Loading, Notice } from "./view.js";
import { AnswerForm, Matter, type OnDone, WhoMay } from "./waiting.js";

/** So many requests are shown one after the other; more are grouped by their workflows, and can be filtered. */
const FEW = 10;

export function Inbox() {
  const inbox = useData<Items>("inbox", changesInbox);
  const { data } = inbox;
  /** What was answered last, and the request that comes after it, which is opened and gets the focus. */
  const answered = useSignal<Answered | undefined>(undefined);
  useEffect(() => {
    if (data !== undefined) noteInbox(data);
  }, [data]);
  return (
    <>
      <Heading title="Inbox" count={data && countOf(data.items)} />
      <Loading of={inbox} what="the inbox">
        {({ items }) => (
          <Requests
            items={items}
            answered={answered.value}
            onAnswer={(now) => {
              answered.value = now;
              inbox.reload();
            }}
          />
        )}
      </Loading>
    </>
  );
}

interface Answered {
  /** In words: `Approved as ann`. */
  readonly said: string;
  readonly line: WaitingLine;
  readonly next: string | undefined;
}

/** Returns the requests that the filters of the URL choose. */
function chosenOf(items: readonly WaitingLine[]) {
  const { query } = place.value;
  const filter = { text: query.get("text")?.toLowerCase(), workflow: query.get("workflow"), what: query.get("what") };
  const isFiltered = Object.values(filter).some(Boolean);
  return { chosen: isFiltered ? items.filter((one) => isAskedFor(one, filter)) : items, isFiltered };
}

/** Returns how many requests there are; of those that a filter leaves, `2 of 16`. */
function countOf(items: readonly WaitingLine[]): string {
  const { chosen, isFiltered } = chosenOf(items);
  return isFiltered ? `${number(chosen.length)} of ${number(items.length)}` : number(items.length);
}

interface RequestsProps {
  readonly items: readonly WaitingLine[];
  readonly answered: Answered | undefined;
  readonly onAnswer: (answered: Answered) => void;
}

function Requests({ items, answered, onAnswer }: RequestsProps) {
  const { chosen, isFiltered } = chosenOf(items);
  const isMany = items.length > FEW;
  // The group whose request has waited longest comes first.
  const types = new Set(chosen.map(({ workflowType }) => workflowType));
  const groups = isMany
    ? [...types].map((type) => chosen.filter(({ workflowType }) => workflowType === type))
    : [chosen];
  const shown = groups.flat();
  const list = (group: readonly WaitingLine[]) => (
    <List
      items={group}
      class="inbox"
      label={isMany ? `Requests on ${group[0]?.workflowName}, oldest first` : "Requests, oldest first"}
      what="request"
      keyOf={({ request }) => request}
    >
      {(waiting) => (
        <Fold
          class="attempt"
          isFirst={waiting === shown[0]}
          hasFocus={waiting.request === answered?.next}
          summary={(isOpen) => <Head of={waiting} isOpen={isOpen} isGrouped={isMany} />}
        >
          {() => (
            <Whole
              line={waiting}
              onDone={(said) => {
                const at = shown.indexOf(waiting);
                onAnswer({ said, line: waiting, next: (shown[at + 1] ?? shown[at - 1])?.request });
              }}
            />
          )}
        </Fold>
      )}
    </List>
  );
  return (
    <>
      {answered !== undefined && <Done of={answered} />}
      {(isMany || isFiltered) && <InboxFilters />}
      {shown.length === 0 && (
        <Empty>
          {items.length === 0 ? (
            "Nothing waits for a person."
          ) : (
            <>
              No request matches these filters. <a href={href(["inbox"])}>Clear filters</a>
            </>
          )}
        </Empty>
      )}
      {groups.map((group) =>
        isMany && group[0] ? (
          <section key={group[0].workflowType}>
            <h2>
              <Line text={group[0].workflowName} max={80} /> <span class="count">{number(group.length)}</span>
            </h2>
            {list(group)}
          </section>
        ) : (
          list(group)
        ),
      )}
    </>
  );
}

const WHAT = [
  ["approval", "an approval"],
  ["waiver", "a waiver"],
] as const;

function InboxFilters() {
  const { query } = place.value;
  const set = (changes: Readonly<Record<string, string>>) => go(hrefWith(changes));
  return (
    <search>
      <Search placeholder="Search targets, phases, questions, owners, approvers, ids" />
      <div class="form">
        <WorkflowSelect value={query.get("workflow") ?? ""} onChange={(workflow) => set({ workflow })} />
        <Select label="Asks for" options={WHAT} value={query.get("what") ?? ""} onChange={(what) => set({ what })} />
      </div>
    </search>
  );
}

interface InboxFilter {
  /** In lower case. */
  readonly text: string | undefined;
  readonly workflow: string | null;
  readonly what: string | null;
}

function isAskedFor(waiting: WaitingLine, { text, workflow, what }: InboxFilter): boolean {
  const { sessionId, workflowType, workflowName, target, phase, phaseName, question, owner, approvers = [] } = waiting;
  const words = [sessionId, workflowType, workflowName, target, `${phase} ${phaseName}`, question, owner];
  const texts = [...words, waiting.what, ...approvers];
  return (
    (!workflow || workflowType === workflow) &&
    (!what || waiting.what === what) &&
    (!text || texts.join("\n").toLowerCase().includes(text))
  );
}

/** What was answered last, with the way to it. It stays in sight. */
function Done({ of: { said, line: last } }: { readonly of: Answered }) {
  return (
    <div class="done">
      <Notice tone="good" role="status">
        {said}:{" "}
        <a href={href(["sessions", last.sessionId])}>
          <bdi>{ends(last.target || last.sessionId)}</bdi>
        </a>
      </Notice>
    </div>
  );
}

interface HeadProps {
  readonly of: WaitingLine;
  readonly isOpen: boolean;
  /** True below the heading of its workflow. */
  readonly isGrouped: boolean;
}

function Head({ of: waiting, isOpen, isGrouped }: HeadProps) {
  const { what, sessionId, target, workflowName, phase, phaseName, question, askedAt } = waiting;
  const Title = isGrouped ? "h3" : "h2";
  return (
    <>
      <State of="waiting" word={what} />
      <span>
        <Title>
          <bdi>{ends(target || sessionId)}</bdi>
        </Title>{" "}
        <span class="quiet">
          {!isGrouped && [<Line key="workflow" text={workflowName} max={80} />, ", "]}
          phase {phase} <Line text={phaseName} max={80} />
          <WhoMay waiting={waiting} />
        </span>
        {!isOpen && <span class="quiet preview">{line(question, 160)}</span>}
      </span>
      <span class="quiet right">
        <Ago at={askedAt} suffix=" ago" />
      </span>
    </>
  );
}

/** A request with all that it is about, which is read when it is opened. */
function Whole({ line: { sessionId, request }, onDone }: { readonly line: WaitingLine; readonly onDone: OnDone }) {
  // A request stays as it is. The session may ask something else: that is another line.
  const waiting = useData<Waiting>(`sessions/${encodeURIComponent(sessionId)}/waiting?${request}`, () => false);
  return (
    <Loading of={waiting} what="the request">
      {(whole) => (
        <InSight>
          <p>
            <a href={href(["sessions", sessionId], { answer: request })}>Open the session</a>
          </p>
          <Matter waiting={whole} />
          <AnswerForm waiting={whole} onDone={onDone} />
        </InSight>
      )}
    </Loading>
  );
}

/** Scrolls what was opened at the end of the screen up: the answer, which stays in sight, would cover it. */
function InSight({ children }: Children) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const head = place.current?.parentElement?.querySelector("summary");
    if (head && head.getBoundingClientRect().bottom > innerHeight / 2) head.scrollIntoView();
  }, []);
  return <div ref={place}>{children}</div>;
}

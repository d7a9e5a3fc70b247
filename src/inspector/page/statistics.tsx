/** Figures: sessions a day, the time that phases take, and where gates refuse. */
import type { ComponentChildren } from "preact";
import type { PhaseStatistics, StatisticsView, WorkflowStatistics } from "../../read/model.js";
import { notedSumTexts } from "../../read/noted.js";
import { useData } from "./api.js";
import { NotedList } from "./attempts.js";
import { DayBars, Figure } from "./bars.js";
import { useWorkflowNames, WorkflowSelect } from "./filters.js";
import { go, href, hrefWith, place } from "./router.js";
import { counted, duration, Line, number } from "./text.js";
import { Empty, Heading, List, Loading, Notice, Table } from "./view.js";

export function Statistics() {
  const workflow = place.value.query.get("workflow") ?? "";
  const names = useWorkflowNames();
  const statistics = useData<StatisticsView>(
    `statistics${workflow === "" ? "" : `?workflow=${encodeURIComponent(workflow)}`}`,
  );
  return (
    <>
      <Heading title="Statistics" />
      <search class="form">
        <WorkflowSelect value={workflow} onChange={(workflow) => go(hrefWith({ workflow }))} />
        <button type="button" onClick={statistics.reload} disabled={statistics.isLoading}>
          {statistics.isLoading ? "Counting…" : "Count again"}
        </button>
      </search>
      <Loading of={statistics} what="the logs">
        {(view) => {
          const { workflows, unapproved, broken } = view;
          return workflows.length + broken.length === 0 ? (
            <Empty>There are no phased sessions to count.</Empty>
          ) : (
            <>
              {broken.length > 0 && <Uncounted items={broken} />}
              {unapproved > 0 && (
                <Notice>
                  {counted(unapproved, "session")} passed a gate with an approval that this host does not accept. Each
                  counts as it was before that gate.
                </Notice>
              )}
              <Tiles of={view} />
              <Days {...view} />
              {workflows.map((one) => (
                <OneWorkflow of={one} name={names.get(one.workflowType)} key={one.workflowType} />
              ))}
            </>
          );
        }}
      </Loading>
    </>
  );
}

const LINKED = 10;

function Uncounted({ items }: { readonly items: StatisticsView["broken"] }) {
  return (
    <Notice tone="bad">
      {counted(items.length, "session")} can’t be read, and {items.length === 1 ? "counts" : "count"} nowhere:{" "}
      {items.slice(0, LINKED).map(({ sessionId }, index) => (
        <span key={sessionId}>
          {index > 0 && ", "}
          <a href={href(["sessions", sessionId])}>
            <Line text={sessionId} code max={80} />
          </a>
        </span>
      ))}
      {items.length > LINKED && `, and ${number(items.length - LINKED)} more`}
    </Notice>
  );
}

/** Four figures of all that is counted. */
function Tiles({ of: { counted: all, ...view } }: { readonly of: StatisticsView }) {
  const { completedLately, medianSeconds, needsYou, workflows } = view;
  const workflow = place.value.query.get("workflow") ?? undefined;
  const first = workflows.flatMap(({ phases }) => phases.map(({ firstAttempts }) => firstAttempts));
  const made = first.reduce((sum, one) => sum + one.made, 0);
  const passed = first.reduce((sum, one) => sum + one.passed, 0);
  const tiles: readonly (readonly [string, ComponentChildren, string?])[] = [
    ["Done in 7 days", number(completedLately)],
    [
      "Passed at the first attempt",
      made === 0 ? "–" : `${Math.floor((100 * passed) / made)} %`,
      `${number(passed)} of ${number(made)} first attempts at a gate`,
    ],
    [
      "Median time from start to end",
      medianSeconds === undefined ? "–" : duration(medianSeconds),
      "Half of the completed sessions took no longer, pauses and waits included",
    ],
    ["Waiting for a person", <SessionCount key="waiting" count={needsYou} workflow={workflow} status="needs_you" />],
  ];
  return (
    <dl class="tiles" aria-label={`Of ${counted(all, "session")}`}>
      {tiles.map(([term, figure, about]) => (
        <div key={term} title={about}>
          <dd>{figure}</dd>
          <dt>{term}</dt>
        </div>
      ))}
    </dl>
  );
}

function Days({ days, counted: all }: Pick<StatisticsView, "days" | "counted">) {
  return (
    <section aria-labelledby="days">
      <h2 id="days">
        Sessions a day <span class="count">of {counted(all, "session")}, days in UTC</span>
      </h2>
      <DayBars days={days} />
      <details>
        <summary>As a table</summary>
        <Table
          class="figures"
          label="Sessions a day"
          columns={["Day", "Started", "Completed"]}
          rows={days
            .toReversed()
            .slice(0, 366)
            .map(({ day, started, completed }) => [day, [day, number(started), number(completed)]])}
        />
      </details>
    </section>
  );
}

interface SessionCountProps {
  readonly count: number;
  readonly workflow: string | undefined;
  readonly status: string;
  readonly phase?: string;
}

/** A number of sessions, which leads to them. */
function SessionCount({ count, ...filters }: SessionCountProps) {
  if (count === 0) return <>0</>;
  return <a href={href(["sessions"], { kind: "phased", ...filters })}>{number(count)}</a>;
}

/** How sessions stand that count as active, and those that are at a phase. */
const ACTIVE = "working,refused,needs_you";
const OPEN = `${ACTIVE},paused,failed`;

const COLUMNS = [
  ...["Phase", "Now here", "Time, median", "90th percentile", "Passed", "Refused", "Denied", "Waivers"],
  "Refused at",
];
/** Shown where the host has noted something. */
const NOTED = "Noted on submissions";

interface OneWorkflowProps {
  readonly of: WorkflowStatistics;
  /** Missing until it is read, and for a workflow that is gone. */
  readonly name: string | undefined;
}

function OneWorkflow({ of: { workflowType, sessions, children, phases }, name = workflowType }: OneWorkflowProps) {
  const hasNoted = phases.some(({ noted }) => noted !== undefined);
  const most: Most = {
    here: Math.max(...phases.map(hereAt)),
    seconds: Math.max(...phases.map(({ time }) => time?.p90Seconds ?? 0)),
  };
  const count = (status: keyof typeof sessions, standings: string) => (
    <>
      <SessionCount count={sessions[status]} workflow={workflowType} status={standings} /> {status}
    </>
  );
  return (
    <section>
      <h2>
        <a href={href(["workflows", workflowType])}>
          <Line text={name} max={120} />
        </a>{" "}
        <span class="count">
          {count("active", ACTIVE)}, {count("paused", "paused")}, {count("failed", "failed")},{" "}
          {count("completed", "done")}
          {children !== undefined && `; ${number(children)} of them for a phase of another`}
        </span>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`Phases of ${name.slice(0, 100)}`}>
        <Table
          class="figures by-phase"
          columns={hasNoted ? [...COLUMNS, NOTED] : COLUMNS}
          rows={phases.map((phase) => {
            const figures = figuresOf(phase, workflowType, most);
            return [`${phase.phase} ${phase.name}`, hasNoted ? [...figures, sumsOf(phase)] : figures];
          })}
        />
      </section>
    </section>
  );
}

function hereAt({ sessions: { active, paused, failed } }: PhaseStatistics): number {
  return active + paused + failed;
}

function sumsOf({ noted }: PhaseStatistics) {
  return <NotedList key="noted" items={notedSumTexts(noted)} />;
}

/** The largest figures of a workflow's phases. */
interface Most {
  readonly here: number;
  readonly seconds: number;
}

function figuresOf(phase: PhaseStatistics, workflow: string, most: Most): readonly ComponentChildren[] {
  const { name, gone, time, passed, failed, attempts, denied, waivers, fields } = phase;
  const here = hereAt(phase);
  const seconds = (value: number | undefined) =>
    value === undefined ? (
      "–"
    ) : (
      <Figure value={value} max={most.seconds}>
        {duration(value)}
      </Figure>
    );
  return [
    <>
      {phase.phase}. <Line text={name ?? "from a plan"} max={80} />
      {gone && <span class="quiet"> gone</span>}
    </>,
    <Figure key="here" value={here} max={most.here}>
      <SessionCount count={here} workflow={workflow} phase={name ?? String(phase.phase)} status={OPEN} />
    </Figure>,
    seconds(time?.medianSeconds),
    seconds(time?.p90Seconds),
    number(passed),
    failed === 0 ? (
      "0"
    ) : (
      <Figure key="refused" value={failed} max={attempts}>
        {number(failed)} ({Math.round((100 * failed) / attempts)} %)
      </Figure>
    ),
    number(denied),
    waivers.requested === 0 ? (
      "–"
    ) : (
      <a key="waivers" href={href(["sessions"], { workflow, waived: "yes" })}>
        {waivers.granted} of {waivers.requested}
      </a>
    ),
    <List key="fields" items={fields} first={5} what="field">
      {({ field, failed, waived }) => (
        <>
          <Line text={field || "the evidence as a whole"} code /> {number(failed)}
          {waived > 0 && <span class="quiet">, {number(waived)} waived</span>}
        </>
      )}
    </List>,
  ];
}

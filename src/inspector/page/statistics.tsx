/** Figures: sessions a day, the time that phases take, and where gates refuse. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PhaseStatistics, StatisticsView, WorkflowStatistics } from "../../read/model.js";
import { notedSumTexts } from "../../read/noted.js";
import { useData } from "./api.js";
import { NotedList } from "./attempts.js";
import { go, href, hrefWith, place } from "./router.js";
import { WorkflowSelect } from "./sessions.js";
import { counted, duration, Line, number } from "./text.js";
import { Empty, Heading, List, Loading, Notice, Table } from "./view.js";

export function Statistics() {
  const workflow = place.value.query.get("workflow") ?? "";
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
        {({ days, workflows, unapproved, broken, plotted }) =>
          workflows.length + broken.length === 0 ? (
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
              <Days days={days} plotted={plotted} />
              {workflows.map((one) => (
                <OneWorkflow of={one} key={one.workflowType} />
              ))}
            </>
          )
        }
      </Loading>
    </>
  );
}

const LINKED = 10;

function Uncounted({ items }: { readonly items: StatisticsView["broken"] }) {
  return (
    <Notice isBad>
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

function Days({ days, plotted }: Pick<StatisticsView, "days" | "plotted">) {
  const element = useRef<HTMLDivElement>(null);
  const failed = useSignal(false);
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isGone = false;
    import("./plots.js").then(
      ({ plotDays }) => {
        if (!isGone && element.current !== null) remove = plotDays(element.current, days);
      },
      () => {
        failed.value = true;
      },
    );
    return () => {
      isGone = true;
      remove?.();
    };
  }, [days, failed]);
  return (
    <section aria-labelledby="days">
      <h2 id="days">
        Sessions a day <span class="count">the newest {number(plotted)}, days in UTC</span>
      </h2>
      <div class="plot" ref={element} aria-hidden="true" />
      {failed.value && <Notice>The plot can’t be loaded. The table has its figures.</Notice>}
      <details>
        <summary>As a table</summary>
        <Table
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

const COLUMNS = [
  ...["Phase", "Now here", "Time, median", "90th percentile", "Passed", "Refused", "Denied", "Waivers"],
  "Refused at",
];
/** Shown where the host has noted something. */
const NOTED = "Noted on submissions";

function OneWorkflow({ of: { workflowType, sessions, children, phases } }: { readonly of: WorkflowStatistics }) {
  const { active, paused, failed, completed } = sessions;
  const hasNoted = phases.some(({ noted }) => noted !== undefined);
  return (
    <section>
      <h2>
        <Line text={workflowType} max={120} />{" "}
        <span class="count">
          {number(active)} active, {number(paused)} paused, {number(failed)} failed, {number(completed)} completed
          {children !== undefined && `; ${number(children)} of them for a phase of another`}
        </span>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`Phases of ${workflowType.slice(0, 100)}`}>
        <Table
          class="figures"
          columns={hasNoted ? [...COLUMNS, NOTED] : COLUMNS}
          rows={phases.map((phase) => [
            phase.phase,
            hasNoted ? [...figuresOf(phase), sumsOf(phase)] : figuresOf(phase),
          ])}
        />
      </section>
    </section>
  );
}

function sumsOf({ noted }: PhaseStatistics) {
  return <NotedList key="noted" items={notedSumTexts(noted)} />;
}

function figuresOf(phase: PhaseStatistics) {
  const { time, sessions, passed, failed, attempts, denied, waivers, fields } = phase;
  const share = attempts === 0 ? 0 : failed / attempts;
  return [
    [`${phase.phase}. `, <Line key="name" text={phase.name ?? "from a plan"} max={80} />],
    number(sessions.active + sessions.paused + sessions.failed),
    time === undefined ? "–" : duration(time.medianSeconds),
    time === undefined ? "–" : duration(time.p90Seconds),
    number(passed),
    failed === 0 ? "0" : `${number(failed)} (${Math.round(share * 100)} %)`,
    number(denied),
    waivers.requested === 0 ? "–" : `${waivers.granted} of ${waivers.requested}`,
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

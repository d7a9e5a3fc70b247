/** Figures: sessions a day, the time that phases take, and where gates refuse. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PhaseStatistics, StatisticsView, WorkflowStatistics } from "../../read/model.js";
import { useData } from "./api.js";
import { go, href, hrefWith, place } from "./router.js";
import { WorkflowSelect } from "./sessions.js";
import { counted, duration, Line, number, Some } from "./text.js";
import { Columns, Empty, Heading, Loading } from "./view.js";

export function Statistics() {
  const workflow = place.value.query.get("workflow") ?? "";
  const statistics = useData<StatisticsView>(
    `statistics${workflow === "" ? "" : `?workflow=${encodeURIComponent(workflow)}`}`,
  );
  return (
    <>
      <Heading title="Statistics" />
      <search class="filters">
        <WorkflowSelect value={workflow} onChange={(workflow) => go(hrefWith({ workflow }))} />
        <button type="button" onClick={statistics.reload} disabled={statistics.isLoading}>
          {statistics.isLoading ? "Counting…" : "Count again"}
        </button>
      </search>
      <Loading of={statistics} what="the logs">
        {({ days, workflows, unapproved, broken, plotted }) =>
          workflows.length + broken.length === 0 ? (
            <Empty>
              <p>There are no phased sessions to count.</p>
            </Empty>
          ) : (
            <>
              {broken.length > 0 && (
                <p class="notice notice-bad">
                  {counted(broken.length, "session")} can’t be read, and {broken.length === 1 ? "counts" : "count"}{" "}
                  nowhere: <BrokenLinks items={broken} />
                </p>
              )}
              {unapproved > 0 && (
                <p class="notice">
                  {counted(unapproved, "session")} passed a gate with an approval that this host does not accept. Each
                  counts as it was before that gate.
                </p>
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

function BrokenLinks({ items }: { readonly items: StatisticsView["broken"] }) {
  return (
    <>
      {items.slice(0, LINKED).map(({ sessionId }, index) => (
        <span key={sessionId}>
          {index > 0 && ", "}
          <a href={href(["sessions", sessionId])}>
            <Line text={sessionId} code max={80} />
          </a>
        </span>
      ))}
      {items.length > LINKED && `, and ${number(items.length - LINKED)} more`}
    </>
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
      {failed.value && <p class="notice">The plot can’t be loaded. The table has its figures.</p>}
      <details>
        <summary>As a table</summary>
        <div class="scroll">
          <table aria-label="Sessions a day">
            <Columns names={["Day", "Started", "Completed"]} />
            <tbody>
              {days
                .toReversed()
                .slice(0, 366)
                .map(({ day, started, completed }) => (
                  <tr key={day}>
                    <th scope="row">{day}</th>
                    <td>{number(started)}</td>
                    <td>{number(completed)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

function OneWorkflow({ of: { workflowType, sessions, phases } }: { readonly of: WorkflowStatistics }) {
  const { active, paused, failed, completed } = sessions;
  return (
    <section>
      <h2>
        <Line text={workflowType} max={120} />{" "}
        <span class="count">
          {number(active)} active, {number(paused)} paused, {number(failed)} failed, {number(completed)} completed
        </span>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section class="scroll" tabIndex={0} aria-label={`Phases of ${workflowType.slice(0, 100)}`}>
        <table class="figures">
          <Columns
            names={[
              "Phase",
              "Now here",
              "Time, median",
              "90th percentile",
              "Passed",
              "Refused",
              "Denied",
              "Waivers",
              "Refused at",
            ]}
          />
          <tbody>
            {phases.map((phase) => (
              <PhaseRow of={phase} key={phase.phase} />
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}

function PhaseRow({ of: phase }: { readonly of: PhaseStatistics }) {
  const { time, sessions, passed, failed, attempts, denied, waivers, fields } = phase;
  const share = attempts === 0 ? 0 : failed / attempts;
  return (
    <tr>
      <th scope="row">
        {phase.phase}. <Line text={phase.name ?? "from a plan"} max={80} />
      </th>
      <td>{number(sessions.active + sessions.paused + sessions.failed)}</td>
      <td>{time === undefined ? "–" : duration(time.medianSeconds)}</td>
      <td>{time === undefined ? "–" : duration(time.p90Seconds)}</td>
      <td>{number(passed)}</td>
      <td>
        {number(failed)}
        {failed > 0 && <span class="quiet"> ({Math.round(share * 100)} %)</span>}
      </td>
      <td>{number(denied)}</td>
      <td>{waivers.requested === 0 ? "–" : `${waivers.granted} of ${waivers.requested}`}</td>
      <td>
        <ul>
          <Some items={fields} first={5} what="field">
            {({ field, failed, waived }) => (
              <li key={field}>
                <Line text={field === "" ? "the evidence as a whole" : field} code /> {number(failed)}
                {waived > 0 && <span class="quiet">, {number(waived)} waived</span>}
              </li>
            )}
          </Some>
        </ul>
      </td>
    </tr>
  );
}

/** Bars: sessions started and completed a day, and a figure beside its share of the largest one. */
import type { ComponentChildren } from "preact";
import type { StatisticsView } from "../../read/model.js";
import { number } from "./text.js";

const DAY_MS = 86_400_000;
const DAYS = 42;
/** The days between two dates below the chart. */
const WEEK = 7;
/** The place of the bars in pixels, and that of the dates below them. */
const [HEIGHT, BELOW] = [180, 24];
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Returns the last six weeks until today, with the days on which nothing happened. */
function lastDays(days: StatisticsView["days"]): StatisticsView["days"] {
  const known = new Map(days.map((day) => [day.day, day]));
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(Date.now() - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return known.get(day) ?? { day, started: 0, completed: 0 };
  });
}

/** Returns the distance of the lines behind bars: 1, 2 or 5 with zeros, so that there are four lines at most. */
function stepFor(max: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, max / 4)));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step * 4 >= max) ?? size;
}

/** The sessions that were started and completed on each day. */
export function DayBars({ days: given }: { readonly days: StatisticsView["days"] }) {
  const days = lastDays(given);
  const sum = (of: "started" | "completed") => number(days.reduce((all, day) => all + day[of], 0));
  const max = Math.max(1, ...days.flatMap(({ started, completed }) => [started, completed]));
  const step = stepFor(max);
  const top = Math.ceil(max / step) * step;
  const share = (index: number) => `${(100 * index) / DAYS}%`;
  const bar = (index: number, value: number, name: "started" | "completed") => {
    const height = (HEIGHT * value) / top;
    const left = index + (name === "started" ? 0.12 : 0.52);
    return <rect class={name} x={share(left)} y={HEIGHT - height} width={share(0.36)} height={height} />;
  };
  return (
    <figure class="chart">
      <figcaption>
        <span class="started">{sum("started")} started</span>{" "}
        <span class="completed">{sum("completed")} completed</span>
      </figcaption>
      <svg role="img" aria-labelledby="chart-title" height={HEIGHT + BELOW}>
        <title id="chart-title">
          {`Sessions a day in the last six weeks: ${sum("started")} started, ${sum("completed")} completed. The table below has the figures.`}
        </title>
        {Array.from({ length: top / step + 1 }, (_, index) => {
          const y = HEIGHT - (HEIGHT * index * step) / top;
          return (
            <g key={index}>
              <line x1="0" x2="100%" y1={y} y2={y} />
              <text class="value" x="-8" y={y}>
                {number(index * step)}
              </text>
            </g>
          );
        })}
        {days.map(({ day, started, completed }, index) => {
          const text = date.format(Date.parse(day));
          return (
            <g key={day}>
              <title>{`${text}: ${number(started)} started, ${number(completed)} completed`}</title>
              <rect class="day" x={share(index)} y="0" width={share(1)} height={HEIGHT} />
              {started > 0 && bar(index, started, "started")}
              {completed > 0 && bar(index, completed, "completed")}
              {index % WEEK === WEEK - 1 && (
                <text class="date" x={share(index + 1)} y={HEIGHT + BELOW - 6}>
                  {text}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

interface FigureProps {
  readonly value: number;
  /** The largest value of its column. */
  readonly max: number;
  readonly children: ComponentChildren;
}

/** A figure with a bar below it, as long as its share of the largest one. */
export function Figure({ value, max, children }: FigureProps) {
  return (
    <>
      {children}
      {value > 0 && (
        <span class="share" aria-hidden="true">
          <i style={{ width: `${(100 * value) / max}%` }} />
        </span>
      )}
    </>
  );
}
